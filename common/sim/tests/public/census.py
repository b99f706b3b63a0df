#!/usr/bin/env python3
"""Builds and runs public CUDA programs on the simulated device, and writes a table of the results.

    census.py --simcc SIMCC --hecbench CLONE --samples CLONE --rodinia CLONE --polybench CLONE
              [--only NAME...] [--limit 120] [--output results.tsv]

The clones are of github.com/zjin-lcf/HeCBench, github.com/NVIDIA/cuda-samples, github.com/yuhc/gpu-rodinia and
github.com/cavazos-lab/PolyBench-ACC; they are built and run in place. Takes a random sample of HeCBench's single-file programs
(--sample, --seed), every single-file program of the CUDA samples, and a random sample of 12 programs of Rodinia and PolyBench
together, with the same seed and any number of files. programs.tsv has the arguments that make a program small, how to tell that
its result is right, the causes of its reports, found by reading its code, and, for Makefiles without `make run`, the arguments
for make. Nothing here runs in CI.
"""
import argparse
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = (".cu", ".cpp", ".cc", ".cxx", ".c", ".C")
COLUMNS = ["program", "commit", "tree", "compiles", "right", "reports", "seconds", "reason"]
# The first line of a failed build that gives the reason.
BUILD_ERROR = re.compile(r"error: |error #|undefined reference|cannot find|No such file|No rule to make|simcc: ")
RIGHT = re.compile(r"\bPASS|\bpass(ed)?\b|\bPassed\b|SUCCESS|\b[Ss]ucce(ss|eded)\b|[Tt]est OK|\bCORRECT\b|\b[Cc]orrect\b|L2-norm|matches|returned OK|Test passed",
                   re.M)
WRONG = re.compile(r"\bFAIL|\b[Ff]ailed\b|\b[Ff]ailure\b|\b[Mm]ismatch|\bincorrect\b|\bERROR\b|WRONG")
# Lines whose numbers are times or rates, which differ between machines.
TIMES = re.compile(r"\btime\b|\btakes\b|\(m?u?s\)|[GM]B/s|[GM]i?B/sec|FLOP|bandwidth|throughput|second|Elapsed", re.I)
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def single_file_programs(root, folders):
    """(name, folder, source) of each folder that has one source file below it."""
    for folder in folders:
        found = [os.path.join(at, f) for at, _, files in os.walk(folder) for f in files if f.endswith(SOURCES)]
        if len(found) == 1 and found[0].endswith(".cu"):
            yield os.path.relpath(found[0], root), folder, found[0]


def hecbench(clone, count, seed):
    root = os.path.join(clone, "src")
    folders = [os.path.join(root, d) for d in sorted(os.listdir(root)) if d.endswith("-cuda")]
    programs = sorted(single_file_programs(root, folders))
    return programs if count == 0 else sorted(random.Random(seed).sample(programs, count))


def samples(clone):
    root = os.path.join(clone, "Samples")
    folders = sorted(at for at, _, files in os.walk(root)
                     if "CMakeLists.txt" in files and "8_Platform_Specific" not in at)  # those need Tegra's devices
    return sorted(single_file_programs(root, folders))


def with_makefiles(rodinia_clone, polybench_clone, count, seed):
    """(name, folder, "") of a random sample of both suites' programs."""
    programs = []
    for clone, below in ((rodinia_clone, "cuda"), (polybench_clone, "CUDA")):
        for at, _, files in os.walk(os.path.join(clone, below)) if clone else ():
            inside = [f for _, _, names in os.walk(at) for f in names]
            depth = os.path.relpath(at, clone).count(os.sep)
            if "Makefile" in files and any(f.endswith(".cu") for f in inside) and (below == "CUDA" or depth == 1):
                programs.append((os.path.relpath(at, clone), at, ""))
    return sorted(random.Random(seed).sample(sorted(programs), count))


