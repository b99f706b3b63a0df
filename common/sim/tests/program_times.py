"""The modelled times of tests/programs against an H200's: program_times.py MEASURED.csv FOLDER-OF-PROGRAMS.

measure.sh made the CSV. No constant of the model was fitted to these kernels. Each kernel counts once per program, with the
sum of its launches."""
import collections
import csv
import os
import statistics
import subprocess
import sys
import tempfile

measured_csv, folder = sys.argv[1:]
METRIC = "gpu__time_duration.sum"
LEAST_CORRELATION, MOST_ERROR = 0.88, 0.2  # the rank correlation, the median of the error
NOT_MODELLED = {"managed_memory", "mandelbrot", "printf_in_kernel"}  # page migration; text for the host

measured = collections.defaultdict(list)
with open(measured_csv) as file:
    for row in csv.DictReader(line for line in file if not line.startswith("#")):
        measured[row["program"]].append((row["kernel"], float(row[METRIC])))

kernels = collections.defaultdict(lambda: [0.0, 0.0])
with tempfile.TemporaryDirectory() as work:
    for program, launches in measured.items():
        if program in NOT_MODELLED:
            continue
        path = os.path.join(work, program)
        subprocess.run([os.path.join(folder, "sim_program_" + program)], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "SIM_CSV": path})
        with open(path) as file:
            rows = list(csv.DictReader(file))[1:]  # the first one holds the units
        assert len(rows) >= len(launches), (program, len(rows), len(launches))
        for (kernel, seconds), row in zip(launches, rows):
            times = kernels[program, kernel]
            times[0] += seconds
            times[1] += float(row[METRIC])


def ranks(values):
    order = sorted(values)
    return [order.index(v) + (order.count(v) - 1) / 2 for v in values]


def correlation(a, b):
    return statistics.correlation(ranks(a), ranks(b))


hardware, modelled = zip(*kernels.values())
errors = sorted(abs(m - h) / h for h, m in zip(hardware, modelled))
rank, median = correlation(hardware, modelled), statistics.median(errors)
for (program, kernel), (h, m) in sorted(kernels.items(), key=lambda item: item[1][1] / item[1][0]):
    print(f"{program:24} {kernel:28} measured {h / 1e3:8.2f} us, modelled {m / 1e3:8.2f} us, {m / h:5.2f}")
print(f"modelled time, programs: {len(errors)} kernels, rank correlation {rank:.3f}, error: median {100 * median:.1f} %, "
      f"90 % {100 * errors[int(0.9 * (len(errors) - 1))]:.1f} %")
assert rank >= LEAST_CORRELATION and median <= MOST_ERROR
