#!/usr/bin/env python3
"""Writes the tables of comparison.md and the picture comparison.svg from the results: comparison.py [--check]

compare.py, gpt2.sh and 14_training/bf16/compare.py measure them. With --check, writes nothing and exits with 1 if either
file does not match the results.
"""
import json
import pathlib
import re
import sys

here = pathlib.Path(__file__).resolve().parent
measured = here / "nvidia-h200"
COLUMNS = ["ours", "NVIDIA's libraries", "PyTorch", "PyTorch, compiled", "Triton's tutorials", "others' kernels"]


def column(name):
    for begin, of in (("ours", 0), ("cu", 1), ("copy", 1), ("PyTorch, compiled", 3), ("PyTorch compiled", 3), ("PyTorch", 2), ("Triton", 4)):
        if name.startswith(begin):
            return of
    return 5


def works():
    """(work, unit, what a number is, [(name, number, speed relative to the best of ours)]), ladders left out."""
    for work in json.loads((measured / "comparison.json").read_text())["works"]:
        if "ladders" in work["work"]:
            continue
        in_ms = work["work"].startswith("token")
        yield (work["work"], "ms" if in_ms else work["unit"],
               [(name, row["ms"]["median"] if in_ms else row[work["unit"]], row["of ours"]["median"]) for name, row in work["rows"].items()])
    passes = json.loads((measured / "gpt2.json").read_text())["times"]
    for name in ("bf16, B4 T64", "bf16, B4 T1024", "fp32, B4 T64", "fp32, B4 T1024"):
        each = {program: row["median_ms"] for program, row in passes[name].items()}
        ours = min(each[program] for program in each if program.startswith("ours"))
        work = "GPT-2 forward, " + name.replace("fp32", "FP32").replace("B4 T", "4 × ") + " tokens"
        yield work, "ms", [(program, ms, ours / ms) for program, ms in each.items()]
    rows = json.loads((measured / "train14-bf16.json").read_text())["rows"]
    steps = {"ours": "train.bf16.cuda", "PyTorch, compiled": "PyTorch compiled, reduce-overhead", "llm.c": "llm.c, no recomputation",
             "llm.c with cuDNN": "llm.c with cuDNN, no recomputation"}
    ours = rows[steps["ours"]]["median_ms"]
    yield "GPT-2 training step, bf16, 4 × 1024 tokens", "ms", [(name, rows[row]["median_ms"], ours / rows[row]["median_ms"])
                                                               for name, row in steps.items()]


def short(name):
    """The name without the words that the column's title repeats."""
    for words in ("ours, ", "ours", "PyTorch, compiled", "PyTorch compiled", "PyTorch eager", "PyTorch, eager", "PyTorch", "Triton's tutorial"):
        if name.startswith(words):
            return name[len(words):].strip(", ")
    return name


def table():
    yield "| | unit | " + " | ".join(COLUMNS) + " |"
    yield "|---|---|" + "---|" * len(COLUMNS)
    for work, unit, rows in works():
        best = max(relative for name, _, relative in rows if name != "copy")
        cells = [[] for _ in COLUMNS]
        for name, number, relative in sorted(rows, key=lambda row: -row[2]):
            digits = 1 if unit == "TFLOP/s" else 2
            text = f"{number:.{digits}f} ({relative:.2f})" if column(name) else f"{number:.{digits}f}" + (f" ({relative:.2f})" if relative < 1 else "")
            text = f"**{text}**" if relative == best else text
            cells[column(name)].append(f"{short(name)} {text}".strip())
        yield f"| {work} | {unit} | " + " | ".join("<br>".join(cell) for cell in cells) + " |"


def ladder():
    rows = next(w for w in json.loads((measured / "comparison.json").read_text())["works"] if "ladders" in w["work"])["rows"]
    yield "| | ours | SGEMM_CUDA |"
    yield "|---|---:|---:|"
    for what, ours, theirs in (("a thread per element, lanes down a column", "naive", 1), ("lanes along a row", "coalesced", 2),
                               ("tiles in shared memory", "tiled", 3), ("8 elements per thread", "1d", 4), ("8 × 8", "2d", 5),
                               ("accesses of 16 bytes", "vectorized", 6), ("without bank conflicts", None, 7), ("by another column", None, 8),
                               ("sizes tuned", None, 9), ("two buffers", "pipelined", 11), ("warp tiles", "warptiled", 10), ("`sgemm`", "", None)):
        def cell(name):
            return f"{rows[name]['TFLOP/s']:.1f}" if name in rows else ""

        yield f"| {what} | {cell('ours' if ours == '' else f'ours: {ours}')} | {cell(f'SGEMM_CUDA {theirs}')} |"
    yield f"| cuBLAS | | {rows['cuBLAS']['TFLOP/s']:.1f} |"


