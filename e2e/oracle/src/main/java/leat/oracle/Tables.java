package leat.oracle;

import org.apache.paimon.CoreOptions;
import org.apache.paimon.Snapshot;
import org.apache.paimon.catalog.*;
import org.apache.paimon.data.*;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.*;
import org.apache.paimon.operation.FileStoreScan;
import org.apache.paimon.options.Options;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.*;
import org.apache.paimon.stats.SimpleStats;
import org.apache.paimon.stats.Statistics;
import org.apache.paimon.table.*;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.source.*;
import org.apache.paimon.types.*;
import org.apache.paimon.utils.*;

import java.math.BigDecimal;
import java.util.*;
import java.util.function.Consumer;

/** Reads of a Paimon table: rows, changes, and the facts in its metadata. */
public final class Tables {
    private Tables() {}

    public static Catalog catalog(String warehouse) {
        Options o = new Options();
        o.set("warehouse", warehouse);
        return CatalogFactory.createCatalog(CatalogContext.create(o));
    }

    public static FileStoreTable table(Catalog c, String db, String name) throws Exception {
        return (FileStoreTable) c.getTable(Identifier.create(db, name));
    }

    // ------------------------------------------------------------------ read

    /** Reads a table; where, if set, is a JSON list of conditions on columns, pushed down and applied. */
    public static void read(Table t, Map<String, String> opts, String where, String tmp, boolean kinds, Consumer<ObjectNode> out)
            throws Exception {
        Table x = opts.isEmpty() ? t : t.copy(opts);
        RowType rt = x.rowType();
        ReadBuilder rb = x.newReadBuilder();
        if (where != null) rb = rb.withFilter(conditions(where, rt));
        TableRead rd = rb.newRead().withIOManager(IOManager.create(tmp));
        if (where != null) rd = rd.executeFilter();
        for (Split s : rb.newScan().plan().splits()) drain(rd, s, rt, null, kinds, out);
    }

    static List<Predicate> conditions(String where, RowType rt) throws Exception {
        PredicateBuilder b = new PredicateBuilder(rt);
        List<Predicate> all = new ArrayList<>();
        for (JsonNode n : Json.M.readTree(where)) {
            int i = b.indexOf(n.get("column").asText());
            Object v = n.hasNonNull("value") ? Json.toValue(n.get("value"), rt.getTypeAt(i)) : null;
            switch (n.get("op").asText()) {
                case "=": all.add(b.equal(i, v)); break;
                case "<": all.add(b.lessThan(i, v)); break;
                case ">=": all.add(b.greaterOrEqual(i, v)); break;
                case "null": all.add(b.isNull(i)); break;
                default: throw new IllegalArgumentException("operator " + n.get("op"));
            }
        }
        return all;
    }

    static void drain(TableRead rd, Split s, RowType rt, Long snapshot, boolean kinds, Consumer<ObjectNode> out)
            throws Exception {
        try (RecordReader<InternalRow> r = rd.createReader(s);
             RecordReaderIterator<InternalRow> it = new RecordReaderIterator<>(r)) {
            while (it.hasNext()) {
                InternalRow row = it.next();
                ObjectNode o = Json.F.objectNode();
                if (snapshot != null) o.put("_snapshot", snapshot);
                if (kinds) o.put("_kind", row.getRowKind().shortString());
                o.setAll(Json.row(row, rt));
                out.accept(o);
            }
        }
    }

