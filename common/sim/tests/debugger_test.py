"""./course debug's commands in gdb's batch mode, on the tests' programs and the guide's; the output is compared with the guide.
usage: debugger_test.py SOURCE SIMCC [--write]: --write puts the current output into the guide."""

import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

source, simcc = sys.argv[1:3]
tests = os.path.join(source, "common/sim/tests")
commands_py = os.path.join(source, "common/sim/debugger/commands.py")
guide = os.path.join(source, "common/docs/DEBUGGER.md")

if not shutil.which("gdb"):
    print("SKIPPED: no gdb here; apt-get install gdb")
    sys.exit(77)
place = tempfile.mkdtemp()
bad = 0


def build(file, *options):
    program = os.path.join(place, os.path.basename(file).rsplit(".", 1)[0] + "".join(options).replace("-", "."))
    if not os.path.exists(program):
        subprocess.run([simcc, "-G", "-g", *options, file, "-o", program], check=True, timeout=300)
    return program


def session(commands, program=(), first=()):
    """What gdb prints for each command."""
    words = ["gdb", "-nx", "-q", "-batch", "-x", commands_py, *first]
    for c in commands:  # an error ends a script, but not a series of -ex
        words += ["-ex", "echo \\n@@@\\n", "-ex", c]
    done = subprocess.run(words + (["--args", *program] if program else []), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True, timeout=300, cwd=place)
    said = [plain(part) for part in done.stdout.split("\n@@@\n")]
    said += [""] * (len(commands) + 1 - len(said))
    return said[1:] if not first else said


def plain(text):
    """The text without the parts that differ between runs or machines."""
    text = re.sub(r"^(\[Thread debugging using|Using host libthread_db|\[New Thread|\[Switching to Thread|"
                  r"warning: Memory read failed|\[Thread 0x|\[Detaching|\[New LWP|warning: .*vsyscall).*\n?", "", text, flags=re.M)
    text = re.sub(r"\(LWP \d+\)|process \d+", "", text)
    text = text.replace(os.path.join(tests, "debugger") + "/", "").replace(tests + "/programs/", "").replace(place + "/", "")
    text = re.sub(r"0x[0-9a-f]{9,16}|(?<=^Breakpoint . at )0x[0-9a-f]+", "0x...", text, flags=re.M)
    return re.sub(r"[ \t]+$", "", text, flags=re.M).strip("\n")


def expect(what, text, *patterns):
    global bad
    for pattern in patterns:
        if not re.search(pattern, text, re.M | re.S):
            print("%s: expected %r in:\n%s\n" % (what, pattern, text))
            bad += 1


def program(name):
    return [build(os.path.join(tests, "programs", name + ".cu"))]


def line_of(path, text):
    with open(path) as f:
        return next(n for n, line in enumerate(f, 1) if text in line)


def lanes(text):
    """The values that `lanes` printed."""
    return [w for row in re.findall(r"^lanes +\d+-\d+ +(.*)", text, re.M) for w in re.split(r"\s{2,}", row)]


def test_vector_add():
    """A condition on one of 50000 threads; the last warp, half of which is beyond the end."""
    file = os.path.join(tests, "programs/vector_add.cu")
    at = line_of(file, "if (i < numElements)")
    said = session(["break vector_add.cu:%d if blockIdx.x == 195 && threadIdx.x == 79" % at, "run", "print i", "lanes i",
                    "lanes i < numElements", "next", "info cuda threads"], program("vector_add"))
    expect("vector_add", said[1], r"block \(195,0,0\), thread \(79,0,0\), warp 2, lane 15")
    expect("vector_add", said[2], r"= %d$" % (195 * 256 + 79))
    if lanes(said[3]) != [str(195 * 256 + 64 + n) for n in range(32)]:
        expect("vector_add: lanes i", said[3], "one value for each lane")
    if lanes(said[4]) != ["true"] * 16 + ["false"] * 16:
        expect("vector_add: lanes i < n", said[4], "16 true, 16 false")
    expect("vector_add", said[6], r"\(64,0,0\) +\(95,0,0\) +32 +active", r"\(96,0,0\) +\(255,0,0\) +160 +not started")


