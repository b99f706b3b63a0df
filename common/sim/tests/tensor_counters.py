"""Compares the counters of tensor_counters.cu, hopper_counters.cu or link_counters.cu on a GPU and here.

    tensor_counters.py measure FILE.csv [SOURCE]   on a machine with a GPU, nvcc, ncu and the right to read counters
    tensor_counters.py compare FILE.csv PROGRAM    with PROGRAM, which simcc has built

`compare` prints each counter that differs and the number of equal ones; it fails if any differs. It skips only the counters in
NOT_COMPARED, and prints how many it skipped.
"""
import collections
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
# All of the GPU's counters for bulk copies, products of warpgroups and the memory of other blocks.
WANTED_OF_HOPPER = r"""|\w*(tma|utma|ublk|gmma|dshared|dsmem|cluster|bulk)\w*|lts__t_(sectors|requests|bytes)(_srcunit_tex)?(_op_\w+)?|
l1tex__m_(xbar2l1tex_read|l1tex2xbar_write)_(sectors|bytes)\w*|smsp__inst_executed_op_shared_atom\w*""".replace("\n", "")
WANTED_OF_LINKS = r"nvl[rt]x__bytes(_data_user)?"
# Patterns of a kernel's and a counter's name, and why the GPU's count and ours cannot be compared.
NOT_COMPARED = [
    (r".*", r"smsp__inst_executed\.sum", "compilers differ in their instructions"),
    (r"load_same_in_all_blocks", r"nvlrx.*", "each multiprocessor's L1 has what other blocks of it have loaded"),
    (r"store_bytes", r"nvltx.*", "the link repeats some stores of bytes, and not the same ones each time"),
    (r"add_and_use", r"nvlrx.*", "whether a kernel uses what an atomic returns is not known"),
    (r"wmma_product", r".*", "nvcc drops the half of the products that the kernel does not store"),
]


def ncu(*arguments):
    done = subprocess.run(["ncu", *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit("tensor_counters.py: ncu failed:\n" + done.stdout[-2000:] + done.stderr[-2000:])
    return done.stdout


def name_of(kernel):
    """void wmma_product<(int)8>(int *) -> wmma_product"""
    return re.split(r"[<(]", re.sub(r"^void ", "", kernel))[0].strip()


def measure(path, source=pathlib.Path(__file__).with_suffix(".cu")):
    kind = pathlib.Path(source).name.split("_")[0]
    target = "-gencode=arch=compute_90a,code=sm_90a" if kind == "hopper" else "-arch=native"
    wanted = WANTED_OF_LINKS if kind == "link" else WANTED + (WANTED_OF_HOPPER if kind == "hopper" else "")
    with tempfile.TemporaryDirectory() as folder:
        program = folder + "/tensor_counters"
        subprocess.run(["nvcc", "-std=c++17", target, "-o", program, source], check=True)
        known = [line.split()[0] for line in ncu("--query-metrics").splitlines() if re.match(r"\w+__\w+\s", line)]
        metrics = [m + ".sum" for m in known if re.fullmatch(wanted, m)]
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
    left_out = collections.Counter()
    for i, (h, s) in enumerate(zip(hardware, here)):
        for metric, value in h.items():
            if metric == "kernel" or metric not in s or not re.search(r"\d", value):
                continue
            why_not = [why for k, m, why in NOT_COMPARED if re.fullmatch(k, h["kernel"]) and re.fullmatch(m, metric)]
            if why_not:
                left_out[why_not[0]] += 1
                continue
            # nvcc predicates the last turns of an unrolled loop: the GPU counts those instructions even if no lane is active.
            value = h.get(metric.replace(".sum", "_pred_on_any.sum")) or value
            counted = float((s[metric] or "0").replace(",", ""))
            if float(value) == counted:
                equal += counted != 0  # zero on both sides proves nothing
            else:
                different += 1
                print(f"{i:3} {h['kernel']:20} {metric:75} GPU {float(value):g}, here {counted:g}")
    print(equal, "counters equal and not zero,", different, "different")
    for why, number in left_out.items():
        print(f"{number} not compared: {why}")
    if different or not equal:
        sys.exit(1)


if len(sys.argv) in (3, 4) and sys.argv[1] == "measure":
    measure(*sys.argv[2:])
elif len(sys.argv) == 4 and sys.argv[1] == "compare":
    compare(sys.argv[2], sys.argv[3])
else:
    sys.exit(__doc__)
