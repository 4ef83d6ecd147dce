package leat.oracle;

import org.apache.paimon.CoreOptions;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.source.ScanMode;
import org.apache.paimon.types.DataTypeJsonParser;

import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Command line over the real Paimon library.
 *
 * <p>oracle CMD --warehouse DIR --table db.t ... runs one command; oracle serve reads commands from standard
 * input, one JSON object a line, {"args": [...], "input": "..."}, and answers each with its NDJSON lines and a
 * closing line: "#ok" or "#error " with the stack trace as a JSON string.
 */
public final class Oracle {
    static final Set<String> SWITCHES = new HashSet<>(Arrays.asList("kinds", "wait", "filter", "minor", "latest"));

    final String cmd;
    final Map<String, String> flags = new HashMap<>();
    final Map<String, String> options = new LinkedHashMap<>();
    final BufferedReader in;
    final Consumer<Object> out;
    String tmp;

    static final class Usage extends RuntimeException {
        Usage(String what) {
            super(what + "\noracle <serve|schema|rows|count|sum|changelog|snapshots|files|write|compact|create|alter|expire|delete|distribute|picks"
                    + "|bench-read|bench-compact|sketch>\n"
                    + "  --warehouse DIR --table db.t[$system]\n"
                    + "  rows, count: [--snapshot N] [--option k=v ...], rows also [--kinds]\n"
                    + "  sum:       --columns a,b [--from N] [--to N] [--latest]   count and exact sums of every snapshot\n"
                    + "  changelog: [--from N] [--to N]\n"
                    + "  files:     [--snapshot N] [--mode all|delta|changelog]\n"
                    + "  write:     rows as NDJSON on stdin, {\"_kind\":\"+I|-U|+U|-D\", col: value ...}\n"
                    + "             [--user U] [--id N] [--wait] [--filter] [--option k=v ...]\n"
                    + "  compact:   [--user U] [--id N] [--minor]\n"
                    + "  delete:    --rows N [--user U] [--id N]   the first N rows of every file, by deletion vectors of an append table\n"
                    + "  distribute: --buckets N [--user U] [--id N]   gives postponed rows their buckets\n"
                    + "  picks:     {\"trigger\",\"amp\",…,\"runs\":[[level,size],…]} a line on stdin: the runs to compact; no table\n"
                    + "  bench-read: --column DECIMAL   times a read of all columns; bench-compact a compaction, not committed\n"
                    + "  compete:   JSON on stdin [{\"table\",\"name\",\"parts\":[],\"keys\",\"rows\",\"pause_ms\",\"millis\",\"options\"?}]: writers side by side\n"
                    + "  create:    JSON on stdin {\"fields\":[{\"name\",\"type\",\"description\"?}],\"primaryKeys\":[],"
                    + "\"partitionKeys\":[],\"options\":{},\"comment\"?}\n"
                    + "  alter:     JSON list on stdin, see Alter\n"
                    + "  sketch:    JSON on stdin, see Sketches; no --warehouse, no --table");
        }
    }

    Oracle(List<String> args, BufferedReader in, Consumer<Object> out) {
        if (args.isEmpty()) throw new Usage("no command");
        this.cmd = args.get(0);
        this.in = in;
        this.out = out;
        for (int i = 1; i < args.size(); i++) {
            String k = args.get(i);
            if (!k.startsWith("--")) throw new Usage("not a flag: " + k);
            k = k.substring(2);
            if (SWITCHES.contains(k)) {
                flags.put(k, "1");
                continue;
            }
            if (++i == args.size()) throw new Usage("--" + k + " needs a value");
            if (k.equals("option")) {
                String[] kv = args.get(i).split("=", 2);
                options.put(kv[0], kv[1]);
            } else {
                flags.put(k, args.get(i));
            }
        }
    }

    public static void main(String[] a) throws Exception {
        PrintStream std = new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        if (a.length > 0 && a[0].equals("serve")) {
            serve(in, std);
        } else {
            try {
                new Oracle(Arrays.asList(a), in, std::println).run();
            } catch (Usage e) {
                System.err.println(e.getMessage());
                System.exit(2);
            }
        }
        std.flush();
        System.exit(0);
    }

    static void serve(BufferedReader in, PrintStream std) throws Exception {
        for (String line; (line = in.readLine()) != null; ) {
            try {
                JsonNode n = Json.M.readTree(line);
                String input = n.hasNonNull("input") ? n.get("input").asText() : "";
                new Oracle(list(n.get("args")), new BufferedReader(new StringReader(input)), std::println).run();
                std.println("#ok");
            } catch (Throwable e) {
                StringWriter trace = new StringWriter();
                e.printStackTrace(new PrintWriter(trace));
                std.println("#error " + Json.F.textNode(trace.toString()));
            }
            std.flush();
        }
    }

    String need(String flag) {
        String v = flags.get(flag);
        if (v == null) throw new Usage(cmd + " needs --" + flag);
        return v;
    }

    void run() throws Exception {
        if (cmd.equals("sketch")) {
            for (String l; (l = in.readLine()) != null; ) if (!l.trim().isEmpty()) out.accept(Sketches.answer(Json.M.readTree(l)));
            return;
        }
        if (cmd.equals("picks")) {
            for (String l; (l = in.readLine()) != null; ) out.accept(Picks.pick(Json.M.readTree(l)));
            return;
        }
        tmp = Files.createTempDirectory("leat-oracle").toString();
        // A catalog per command: the library caches tables, other writers are at work.
        try (Catalog c = Tables.catalog(need("warehouse"))) {
            String[] id = need("table").split("\\.", 2);
            run(c, Identifier.create(id[0], id[1]));
        } finally {
            try (Stream<Path> s = Files.walk(Paths.get(tmp))) {
                s.sorted(Comparator.reverseOrder()).forEach(p -> p.toFile().delete());
            }
        }
    }

