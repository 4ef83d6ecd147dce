// Package binlog runs jobs over logs that are hard to read: transactions larger
// than the memory of the job (plain, compressed, XA), rows of 64 MB, images that
// lack columns. Each compares what Paimon's own reader gives with the source;
// the large ones look at what the process took at its peak. LEAT_BIG_MB changes
// the size of the transactions.
package binlog
