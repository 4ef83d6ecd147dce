package leat.oracle;

import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.*;
import org.apache.paimon.table.source.*;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.utils.Pair;

import java.lang.management.ManagementFactory;
import java.util.*;

/**
 * One run each of what is measured. The process goes on between the runs, so that only the first ones pay for
 * loading and compiling; processor time is that of the whole process, collector and compiler included.
 */
final class Bench {
    private Bench() {}

    /** Reads all columns of the latest snapshot, counts the rows and sums up a decimal column. */
    static ObjectNode read(FileStoreTable t, String column, String tmp) throws Exception {
        int at = t.rowType().getFieldIndex(column);
        DecimalType type = (DecimalType) t.rowType().getTypeAt(at);
        long rows = 0, sum = 0;
        Clock clock = new Clock();
        ReadBuilder rb = t.newReadBuilder();
        TableRead rd = rb.newRead().withIOManager(IOManager.create(tmp));
        for (Split s : rb.newScan().plan().splits()) {
            try (RecordReader<InternalRow> r = rd.createReader(s)) {
                for (RecordReader.RecordIterator<InternalRow> b; (b = r.readBatch()) != null; b.releaseBatch()) {
                    for (InternalRow row; (row = b.next()) != null; ) {
                        rows++;
                        if (!row.isNullAt(at)) sum += row.getDecimal(at, type.getPrecision(), type.getScale()).toUnscaledLong();
                    }
                }
            }
        }
        ObjectNode o = clock.stop();
        o.put("rows", rows);
        o.put("sum", sum);
        return o;
    }

    /** Compacts every bucket fully and takes it back: the table stays as it was. */
    static ObjectNode compact(FileStoreTable table, String tmp) throws Exception {
        FileStoreTable t = table.copy(Collections.singletonMap("write-only", "false"));
        long rows = 0, size = 0;
        Clock clock = new Clock();
        ObjectNode o;
        try (StreamTableWrite w = (StreamTableWrite) t.newWrite("bench").withIOManager(IOManager.create(tmp));
             TableCommitImpl c = t.newCommit("bench")) {
            Set<Pair<BinaryRow, Integer>> buckets = new LinkedHashSet<>();
            for (ManifestEntry e : t.store().newScan().plan().files()) buckets.add(Pair.of(e.partition(), e.bucket()));
            for (Pair<BinaryRow, Integer> b : buckets) w.compact(b.getLeft(), b.getRight(), true);
            List<CommitMessage> made = w.prepareCommit(true, 1);
            o = clock.stop();
            for (CommitMessage m : made) {
                for (DataFileMeta f : ((CommitMessageImpl) m).compactIncrement().compactAfter()) {
                    rows += f.rowCount();
                    size += f.fileSize();
                }
            }
            c.abort(made);
        }
        o.put("rows", rows);
        o.put("bytes", size);
        return o;
    }

    /** Wall and processor time since it was made. */
    static final class Clock {
        final com.sun.management.OperatingSystemMXBean os =
                (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        final long wall = System.nanoTime();
        final long cpu = os.getProcessCpuTime();

        ObjectNode stop() {
            ObjectNode o = Json.F.objectNode();
            o.put("wall_s", (System.nanoTime() - wall) / 1e9);
            o.put("cpu_s", (os.getProcessCpuTime() - cpu) / 1e9);
            return o;
        }
    }
}