def provenance():
    e = json.loads((measured / "comparison.json").read_text())["environment"]
    major, rest = divmod(e["cudnn"], 10000)
    rivals = ", ".join(f"{name} {commit[:8]}" for name, commit in e["rivals"].items())
    yield (f"`comparison.json`: {e['gpu']}, driver {e['driver']}, up to {e['highest clock']}, CUDA {e['cuda']}, PyTorch {e['torch']}, "
           f"cuDNN {major}.{rest // 100}.{rest % 100}, Triton {e['triton']}, {e['date']} UTC; {rivals}.")
    g = json.loads((measured / "gpt2.json").read_text())
    yield (f"`gpt2.json`, the forward passes: {g['gpu']}, driver {g['clocks'].splitlines()[1].split(',')[0]}, CUDA {g['cuda']}, "
           f"PyTorch {g['torch']}, {g['date']} UTC.")
    t = json.loads((measured / "train14-bf16.json").read_text())
    yield f"`train14-bf16.json`, the training step: {t['gpu']}, driver {t['driver']}, CUDA {t['cuda']}, PyTorch {t['torch']}, {t['date']}."


STYLE = """text{font:12px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2328}.h{font-size:14px;font-weight:600}
.ground{fill:#fff}.name{stroke:#fff;stroke-width:4;paint-order:stroke}.hair{stroke:#d1d9e0}.line{stroke:#1f2328;stroke-width:1.4}.c1{fill:#1a7f37}.c2{fill:#59636e}.c3{fill:#bc4c00}.c4{fill:#8250df}.c5{fill:#cf222e}
@media screen and (prefers-color-scheme:dark){text{fill:#e6edf3}.ground{fill:#0d1117}.name{stroke:#0d1117}.hair{stroke:#3d444d}.line{stroke:#e6edf3}.c1{fill:#3fb950}.c2{fill:#9da7b3}.c3{fill:#f0883e}.c4{fill:#bc8cff}.c5{fill:#ff7b72}}"""
MARKS = {1: "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0", 2: "M-4-4h8v8h-8z", 3: "M0-5l5 9h-10z", 4: "M0-5.5l5.5 5.5l-5.5 5.5l-5.5-5.5z",
         5: "M-5-3l2-2 3 3 3-3 2 2-3 3 3 3-2 2-3-3-3 3-2-2 3-3z"}


def picture():
    """A line for each workload: each rival's speed relative to our best, which is 1."""
    each, left, right, top, step, most = list(works()), 12, 348, 108, 34, 1.6
    x = lambda relative: left + (right - left) * min(relative, most) / most
    bottom = top + step * len(each)
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="540" height="{1.5 * (bottom + 34):g}" viewBox="0 0 360 {bottom + 34}" role="img" '
           'aria-labelledby="t d">')
    yield '<title id="t">Speed beside the solutions\' on an H200</title>'
    yield '<desc id="d">For each work, the speed of each rival as a multiple of the fastest solution\'s; the table has the numbers.</desc>'
    yield f'<style>{STYLE}</style>'
    yield f'<rect class="ground" width="360" height="{bottom + 34}" rx="6"/>'
    yield '<text class="h" x="12" y="22">Speed on an H200; the line at 1 is ours</text>'
    for kind in range(1, 6):
        at, down = 18 + 168 * ((kind - 1) % 2), 42 + 20 * ((kind - 1) // 2)
        yield f'<path class="c{kind}" transform="translate({at} {down - 4})" d="{MARKS[kind]}"/><text x="{at + 11}" y="{down}">{COLUMNS[kind]}</text>'
    for tick in (0, 0.5, 1, 1.5):
        yield f'<path class="{"line" if tick == 1 else "hair"}" d="M{x(tick):g} {top - 8}V{bottom + 6}"/>'
        yield f'<text x="{x(tick):g}" y="{bottom + 22}" text-anchor="middle">{tick:g}</text>'
    for i, (work, _, rows) in enumerate(each):
        y = top + step * i
        yield f'<text class="name" x="{left}" y="{y + 6}">{work}</text>'
        yield f'<path class="hair" d="M{left} {y + 18}H{right}"/>'
        for name, _, relative in sorted(rows, key=lambda row: column(row[0])):
            if column(name) and name != "copy":
                yield f'<path class="c{column(name)}" transform="translate({x(relative):.1f} {y + 18})" d="{MARKS[column(name)]}"><title>{name}: {relative:.2f}</title></path>'
    yield '</svg>'


def main():
    page, drawing = here / "comparison.md", here / "comparison.svg"
    text = page.read_text()
    for name, lines in (("table", table()), ("ladder", ladder()), ("provenance", provenance())):
        text, found = re.subn(f"(<!-- {name}: begin -->\n).*?(<!-- {name}: end -->)", lambda m: m[1] + "\n".join(lines) + "\n" + m[2], text, flags=re.DOTALL)
        if found != 1:
            sys.exit(f"comparison: comparison.md needs one pair of lines <!-- {name}: begin --> and <!-- {name}: end -->")
    for file, wanted in ((page, text), (drawing, "\n".join(picture()) + "\n")):
        if sys.argv[1:] == ["--check"]:
            if not file.exists() or file.read_text() != wanted:
                sys.exit(f"comparison: {file.name} does not show the results; run solutions/results/comparison.py")
        else:
            file.write_text(wanted)


if __name__ == "__main__":
    main()
