#!/bin/sh
# Measures the golden kernels on the GPU of this machine with Nsight Compute, and writes next to this file (or into the
# folder given) nvidia-h200.csv and nvidia-h200-timed.csv, named after the GPU. Needs nvcc, ncu, python3 and the right to
# read counters (root, or NVreg_RestrictProfilingToAdminUsers=0).
#
#   common/sim/tests/goldens/collect.sh [FOLDER]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
out=${1:-$here}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$PATH:/usr/local/cuda/bin
for tool in nvcc ncu nvidia-smi python3; do
  command -v $tool >/dev/null || { echo "collect.sh: $tool is missing; install it or put it on the PATH" >&2; exit 1; }
done
mkdir -p "$out"

nvcc -std=c++20 -O3 -arch=native -I "$root/common/include" -I "$root/labs/03_coalescing" -o "$work/golden_kernels" \
  "$here"/*.cu "$root"/solutions/03_coalescing/handin/*.cu "$root/labs/03_coalescing/given/patterns.cu"
"$work/golden_kernels"
"$work/golden_kernels" timed

python3 - "$work/golden_kernels" "$out" <<'PYTHON'
import csv, datetime, re, subprocess, sys

program, out = sys.argv[1:]
METRICS = """
l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
smsp__sass_data_bytes_mem_global_op_ld.sum
smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
smsp__sass_data_bytes_mem_shared_op_ld.sum
l1tex__t_requests_pipe_lsu_mem_global_op_st.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
smsp__sass_data_bytes_mem_global_op_st.sum
smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum
smsp__sass_data_bytes_mem_shared_op_st.sum
smsp__inst_executed_op_global_ld.sum
smsp__inst_executed_op_global_st.sum
smsp__inst_executed_op_shared_ld.sum
smsp__inst_executed_op_shared_st.sum
smsp__inst_executed_op_shared_atom.sum
smsp__sass_inst_executed_op_global_ld.sum
smsp__sass_inst_executed_op_global_st.sum
smsp__sass_inst_executed_op_shared_ld.sum
smsp__sass_inst_executed_op_shared_st.sum
smsp__sass_inst_executed_op_shared_atom.sum
l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum
l1tex__t_requests_pipe_lsu_mem_global_op_red.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum
smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum
smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
smsp__thread_inst_executed_per_inst_executed.ratio
smsp__inst_executed.sum
smsp__thread_inst_executed.sum
smsp__sass_thread_inst_executed_op_fadd_pred_on.sum
smsp__sass_thread_inst_executed_op_fmul_pred_on.sum
smsp__sass_thread_inst_executed_op_ffma_pred_on.sum
smsp__sass_inst_executed_op_branch.sum
smsp__inst_executed_op_branch.sum
smsp__sass_branch_targets.sum
smsp__sass_branch_targets_threads_divergent.sum
sm__inst_executed_op_barrier.sum
smsp__inst_executed_op_barrier.sum
sm__inst_executed_pipe_lsu.sum
dram__bytes_read.sum
dram__bytes_write.sum
lts__t_sectors_op_read.sum
lts__t_sectors_op_write.sum
lts__t_sector_hit_rate.pct
l1tex__t_sector_hit_rate.pct
gpu__time_duration.sum
sm__cycles_elapsed.max
sm__cycles_elapsed.avg.per_second
sm__warps_active.avg.pct_of_peak_sustained_active
sm__maximum_warps_per_active_cycle_pct
launch__registers_per_thread
launch__shared_mem_per_block_static
launch__shared_mem_per_block_dynamic
launch__shared_mem_config_size
launch__waves_per_multiprocessor
launch__occupancy_limit_blocks
launch__occupancy_limit_registers
launch__occupancy_limit_shared_mem
launch__occupancy_limit_warps
""".split()


def ncu(metrics, *arguments, options=()):
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base",
               "--kernel-name-base", "demangled", *options, "--metrics", ",".join(metrics), program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if done.returncode or start is None:
        return None, done.stdout[-2000:] + done.stderr[-2000:]
    rows = [row for row in csv.reader(lines[start:]) if len(row) > 5]
    header = rows[0]
    return [dict(zip(header, row)) for row in rows[2:] if row[0].isdigit()], ""  # the second row holds the units


def known(metrics):
    """The metrics that this ncu and GPU have: ncu refuses all if it does not know one name."""
    once = ("--launch-count", "1")
    # A name without any value is unknown, too.
    def there(rows, name):
        return rows and re.search(r"\d", rows[0].get(name) or "")
    for _ in range(5):
        rows, error = ncu(metrics, options=once)
        if rows:
            return [m for m in metrics if there(rows, m)]
        named = [m for m in metrics if re.search(r"(?<!\w)" + m.split(".")[0] + r"(?!\w)", error)]
        if not named or len(named) == len(metrics):
            break
        metrics = [m for m in metrics if m not in named]
    found = []  # trying them one by one takes minutes
    for m in metrics:
        rows, error = ncu([m], options=once)
        if there(rows, m):
            found.append(m)
    if not found:
        sys.exit("collect.sh: ncu reads no counter here:\n" + error)
    return found


def name(kernel):
    """void (anonymous namespace)::copy<(int)32, float>(float *, int) -> copy<32;float>"""
    kernel = re.sub(r"\(anonymous namespace\)::|<unnamed>::|\((?:int|bool|unsigned int)\)", "", kernel)
    kernel = re.sub(r"^void ", "", kernel.split("(")[0])
    return re.sub(r"^(\w+::)+", "", kernel).replace(", ", ";").replace(",", ";").strip()


def value(text):
    text = (text or "").replace(",", "").strip()
    return text if re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", text) else ""


def ask(query):
    return subprocess.run(["nvidia-smi", "--query-gpu=" + query, "--format=csv,noheader", "--id=0"],
                          capture_output=True, text=True).stdout.strip()


nvcc = subprocess.run(["nvcc", "--version"], capture_output=True, text=True).stdout
version = subprocess.run(["ncu", "--version"], capture_output=True, text=True).stdout
gpu = ask("name")
about = "# {}, driver {}, CUDA {}, ncu {}, {}; maximum clocks: SM {}, memory {}; --clock-control none".format(
    gpu, ask("driver_version"), *re.findall(r"release ([\d.]+)", nvcc)[:1], *re.findall(r"Version ([\d.]+)", version)[:1],
    datetime.date.today(), ask("clocks.max.sm"), ask("clocks.max.memory"))
metrics = known(METRICS)
print("not known here:", *(sorted(set(METRICS) - set(metrics)) or ["none"]))
for argument, suffix in ((), ""), (("timed",), "-timed"):
    rows, error = ncu(metrics, *argument)
    if not rows:
        sys.exit("collect.sh: ncu failed:\n" + error)
    path = "{}/{}{}.csv".format(out, gpu.lower().replace(" ", "-"), suffix)
    with open(path, "w") as file:
        file.write(about + "\n" + ",".join(["launch", "kernel", *metrics]) + "\n")
        for i, row in enumerate(rows):
            file.write(",".join([str(i), name(row["Kernel Name"]), *(value(row.get(m)) for m in metrics)]) + "\n")
    print(path, len(rows), "launches,", len(metrics), "metrics")
PYTHON