def test_transpose():
    """Blocks of two dimensions; a warp that waits at the barrier is shown while another runs."""
    file = os.path.join(tests, "programs/transpose.cu")
    with open(file) as f:
        text = f.read()
    barrier = line_of(file, "__syncthreads();") if "__syncthreads" in text else 0
    said = session(["break transpose.cu:%d if threadIdx.y == 1" % barrier, "run", "lanes threadIdx.y", "info cuda threads",
                    "cuda thread (3,0,0)", "print threadIdx", "backtrace", "cuda thread (3,1,0)", "print threadIdx.y",
                    "cuda thread (0,99,0)"], program("transpose"))
    expect("transpose", said[1], r"thread \(0,1,0\)", r":%d\n" % barrier)
    if set(lanes(said[2])) != {"1"} and set(lanes(said[2])) != {"0", "1"}:
        expect("transpose: lanes threadIdx.y", said[2], "the row of each lane")
    expect("transpose", said[4], r"thread \(3,0,0\), warp 0, lane 3")
    expect("transpose", said[5], r"\{x = 3, y = 0, z = 0\}")
    expect("transpose", said[6], r"^#\d+ .*transpose")
    expect("transpose", said[8], r"= 1$")
    expect("transpose", said[9], r"there is no thread \(0,99,0\)")


def test_reduction():
    """Templates, dynamic shared memory, several kernels of one name."""
    said = session(["break reduction.cu:%d" % line_of(os.path.join(tests, "programs/reduction.cu"), "__syncthreads();"), "run",
                    "info cuda kernels", "info cuda blocks", "shared", "cuda kernel 7"], program("reduction"))
    expect("reduction", said[1], r"Switching focus to CUDA kernel 0", r"thread \(0,0,0\)")
    expect("reduction", said[2], r"\* +0 +\(\d+,1,1\)")
    expect("reduction", said[4], r"Bytes")
    expect("reduction", said[5], r"only kernel 0 runs now")


def test_recursion():
    """Frames of a recursive function in a thread that did not stop; `finish`."""
    file = os.path.join(tests, "programs/recursion.cu")
    with open(file) as f:
        name = re.search(r"__device__ \w+ (\w+)\(", f.read())[1]
    said = session(["break %s" % name, "run", "delete", "step", "step", "step", "step", "backtrace", "cuda lane 1", "backtrace",
                    "up", "cuda lane 1"], program("recursion"))
    expect("recursion", said[1], r"hit Breakpoint 1.*%s" % name)
    expect("recursion", said[7], r"#0 .*%s.*\n#\d" % name)
    expect("recursion", said[9], r"#1 .*\n#2 ")
    expect("recursion", said[11], r"lane 1\]")


def test_kernel_by_name():
    """The first stop must be in a thread: the host, too, calls a kernel up to its first line, to learn its name."""
    said = session(["break stencil", "run", "continue", "continue", "delete", "continue"],
                   [build(os.path.join(tests, "debugger/stencil.cu"))])
    for n, (block, thread) in enumerate(((0, 0), (0, 32), (1, 0))):
        expect("by name", said[1 + n], r"block \(%d,0,0\), thread \(%d,0,0\)" % (block, thread), r"stencil.cu:13")
    expect("by name", said[5], r"^1 191$")


def test_clang():
    """Programs that clang compiles: its assembly has lines and types in other places."""
    if not shutil.which("clang++"):
        return
    os.environ["CXX"] = "clang++"
    one = build(os.path.join(tests, "debugger/stencil.cu"), "-DCLANG")
    del os.environ["CXX"]
    said = session(["break stencil.cu:25 if blockIdx.x == 1 && threadIdx.x == 5", "run", "lanes i", "step", "next", "lanes sum",
                    "delete", "continue"], [one])
    expect("clang", said[1], r"block \(1,0,0\), thread \(5,0,0\)", r"stencil.cu:25\n")
    if lanes(said[2]) != [str(64 + n) for n in range(32)] or lanes(said[5]) != [str(128 + 2 * n) for n in range(32)]:
        expect("clang", said[2] + said[5], "64 to 95, and 128 to 190")
    expect("clang", said[7], r"^1 191$")


