#!/usr/bin/env python3
"""Limits what `./course demo 03` compiles on a fresh machine: the number of objects, and their lines after preprocessing. Above a
limit, names the objects that are not in the list, or those that have grown most. The result does not depend on time.
usage: closure_test.py BUILD LIST [--write]"""

import os, re, shlex, subprocess, sys

build, listed = sys.argv[1:3]
most_objects, most_lines = 40, 2_800_000
targets = ["grader", "simcc", "lab03.staff"]

commands = subprocess.run(["ninja", "-C", build, "-t", "commands", *targets], stdout=subprocess.PIPE, text=True, check=True).stdout
lines = {}
for command in commands.splitlines():
    compiles = re.search(r" -o (\S+) -c (\S+)$", command)
    if not compiles or "&&" in command:
        continue
    words = shlex.split(command)
    if "ccache" in os.path.basename(words[0]):
        words = words[1:]
    at = words.index("-o")
    words = [word for i, word in enumerate(words) if i not in (at, at + 1) and word not in ("-MD", "-c")]
    for option in ("-MT", "-MF"):
        if option in words:
            i = words.index(option)
            del words[i : i + 2]
    text = subprocess.run([*words, "-E", "-P"], stdout=subprocess.PIPE, cwd=build, check=True).stdout
    lines[compiles.group(1)] = text.count(b"\n")
if not lines:
    sys.exit("no compilation found: " + commands[:300])

total = sum(lines.values())
print(f"{len(lines)} objects of at most {most_objects}, {total} lines of at most {most_lines}")
if "--write" in sys.argv:
    with open(listed, "w") as out:
        out.writelines(f"{name} {count}\n" for name, count in sorted(lines.items()))
if len(lines) > most_objects or total > most_lines:
    known = dict(line.split() for line in open(listed))
    for name, count in sorted(lines.items(), key=lambda one: int(known.get(one[0], 0)) - one[1])[:8]:
        was = known.get(name)
        print(f"  {name}: {count} lines, {'not compiled before' if was is None else 'was ' + was}")
    sys.exit("./course demo 03 compiles more than a first verdict in two minutes allows: build it only when it is asked for")
for name in lines:
    if re.search(r"sim_(cublas|cufft|cusolver|cusparse|nccl)|gpt2|llama|cuda|grading_(class|staff)|lab(?!03|_)\d\d", name):
        sys.exit(f"./course demo 03 compiles {name}, which it does not need")