    /** Streaming read of the changes of every snapshot in [from, to]; to may be null (= latest). */
    public static void changelog(FileStoreTable t, long from, Long to, String tmp, Consumer<ObjectNode> out)
            throws Exception {
        Map<String, String> o = new HashMap<>();
        o.put(CoreOptions.SCAN_MODE.key(), "from-snapshot");
        o.put(CoreOptions.SCAN_SNAPSHOT_ID.key(), Long.toString(from));
        FileStoreTable x = t.copy(o);
        long last = to != null ? to : t.snapshotManager().latestSnapshotId();
        ReadBuilder rb = x.newReadBuilder();
        TableRead rd = rb.newRead().withIOManager(IOManager.create(tmp));
        StreamTableScan scan = rb.newStreamScan();
        for (int idle = 0; idle < 4; ) {
            Long before = scan.checkpoint();
            List<Split> splits = scan.plan().splits();
            Long after = scan.checkpoint();
            if (!splits.isEmpty()) {
                long sid = ((DataSplit) splits.get(0)).snapshotId();
                if (sid > last) return;
                for (Split s : splits) drain(rd, s, x.rowType(), sid, true, out);
                idle = 0;
            } else {
                idle = Objects.equals(before, after) ? idle + 1 : 0;
            }
            if (after != null && after > last + 1) return;
        }
    }

    /** Row count and exact column sums of every snapshot in [from, to], each read as its own table version. */
    public static void sums(FileStoreTable t, long from, long to, List<String> columns, String tmp,
                            Consumer<ObjectNode> out) throws Exception {
        for (long id = from; id <= to; id++) {
            if (!t.snapshotManager().snapshotExists(id)) continue;
            FileStoreTable x = t.copy(Collections.singletonMap(CoreOptions.SCAN_SNAPSHOT_ID.key(), Long.toString(id)));
            ReadBuilder rb = x.newReadBuilder();
            RowType rt = x.rowType();
            if (!columns.isEmpty()) {
                rt = rt.project(columns);
                rb = rb.withReadType(rt);
            }
            ObjectNode o = sum(rb, rt, columns, tmp);
            o.put("_snapshot", id);
            out.accept(o);
        }
    }

    static ObjectNode sum(ReadBuilder rb, RowType rt, List<String> columns, String tmp) throws Exception {
        long count = 0;
        BigDecimal[] sums = new BigDecimal[columns.size()];
        Arrays.fill(sums, BigDecimal.ZERO);
        InternalRow.FieldGetter[] get = new InternalRow.FieldGetter[sums.length];
        for (int i = 0; i < sums.length; i++) get[i] = InternalRow.createFieldGetter(rt.getTypeAt(i), i);
        TableRead rd = rb.newRead().withIOManager(IOManager.create(tmp));
        for (Split s : rb.newScan().plan().splits()) {
            try (RecordReader<InternalRow> r = rd.createReader(s);
                 RecordReaderIterator<InternalRow> it = new RecordReaderIterator<>(r)) {
                while (it.hasNext()) {
                    InternalRow row = it.next();
                    count++;
                    for (int i = 0; i < sums.length; i++) {
                        Object v = get[i].getFieldOrNull(row);
                        if (v != null) sums[i] = sums[i].add(exact(v));
                    }
                }
            }
        }
        ObjectNode o = Json.F.objectNode();
        o.put("_count", count);
        for (int i = 0; i < sums.length; i++) o.put(columns.get(i), sums[i].toPlainString());
        return o;
    }

    static BigDecimal exact(Object v) {
        if (v instanceof Decimal) return ((Decimal) v).toBigDecimal();
        if (v instanceof Byte || v instanceof Short || v instanceof Integer || v instanceof Long)
            return BigDecimal.valueOf(((Number) v).longValue());
        throw new IllegalArgumentException("no exact sum over " + v.getClass().getSimpleName());
    }

    // ------------------------------------------------------------------ facts

    static ObjectNode stats(SimpleStats s, RowType t) {
        ObjectNode o = Json.F.objectNode();
        o.put("min_hex", Json.hex(SerializationUtils.serializeBinaryRow(s.minValues())));
        o.put("max_hex", Json.hex(SerializationUtils.serializeBinaryRow(s.maxValues())));
        ArrayNode n = o.putArray("null_counts");
        for (int i = 0; i < s.nullCounts().size(); i++) {
            if (s.nullCounts().isNullAt(i)) n.addNull(); else n.add(s.nullCounts().getLong(i));
        }
        if (t != null && s.minValues().getFieldCount() == t.getFieldCount()) {
            o.set("min", Json.row(s.minValues(), t));
            o.set("max", Json.row(s.maxValues(), t));
        }
        return o;
    }

