package leat.oracle;

import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.*;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.RowType;

import java.util.*;

/** The queries of QUERY over the library's reader: columns and conditions pushed down, the rest in loops over its rows. */
final class BenchQuery {
    private final FileStoreTable t;
    private final String tmp;
    private final List<ObjectNode> out = new ArrayList<>();

    private BenchQuery(FileStoreTable t, String tmp) {
        this.t = t;
        this.tmp = tmp;
    }

    /** One line a query, as query.py has them. */
    static List<ObjectNode> all(FileStoreTable t, String tmp) throws Exception {
        BenchQuery q = new BenchQuery(t, tmp);
        q.answer("count", q::count);
        q.answer("sum", q::sum);
        q.answer("group", q::group);
        q.answer("filter", q::filter);
        q.answer("lookup", q::lookup);
        return q.out;
    }

    private interface Query { String run() throws Exception; }

    private interface Each { void row(InternalRow r); }

    private void answer(String name, Query q) throws Exception {
        Bench.Clock clock = new Bench.Clock();
        String answer = q.run();
        ObjectNode o = clock.stop();
        o.put("name", name);
        o.put("answer", answer);
        out.add(o);
    }

    /** Gives the rows of the columns named that a pushed condition leaves. */
    private void scan(Predicate where, Each each, String... columns) throws Exception {
        ReadBuilder rb = t.newReadBuilder().withReadType(t.rowType().project(columns));
        if (where != null) rb = rb.withFilter(where);
        read(rb, rb.newScan().plan().splits(), each);
    }

    private void read(ReadBuilder rb, List<Split> splits, Each each) throws Exception {
        TableRead rd = rb.newRead().withIOManager(IOManager.create(tmp));
        for (Split s : splits) {
            try (RecordReader<InternalRow> r = rd.createReader(s)) {
                for (RecordReader.RecordIterator<InternalRow> b; (b = r.readBatch()) != null; b.releaseBatch())
                    for (InternalRow row; (row = b.next()) != null; ) each.row(row);
            }
        }
    }

    /** Counts by metadata where they tell, as the engines over the library do. */
    private String count() throws Exception {
        ReadBuilder rb = t.newReadBuilder().withReadType(t.rowType().project("order_id"));
        long[] n = new long[1];
        List<Split> rest = new ArrayList<>();
        for (Split s : rb.newScan().plan().splits()) {
            if (((DataSplit) s).mergedRowCountAvailable()) n[0] += ((DataSplit) s).mergedRowCount();
            else rest.add(s);
        }
        read(rb, rest, r -> n[0]++);
        return Long.toString(n[0]);
    }

    private int precision() { return ((DecimalType) t.rowType().getField("order_amount").type()).getPrecision(); }

    private static String cents(long v) { return Decimal.fromUnscaledLong(v, 18, 2).toString(); }

    private String sum() throws Exception {
        long[] sum = new long[1];
        int p = precision();
        scan(null, r -> { if (!r.isNullAt(0)) sum[0] += r.getDecimal(0, p, 2).toUnscaledLong(); }, "order_amount");
        return cents(sum[0]);
    }

    private String group() throws Exception {
        TreeMap<Byte, long[]> groups = new TreeMap<>();
        int p = precision();
        scan(null, r -> {
            long[] g = groups.computeIfAbsent(r.getByte(0), k -> new long[2]);
            g[0]++;
            if (!r.isNullAt(1)) g[1] += r.getDecimal(1, p, 2).toUnscaledLong();
        }, "order_status", "order_amount");
        StringJoiner lines = new StringJoiner("\n");
        groups.forEach((k, g) -> lines.add(k + "," + g[0] + "," + cents(g[1])));
        return lines.toString();
    }

    private String filter() throws Exception {
        RowType rt = t.rowType();
        PredicateBuilder b = new PredicateBuilder(rt);
        Predicate where = PredicateBuilder.and(b.equal(rt.getFieldIndex("order_status"), (byte) 3),
                b.greaterThan(rt.getFieldIndex("order_amount"), Decimal.fromUnscaledLong(50000, 18, 2)));
        long[] found = {0, Long.MIN_VALUE};
        int p = precision();
        scan(where, r -> {
            if (r.isNullAt(0) || r.getByte(0) != 3 || r.isNullAt(1)) return;
            long cents = r.getDecimal(1, p, 2).toUnscaledLong();
            if (cents <= 50000) return;
            found[0]++;
            found[1] = Math.max(found[1], cents);
        }, "order_status", "order_amount");
        return found[0] + "," + cents(found[1]);
    }

    private String lookup() throws Exception {
        long key = 1234567;
        RowType rt = t.rowType();
        StringJoiner lines = new StringJoiner("\n");
        int p = precision();
        scan(new PredicateBuilder(rt).equal(rt.getFieldIndex("order_id"), key), r -> {
            if (r.getLong(0) == key)
                lines.add(r.getLong(0) + "," + r.getLong(1) + "," + r.getDecimal(2, p, 2) + "," + r.getByte(3) + "," + r.getString(4));
        }, "order_id", "user_id", "order_amount", "order_status", "dt");
        return lines.toString();
    }
}
