#!/usr/bin/env python3
"""How long a student waits after a save: with the solution in each lab's hand-in folder, edits a statement of each file under
./course watch, and writes a table. Keeps the files that were there.
usage: edit_times.py COURSE [NN...] [--write]   --write: into solutions/results/edit_times.md"""

import datetime, os, pathlib, platform, pty, re, select, shutil, subprocess, sys, tempfile, time

course = pathlib.Path(sys.argv[1]).resolve()
wanted = [word for word in sys.argv[2:] if word != "--write"]


class watch:
    def __init__(self, number):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(course)
            os.environ.update(COLUMNS="100", PAGER="true")
            os.execv(course / "build/bin/grader", ["grader", "watch", number])
        self.seen = ""

    def until(self, pattern, seconds=60):
        """When the pattern next appears in the output, and the earlier output by time."""
        end, lines = time.monotonic() + seconds, []
        while time.monotonic() < end:
            if found := re.search(pattern, self.seen):
                self.seen = self.seen[found.end() :]  # the rest may contain the next pattern
                return time.monotonic(), lines
            if select.select([self.terminal], [], [], 0.05)[0]:
                try:
                    text = os.read(self.terminal, 65536).decode(errors="replace")
                except OSError:
                    break
                lines.append((time.monotonic(), text))
                self.seen += text
        raise SystemExit(f"not within {seconds} s: {pattern}\n{self.seen[-2000:]}")

    def quit(self):
        os.write(self.terminal, b"q")
        try:
            while os.read(self.terminal, 65536):
                pass
        except OSError:
            pass  # the process has ended
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


def edited(text):
    """The text with one more statement in the first function body that has one."""
    body = re.search(r"\)\s*(?:const\s*)?(?:noexcept\s*)?\{\n", text)
    return text[: body.end()] + "  ;\n" + text[body.end() :]


rows = []
for folder in sorted(course.glob("labs/[0-9][0-9]_*")):
    number, handin = folder.name[:2], folder / "handin"
    solution = course / "solutions" / folder.name / "handin"
    if (wanted and number not in wanted) or not solution.exists():
        continue
    kept = pathlib.Path(tempfile.mkdtemp())
    shutil.copytree(handin, kept / "handin")
    progress = course / "progress.toml"
    before = progress.read_bytes() if progress.exists() else None
    times = {}
    try:
        for file in solution.iterdir():
            shutil.copy(file, handin)
        run = watch(number)
        run.until(r"\[q\] quit")
        time.sleep(2)
        for file in sorted(handin.iterdir()):
            if file.suffix not in (".cu", ".cpp"):
                continue
            text = file.read_text()
            if not re.search(r"\)\s*(?:const\s*)?(?:noexcept\s*)?\{\n", text):
                continue
            saved = time.monotonic()
            file.write_text(text + "oops\n")
            failed, _ = run.until(r"BUILD ERROR")
            time.sleep(2)
            file.write_text(text)
            run.until(r"\[q\] quit")
            time.sleep(1)
            start = time.monotonic()
            file.write_text(edited(text))
            end, lines = run.until(r"graded in [0-9.]+ s")
            first = next((t for t, line in lines if re.search(r"\(\d+ of \d+\)", line)), end)
            timed = next((t for t, line in lines if "throughput" in line or "second seed" in line), end)
            times[file.name] = (failed - saved, first - start, timed - start, end - start)
            run.until(r"\[q\] quit")
            time.sleep(1)
            file.write_text(text)
            run.until(r"\[q\] quit")
            time.sleep(1)
        run.quit()
    finally:
        shutil.rmtree(handin)
        shutil.copytree(kept / "handin", handin)
        shutil.rmtree(kept)
        if before is None:
            progress.unlink(missing_ok=True)
        else:
            progress.write_bytes(before)
    worst = [max(t[k] for t in times.values()) for k in range(4)]
    slowest = max(times, key=lambda name: times[name][3])
    rows.append([number, *(f"{w:.1f}" for w in worst), slowest])
    print("  ".join(rows[-1]), flush=True)

cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
machine = f"{cpu.group(1) if cpu else platform.machine()}, {os.cpu_count()} cores, {datetime.date.today()}"
table = f"""# From a save to its verdict

Seconds after a save under `./course watch NN`, with the solution as the student's files: the slowest file of each lab. A statement of
one function has changed, so only what can depend on it is graded again. Measured by `autograder/tests/edit_times.py`: {machine}.

| lab | build error | first item begins | correctness and counters are known | everything, with a second seed | slowest file |
|---|---|---|---|---|---|
""" + "".join("| " + " | ".join(row) + " |\n" for row in rows)
if "--write" in sys.argv:
    (course / "solutions/results/edit_times.md").write_text(table)
