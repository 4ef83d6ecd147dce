package leat.oracle;

import org.apache.paimon.compact.CompactUnit;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.mergetree.LevelSortedRun;
import org.apache.paimon.mergetree.SortedRun;
import org.apache.paimon.mergetree.compact.*;
import org.apache.paimon.options.MemorySize;
import org.apache.paimon.options.Options;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.stats.SimpleStats;
import org.apache.paimon.CoreOptions;

import java.util.*;

/** Which sorted runs the library's strategies compact. */
final class Picks {
    private Picks() {}

    /** {"trigger","amp","ratio","levels","total","force","full","anew","runs":[[level,size],...]} to {"level","files":[…]}, files by run. */
    static ObjectNode pick(JsonNode n) {
        Options o = new Options();
        if (n.get("total").asLong() > 0) o.set(CoreOptions.COMPACTION_TOTAL_SIZE_THRESHOLD, MemorySize.ofBytes(n.get("total").asLong()));
        UniversalCompaction u = new UniversalCompaction(n.get("amp").asInt(), n.get("ratio").asInt(), n.get("trigger").asInt(),
                FullCompactTrigger.create(new CoreOptions(o)), null);
        CompactStrategy s = n.get("force").asBoolean() ? new ForceUpLevel0Compaction(u, null) : u;
        List<LevelSortedRun> runs = new ArrayList<>();
        int levels = n.get("levels").asInt();
        for (JsonNode r : n.get("runs")) {
            DataFileMeta f = DataFileMeta.forAppend(Integer.toString(runs.size()), r.get(1).asLong(), 1, SimpleStats.EMPTY_STATS, 0, 0, 0,
                    Collections.emptyList(), null, null, null, null, null, null);
            if (r.get(0).asInt() > 0) f = f.upgrade(r.get(0).asInt());
            runs.add(new LevelSortedRun(f.level(), SortedRun.fromSingle(f)));
            levels = Math.max(levels, f.level() + 1);
        }
        Optional<CompactUnit> unit = n.get("full").asBoolean()
                ? CompactStrategy.pickFullCompaction(levels, runs, null, null, n.get("anew").asBoolean()) : s.pick(levels, runs);
        ObjectNode out = Json.F.objectNode();
        if (!unit.isPresent() || unit.get().files().isEmpty()
                || unit.get().files().size() == 1 && unit.get().files().get(0).level() == unit.get().outputLevel() && !unit.get().fileRewrite())
            return out.put("level", -1);
        out.put("level", unit.get().outputLevel());
        for (DataFileMeta f : unit.get().files()) out.withArray("files").add(Integer.parseInt(f.fileName()));
        return out;
    }
}