def test_divergence():
    """Lanes in different branches: the others wait after the branch, and then all continue together."""
    said = session(["break faults.cu:17", "run", "info cuda warps", "next", "info cuda warps"],
                   [build(os.path.join(tests, "debugger/faults.cu")), "2"])
    expect("divergence", said[1], r"faults.cu:17")
    second = session(["break faults.cu:20", "run", "info cuda warps", "lanes threadIdx.x"],
                     [build(os.path.join(tests, "debugger/faults.cu")), "2"])
    expect("divergence", second[2], r"\* +1 +0xffffff00 +0x000000ff")
    if lanes(second[3])[0] != "32":
        expect("divergence", second[3], "lane 0 is thread 32")


def test_a_loop_on_one_line():
    said = session(["break sgemm.cu:23", "run", "next", "continue"], program("sgemm"))
    expect("a loop on one line", said[1], r"line 23 holds a whole loop, and `next` executes all of it")
    expect("a loop on one line", said[2], r"^24\t")
    expect("a loop on one line", said[3], r"^23\t(?!.*whole loop)")  # printed only once


def test_faults():
    """Each checker stops the program in the thread that the checker names."""
    for kind, message, state in ((0, r"faults.cu:6: past_the_end: block \(1,0,0\) thread \(36,0,0\): global store of 4 bytes out",
                                  r"\(32,0,0\) +\(63,0,0\) +32 +active"),
                                 (1, r"were never written|race in shared memory", r"Kernel 0, block \(0,0,0\)"),
                                 (2, r"barrier not reached by all threads", r"at a barrier +faults.cu:18"),
                                 (3, r"store of 4 bytes at 0x0, which is not device memory", r"faults.cu:28")):
        said = session(["run", "print data", "info cuda threads", "backtrace"],
                       [build(os.path.join(tests, "debugger/faults.cu")), str(kind)])
        expect("faults %d" % kind, said[0], "The checkers found: .*" + message, r"Switching focus to CUDA kernel 0",
               r"\(\) at faults.cu:\d+\n\d+\t")
        expect("faults %d" % kind, said[1], r"= \(float \*\) 0x")
        expect("faults %d" % kind, said[2], state)
        expect("faults %d" % kind, said[3], r"^#\d+ .*(past_the_end|neighbours|some_return|null_pointer)")


def test_another_folder():
    """The device's frames are hidden wherever it is installed; a program's own folder may be called sim, too."""
    said = session(["python print([is_programs_file(f) for f in ('/other/common/sim/src/debugger.cpp', "
                    "'/other/common/sim/include/sim/async.h', '/opt/lib/sim/include/mma.h', '/other/common/sim/libraries/nccl.cpp', '/other/labs/a.cu', "
                    "'/other/sim/src/a.cu')])"],
                   [build(os.path.join(tests, "debugger/faults.cu"))])
    expect("another folder", said[0], r"\[False, False, False, False, True, True\]")


def test_race():
    """A missing barrier: reports the first read that comes too early, then the race itself."""
    said = session(["run", "continue", "continue"], [build(os.path.join(tests, "debugger/stencil.cu"), "-DWITHOUT_BARRIER")])
    expect("race", "\n".join(said), r"The checkers found: .*stencil.cu:\d+: stencil: .*race in shared memory")


def test_counts():
    """Counts do not depend on whether lanes advance line by line, but the debugger runs on one core."""
    one = build(os.path.join(tests, "debugger/stencil.cu"))
    run = [subprocess.run([one], env={**os.environ, "SIM_REPORT": "1", **more}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=60).stdout for more in ({}, {"SIM_DEBUG": "1"})]
    if run[0] != run[1] or "stencil" not in run[0]:
        expect("counts", "\n".join(run), "equal counts")


