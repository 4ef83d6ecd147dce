import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.orc.*;
import org.apache.orc.storage.ql.exec.vector.*;
import org.apache.orc.storage.ql.io.sarg.*;
import org.apache.orc.storage.serde2.io.HiveDecimalWritable;

import java.nio.file.*;
import java.sql.Timestamp;
import java.util.*;

/**
 * write FILE MILLIS...          writes timestamps in the zone of the JVM, prints what it shows for each;
 * count FILE {COLUMN TYPE VALUE}  counts the rows that Java reads where COLUMN = VALUE may hold by statistics, and
 *                               fails if one of them is not what a read from the start gives for its first column;
 * copy LIST                     writes files anew, each line of LIST being one: IN OUT VERSION CODEC STRIPE STRIDE CHUNK THRESHOLD;
 * bench FILE TIMES              reads FILE and writes its rows anew so often, prints the best rows a second of each.
 */
public final class OrcTool {
    public static void main(String[] a) throws Exception {
        switch (a[0]) {
            case "write": write(a); break;
            case "count": count(a); break;
            case "copy": for (String line : Files.readAllLines(Paths.get(a[1]))) copy(line.split(" ")); break;
            default: bench(a[1], Integer.parseInt(a[2]));
        }
    }

    static void write(String[] a) throws Exception {
        TypeDescription schema = TypeDescription.fromString("struct<t:timestamp,i:timestamp with local time zone>");
        Files.deleteIfExists(Paths.get(a[1]));
        try (Writer w = OrcFile.createWriter(new Path(a[1]), OrcFile.writerOptions(new Configuration()).setSchema(schema))) {
            VectorizedRowBatch b = schema.createRowBatch();
            for (int i = 2; i < a.length; i++) {
                Timestamp t = new Timestamp(Long.parseLong(a[i]));
                ((TimestampColumnVector) b.cols[0]).set(b.size, t);
                ((TimestampColumnVector) b.cols[1]).set(b.size++, t);
                System.out.println(t);
            }
            w.addRowBatch(b);
        }
    }

    static void copy(String[] a) throws Exception {
        Reader r = OrcFile.createReader(new Path(a[0]), OrcFile.readerOptions(new Configuration()));
        Configuration c = new Configuration();
        OrcConf.DICTIONARY_KEY_SIZE_THRESHOLD.setDouble(c, Double.parseDouble(a[7]));
        OrcFile.WriterOptions o = OrcFile.writerOptions(c).setSchema(r.getSchema()).version(OrcFile.Version.byName(a[2]))
                .compress(CompressionKind.valueOf(a[3])).stripeSize(Long.parseLong(a[4])).rowIndexStride(Integer.parseInt(a[5])).bufferSize(Integer.parseInt(a[6]));
        try (RecordReader rows = r.rows(); Writer w = OrcFile.createWriter(new Path(a[1]), o)) {
            VectorizedRowBatch b = r.getSchema().createRowBatch();
            while (rows.nextBatch(b)) w.addRowBatch(b);
        }
    }

    static void count(String[] a) throws Exception {
        Reader r = OrcFile.createReader(new Path(a[1]), OrcFile.readerOptions(new Configuration()));
        Map<String, Integer> all = new HashMap<>();
        try (RecordReader rows = r.rows()) {
            VectorizedRowBatch b = r.getSchema().createRowBatch();
            while (rows.nextBatch(b)) for (int i = 0; i < b.size; i++) all.put(text(b.cols[0], i), text(b, i));
        }
        for (int i = 2; i < a.length; i += 3) System.out.println(count(r, all, a[i], a[i + 1], a[i + 2]));
    }

    static long count(Reader r, Map<String, Integer> all, String column, String kind, String value) throws Exception {
        PredicateLeaf.Type type = PredicateLeaf.Type.valueOf(kind);
        Object v;
        switch (type) {
            case LONG: v = Long.valueOf(value); break;
            case FLOAT: v = Double.valueOf(value); break;
            case DECIMAL: v = new HiveDecimalWritable(value); break;
            case DATE: v = java.sql.Date.valueOf(value); break;
            case TIMESTAMP: v = Timestamp.valueOf(value); break;
            case BOOLEAN: v = Boolean.valueOf(value); break;
            default: v = value;
        }
        SearchArgument sarg = SearchArgumentFactory.newBuilder().equals(column, type, v).build();
        long n = 0;
        try (RecordReader rows = r.rows(r.options().searchArgument(sarg, new String[] {column}).allowSARGToFilter(false))) {
            VectorizedRowBatch b = r.getSchema().createRowBatch();
            for (; rows.nextBatch(b); n += b.size) {
                for (int i = 0; i < b.size; i++) {
                    Integer want = all.get(text(b.cols[0], i));
                    if (want == null || want != text(b, i)) throw new IllegalStateException("row " + (n + i) + " differs: " + text(b.cols[0], i));
                }
            }
        }
        return n;
    }

    static String text(ColumnVector c, int row) {
        StringBuilder s = new StringBuilder();
        c.stringifyValue(s, row);
        return s.toString();
    }

    static int text(VectorizedRowBatch b, int row) {
        StringBuilder s = new StringBuilder();
        for (ColumnVector c : b.cols) c.stringifyValue(s.append('|'), row);
        return s.toString().hashCode();
    }

    static void bench(String file, int times) throws Exception {
        double read = 0, written = 0;
        long size = 0;
        for (int i = 0; i < times; i++) {
            Reader r = OrcFile.createReader(new Path(file), OrcFile.readerOptions(new Configuration()));
            List<VectorizedRowBatch> batches = new ArrayList<>();
            long n = 0, spent = 0, start = System.nanoTime();
            try (RecordReader rows = r.rows()) {
                for (VectorizedRowBatch b = r.getSchema().createRowBatch(); rows.nextBatch(b); b = r.getSchema().createRowBatch()) {
                    n += b.size;
                    // The last rounds keep the batches, for writing.
                    if (i >= times / 2) batches.add(b);
                }
            }
            read = Math.max(read, n * 1e9 / (System.nanoTime() - start));
            if (i < times / 2) continue;
            java.nio.file.Path out = Files.createTempFile("bench", ".orc");
            Files.delete(out);
            start = System.nanoTime();
            try (Writer w = OrcFile.createWriter(new Path(out.toString()),
                    OrcFile.writerOptions(new Configuration()).setSchema(r.getSchema()).compress(CompressionKind.ZSTD))) {
                for (VectorizedRowBatch b : batches) w.addRowBatch(b);
            }
            written = Math.max(written, n * 1e9 / (System.nanoTime() - start));
            size = Files.size(out);
            Files.delete(out);
            Files.deleteIfExists(out.resolveSibling("." + out.getFileName() + ".crc"));
        }
        System.out.printf("%.0f %.0f %d%n", read, written, size);
    }
}
