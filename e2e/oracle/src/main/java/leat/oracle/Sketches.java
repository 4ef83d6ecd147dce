package leat.oracle;

import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.*;
import org.apache.paimon.shade.org.apache.datasketches.hll.HllSketch;
import org.apache.paimon.shade.org.apache.datasketches.hll.TgtHllType;
import org.apache.paimon.shade.org.apache.datasketches.memory.Memory;
import org.apache.paimon.shade.org.apache.datasketches.theta.Sketch;
import org.apache.paimon.shade.org.apache.datasketches.theta.UpdateSketch;
import org.apache.paimon.shade.org.roaringbitmap.longlong.LongIterator;
import org.apache.paimon.shade.org.roaringbitmap.longlong.Roaring64Bitmap;
import org.apache.paimon.utils.*;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.nio.ByteBuffer;
import java.util.*;

/**
 * Serialized sets as the aggregate functions of the same kind unite them: theta, hll, rbm32, rbm64.
 *
 * <p>{"kind":"hll", "sets":[[from,to,step], ...] or "hex":[...], "lgk":12, "type":"HLL_4", "updatable":false} gives
 * {"hex":[...], "counts":[...], "union":hex, "count":n}, and of bitmaps "digest" over the numbers of the union.
 */
public final class Sketches {
    private Sketches() {}

    static ObjectNode answer(JsonNode n) throws Exception {
        String kind = n.get("kind").asText();
        List<byte[]> all = new ArrayList<>();
        if (n.has("hex")) for (JsonNode x : n.get("hex")) all.add(Json.unhex(x.asText()));
        else for (JsonNode x : n.get("sets")) all.add(make(n, kind, x.get(0).asLong(), x.get(1).asLong(), x.get(2).asLong()));
        ObjectNode o = Json.F.objectNode();
        ArrayNode hex = o.putArray("hex"), counts = o.putArray("counts");
        byte[] union = null;
        for (byte[] b : all) {
            hex.add(Json.hex(b));
            counts.add(count(kind, b));
            union = union == null ? b : union(kind, union, b);
        }
        o.put("union", Json.hex(union)).put("count", count(kind, union));
        if (kind.startsWith("rbm")) o.put("digest", digest(kind, union));
        return o;
    }

    static byte[] make(JsonNode n, String kind, long from, long to, long step) throws Exception {
        int lgk = n.has("lgk") ? n.get("lgk").asInt() : 12;
        boolean updatable = n.has("updatable") && n.get("updatable").asBoolean();
        switch (kind) {
            case "theta": {
                UpdateSketch s = UpdateSketch.builder().setLogNominalEntries(lgk).build();
                for (long v = from; v < to; v += step) s.update(v);
                return updatable ? s.toByteArray() : s.compact().toByteArray();
            }
            case "hll": {
                HllSketch s = new HllSketch(lgk, TgtHllType.valueOf(n.has("type") ? n.get("type").asText() : "HLL_4"));
                for (long v = from; v < to; v += step) s.update(v);
                return updatable ? s.toUpdatableByteArray() : s.toCompactByteArray();
            }
            case "rbm32": {
                RoaringBitmap32 b = new RoaringBitmap32();
                for (long v = from; v < to; v += step) b.add((int) v);
                return b.serialize();
            }
            default: {
                RoaringBitmap64 b = new RoaringBitmap64();
                for (long v = from; v < to; v += step) b.add(v);
                return b.serialize();
            }
        }
    }

    static byte[] union(String kind, byte[] a, byte[] b) throws Exception {
        switch (kind) {
            case "theta": return ThetaSketch.union(a, b);
            case "hll": return HllSketchUtil.union(a, b);
            case "rbm32": {
                RoaringBitmap32 x = new RoaringBitmap32(), y = new RoaringBitmap32();
                x.deserialize(ByteBuffer.wrap(a));
                y.deserialize(ByteBuffer.wrap(b));
                x.or(y);
                return x.serialize();
            }
            default: {
                RoaringBitmap64 x = new RoaringBitmap64(), y = new RoaringBitmap64();
                x.deserialize(a);
                y.deserialize(b);
                x.or(y);
                return x.serialize();
            }
        }
    }

    static double count(String kind, byte[] b) throws Exception {
        switch (kind) {
            case "theta": return Sketch.wrap(Memory.wrap(b)).getEstimate();
            case "hll": return HllSketch.heapify(b).getEstimate();
            default: {
                long[] n = {0};
                numbers(kind, b, v -> n[0]++);
                return n[0];
            }
        }
    }

    static long digest(String kind, byte[] b) throws Exception {
        long[] h = {0};
        numbers(kind, b, v -> h[0] = h[0] * 31 + v);
        return h[0];
    }

    static void numbers(String kind, byte[] b, java.util.function.LongConsumer each) throws Exception {
        if (kind.equals("rbm32")) {
            RoaringBitmap32 x = new RoaringBitmap32();
            x.deserialize(ByteBuffer.wrap(b));
            for (Iterator<Integer> it = x.iterator(); it.hasNext(); ) each.accept(it.next());
            return;
        }
        Roaring64Bitmap x = new Roaring64Bitmap();
        x.deserialize(new DataInputStream(new ByteArrayInputStream(b)));
        for (LongIterator it = x.getLongIterator(); it.hasNext(); ) each.accept(it.next());
    }
}
