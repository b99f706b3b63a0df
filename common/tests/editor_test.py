"""Checks what .vscode and CMakePresets.json offer an editor: the labs' items as tests, and output that the problem matchers parse.
usage: editor_test.py SOURCE SIMCC"""

import json
import os
import re
import subprocess
import sys
import tempfile

source, simcc = sys.argv[1:3]
bad = 0


def expect(what, right):
    global bad
    if not right:
        print("expected: " + what)
        bad += 1


def settings(name):
    with open(os.path.join(source, ".vscode", name)) as f:
        return json.loads(re.sub(r"^\s*//.*", "", f.read(), flags=re.M))


# One test for each item; a recent CMake also says where the item is.
asked = subprocess.run(["ctest", "--preset", "labs", "--show-only=json-v1"], cwd=source, stdout=subprocess.PIPE, check=True, text=True)
listed = json.loads(asked.stdout)["tests"]
tests = {t["name"]: {p["name"]: p["value"] for p in t["properties"]} for t in listed}
expect("only the labs' tests", all(re.match(r"lab(?!99)\d\d\.", name) for name in tests))
expect("each test has a command, built or not", all("command" in t for t in listed))
for folder in sorted(os.listdir(os.path.join(source, "labs"))):
    rubric = os.path.join(source, "labs", folder, "judge/rubric.toml")
    if not re.match(r"\d\d_", folder) or not os.path.exists(rubric):
        continue
    with open(rubric) as f:
        lines = f.read().split("\n")
    items = {}
    for n, line in enumerate(lines, 1):
        if line.startswith('id = "'):
            last = line.split('"')[1], n
        if re.match('kind = "', line):
            items[last[0]] = last[1]
    expect("items of " + folder, items)
    for item, line in items.items():
        name = "lab%s.%s" % (folder[:2], item)
        expect("a test " + name, name in tests)
        place = tests.get(name, {}).get("DEF_SOURCE_LINE")
        expect("%s at line %d, not %s" % (name, line, place), place in (None, "%s:%d" % (rubric, line)))

# The problem matchers find the file and line in the output of the compiler and the checkers.
tasks = {t["label"]: t for t in settings("tasks.json")["tasks"]}


def problems(task, text):
    matchers = tasks[task]["problemMatcher"]
    for pattern in (m["pattern"] for m in (matchers if isinstance(matchers, list) else [matchers])):
        for found in re.finditer(pattern["regexp"], text, re.M):
            yield found[pattern["severity"]], found[pattern["file"]], int(found[pattern["line"]]), found[pattern["message"]]


with tempfile.TemporaryDirectory() as place:
    os.environ["SIM_REPORT"] = "1"
    for name, text, line, message in (
            ("wrong", "int main() {\n  return j;\n}\n", 2, "declared"),
            ("past", "__global__ void f(int* p) {\n  p[threadIdx.x + 1] = 0;\n}\nint main() {\n  int* p;\n  cudaMalloc(&p, 128);\n"
                     "  f<<<1, 32>>>(p);\n  cudaDeviceSynchronize();\n  cudaFree(p);\n}\n", 2, "out of bounds")):
        file = os.path.join(place, name + ".cu")
        with open(file, "w") as f:
            f.write(text)
        said = ""
        for command in ([simcc, file, "-o", os.path.join(place, name)], [os.path.join(place, name)]):
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
            said += done.stdout
            if done.returncode:
                break
        for task in tasks if name == "wrong" else ["run on the simulated device"]:
            found = list(problems(task, said))
            expect("%s:%d in the problems of '%s', not %s" % (file, line, task, found),
                   len(found) == 1 and found[0][:3] == ("error", file, line) and message in found[0][3])

# A verdict as the grader prints it, and as the test explorer shows it.
pattern = settings("settings.json")["cmake.ctest.failurePatterns"][0]["regexp"]
shown = re.findall(pattern, "/labs/rubric.toml:37: WRONG  item, 0 of 4 points\n    title\n    why\n")
expect("the verdict, not %s" % shown, shown == [("/labs/rubric.toml", "37", "WRONG  item, 0 of 4 points\n    title\n    why\n")])

program = settings("launch.json")["configurations"][0]["program"]
expect("F5 to start what its task compiles", program.startswith("${workspaceFolder}/build/debug/"))
sys.exit(1 if bad else 0)
