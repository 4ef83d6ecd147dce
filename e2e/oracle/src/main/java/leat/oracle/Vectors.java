package leat.oracle;

import org.apache.paimon.Snapshot;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.deletionvectors.BitmapDeletionVector;
import org.apache.paimon.deletionvectors.DeletionVector;
import org.apache.paimon.deletionvectors.append.AppendDeleteFileMaintainer;
import org.apache.paimon.deletionvectors.append.BaseAppendDeleteFileMaintainer;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.*;

import java.util.*;

/** Deletes rows of an append table without buckets by deletion vectors, as a batch DELETE of Paimon's engines does. */
final class Vectors {
    private Vectors() {}

    static void delete(FileStoreTable t, long rows, String user, long id) throws Exception {
        Snapshot latest = t.snapshotManager().latestSnapshot();
        Map<BinaryRow, AppendDeleteFileMaintainer> maintainers = new LinkedHashMap<>();
        for (ManifestEntry e : t.store().newScan().plan().files()) {
            AppendDeleteFileMaintainer m = maintainers.computeIfAbsent(e.partition(),
                    p -> BaseAppendDeleteFileMaintainer.forUnawareAppend(t.store().newIndexFileHandler(), latest, p));
            DeletionVector v = new BitmapDeletionVector();
            for (long at = 0; at < Math.min(rows, e.file().rowCount()); at++) v.delete(at);
            DeletionVector old = m.getDeletionVector(e.file().fileName());
            if (old != null) v.merge(old);
            m.notifyNewDeletionVector(e.file().fileName(), v);
        }
        List<CommitMessage> messages = new ArrayList<>();
        for (Map.Entry<BinaryRow, AppendDeleteFileMaintainer> m : maintainers.entrySet()) {
            List<IndexFileMeta> added = new ArrayList<>(), gone = new ArrayList<>();
            for (IndexManifestEntry e : m.getValue().persist()) (e.kind() == FileKind.ADD ? added : gone).add(e.indexFile());
            messages.add(new CommitMessageImpl(m.getKey(), 0, t.coreOptions().bucket(),
                    new DataIncrement(Collections.emptyList(), Collections.emptyList(), Collections.emptyList(), added, gone),
                    CompactIncrement.emptyIncrement()));
        }
        try (TableCommitImpl c = t.newCommit(user)) {
            c.commit(id, messages);
        }
    }
}
