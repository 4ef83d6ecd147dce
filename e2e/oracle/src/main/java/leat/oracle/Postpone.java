package leat.oracle;

import org.apache.paimon.CoreOptions;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.*;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.source.TableRead;

import java.util.*;

/**
 * Gives postponed rows their buckets, as the compaction action of Paimon's Flink module does: splits of one file in
 * the order of their creation, read by the library, written into a copy of the table with buckets, and committed as
 * a compaction of the postponed files.
 */
final class Postpone {
    private Postpone() {}

    static void distribute(FileStoreTable t, int buckets, String user, long id, String tmp) throws Exception {
        Map<String, String> options = new HashMap<>(t.options());
        options.put(CoreOptions.BUCKET.key(), Integer.toString(buckets));
        options.put(CoreOptions.WRITE_ONLY.key(), "true");
        FileStoreTable real = t.copy(t.schema().copy(options));
        List<CommitMessage> messages = new ArrayList<>();
        TableRead read = t.newReadBuilder().newRead().withIOManager(IOManager.create(tmp));
        try (StreamTableWrite w = (StreamTableWrite) real.newWrite(user).withIOManager(IOManager.create(tmp))) {
            for (Split s : t.newSnapshotReader().withBucket(BucketMode.POSTPONE_BUCKET).read().splits()) {
                DataSplit split = (DataSplit) s;
                List<DataFileMeta> files = new ArrayList<>(split.dataFiles());
                files.sort(Comparator.comparing(DataFileMeta::creationTime));
                for (DataFileMeta f : files) copy(read, one(split, f), w);
                messages.add(message(split.partition(), split.bucket(), split.totalBuckets(), files, Collections.emptyList()));
            }
            for (CommitMessage m : w.prepareCommit(true, id)) {
                CommitMessageImpl x = (CommitMessageImpl) m;
                messages.add(message(x.partition(), x.bucket(), x.totalBuckets(), Collections.emptyList(), x.newFilesIncrement().newFiles()));
            }
        }
        try (TableCommitImpl c = real.newCommit(user)) {
            c.commit(id, messages);
        }
    }

    static DataSplit one(DataSplit of, DataFileMeta file) {
        return DataSplit.builder().withSnapshot(of.snapshotId()).withPartition(of.partition()).withBucket(of.bucket())
                .withBucketPath(of.bucketPath()).withTotalBuckets(of.totalBuckets())
                .withDataFiles(Collections.singletonList(file)).isStreaming(false).build();
    }

    static void copy(TableRead read, Split s, StreamTableWrite w) throws Exception {
        try (RecordReader<InternalRow> r = read.createReader(s);
             RecordReaderIterator<InternalRow> it = new RecordReaderIterator<>(r)) {
            while (it.hasNext()) w.write(it.next());
        }
    }

    static CommitMessage message(BinaryRow partition, int bucket, Integer total, List<DataFileMeta> before, List<DataFileMeta> after) {
        return new CommitMessageImpl(partition, bucket, total, DataIncrement.emptyIncrement(),
                new CompactIncrement(before, after, Collections.emptyList()));
    }
}