    public static ObjectNode entry(FileStoreTable t, ManifestEntry e) {
        DataFileMeta f = e.file();
        RowType part = t.schema().logicalPartitionType();
        RowType key = t.schema().logicalTrimmedPrimaryKeysType();
        RowType val = t.schemaManager().schema(f.schemaId()).logicalRowType();
        List<String> written = f.writeCols();
        List<String> dense = f.valueStatsCols();
        RowType st = dense != null ? val.project(dense) : written != null ? val.project(written) : val;
        ObjectNode o = Json.F.objectNode();
        o.put("kind", e.kind().name());
        o.set("partition", Json.row(e.partition(), part));
        o.put("partition_hex", Json.hex(SerializationUtils.serializeBinaryRow(e.partition())));
        o.put("partition_path", t.store().pathFactory().getPartitionString(e.partition()));
        o.put("bucket", e.bucket());
        o.put("total_buckets", e.totalBuckets());
        o.put("file", f.fileName());
        o.put("size", f.fileSize());
        o.put("rows", f.rowCount());
        o.put("level", f.level());
        o.put("min_seq", f.minSequenceNumber());
        o.put("max_seq", f.maxSequenceNumber());
        o.put("schema_id", f.schemaId());
        o.put("delete_rows", f.deleteRowCount().orElse(null));
        o.put("file_source", f.fileSource().map(Enum::name).orElse(null));
        o.put("creation_time", f.creationTime().toString());
        ArrayNode x = o.putArray("extra_files");
        f.extraFiles().forEach(x::add);
        o.put("embedded_index_bytes", f.embeddedIndex() == null ? -1 : f.embeddedIndex().length);
        o.set("value_stats_cols", Json.M.valueToTree(dense));
        o.set("write_cols", Json.M.valueToTree(written));
        o.put("first_row_id", f.firstRowId());
        o.put("external_path", f.externalPath().orElse(null));
        if (f.minKey().getFieldCount() == key.getFieldCount() && key.getFieldCount() > 0) {
            o.set("min_key", Json.row(f.minKey(), key));
            o.set("max_key", Json.row(f.maxKey(), key));
        }
        o.put("min_key_hex", Json.hex(SerializationUtils.serializeBinaryRow(f.minKey())));
        o.put("max_key_hex", Json.hex(SerializationUtils.serializeBinaryRow(f.maxKey())));
        o.set("key_stats", stats(f.keyStats(), key));
        o.set("value_stats", stats(f.valueStats(), st));
        return o;
    }

    public static List<ObjectNode> files(FileStoreTable t, long snapshot, ScanMode mode) {
        List<ObjectNode> r = new ArrayList<>();
        FileStoreScan sc = t.store().newScan().withSnapshot(snapshot).withKind(mode);
        for (ManifestEntry e : sc.plan().files()) r.add(entry(t, e));
        return r;
    }

    /** Commits table statistics of the latest snapshot, as ANALYZE does. */
    public static void analyze(FileStoreTable t) throws Exception {
        Snapshot s = t.snapshotManager().latestSnapshot();
        Statistics stats = new Statistics(s.id(), s.schemaId(), s.totalRecordCount(), 1L, Collections.emptyMap());
        try (BatchTableCommit c = t.newBatchWriteBuilder().newCommit()) {
            c.updateStatistics(stats);
        }
    }

    public static List<JsonNode> snapshots(FileStoreTable t) throws Exception {
        TreeMap<Long, JsonNode> m = new TreeMap<>();
        for (Iterator<Snapshot> it = t.snapshotManager().snapshots(); it.hasNext(); ) {
            Snapshot s = it.next();
            m.put(s.id(), Json.M.readTree(s.toJson()));
        }
        return new ArrayList<>(m.values());
    }
}
