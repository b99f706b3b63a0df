"""Checks that the verdicts which handouts show are real. The comment before a code block, <!-- verdict: wrong-NAME -->,
names the submission; the block is its verdict as labNN.demo or labNN.expected left it, or the beginning if it ends with
"...". Skipped if a lab was not graded.  usage: verdicts_test.py SOURCE BUILD"""
import json
import pathlib
import re
import sys

source, build = map(pathlib.Path, sys.argv[1:])
words = (source / "autograder/src/result/words.hpp").read_text().split("word_table<verdict> {")[1].split("};")[0]
WORDS = tuple(word + " " for word in re.findall(r'"([A-Z ]+)"', words))
BLOCK = re.compile(r"^(?: *<!-- verdict: ([\w-]+) -->\n)?( *)```[^\n]*\n(.*?)^\2```$", re.M | re.S)


def graded(lab, name):
    """Each item's verdict in the newest result, or None."""
    files = [file for kind in ("demo", "expected")
             for file in (build / kind / f"lab{lab}/results").glob(f"*/{name.replace('-', '_', 1)}-*.json")]
    if not files:
        return None
    items = json.loads(max(files, key=lambda file: file.stat().st_mtime).read_text())["results"][-1]["items"]
    return [" ".join(f"{i['verdict']} {i['id']} {i['message']}".split()) for i in items]


def is_real(shown, verdicts):
    return shown in verdicts or shown.endswith("...") and any(v.startswith(shown[:-3].rstrip()) for v in verdicts)


bad, missing, real = [], [], 0
for file in sorted((source / "labs").glob("[0-9][0-9]_*/README.md")):
    lab, blocks = file.parent.name[:2], 0
    for name, _, text in BLOCK.findall(file.read_text()):
        shown = " ".join(text.split())
        if not name and not shown.startswith(WORDS):
            continue
        place = f"{file}: {' '.join(shown.split()[:2])}"
        blocks += 1
        if not name:
            bad.append(f"{place}: no line before it says whose verdict it is: <!-- verdict: wrong-NAME -->")
            continue
        patch = source / "solutions" / file.parent.name / (name.replace("-", "/", 1) + ".patch")
        if patch.exists() and "\ndemo = true\n" not in patch.read_text():
            bad.append(f"{place}: {name} is not graded in each test; choose one with demo = true")
        verdicts = graded(lab, name)
        if verdicts is None:
            missing.append(f"{place}: no result of {name}; run ctest -R lab{lab}.demo")
        elif not is_real(shown, verdicts):
            bad += [f"{place}: {name} has no such verdict, but:", *(v for v in verdicts if not v.startswith("PASS "))]
        else:
            real += 1  # The check must notice each wrong digit.
            bad += [f"{place}: not noticed: another digit at {at.start()}" for at in re.finditer(r"\d", shown)
                    if is_real(shown[:at.start()] + str((int(at[0]) + 1) % 10) + shown[at.end():], verdicts)]
    if int(lab) < 16 and not blocks:
        bad.append(f"{file}: shows no verdict")
print(*bad, *missing, f"{real} verdicts are real, {len(missing)} have no result", sep="\n")
sys.exit(1 if bad else 77 if missing else 0)
