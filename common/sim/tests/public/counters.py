#!/usr/bin/env python3
"""Compares launches of public programs on the simulated device with a GPU's counters for them, or reads these counters.

    counters.py --simcc SIMCC --hecbench CLONE [--only PROGRAM...]   compares with counters.csv
    counters.py --collect --hecbench CLONE [--only PROGRAM...]       writes counters.csv again: on a GPU, with nvcc and ncu

The clone is of github.com/zjin-lcf/HeCBench; its programs are built in place, with their Makefiles. counters.csv names the
programs and their arguments. Nothing here runs in CI."""
import argparse
import csv
import datetime
import os
import re
import statistics
import subprocess
import sys
import tempfile

import census

TABLE = os.path.join(census.HERE, "counters.csv")
TIME = "gpu__time_duration.sum"
FFMA = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
MOST_LAUNCHES = 20
EQUAL = 0.0005  # relative: hardware counts vary by this much from run to run


def kernel_of(name):
    """`void ns::kernel<float, 4>(float*)` is `kernel`."""
    return re.split(r"[<(]", name.replace("(anonymous namespace)::", ""))[0].split("::")[-1].split(" ")[-1]


def rows_of(path):
    """Nsight Compute's raw page; the first row holds the units. --csv and SIM_CSV write the same."""
    with open(path, encoding="utf-8", errors="replace") as f:
        return list(csv.DictReader(line for line in f if line.startswith('"')))[1:]


def number(text):
    return float((text or "0").replace(",", "") or 0)


def table():
    with open(TABLE, encoding="utf-8") as f:
        return list(csv.DictReader(line for line in f if not line.startswith("#")))


def collect(clone, programs, metrics):
    gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0"],
                         capture_output=True, text=True, check=True).stdout.strip()
    head = f"# {gpu}, {datetime.date.today()}; ncu --clock-control none, at most {MOST_LAUNCHES} launches of a program\n"
    lines = []
    for name, arguments in programs.items():
        folder = os.path.join(clone, "src", name)
        program, _, error = census.build_with_make(folder, "nvcc", ["ARCH=native"])
        if error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        with tempfile.TemporaryDirectory() as work:
            log = os.path.join(work, "log")
            census.execute(["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base", "--log-file",
                            log, "--launch-count", str(MOST_LAUNCHES), "--metrics", ",".join(metrics), program]
                           + arguments.split(), folder, 100)
            lines += [[name, arguments, i, kernel_of(row["Kernel Name"])] + [f"{number(row[m]):.0f}" for m in metrics]
                      for i, row in enumerate(rows_of(log))]
    with open(TABLE, "w", encoding="utf-8") as f:
        f.write(head)
        csv.writer(f, lineterminator="\n").writerows([["program", "arguments", "launch", "kernel"] + metrics] + lines)


def compare(clone, simcc, programs, counted, metrics):
    equal = {m: 0 for m in metrics}
    seen = {m: 0 for m in metrics}
    whole, compared, times = 0, 0, {}
    for name, arguments in programs.items():
        folder = os.path.join(clone, "src", name)
        program, _, error = census.build_with_make(folder, simcc)
        if error:
            print(f"{name}: does not build: {error}")
            continue
        measured = [row for row in counted if row["program"] == name]
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "csv")
            code, _, _, _ = census.execute([program] + arguments.split(), folder, 120, {"SIM_CSV": path})
            if code is None or not os.path.exists(path):
                print(f"{name}: {'not ended' if code is None else 'no launch'}")
                continue
            simulated = rows_of(path)[:MOST_LAUNCHES]
        if [row["kernel"] for row in measured] != [kernel_of(row["Kernel Name"]) for row in simulated]:
            print(f"{name}: other launches than on the GPU (a library's, or the kernel was stopped)")
            continue
        differ = {}
        for ours, theirs in zip(simulated, measured):
            for m in metrics:
                here, there = number(ours.get(m)), number(theirs[m])
                seen[m] += 1
                equal[m] += abs(here - there) <= EQUAL * max(here, there)
                if abs(here - there) > EQUAL * max(here, there):
                    differ.setdefault((theirs["kernel"], m), f"{there:.0f}, here {here:.0f}")
            both = times.setdefault((name, theirs["kernel"]), [0, 0, 0])
            both[0] += number(theirs[TIME])
            both[1] += number(ours[TIME])
            both[2] += 1
        compared += 1
        whole += all(m == FFMA for _, m in differ)
        for (kernel, m), values in differ.items():
            print(f"{name}: {kernel}: {m}: {values}")
    memory = [m for m in metrics if m != FFMA]
    print(f"{compared} programs: {sum(equal[m] for m in memory)} of {sum(seen[m] for m in memory)} counters of loads and stores "
          f"equal within 0.05 %, all of them in {whole} programs; FFMA in {equal[FFMA]} of {seen[FFMA]} launches")
    for least, what in ((0, "all"), (10_000, "over 10 us")):
        errors = [abs(here / there - 1) for there, here, n in times.values() if there / n > least]
        if errors:
            print(f"modelled time, {what}: {len(errors)} kernels, error: median {100 * statistics.median(errors):.0f} %, "
                  f"{100 * sum(e <= 0.3 for e in errors) / len(errors):.0f} % within 30 %")
    for (name, kernel), (there, here, n) in sorted(times.items(), key=lambda item: item[1][1] / item[1][0]):
        print(f"{name:24} {kernel:36} measured {there / n / 1e3:9.2f} us, modelled {here / n / 1e3:9.2f} us, {here / there:5.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hecbench", required=True, metavar="CLONE")
    parser.add_argument("--simcc")
    parser.add_argument("--collect", action="store_true")
    parser.add_argument("--only", nargs="*", default=[], metavar="PROGRAM")
    a = parser.parse_args()
    if bool(a.simcc) == a.collect:
        parser.error("name either --simcc, to compare, or --collect")
    counted = table()
    programs = {row["program"]: row["arguments"] for row in counted if not a.only or row["program"] in a.only}
    metrics = list(counted[0])[4:]
    if a.collect:
        collect(a.hecbench, programs, metrics)
    else:
        compare(a.hecbench, os.path.abspath(a.simcc), programs, counted,
                [m for m in metrics if not m.startswith(("gpu__", "dram__"))])


if __name__ == "__main__":
    main()