def test_dump():
    """A dump can be opened later, with the frames of waiting threads, but not if it is not a dump or its program is gone."""
    one = build(os.path.join(tests, "debugger/stencil.cu"))
    session(["break stencil.cu:25 if blockIdx.x == 2", "run", "generate-core-file %s/later" % place], [one])
    size = os.stat(place + "/later").st_blocks * 512
    if size > 300e6:
        expect("dump", "%d bytes" % size, "at most 300 MB")
    reopen = ["-ex", "python open_dump('%s/later')" % place]
    said = session(["lanes i", "cuda thread 40", "print i", "backtrace", "lanes threadIdx.x", "shared"], first=reopen)
    expect("dump", said[0], r"block \(2,0,0\), thread \(0,0,0\)")
    if lanes(said[1]) != [str(128 + n) for n in range(32)]:
        expect("dump: lanes i", said[1], "128 to 159")
    expect("dump", said[3], r"= 168$")
    expect("dump", said[4], r"stencil")
    if lanes(said[5]) != [str(n) for n in range(32, 64)]:
        expect("dump: lanes threadIdx.x", said[5], "32 to 63")
    expect("no dump", session(["echo"], first=["-ex", "python open_dump('%s')" % guide])[0], r"is not a dump")
    os.rename(one, one + ".gone")
    expect("dump", session(["echo"], first=reopen)[0], r"the program of this dump, .* is gone")
    os.rename(one + ".gone", one)


def test_wrong_commands():
    """Each mistake gets one line that says what to do."""
    one = [build(os.path.join(tests, "debugger/stencil.cu"))]
    asked = {
        "break nofile.cu:3": r"there is no file nofile.cu in this program; its files: stencil.cu",
        "break stencil.cu:400": r"No line 400 in file \"stencil.cu\"; the kernels: stencil \(stencil.cu:11\)",
        "break nokernel": r"\"nokernel\" not defined; the kernels: stencil",
        "break stencil.cu:38 if threadIdx.x == 3": r"is in no kernel.*the kernels: stencil",
        "break stencil if nonsense == 3": r"the condition nonsense == 3: No symbol",
        "cuda thread 3": r"no kernel is running",
        "lanes i": r"no kernel is running",
        "info cuda threads": r"no kernel is running",
        "info cuda nonsense": r"usage: info cuda kernels\|blocks",
    }
    for (command, pattern), text in zip(asked.items(), session(list(asked), one)):
        expect(command, text, pattern)
    asked = {
        "break stencil.cu:15": "", "run": "",
        "cuda thread 64": r"^there is no thread 64: they are 0 to 63$",
        "cuda thread (3,1,0)": r"^there is no thread \(3,1,0\): they are \(0,0,0\) to \(63,0,0\)$",
        "cuda thread 40": r"^thread \(40,0,0\) has not started yet",
        "cuda block 3": r"^block \(3,0,0\) is not running",
        "cuda block 9": r"^there is no block 9: they are 0 to 3$",
        "cuda warp 2": r"^there is no warp 2 here: they are 0 to 1$",
        "cuda lane 32": r"^there is no lane 32 here",
        "cuda kernel 4": r"^only kernel 0 runs now",
        "cuda nonsense 3": r"^usage: cuda thread",
        "lanes nonsense": r"No symbol \"nonsense\"",
        "shared nonsense": r"^there is no shared array nonsense; shared lists them$",
    }
    for (command, pattern), text in zip(asked.items(), session(list(asked), one)):
        expect(command, text, pattern)


