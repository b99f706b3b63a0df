"""Checks that the words that select a hint occur in some message.  usage: hints_test.py SOURCE"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
sources = [p for folder in ("autograder/src", "common") for p in (root / folder).rglob("*") if p.suffix in (".cpp", ".hpp", ".h")]
sources += [p for kind in ("*/judge/*.cpp", "*/judge/rubric.toml", "*/*.hpp", "*/given/*.hpp") for p in (root / "labs").glob(kind)]
# Adjacent literals are joined, as in C++.
messages = "".join(re.sub(r'"\s*\n\s*"', "", p.read_text(errors="replace")) for p in sources)
known_words = set(re.findall(r"[a-z]{3,}", messages.lower()))

missing, seen = [], 0
for file in sorted(root.glob("labs/*/judge/hints.toml")) + [root / "labs/hints.toml"]:
    for answer in re.findall(r'^says = (\[[^\]]*\]|"[^"]*")', file.read_text(), re.M):
        for words in re.findall(r'"([^"]*)"', answer):
            seen += 1
            # A message may be assembled from parts; then each word must be in at least one.
            if words not in messages and not set(re.findall(r"[a-z]{3,}", words.lower())) <= known_words:
                missing.append(f"{file.relative_to(root)}: no message has the words '{words}'")
print(*missing, f"{seen} conditions of hints", sep="\n")
sys.exit(bool(missing) or seen < 50)
