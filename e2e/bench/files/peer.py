# pyarrow as an engine: tasks as FileBench of e2e/oracle has them, on one thread.
import sys, time
import pyarrow as pa, pyarrow.orc as orc, pyarrow.parquet as pq

pa.set_cpu_count(1)
pa.set_io_thread_count(1)
table = None


def read(fmt, file):
    if fmt == "orc":
        return orc.read_table(file)
    return pq.read_table(file, use_threads=False)


for line in sys.stdin:
    task = line.split()
    if task[0] != "write":
        table = None
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    if task[0] == "read":
        n = read(task[1], task[2]).num_rows
    elif task[0] == "load":
        table = read(task[1], task[2])
        n = table.num_rows
    elif task[1] == "orc":
        orc.write_table(table, task[2], compression="zstd")
        n = table.num_rows
    else:
        pq.write_table(table, task[2], compression="zstd")
        n = table.num_rows
    print("ok", n, time.perf_counter_ns() - wall, time.process_time_ns() - cpu, flush=True)
