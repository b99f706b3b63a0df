"""What tensor_counters.cu counts on a GPU, and here.

    tensor_counters.py measure FILE.csv            on a machine with a GPU, nvcc, ncu and the right to read counters
    tensor_counters.py compare FILE.csv PROGRAM    with PROGRAM, which simcc has built

`compare` prints each counter of both that differs, and how many are equal; it fails if any differs. It leaves out the
number of instructions, in which compilers differ, and the kernels with wmma, of whose products nvcc drops the half that
they do not store.
"""
import csv
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile

WANTED = r"""sm__ops_path_tensor_\w+|sm__inst_executed_pipe_tensor\w*|smsp__(sass_)?inst_executed_op_(shared_(ld|st)|ldsm|stsm)\w*|
smsp__sass_data_bytes_mem_shared_op_(ld|st|ldsm|stsm)|smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_\w+|
l1tex__data_bank_conflicts_pipe_lsu_mem_shared\w*|smsp__inst_executed""".replace("\n", "")


def ncu(*arguments):
    done = subprocess.run(["ncu", *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit("tensor_counters.py: ncu failed:\n" + done.stdout[-2000:] + done.stderr[-2000:])
    return done.stdout


def name_of(kernel):
    """void wmma_product<(int)8>(int *) -> wmma_product"""
    return re.split(r"[<(]", re.sub(r"^void ", "", kernel))[0].strip()


def measure(path):
    source = pathlib.Path(__file__).with_suffix(".cu")
    with tempfile.TemporaryDirectory() as folder:
        program = folder + "/tensor_counters"
        subprocess.run(["nvcc", "-std=c++17", "-arch=native", "-o", program, source], check=True)
        known = [line.split()[0] for line in ncu("--query-metrics").splitlines() if re.match(r"\w+__\w+\s", line)]
        metrics = [m + ".sum" for m in known if re.fullmatch(WANTED, m)]
        out = ncu("--csv", "--page", "raw", "--print-units", "base", "--metrics", ",".join(metrics), program)
    rows = list(csv.DictReader(io.StringIO("\n".join(line for line in out.splitlines() if line.startswith('"')))))[1:]
    with open(path, "w") as file:
        writer = csv.writer(file)
        writer.writerow(["kernel", *metrics])
        for row in rows:
            writer.writerow([name_of(row["Kernel Name"])] + [(row.get(m) or "").replace(",", "") for m in metrics])
    print(path, len(rows), "launches,", len(metrics), "metrics")


def compare(path, program):
    with open(path) as file:
        hardware = list(csv.DictReader(file))
    out = subprocess.run([program], env={**os.environ, "SIM_CSV": "-"}, capture_output=True, text=True, check=True).stdout
    lines = out.splitlines()
    here = [row for row in csv.DictReader(lines[next(i for i, l in enumerate(lines) if l.startswith('"ID"')):]) if row["ID"]]
    if len(hardware) != len(here):
        sys.exit(f"tensor_counters.py: {len(hardware)} launches in {path}, {len(here)} here; measure again")
    equal = different = 0
    for i, (h, s) in enumerate(zip(hardware, here)):
        for metric, value in h.items():
            if metric in ("kernel", "smsp__inst_executed.sum") or metric not in s or not re.search(r"\d", value):
                continue
            counted = float((s[metric] or "0").replace(",", ""))
            if h["kernel"] == "wmma_product":
                continue
            if float(value) == counted:
                equal += counted != 0  # zero on both sides says nothing
            else:
                different += 1
                print(f"{i:3} {h['kernel']:20} {metric:75} GPU {float(value):g}, here {counted:g}")
    print(equal, "counters equal and not zero,", different, "different")
    if different or not equal:
        sys.exit(1)


if len(sys.argv) == 3 and sys.argv[1] == "measure":
    measure(sys.argv[2])
elif len(sys.argv) == 4 and sys.argv[1] == "compare":
    compare(sys.argv[2], sys.argv[3])
else:
    sys.exit(__doc__)
