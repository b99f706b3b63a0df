#!/bin/sh
# Measures the launches of the programs in this folder on the GPU of this machine with Nsight Compute, 40 of each program
# at most, and writes nvidia-h200.csv, named after the GPU, next to this file (or into the folder given). Needs nvcc, ncu,
# python3 and the right to read counters (root, or NVreg_RestrictProfilingToAdminUsers=0).
#
#   common/sim/tests/programs/measure.sh [FOLDER]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$PATH:/usr/local/cuda/bin
for tool in nvcc ncu nvidia-smi python3; do
  command -v $tool >/dev/null || { echo "measure.sh: $tool is missing; install it or put it on the PATH" >&2; exit 1; }
done
python3 - "$here" "$work" "$out" <<'PYTHON'
import concurrent.futures, csv, datetime, pathlib, subprocess, sys

here, work, out = map(pathlib.Path, sys.argv[1:])
METRICS = ["gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum"]


def build(source):
    subprocess.run(["nvcc", "-std=c++20", "-O3", "-arch=native", "-w", "-o", work / source.stem, source], check=True)


def launches(program):
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base", "--launch-count",
               "40", "--metrics", ",".join(METRICS), work / program]
    lines = subprocess.run(command, capture_output=True, text=True, timeout=100).stdout.splitlines()
    rows = list(csv.reader(line for line in lines if line.startswith('"')))
    return [dict(zip(rows[0], row)) for row in rows[2:]] if rows else []  # the second row holds the units


def ask(query):
    return subprocess.run(["nvidia-smi", "--query-gpu=" + query, "--format=csv,noheader", "--id=0"],
                          capture_output=True, text=True).stdout.strip()


sources = sorted(here.glob("*.cu"))
with concurrent.futures.ThreadPoolExecutor() as pool:
    list(pool.map(build, sources))
gpu = ask("name")
path = out / (gpu.lower().replace(" ", "-") + ".csv")
with open(path, "w") as file:
    print(f"# {gpu}, driver {ask('driver_version')}, {datetime.date.today()}; --clock-control none", file=file)
    print("program", "launch", "kernel", *METRICS, sep=",", file=file)
    for source in sources:
        for row in launches(source.stem):
            name = row["Kernel Name"].replace("(anonymous namespace)::", "").split("(")[0].split("<")[0].split(":")[-1].split(" ")[-1]
            print(source.stem, row["ID"], name, *(row[m].replace(",", "") for m in METRICS), sep=",", file=file)
print(path)
PYTHON