    void run(Catalog c, Identifier id) throws Exception {
        if (cmd.equals("alter")) {
            c.alterTable(id, Alter.changes(Json.M.readTree(in)), false);
            return;
        }
        if (cmd.equals("create")) {
            c.createDatabase(id.getDatabaseName(), true);
            c.createTable(id, schema(Json.M.readTree(in)), false);
            return;
        }
        Table t = c.getTable(id);
        if (flags.containsKey("snapshot") && (cmd.equals("rows") || cmd.equals("count")))
            options.put(CoreOptions.SCAN_SNAPSHOT_ID.key(), flags.get("snapshot"));
        if (cmd.equals("rows")) {
            Tables.read(t, options, flags.get("where"), tmp, flags.containsKey("kinds"), out::accept);
            return;
        }
        FileStoreTable x = (FileStoreTable) t;
        if (!options.isEmpty()) x = x.copy(options);
        Long latest = x.snapshotManager().latestSnapshotId();
        long snap = flags.containsKey("snapshot") ? Long.parseLong(flags.get("snapshot")) : latest == null ? 0 : latest;
        switch (cmd) {
            case "schema": out.accept(Json.M.readTree(x.schema().toString())); break;
            case "count":
                out.accept(Tables.sum(x.newReadBuilder(), x.rowType(), Collections.emptyList(), tmp));
                break;
            case "sum": {
                Long first = x.snapshotManager().earliestSnapshotId();
                if (latest == null || first == null) return;
                long from = flags.containsKey("latest") ? latest : Math.max(first, Long.parseLong(flags.getOrDefault("from", "1")));
                long to = Long.parseLong(flags.getOrDefault("to", Long.toString(latest)));
                Tables.sums(x, from, to, Arrays.asList(need("columns").split(",")), tmp, out::accept);
                break;
            }
            case "changelog":
                if (latest == null) return;
                Tables.changelog(x, Long.parseLong(flags.getOrDefault("from", "1")),
                        flags.containsKey("to") ? Long.valueOf(flags.get("to")) : null, tmp, out::accept);
                break;
            case "snapshots": for (JsonNode s : Tables.snapshots(x)) out.accept(s); break;
            case "files":
                for (ObjectNode f : Tables.files(x, snap, ScanMode.valueOf(flags.getOrDefault("mode", "all").toUpperCase())))
                    out.accept(f);
                break;
            case "bench-read": out.accept(Bench.read(x, need("column"), tmp)); break;
            case "bench-query": for (ObjectNode q : BenchQuery.all(x, tmp)) out.accept(q); break;
            case "bench-compact": out.accept(Bench.compact(x, tmp)); break;
            case "analyze": Tables.analyze(x); break;
            case "compete": compete(c); break;
            case "expire": out.accept(x.newExpireSnapshots().config(x.coreOptions().expireConfig()).expire()); break;
            default: write(x);
        }
    }

    void compete(Catalog c) throws Exception {
        List<Competitor> all = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (JsonNode n : Json.M.readTree(in)) {
            String[] id = n.get("table").asText().split("\\.", 2);
            FileStoreTable x = Tables.table(c, id[0], id[1]);
            Map<String, String> o = new HashMap<>();
            if (n.has("options")) n.get("options").fields().forEachRemaining(e -> o.put(e.getKey(), e.getValue().asText()));
            all.add(new Competitor(x.copy(o), n, tmp));
        }
        for (Competitor one : all) threads.add(new Thread(one));
        for (Thread t : threads) t.start();
        for (Thread t : threads) t.join();
        for (Competitor one : all) out.accept(one.result());
    }

    void write(FileStoreTable x) throws Exception {
        String user = flags.getOrDefault("user", "oracle");
        long id = flags.containsKey("id") ? Long.parseLong(flags.get("id")) : System.currentTimeMillis();
        if (cmd.equals("delete")) {
            Vectors.delete(x, Long.parseLong(need("rows")), user, id);
            return;
        }
        if (cmd.equals("distribute")) {
            Postpone.distribute(x, Integer.parseInt(need("buckets")), user, id, tmp);
            return;
        }
        try (Writer w = new Writer(x, user, tmp)) {
            switch (cmd) {
                case "write":
                    for (String l; (l = in.readLine()) != null; ) if (!l.trim().isEmpty()) w.write(Json.M.readTree(l));
                    if (flags.containsKey("filter")) out.accept(w.filterAndCommit(id, flags.containsKey("wait")));
                    else w.commit(id, flags.containsKey("wait"));
                    break;
                case "compact": w.compact(id, !flags.containsKey("minor")); break;
                default: throw new Usage("unknown command " + cmd);
            }
        }
    }

    static Schema schema(JsonNode n) {
        Schema.Builder b = Schema.newBuilder();
        for (JsonNode x : n.get("fields"))
            b.column(x.get("name").asText(), DataTypeJsonParser.parseDataType(x.get("type")),
                    x.hasNonNull("description") ? x.get("description").asText() : null);
        b.primaryKey(list(n.get("primaryKeys"))).partitionKeys(list(n.get("partitionKeys")));
        if (n.has("options")) n.get("options").fields().forEachRemaining(e -> b.option(e.getKey(), e.getValue().asText()));
        if (n.hasNonNull("comment")) b.comment(n.get("comment").asText());
        return b.build();
    }

    static List<String> list(JsonNode n) {
        List<String> r = new ArrayList<>();
        if (n != null) for (JsonNode x : n) r.add(x.asText());
        return r;
    }
}
