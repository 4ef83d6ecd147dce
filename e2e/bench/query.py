"""Answers the queries of QUERY by DuckDB, over PyPaimon's rows of a table or over a plain Parquet file.

Usage: query.py LIBRARIES WAREHOUSE paimon | parquet FILE | write FILE
For each line of its input it runs all queries and prints one line of JSON.
"""
import json, resource, sys, time

sys.path.append(sys.argv[1])
import duckdb
from pypaimon import CatalogFactory

table = CatalogFactory.create({"warehouse": sys.argv[2]}).get_table("bench.orders")
mode, file = sys.argv[3], sys.argv[4] if len(sys.argv) > 4 else None
con = duckdb.connect()
con.execute("SET threads = 2")

# Name, columns and condition for PyPaimon, text for DuckDB.
QUERIES = [
    ("count", ["order_id"], None, "SELECT COUNT(*) FROM t"),
    ("sum", ["order_amount"], None, "SELECT SUM(order_amount) FROM t"),
    ("group", ["order_status", "order_amount"], None, "SELECT order_status, COUNT(*), SUM(order_amount) FROM t GROUP BY order_status ORDER BY 1"),
    ("filter", ["order_status", "order_amount"], lambda b: b.equal("order_status", 3), "SELECT COUNT(*), MAX(order_amount) FROM t WHERE order_status = 3 AND order_amount > 500"),
    ("lookup", None, lambda b: b.equal("order_id", 1234567), "SELECT order_id, user_id, order_amount, order_status, dt FROM t WHERE order_id = 1234567"),
]


def rows(columns, condition):
    b = table.new_read_builder()
    if condition:
        b = b.with_filter(condition(b.new_predicate_builder()))
    if columns:
        b = b.with_projection(columns)
    return b.new_read().to_arrow(b.new_scan().plan().splits())


def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


if mode == "write":
    con.register("t", rows(None, None))
    con.execute("COPY (SELECT * FROM t) TO '%s' (FORMAT parquet, COMPRESSION zstd)" % file)
    print(json.dumps([]), flush=True)
    sys.exit()
if mode == "parquet":
    con.execute("CREATE VIEW t AS SELECT * FROM read_parquet('%s')" % file)
for _ in sys.stdin:
    out = []
    for name, columns, condition, text in QUERIES:
        wall, used = time.time(), cpu()
        if mode == "paimon":
            con.register("t", rows(columns, condition))
        got = con.execute(text).fetchall()
        out.append({"name": name, "wall_s": time.time() - wall, "cpu_s": cpu() - used, "answer": "\n".join(",".join(map(str, r)) for r in got)})
    print(json.dumps(out), flush=True)
