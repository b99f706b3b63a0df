"""Reads SIM_CSV's output as scripts read ncu's: csv_test.py PROGRAM GOLDEN."""
import csv
import os
import subprocess
import sys
import tempfile

program, golden = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "out.csv")
    subprocess.run([program], check=True, env={**os.environ, "SIM_CSV": path})
    text = open(path).read()
rows = list(csv.reader(text.splitlines()))
names, units, launches = rows[0], rows[1], [dict(zip(rows[0], r)) for r in rows[2:]]

assert names[:11] == ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size",
                      "Grid Size", "Device", "CC"], names
assert all(len(r) == len(names) for r in rows)
assert all(f.startswith('"') and f.endswith('"') for f in text.splitlines())
assert [l["Kernel Name"] for l in launches] == ["copy<2>", "fill"]
assert float(launches[0]["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]) == 16
assert dict(zip(names, units))["dram__bytes_read.sum"] == "byte"

# Compares only the golden file's columns: the program may print more metrics, and times are modelled.
with open(golden) as file:
    expected = list(csv.reader(file))
for row in rows[2:]:
    row[1] = "PID"
columns = [names.index(name) for name in expected[0]]
for row, wanted in zip(rows, expected, strict=True):
    assert [row[k] for k in columns] == wanted, (row, wanted)
assert float(launches[0]["gpu__time_duration.sum"]) > 0
print(len(launches), "launches,", len(names) - 11, "metrics")
