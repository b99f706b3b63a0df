#!/usr/bin/env bash
# Checks that the notebook is valid and without outputs, and runs its code cells in order, in IPython, as on a notebook machine:
# they clone the course from a git address, grade lab 03 and show the report; a student's later edits are saved and restored.
# The cloned course has labs and commands, with its build taken from BUILD. With NOTEBOOK_WHOLE=1 it is all of SOURCE's HEAD,
# and is built. Skipped without Debian's python3-ipython and python3-nbformat.
# usage: notebook_test.sh SOURCE BUILD GRADER
set -euo pipefail
source=$1 build=$2 grader=$3
for python in /usr/bin/python3 python3; do
  ! "$python" -c 'import IPython, nbformat' 2>/dev/null || break
  [[ $python != python3 ]] || { echo "SKIPPED: apt-get install python3-ipython python3-nbformat"; exit 77; }
done
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export IPYTHONDIR=$place/ipython LAB_ORIGIN=$place/origin
if [[ ${NOTEBOOK_WHOLE:-} == 1 ]]; then
  LAB_ORIGIN=$source
else
  mkdir -p "$LAB_ORIGIN/common"
  (cd "$source" && cp -r --parents course VERSION CMakePresets.json labs .gitignore common/course "$LAB_ORIGIN")
  cp "$source/common/update.sh" "$LAB_ORIGIN/common"
  cat >"$LAB_ORIGIN/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.22)
project(notebook NONE)
foreach(target IN ITEMS grader simcc lab03.staff)
  add_custom_target(\${target})
endforeach()
file(WRITE \${PROJECT_BINARY_DIR}/bin/grader [[#!/bin/sh
exec '$grader' "\$@" --source "\$PWD" --build '$build' --report "\$PWD/build/report"
]])
file(CHMOD \${PROJECT_BINARY_DIR}/bin/grader PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
END
  cd "$LAB_ORIGIN"
  git init -q . && git add . && git -c user.name=test -c user.email=test@localhost commit -qm start
fi
mkdir "$place/content"
cd "$place/content"
"$python" - "$source/common/docs/notebook.ipynb" <<'END'
import hashlib, os, re, subprocess, sys, time
import nbformat
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

notebook = nbformat.read(sys.argv[1], nbformat.NO_CONVERT)
nbformat.validate(notebook)
assert notebook.nbformat == 4
cells = {cell.id: cell for cell in notebook.cells if cell.cell_type == "code"}
for cell in cells.values():
    assert not cell.outputs and cell.execution_count is None, f"cell {cell.id} was saved with its outputs"
assert list(cells) == ["get", "grade", "restore", "save"], list(cells)

shell = InteractiveShell.instance(colors="NoColor")


def attempt(code):
    """Whether a cell succeeds, what it prints, and the HTML that it displays."""
    start = time.time()
    with capture_output() as said:
        success = shell.run_cell(code).success
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", said.stdout + said.stderr).replace("\r", "\n")  # progress lines that are overwritten
    print(f"--- {time.time() - start:.1f} s\n{text}", flush=True)
    return success, text, "".join(shown.data.get("text/html", "") for shown in said.outputs)


def run(name, code=None):
    success, text, shown = attempt(code or cells[name].source)
    assert success, f"cell {name} failed"
    return text, shown


def sums(paths):
    return {path: hashlib.sha256(open(path, "rb").read()).hexdigest() for path in paths}


# A failing cell must be detected and say what to do.
success, text, _ = attempt(cells["get"].source)
assert not success and "Set URL to the git address" in text, "without an address, the first cell does not say so"

text, _ = run("get", cells["get"].source.replace('URL = ""', f'URL = "{os.environ["LAB_ORIGIN"]}"'))
assert os.getcwd().endswith("/content/roofline-labs"), os.getcwd()

text, shown = run("grade")
for words in (r"^  transpose_tiled transposes ragg.* (PASS|WRONG) ", r"^  column_sums adds up every column +(PASS|WRONG) ",
              r"\d+ of (85|100) points"):
    assert re.search(words, text, re.MULTILINE), f"no line of the verdicts has: {words}"
for words in ("<iframe srcdoc=", "&lt;title&gt;Roofline Labs report&lt;/title&gt;", "sigmoid_correct"):
    assert words in shown, f"the report that is shown lacks: {words}"

text, _ = run("restore")
assert "nothing to restore" in text

handin = "labs/03_coalescing/handin"
with open(f"{handin}/layout.cu", "a") as file:
    file.write("// mine\n")
mine = sums([f"{handin}/layout.cu", "progress.toml", "attempts.jsonl"])
text, _ = run("save")
assert f"{handin}/layout.cu" in text and f"{handin}/transpose.cu" not in text, "the saved files are not the edited ones"
subprocess.run(["git", "checkout", "-q", "labs"], check=True)
for path in ("progress.toml", "attempts.jsonl"):
    os.remove(path)
before = time.time() - 1
run("restore")
assert sums(mine) == mine, "the restored files are not the saved ones"
assert os.path.getmtime(f"{handin}/layout.cu") > before, "a restored file looks older than a build without it"

# Running it again on the same machine clones nothing.
run("get")
assert os.getcwd().endswith("/content/roofline-labs"), os.getcwd()
END
