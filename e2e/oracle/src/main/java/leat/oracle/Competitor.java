package leat.oracle;

import org.apache.paimon.Snapshot;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;

import java.util.*;

/**
 * Writes to a table beside other writers for a while: rows {w, part, k, v} with v from 1 on and k = v modulo keys,
 * over the given partitions in turn. What a failed commit left out is written again, as a restarted job would.
 */
final class Competitor implements Runnable {
    final FileStoreTable t;
    final String name;
    final List<String> parts;
    final long keys, rows, pause, end;
    final String tmp;
    long acked, commits, failed;
    Throwable error;

    Competitor(FileStoreTable t, JsonNode spec, String tmp) {
        this.t = t;
        this.name = spec.get("name").asText();
        this.parts = Oracle.list(spec.get("parts"));
        this.keys = spec.get("keys").asLong();
        this.rows = spec.get("rows").asLong();
        this.pause = spec.get("pause_ms").asLong();
        this.end = System.currentTimeMillis() + spec.get("millis").asLong();
        this.tmp = tmp;
    }

    @Override
    public void run() {
        try {
            long id = 0;
            Writer w = null;
            while (System.currentTimeMillis() < end) {
                id++;
                try {
                    if (w == null) w = new Writer(t, name, tmp);
                    for (long v = acked + 1; v <= acked + rows; v++) w.write(row(v));
                    w.commit(id, false);
                } catch (Exception e) {
                    failed++;
                    close(w);
                    w = null;
                    Optional<Snapshot> last = t.snapshotManager().latestSnapshotOfUser(name);
                    if (!last.isPresent() || last.get().commitIdentifier() < id) continue;
                }
                acked += rows;
                commits++;
                Thread.sleep(pause);
            }
            close(w);
        } catch (Throwable e) {
            error = e;
        }
    }

    static void close(Writer w) {
        try {
            if (w != null) w.close();
        } catch (Exception e) {
            // Its compactions were given up.
        }
    }

    ObjectNode row(long v) {
        ObjectNode o = Json.F.objectNode();
        o.put("w", name);
        o.put("part", parts.get((int) (v % parts.size())));
        o.put("k", v % keys);
        o.put("v", v);
        return o;
    }

    ObjectNode result() {
        ObjectNode o = Json.F.objectNode();
        o.put("name", name);
        o.put("acked", acked);
        o.put("commits", commits);
        o.put("failed", failed);
        o.put("error", error == null ? "" : error.toString());
        return o;
    }
}
