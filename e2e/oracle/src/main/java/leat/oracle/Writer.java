package leat.oracle;

import org.apache.paimon.append.AppendCompactCoordinator;
import org.apache.paimon.append.AppendCompactTask;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.index.HashBucketAssigner;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.operation.BaseAppendFileStoreWrite;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.*;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.utils.Pair;

import java.util.*;

/** Writes to a Paimon table: rows of any kind, commits under a chosen user and identifier, compactions. */
public final class Writer implements AutoCloseable {
    final FileStoreTable t;
    final StreamTableWrite w;
    final TableCommitImpl c;
    /** Of tables with dynamic buckets. */
    HashBucketAssigner assigner;
    RowPartitionKeyExtractor keys;

    public Writer(FileStoreTable t, String user, String tmp) {
        this.t = t;
        this.w = (StreamTableWrite) t.newWrite(user).withIOManager(IOManager.create(tmp));
        this.c = t.newCommit(user);
        if (t.bucketMode() == BucketMode.HASH_DYNAMIC) {
            keys = new RowPartitionKeyExtractor(t.schema());
            assigner = new HashBucketAssigner(t.snapshotManager(), user, t.store().newIndexFileHandler(), 1, 1, 0,
                    t.coreOptions().dynamicBucketTargetRowNum(), t.coreOptions().dynamicBucketMaxBuckets());
        }
    }

    /** {"_kind":"+I", col: value, ...} */
    public void write(JsonNode n) throws Exception {
        GenericRow r = Json.toRow(n, t.rowType());
        r.setRowKind(n.hasNonNull("_kind") ? RowKind.fromShortString(n.get("_kind").asText()) : RowKind.INSERT);
        if (assigner != null) w.write(r, assigner.assign(keys.partition(r), keys.trimmedPrimaryKey(r).hashCode()));
        else w.write(r);
    }

    public void commit(long id, boolean waitCompaction) throws Exception {
        if (assigner != null) assigner.prepareCommit(id);
        c.commit(id, w.prepareCommit(waitCompaction, id));
    }

    /** Returns how many committables were new (0 = the identifier was committed before). */
    public int filterAndCommit(long id, boolean waitCompaction) throws Exception {
        if (assigner != null) assigner.prepareCommit(id);
        return c.filterAndCommit(Collections.singletonMap(id, w.prepareCommit(waitCompaction, id)));
    }

    /** Compacts every bucket; of an append table without buckets, one round of its coordinator. */
    public void compact(long id, boolean full) throws Exception {
        if (t.bucketMode() == BucketMode.BUCKET_UNAWARE) {
            AppendCompactCoordinator co = new AppendCompactCoordinator(t, false);
            BaseAppendFileStoreWrite fw = (BaseAppendFileStoreWrite) ((TableWriteImpl<?>) w).getWrite();
            List<CommitMessage> ms = new ArrayList<>();
            for (AppendCompactTask task : co.run()) ms.add(task.doCompact(t, fw));
            c.commit(id, ms);
            return;
        }
        Set<Pair<BinaryRow, Integer>> seen = new LinkedHashSet<>();
        for (ManifestEntry e : t.store().newScan().plan().files()) seen.add(Pair.of(e.partition(), e.bucket()));
        for (Pair<BinaryRow, Integer> p : seen) w.compact(p.getLeft(), p.getRight(), full);
        commit(id, true);
    }

    @Override
    public void close() throws Exception {
        w.close();
        c.close();
    }
}
