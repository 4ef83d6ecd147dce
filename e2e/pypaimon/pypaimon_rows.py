#!/usr/bin/env python3
"""Rows of a Paimon table through pypaimon, as NDJSON in the same canonical JSON as the Java oracle.

Needs: Python >= 3.8 and the packages of requirements.txt.
Usage: pypaimon_rows.py WAREHOUSE db.table [scan option=value ...]     e.g. scan.tag-name=t1 scan.snapshot-id=2
"""
import datetime as dt, decimal, json, math, sys
import pyarrow as pa


def plain(v, t):
    if v is None:
        return None
    if pa.types.is_decimal(t):
        return format(v, "f")
    if pa.types.is_floating(t):
        return v if math.isfinite(v) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(v, "NaN")
    if pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_fixed_size_binary(t):
        return v.hex()
    if pa.types.is_date(t):
        return v.isoformat()
    if pa.types.is_timestamp(t):  # inside nested types only; pypaimon hands over datetime here (no nanoseconds)
        text = v.isoformat(timespec="milliseconds" if t.unit in ("s", "ms") else "microseconds")
        return text.split("+")[0] + ("000" if t.unit == "ns" else "") + ("Z" if t.tz else "")
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return [plain(x, t.value_type) for x in v]
    if pa.types.is_map(t):
        pairs = [[plain(k, t.key_type), plain(x, t.item_type)] for k, x in (v.items() if isinstance(v, dict) else v)]
        return sorted(pairs, key=lambda p: json.dumps(p[0], ensure_ascii=False))
    if pa.types.is_struct(t):
        return {f.name: plain(v[f.name], f.type) for f in t}
    return v


def column(name, arr):
    t = arr.type
    digits = {"s": 0, "ms": 3, "us": 6, "ns": 9}
    if pa.types.is_timestamp(t) or pa.types.is_time(t):  # keep nanoseconds: go through integers
        n = digits[t.unit]
        ints = arr.cast(pa.int64() if pa.types.is_timestamp(t) or t.bit_width == 64 else pa.int32()).to_pylist()
        out = []
        for x in ints:
            if x is None:
                out.append(None)
                continue
            sec, frac = divmod(x, 10 ** n)
            base = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=sec)
            text = base.strftime("%H:%M:%S") if pa.types.is_time(t) else base.isoformat()
            out.append(text + ("." + str(frac).zfill(n) if n else "") + ("Z" if getattr(t, "tz", None) else ""))
        return out
    return [plain(x, t) for x in arr.to_pylist()]


def main(warehouse, name, *opts):
    from pypaimon import CatalogFactory
    table = CatalogFactory.create({"warehouse": warehouse}).get_table(name)
    if opts:
        table = table.copy(dict(o.split("=", 1) for o in opts))
    rb = table.new_read_builder()
    data = rb.new_read().to_arrow(rb.new_scan().plan().splits())
    if data is None:
        return
    cols = {n: column(n, data.column(n).combine_chunks()) for n in data.column_names}
    for i in range(data.num_rows):
        print(json.dumps({n: cols[n][i] for n in cols}, ensure_ascii=False, default=str))


main(*sys.argv[1:])
