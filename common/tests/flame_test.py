"""Checks the flame graph of flame_demo.cu: the proportions of its functions and lines, which are known.

    flame_test.py DIRECTORY    with flame.folded and profile.json of ./course profile --flame
"""
import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
stacks = []
for line in (folder / "flame.folded").read_text().splitlines():
    stack, weight = line.rsplit(" ", 1)
    stacks.append((stack.split(";"), int(weight)))


def total(*frames):
    """Nanoseconds of all stacks that have these frames, in this order."""
    return sum(weight for stack, weight in stacks if [f for f in stack if f in frames] == list(frames))


def expect(holds, what):
    if not holds:
        sys.exit(f"{what}\n" + "\n".join(";".join(stack) + f" {weight}" for stack, weight in stacks))


one, three = total("main", "one_time"), total("main", "three_times")
expect(one > 0 and 2.2 < three / one < 4, f"three_times took {three} ns, one_time {one} ns")
expect(total("three_times", "compute") > 0.9 * three, "compute, which is inline, is not below three_times")

kernels = {k["name"]: 1e9 * k["seconds"] for k in json.loads((folder / "profile.json").read_text())["kernels"]}
kernel = total("main", "on_the_device", "two_lines [device]")
expect(abs(kernel - kernels["two_lines"]) < 2, f"two_lines has {kernel} ns, and {kernels['two_lines']} in profile.json")
source = (pathlib.Path(__file__).parent / "programs" / "flame_demo.cu").read_text().splitlines()
near, far = ("flame_demo.cu:%d [device]" % (1 + next(i for i, text in enumerate(source) if text.startswith("  const float " + name)))
             for name in ("here", "there"))
ratio = total("two_lines [device]", far) / max(1, total("two_lines [device]", near))
expect(abs(ratio - 8) < 0.5, f"the lines differ by {ratio}, their sectors by 8")
expect(total("fill [device]") > 0, "the fills are missing")
print(f"three_times / one_time: {three / one:.2f}; far / near: {ratio:.2f}")