def mi_session(program, *commands):
    """gdb's answer to an editor, command by command: launch.json's options, and the commands that cppdbg sends (MIEngine)."""
    with open(os.path.join(source, ".vscode/launch.json")) as f:
        config = json.loads(re.sub(r"^\s*//.*", "", f.read(), flags=re.M))["configurations"][0]
    options = config["miDebuggerArgs"].replace("${workspaceFolder}", source).split()
    gdb = subprocess.Popen(["gdb", "-nx", "-q", "--interpreter=mi", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, cwd=place)
    said = []
    for n, c in enumerate([s["text"] for s in config["setupCommands"]] + ["-file-exec-and-symbols " + program] + list(commands)):
        gdb.stdin.write("%d%s\n" % (n, c))
        gdb.stdin.flush()
        answer, stops = "", c.startswith("-exec-")
        while True:
            line = gdb.stdout.readline()
            if not line:
                break
            answer += line
            stops = stops and not line.startswith(("%d^error" % n, "*stopped"))
            if line.startswith("(gdb)") and re.search(r"^%d\^" % n, answer, re.M) and not stops:
                break
        said.append(answer)
    gdb.kill()
    gdb.wait()
    return said[-len(commands):]


def console(command):
    return '-interpreter-exec console "%s"' % command


def test_editor():
    """As an editor drives gdb: breakpoints before the program runs, stops with a reason, frames without the device's."""
    file = os.path.join(tests, "debugger/stencil.cu")
    said = mi_session(build(file), "-break-insert -f main",
                      '-break-insert -f -c "blockIdx.x == 1 && threadIdx.x == 5" %s:25' % file, "-exec-run", "-break-delete 1",
                      "-exec-continue", "-thread-info", "-stack-list-frames --thread 2 0 1000",
                      "-stack-list-variables --thread 2 --frame 0 1", console("lanes i"), console("cuda thread (40,0,0)"),
                      console("print threadIdx"), "-exec-next --thread 2 --frame 0", console("print threadIdx"),
                      "-break-delete 2", "-exec-continue")
    expect("editor", said[1], r'\^done,bkpt=\{.*line="25"')
    expect("editor", said[4], r'\*stopped,reason="breakpoint-hit",.*bkptno="2",.*func="stencil",.*thread-id="2"',
           r'^~"\[Switching focus to CUDA kernel 0 stencil, block \(1,0,0\), thread \(5,0,0\), warp 0, lane 5\]')
    expect("editor", said[5], r'\{id="1",.*\{id="2",(?!.*\{id="3")')
    expect("editor", said[6], r'stack=\[frame=\{level="0",[^}]*func="stencil\([^}]*file="/[^}]*stencil.cu",line="25"[^}]*\}\]$')
    expect("editor", said[7], r'name="i",value="69"')
    expect("editor", said[8], r'^~"lanes  0-7   64  65 ')
    expect("editor", said[10], r'\{x = 40, y = 0, z = 0\}')
    expect("editor", said[11], r'\*stopped,reason="end-stepping-range",.*func="stencil",.*line="26"')
    expect("editor", said[12], r'\{x = 5, y = 0, z = 0\}')
    # The program's output arrives complete, but possibly in the middle of one of gdb's lines.
    expect("editor", said[14], r'1 191\n', r'\*stopped,reason="exited-normally"')
    if "memory-changed" in "".join(said):
        expect("editor", "".join(said), "no word of the device's own memory, which an editor prints")

    said = mi_session(build(file, "-DWITHOUT_BARRIER"), "-exec-run", "-stack-list-frames --thread 2 0 1000")
    expect("editor: race", said[0], r'\*stopped,reason="breakpoint-hit"', r'^~"\\nThe checkers found: .*race in shared memory')
    expect("editor: race", said[1], r'stack=\[frame=\{level="1",[^}]*func="weighted\([^}]*line="7"')


def test_course():
    """What ./course debug says before it starts gdb."""
    def course(*words, path=None):
        done = subprocess.run([os.path.join(source, "course"), "debug", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, text=True, timeout=300, cwd=place,
                              env={**os.environ, "NO_COLOR": "1", **({"PATH": path} if path else {})})
        return ("%d\n" % done.returncode) + done.stdout
    expect("course", course("nothing.cu"), r"^2\n", r"^course: there is no file nothing.cu$")
    expect("course", course("--dump", "nothing"), r"^2\n", r"^course: there is no dump nothing; generate-core-file FILE writes")
    expect("course", course("--dump"), r"^2\n", r"^course: --dump\b", r"^usage: ./course debug")
    expect("course", course("99", "item"), r"^2\n", r"^course: there is no lab 99$")
    expect("course", course("03", "nonsense"), r"^2\n", r"^course: which item of lab 03\?.*tiled_correct")
    expect("course", course("03"), r"^2\n", r"^course: which item of lab 03\?")
    expect("course", course("x.cu", "--commands", "nothing"), r"^2\n", r"^course: there is no file nothing with gdb's commands$")
    expect("course", course("x.cu", "--backend", "cuda"), r"^2\n", r"there is no file x.cu")
    # launch.json looks for the program here; a lab's program finds its headers.
    made = os.path.join(source, "build/debug/kv_scores")
    if os.path.exists(made):
        os.remove(made)
    expect("course", course(os.path.join(source, "labs/13_when_it_crashes/crashed/kv_scores.cu"), "--build"), r"^0\n")
    if not os.path.exists(made):
        expect("course", "", "build/debug/kv_scores")
    # Without gdb: on systems where its package can be installed, and where it cannot.
    tools = os.path.join(place, "tools")
    os.makedirs(tools, exist_ok=True)
    for folder in ("/bin", "/usr/bin"):
        for name in os.listdir(folder):
            if name not in ("gdb", "sudo", "apt-get") and not os.path.lexists(os.path.join(tools, name)):
                os.symlink(os.path.join(folder, name), os.path.join(tools, name))
    with open(os.path.join(place, "a.dump"), "w") as f:
        f.write("a file")
    expect("no gdb", course("--dump", "a.dump", path=tools), r"^course: .*gdb")


def test_guide():
    """Regenerates the guide's output, with the versions that it names: other versions word some lines differently."""
    global bad
    version = [re.search(r"(\d+)\.\d", subprocess.run([tool, "--version"], stdout=subprocess.PIPE, text=True).stdout)[1]
               for tool in ("gdb", "g++")]
    if version != ["13", "12"] or "CXX" in os.environ:
        print("the guide is not compared: gdb %s, g++ %s" % tuple(version))
        return
    with open(guide) as f:
        text = f.read()
    blocks = list(re.finditer(r"^```text( without)?\n(.*?)^```\n", text, re.M | re.S))
    groups, last = [], None  # a session's blocks extend to the next second-level heading
    for b in blocks:
        heading = re.findall(r"^## .*", text[:b.start()], re.M)[-1]
        groups.append([b]) if heading != last else groups[-1].append(b)
        last = heading
    remade, count = {}, set()
    for group in groups:
        commands = [c for b in group for c in re.findall(r"^\(gdb\) (.*)", b[2], re.M)]
        count.update(commands)
        options = ["-DWITHOUT_BARRIER"] if group[0][1] else []
        said = session(commands, [build(os.path.join(tests, "debugger/stencil.cu"), *options)])
        for b in group:
            made = ""
            for c in re.findall(r"^\(gdb\) (.*)", b[2], re.M):
                out = said.pop(0)
                made += "(gdb) %s\n%s" % (c, out + "\n" if out else "")
            remade[b.span(2)] = made.replace("stencil.DWITHOUT_BARRIER", "stencil")
    new = text
    for (begin, end), made in sorted(remade.items(), reverse=True):
        new = new[:begin] + made + new[end:]
    if "--write" in sys.argv:
        with open(guide, "w") as f:
            f.write(new)
    elif new != text:
        print("gdb's output differs from the guide; debugger_test.py ... --write updates the guide:")
        print("".join(difflib.unified_diff(text.splitlines(True), new.splitlines(True), "guide", "now", n=1)))
        bad += 1
    if len(count) < 20:
        print("the guide shows %d commands only" % len(count))
        bad += 1


try:
    for name, test in [(n, t) for n, t in list(globals().items()) if n.startswith("test_")]:
        if "--write" not in sys.argv or name == "test_guide":
            before = bad
            test()
            print("%s: %s" % (name, "ok" if bad == before else "FAILED"), flush=True)
finally:
    shutil.rmtree(place)
sys.exit(1 if bad else 0)
