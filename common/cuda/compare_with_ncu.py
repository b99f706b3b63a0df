"""Compares the counters of a profile.json with those that Nsight Compute read for the same program.

usage: compare_with_ncu.py profile.json ncu.csv      (ncu --csv --page raw --print-units base ...)
For each range that launches a single kernel that no other range launches, compares each metric that both files have, summed
over its launches. Exits with 1 if a pair differs by more than 1 %, or if there is nothing to compare. Only shows cycles: they
come from another run, at other clocks.
"""

import csv
import json
import sys

TOLERANCE = 0.01
TIMES = ("cycles", "time_duration", "warps_active")


def short(kernel):
    for noise in ("(anonymous namespace)::", "<unnamed>::", "void "):
        kernel = kernel.replace(noise, "")
    return kernel.split("(")[0].strip()


def sums_by_kernel(path):
    with open(path, newline="") as file:
        lines = file.readlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if begin is None:
        sys.exit(f"{path} is not a table of ncu --csv --page raw; it begins with: {''.join(lines[:3])}")
    rows = list(csv.DictReader(lines[begin:]))
    sums, launches = {}, {}
    for row in rows:
        if not row["ID"]:  # the row of units
            continue
        kernel = short(row["Kernel Name"])
        launches[kernel] = launches.get(kernel, 0) + 1
        for name, text in row.items():
            try:
                value = float(text.replace(",", ""))
            except (ValueError, AttributeError):
                continue
            sums.setdefault(kernel, {}).setdefault(name, 0.0)
            sums[kernel][name] += value
    return sums, launches


def main(profile, ncu):
    with open(profile) as file:
        ours = json.load(file)
    theirs, launches = sums_by_kernel(ncu)
    ranges_of, kernels_of = {}, {}
    for k in ours["kernels"]:
        ranges_of.setdefault(short(k["name"]), set()).add(k["range"])
        kernels_of.setdefault(k["range"], set()).add(short(k["name"]))
    compared = apart = 0
    for row in ours["ranges"]:
        kernels = kernels_of.get(row["path"], set())
        if len(kernels) != 1 or row["launches"] != row["launches_self"]:
            continue
        kernel = next(iter(kernels))
        if len(ranges_of[kernel]) != 1 or launches.get(kernel) != row["launches"]:
            continue
        for name, value in sorted(row["metrics"].items()):
            if name not in theirs.get(kernel, {}):
                continue
            other = theirs[kernel][name]
            difference = abs(value - other) / max(abs(other), 1.0)
            verdict = "time" if any(t in name for t in TIMES) else "APART" if difference > TOLERANCE else "ok"
            compared += verdict != "time"
            apart += verdict == "APART"
            print(f"{verdict:6}{kernel[:24]:25}{name[:56]:57}"
                  f"{value:18.0f}{other:18.0f}{100 * difference:9.3f}%")
    print(f"{compared} compared, {apart} more than {100 * TOLERANCE:g} % apart")
    return 1 if apart or not compared else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