def head(clone):
    return subprocess.run(["git", "-C", clone, "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True).stdout.strip()


def execute(command, folder, limit, environment=None):
    """(exit code or None at the limit, stdout, stderr, seconds). At the limit the program gets SIGINT, so that it prints
    its summary, and SIGKILL 20 s later."""
    begin = time.monotonic()
    with subprocess.Popen(["nice"] + command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, start_new_session=True, env={**os.environ, **(environment or {})},
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as p:
        code = None
        try:
            out, err = p.communicate(timeout=limit)
            code = p.returncode
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGINT)
            try:
                out, err = p.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGKILL)
                out, err = p.communicate()
        return code, out.decode(errors="replace"), err.decode(errors="replace"), time.monotonic() - begin


def first_error(text):
    lines = [line.strip() for line in text.splitlines()]
    for line in lines:
        if BUILD_ERROR.search(line):
            return re.sub(r"\s+", " ", line)[:200]
    return lines[-1][:200] if lines else "no output"


def build_with_make(folder, simcc, settings=()):
    """The program, its default arguments and the first error."""
    # make's own variables name the compiler in one of these ways.
    variables = [f"{name}={simcc}" for name in ("CC", "NVCC", "CXX")] + list(settings)
    code, out, err, _ = execute(["make", "-B"] + variables, folder, 600)
    if code != 0:
        return None, "", first_error(err + out)
    dry = subprocess.run(["make", "-n", "run"] + variables, cwd=folder, capture_output=True, text=True).stdout
    for line in dry.splitlines():
        if match := re.search(r"(?:^|\s)\./(\S+)(.*)$", line):
            return os.path.join(folder, match[1]), match[2].strip(), ""
    return os.path.join(folder, "main"), "", ""


def build_in_makefiles_way(folder, simcc, arguments, settings):
    """As build_with_make. The Makefiles call nvcc by its name, or in the toolkit's folder."""
    toolkit = tempfile.mkdtemp()
    os.mkdir(os.path.join(toolkit, "bin"))
    os.symlink(simcc, os.path.join(toolkit, "bin", "nvcc"))
    begin = time.time() - 1
    variables = [f"{name}={simcc}" for name in ("CC", "NVCC", "CXX", "LINKER")] + [f"CUDA_DIR={toolkit}"]
    path = os.path.join(toolkit, "bin") + ":" + os.environ["PATH"]
    code, out, err, _ = execute(["make", "-B"] + variables + shlex.split(settings), folder, 600, {"PATH": path})
    shutil.rmtree(toolkit)
    if code != 0:
        return None, "", first_error(err + out)
    made = [os.path.join(at, f) for at, _, files in os.walk(folder) for f in files]
    made = sorted(f for f in made if os.access(f, os.X_OK) and os.path.getmtime(f) > begin and not f.endswith(".o"))
    if not made:
        return None, "", "make made no program"
    wanted, _, rest = arguments.partition(" ")  # if a Makefile builds several programs, programs.tsv names one
    named = [f for f in made if os.path.basename(f) == wanted]
    return (named or made)[0], rest if named else arguments, ""


def build_sample(folder, source, simcc, clone):
    """The options that the sample's CMakeLists.txt asks for, without CMake's search for the toolkit."""
    with open(os.path.join(folder, "CMakeLists.txt"), encoding="utf-8") as f:
        text = f.read()
    program = source[:-3] + ".simulated"
    openmp = ["-Xcompiler", "-fopenmp"] if "OpenMP" in text else []
    libraries = ["-l" + re.sub("_static$|_driver$", "", name) for name in re.findall(r"CUDA::(\w+)", text)]
    includes = ["-I", os.path.join(clone, "Common")]
    if re.search(r"target_include_directories\([^)]*CMAKE_CURRENT_SOURCE_DIR", text):
        includes += ["-I", folder]
    # Some samples use a file from the folder that all samples share.
    shared = [os.path.join(folder, f) for f in re.findall(r"\S+/Common/\w+\.cpp", text)]
    for command in ([simcc, "--extended-lambda", "-std=c++17", "-dc", *includes, source, "-o", program + ".o"],
                    [simcc, *includes, program + ".o", *shared, "-o", program] + libraries):
        code, out, err, _ = execute(command + openmp, folder, 600)
        if code != 0:
            return None, "", first_error(err + out)
    return program, "", ""


def numbers_of(text):
    """The lines without times, as words and numbers separately."""
    lines = [line for line in text.splitlines() if line.strip() and not TIMES.search(line)]
    return [NUMBER.sub("#", line) for line in lines], [float(n) for line in lines for n in NUMBER.findall(line)]


def same(ours, theirs):
    (words, values), (other_words, other_values) = numbers_of(ours), numbers_of(theirs)
    return words == other_words and all(abs(a - b) <= 1e-3 * max(abs(a), abs(b), 1e-3) for a, b in zip(values, other_values))


def openmp_output(folder, arguments, limit):
    """The output of the same program's OpenMP version, built by g++ and run on the CPU."""
    folder = folder[:-len("-cuda")] + "-omp"
    if not os.path.isdir(folder):
        return None
    here = [os.path.join(folder, f) for f in os.listdir(folder) if f.endswith((".cpp", ".c", ".cc"))]
    program = os.path.join(folder, "on_the_cpu")
    code, _, _, _ = execute(["g++", "-O2", "-fopenmp", "-std=c++17", "-o", program] + here, folder, 300)
    if code != 0:
        return None
    code, out, _, _ = execute([program] + shlex.split(arguments), folder, limit)
    return out if code == 0 else None


def reports_of(err):
    """The checkers' errors, each once, without the position in the grid."""
    found = {}
    for line in err.splitlines():
        if line.startswith("error: "):
            found.setdefault(re.sub(r"\((\d+,?)+\)|0x[0-9a-f]+|\d+", "#", line), line[len("error: "):])
    return list(found.values())


def census(program, folder, source, clone, suite, known, args):
    row = dict.fromkeys(COLUMNS, "")
    row["program"] = program
    if known.get("build") == "no":  # for example because it needs a display
        row["compiles"] = row["right"] = "not tried"
        row["reason"] = known["note"]
        return row, ""
    if suite == "makefiles":
        binary, chosen, error = build_in_makefiles_way(folder, args.simcc, known.get("arguments", ""), known.get("make", ""))
        known = {**known, "arguments": chosen}
        arguments = ""
    elif suite == "samples":
        binary, arguments, error = build_sample(folder, source, args.simcc, clone)
    else:
        binary, arguments, error = build_with_make(folder, args.simcc)
    row["compiles"] = "yes" if binary else "no"
    if not binary:
        row["reason"] = error
        return row, ""
    arguments = known.get("arguments") or arguments
    settings, words = {"SIM_REPORT": "1"}, shlex.split(arguments)
    while words and words[0].startswith("SIM_"):  # for example SIM_SAMPLE=16 if sizes are fixed in the source
        name, value = words.pop(0).split("=")
        settings[name] = value
    code, out, err, seconds = execute([binary] + words, folder, args.limit, settings)
    row["seconds"] = f"{seconds:.0f}"
    reports = reports_of(err)
    judged = known.get("reports", "")
    row["reports"] = f"{len(reports)} {judged or 'not judged'}" if reports else "0"
    told = [line for line in err.splitlines() if line.strip()]
    account = next((i for i, line in enumerate(told) if line.startswith("simulated ")), len(told))
    own = out + "\n".join(told[:account])  # what the program itself printed
    check = known.get("right", "")
    if code is None:
        row["right"], row["reason"] = "no", f"not at its end after {args.limit} s"
    elif code < 0:
        row["right"], row["reason"] = "no", f"killed by signal {-code}: {told[-1] if told else ''}"
    elif code == 2 and re.search("[Ww]aiv", own):  # the samples "waive" a test if the machine lacks the feature
        row["right"] = "waived"
        row["reason"] = next(line.strip() for line in own.splitlines() if re.search("[Ww]aiv", line))[:200]
    elif check == "omp":
        other = openmp_output(folder, arguments, args.limit)
        row["right"] = "unknown" if other is None else "yes (as OpenMP)" if same(out, other) else "no"
        row["reason"] = ["differs from its OpenMP version on the CPU", ""][row["right"] != "no"]
    elif check and not check.startswith("ended"):
        row["right"] = "yes" if re.search(check, own) else "no"
    elif check.startswith("ended"):
        row["right"] = "ended" if code == 0 or reports else "no"
    elif WRONG.search(own):
        row["right"] = "no"
        row["reason"] = next(line.strip() for line in own.splitlines() if WRONG.search(line))[:200]
    elif RIGHT.search(own):
        row["right"] = "yes"
    elif code == 0 and source and not reports and tells_by_exit_code(source):
        row["right"] = "yes"
    else:
        row["right"] = "ended" if code == 0 or reports else "no"
    if row["right"] == "no" and not row["reason"]:
        row["reason"] = f"exit code {code}: {(told[:account] or out.splitlines() or [''])[-1].strip()}"[:200]
    if reports:
        row["reason"] = "; ".join(filter(None, [row["reason"], "reported: " + reports[0][:200]]))
    if known.get("note"):
        row["reason"] = "; ".join(filter(None, [row["reason"], known["note"]]))
    return row, f"$ {binary} {arguments}\n{out}\n{err}"


def tells_by_exit_code(source):
    with open(source, encoding="utf-8", errors="replace") as f:
        return re.search(r"\?\s*EXIT_SUCCESS\s*:\s*EXIT_FAILURE", f.read()) is not None


def read_table(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as f:
        names = f.readline().rstrip("\n").split("\t")
        rows = (dict(zip(names, line.rstrip("\n").split("\t"))) for line in f)
        return {row[names[0]]: row for row in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simcc", required=True)
    parser.add_argument("--hecbench")
    parser.add_argument("--samples")
    parser.add_argument("--rodinia")
    parser.add_argument("--polybench")
    parser.add_argument("--sample", type=int, default=60, help="how many of HeCBench's programs; 0: all")
    parser.add_argument("--seed", type=int, default=19)
    parser.add_argument("--only", nargs="+", help="programs whose path contains one of these")
    parser.add_argument("--limit", type=float, default=120, help="seconds for each run")
    parser.add_argument("--output", default=os.path.join(HERE, "results.tsv"))
    parser.add_argument("--log", help="a folder for what each program printed")
    args = parser.parse_args()
    for name in ("simcc", "hecbench", "samples", "rodinia", "polybench"):
        if getattr(args, name):
            setattr(args, name, os.path.abspath(getattr(args, name)))

    known = read_table(os.path.join(HERE, "programs.tsv"))
    work = []
    if args.hecbench:
        work += [(p, args.hecbench, "hecbench") for p in hecbench(args.hecbench, args.sample, args.seed)]
    if args.samples:
        work += [(p, args.samples, "samples") for p in samples(args.samples)]
    if args.rodinia and args.polybench:
        drawn = with_makefiles(args.rodinia, args.polybench, 12, args.seed)
        work += [(p, args.rodinia if p[0].startswith("cuda/") else args.polybench, "makefiles") for p in drawn]
    if not work:
        parser.error("name a clone: --hecbench FOLDER, --samples FOLDER, --rodinia FOLDER with --polybench FOLDER")
    if args.only:
        work = [w for w in work if any(name in w[0][0] for name in args.only)]
    results = read_table(args.output)  # keeps the rows of other programs
    for number, ((program, folder, source), clone, suite) in enumerate(work, 1):
        row, log = census(program, folder, source, clone, suite, known.get(program, {}), args)
        row["commit"], row["tree"] = head(clone), head(HERE)  # the suite's and this project's
        for place in (os.path.join(clone, "src", ""), os.path.join(clone, "Samples", ""), os.path.join(clone, "")):
            row["reason"] = row["reason"].replace(place, "")
        results[program] = {c: re.sub(r"\s+", " ", row[c]) for c in COLUMNS}
        print(f"[{number}/{len(work)}]", "  ".join(f"{row[c]}" for c in COLUMNS if c not in ("commit", "tree")), flush=True)
        if args.log:
            os.makedirs(args.log, exist_ok=True)
            with open(os.path.join(args.log, program.replace("/", "_") + ".txt"), "w", encoding="utf-8") as f:
                f.write(log)
        with open(args.output + ".new", "w", encoding="utf-8") as f:
            f.write("\t".join(COLUMNS) + "\n")
            f.writelines("\t".join(results[p].get(c, "") for c in COLUMNS) + "\n" for p in sorted(results))
        shutil.move(args.output + ".new", args.output)
    done = [results[p[0]] for p, _, _ in work]
    count = lambda column, value: sum(r[column].startswith(value) for r in done)
    print(f"{len(done)} programs: {count('compiles', 'yes')} compile, {count('right', 'yes')} run right, "
          f"{count('right', 'ended')} ended without a check of their own, "
          f"{sum(r['reports'] not in ('', '0') for r in done)} with reports")


if __name__ == "__main__":
    sys.exit(main())
