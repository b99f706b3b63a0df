"""Commands for CUDA programs on the simulated device, named as in cuda-gdb: cuda, info cuda, and conditions on threadIdx
and blockIdx. `lanes EXPRESSION` and `shared` are this course's own. gdb loads this file: ./course debug.

The lanes of a warp advance together, line by line, so gdb's own `next`, `step` and breakpoints work for a warp. One of its
lanes stops; gdb sees the other lanes' frames through `Fibers`. src/debugger.hpp has the simulated device's side.
"""

import linecache
import os
import re

import gdb
from gdb.unwinder import Unwinder

NO_KERNEL = "no kernel is running; set a breakpoint in one, such as: break FILE.cu:LINE, then: run"
STATES = {"fresh": "not started", "at_barrier": "at a barrier", "at_collective": "in a warp function",
          "at_grid_barrier": "at the grid's barrier", "waiting": "waiting", "done": "returned"}
MOST_PLACES = 64


def table():
    symbol = gdb.lookup_global_symbol("sim::debugged")
    if symbol is None:
        raise gdb.GdbError("this program was not built for the simulated device; start it with: ./course debug FILE.cu")
    return symbol.value()


def triple(value):
    return tuple(int(value[c]) for c in "xyz")


def shown(coordinates):
    return "(%d,%d,%d)" % coordinates


def linear(coordinates, of):
    return coordinates[0] + of[0] * (coordinates[1] + of[1] * coordinates[2])


def word(address):
    return int.from_bytes(gdb.selected_inferior().read_memory(address, 8).tobytes(), "little")


def put(address, data):
    """Writes the program's memory without gdb, which would report each write to an editor, and the editor would print it."""
    with open("/proc/%d/mem" % gdb.selected_inferior().pid, "r+b", buffering=0) as f:
        f.seek(int(address))
        f.write(data)


class Thread:
    """A thread of the running block."""

    def __init__(self, value, number):
        self.number = number
        self.index = triple(value["index"])
        self.state = str(value["now"]).rsplit("::", 1)[-1]
        self.line = int(value["line"])
        self.frame = int(value["frame"])
        self.waits_at = int(value["waits_at"])
        self.has_stack = int(value["stack"]) != 0


class Kernel:
    """What the simulated device knows about the running kernel."""

    def __init__(self):
        t = table()
        if not gdb.selected_inferior().pid and not is_core():
            raise gdb.GdbError(NO_KERNEL)
        if int(t["kernel"]) == 0 or int(t["threads"]) == 0:
            raise gdb.GdbError(NO_KERNEL)
        self.name = t["kernel"].string()
        self.number = int(t["launches"]) - 1
        self.grid, self.block_size, self.block = triple(t["grid"]), triple(t["block_size"]), triple(t["block"])
        self.current = int(t["current"])
        self.count = int(t["thread_count"])
        self._threads = t["threads"]

    def thread(self, number):
        return Thread(self._threads[number], number)

    def warp_of(self, number):
        first = number // 32 * 32
        return [self.thread(n) for n in range(first, min(first + 32, self.count))]


def is_core():
    connection = gdb.selected_inferior().connection
    return connection is not None and connection.type == "core"


# ---- frames


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class Fibers(Unwinder):
    """Makes a waiting thread's frames follow the frame in which the program stopped. No register is changed."""

    def __init__(self):
        super().__init__("cuda-threads")
        self.thread = None  # the thread that is shown; None: the one that stopped
        self.at = None      # the stack pointer and program counter where the program stopped

    def show(self, thread):
        self.thread = None
        gdb.invalidate_cached_frames()
        if thread is not None:
            top = gdb.newest_frame()
            self.at = int(top.read_register("rsp")), int(top.read_register("rip"))
            self.thread = thread
            gdb.invalidate_cached_frames()

    def __call__(self, frame):
        if self.thread is None:
            return None
        sp, pc = int(frame.read_register("rsp")), int(frame.read_register("rip"))
        if (sp, pc) != self.at:
            return None
        base = self.thread.frame  # where the frame of the kernel's code ends; below it are the return address and rbp
        long = gdb.lookup_type("unsigned long")
        info = frame.create_unwind_info(FrameId(gdb.Value(base - 80).cast(long), gdb.Value(pc).cast(long)))
        info.add_saved_register("rbp", gdb.Value(word(base - 16)).cast(long))
        # gdb takes a caller's line from the byte before the return address; before a line, that byte belongs to simcc's call.
        info.add_saved_register("rip", gdb.Value(word(base - 8) + (self.thread.line != 0)).cast(long))
        info.add_saved_register("rsp", gdb.Value(base).cast(long))
        return info


fibers = Fibers()
gdb.unwinder.register_unwinder(None, fibers, replace=True)


def is_programs_file(path):
    """Whether it is one of the program's own files. The device's files may be in another checkout, because a compiler cache keeps
    the paths of the first checkout that compiled them, or installed in PREFIX/lib/sim."""
    return not path.startswith("/usr/") and not re.search("/(common|lib)/sim/(include|src|libraries)/", path)


def is_programs(frame):
    """Whether it is one of the user's files, not the simulated device's or the C++ library's."""
    place = frame.find_sal().symtab
    if place is None:
        return False
    path = os.path.realpath(place.fullname())
    return path.endswith((".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc")) and is_programs_file(path)


def kernel_frames(frame):
    """The frames of the kernel's code, newest first."""
    found = []
    if fibers.thread is not None:
        frame = frame.older()  # the stopped thread is not the one that is shown
    while frame is not None and frame.is_valid():
        if is_programs(frame):
            found.append(frame)
        elif "sim::frame<" in (frame.name() or ""):
            break  # the launch
        frame = frame.older()
    return found


class HideOurs:
    """`backtrace` shows the program's own frames."""

    name, priority, enabled = "cuda", 100, True

    def __init__(self):
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        all_of = list(frames)
        mine, in_kernel = [], False
        for f in all_of:
            frame = f.inferior_frame()
            if fibers.thread is not None and frame.level() == 0:
                continue
            if is_programs(frame):
                mine.append(f)
            elif mine and "sim::frame<" in (frame.name() or ""):
                in_kernel = True
                break
        if in_kernel:
            return iter(mine)
        return iter(all_of if fibers.thread is None else mine)


HideOurs()

# ---- focus: the thread to which commands apply

focus = None  # the thread's number in the block; None: the one that stopped
seen = None   # the focus that was last shown


def focused(kernel):
    if focus is not None and focus < kernel.count:
        return focus
    if kernel.current >= 0:
        return kernel.current
    for n in range(kernel.count):  # between two steps of the block
        if kernel.thread(n).state != "done":
            return n
    return 0


def in_mi():
    with open("/proc/self/cmdline", "rb") as f:
        return b"interpreter=mi" in f.read()


def tell_index(index):
    """Sets threadIdx, which belongs to the running thread."""
    if is_core():
        return
    try:
        at = int(gdb.parse_and_eval("(unsigned long) &threadIdx"))
        put(at, b"".join(i.to_bytes(4, "little") for i in index))
    except (gdb.error, OSError):
        pass


def can_be_shown(thread):
    return thread.has_stack and thread.state != "done" and thread.frame != 0


def view(kernel, number):
    """Shows a thread's frames. Returns the newest of its program's own; None if it has none."""
    thread = kernel.thread(number)
    if number == kernel.current:
        fibers.show(None)
    elif can_be_shown(thread):
        fibers.show(thread)
    else:
        return None
    tell_index(thread.index)
    frames = kernel_frames(gdb.newest_frame())
    if not frames:
        return None
    frames[0].select()
    return frames[0]


def back(*_):
    """Before the program continues, returns to the stopped thread, which is the one that gdb steps."""
    global focus
    if fibers.thread is None:
        return
    try:
        kernel = Kernel()
        fibers.show(None)
        if kernel.current >= 0:
            tell_index(kernel.thread(kernel.current).index)
    except (gdb.GdbError, gdb.error):
        fibers.show(None)
    gdb.newest_frame().select()


def place_of(frame):
    sal = frame.find_sal()
    return "%s:%d" % (os.path.basename(sal.symtab.filename), sal.line) if sal.symtab else "?"


def say_focus(kernel, number):
    thread = kernel.thread(number)
    return "kernel %d %s, block %s, thread %s, warp %d, lane %d" % (
        kernel.number, kernel.name, shown(kernel.block), shown(thread.index), number // 32, number % 32)


def print_source(frame):
    sal = frame.find_sal()
    print("%s () at %s" % (frame.name(), place_of(frame)))
    text = linecache.getline(sal.symtab.fullname(), sal.line) if sal.symtab else ""
    if text:
        print("%d\t%s" % (sal.line, text.rstrip("\n")))


WHOLE_LOOP = re.compile(r"^\s*(for|while)\s*\(.*\)\s*[^\s{;].*;|^\s*(for|while|do)\b.*\{.*;\s*\}|^\s*(for|while)\s*\(.*\)\s*;")
told_of_loops = set()


def tell_of_loop(frame):
    """Prints this once per line: gdb executes a loop on one line as one step."""
    sal = frame.find_sal()
    place = sal.symtab and (sal.symtab.fullname(), sal.line)
    if place and place not in told_of_loops and WHOLE_LOOP.match(linecache.getline(*place)):
        told_of_loops.add(place)
        print("line %d holds a whole loop, and `next` executes all of it; to step through it, put its body on its own line"
              % sal.line)


def select_worker():
    """Ctrl-C stops in any of the process's threads, and a dump opens in any; commands need the thread that runs blocks."""
    def works():
        frame = gdb.newest_frame()
        while frame is not None:
            if (frame.name() or "").startswith("sim::worker::"):
                return True
            frame = frame.older()
        return False
    if not works():
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            if works():
                return


def on_stop(event):
    """Says which thread of the kernel stopped, and returns to the thread in focus."""
    global seen, focus
    fibers.thread = None
    try:
        kernel = Kernel()
    except (gdb.GdbError, gdb.error):
        seen = focus = None
        return
    select_worker()
    report = table()["report"]
    if int(report):
        print("\nThe checkers found: " + report.string())
        focus = int(table()["report_thread"])
    elif kernel.current >= 0:
        here = kernel.number, kernel.block, kernel.current // 32
        if seen is None or seen[:3] != here or isinstance(event, gdb.BreakpointEvent):
            focus = None
        put(table()["focus"].address, kernel.current.to_bytes(4, "little"))
    number = focused(kernel)
    now = (kernel.number, kernel.block, number // 32, number)
    if now != seen:
        print("[Switching focus to CUDA %s]" % say_focus(kernel, number))
    seen = now
    stopped = kernel_frames(gdb.newest_frame()) if kernel.current >= 0 else []
    if kernel.current >= 0 and not stopped and type(event) is gdb.StopEvent:
        print("thread %s has returned from the kernel; continue goes on to the next stop" %
              shown(kernel.thread(kernel.current).index))
        return
    frame = stopped[0] if stopped else None
    if number != kernel.current:
        line = place_of(frame) if frame else ""
        frame = view(kernel, number)
        if frame is not None and place_of(frame) != line:
            print_source(frame)
    elif int(report) and frame is not None:  # found while the thread ran, below functions of the simulated device
        frame.select()
        print_source(frame)
    if frame is not None and not int(report):
        tell_of_loop(frame)


gdb.events.stop.connect(on_stop)
gdb.events.exited.connect(lambda event: globals().update(focus=None, seen=None))
for command in ("next", "step", "finish", "until", "advance", "stepi", "nexti", "continue", "jump", "call"):
    gdb.execute("define hook-%s\npython back()\nend" % command)

# ---- breakpoints: the simulated device itself checks blockIdx and threadIdx, which is fast

TERM = re.compile(r"^\(?\s*(threadIdx|blockIdx)\s*\.\s*([xyz])\s*==\s*(\d+)\s*\)?$")


def coordinates(condition):
    """The block and thread that a condition requires, -1 for any, and whether it requires more."""
    wanted, more = {"blockIdx": [-1] * 3, "threadIdx": [-1] * 3}, False
    for term in re.split(r"&&|\band\b", condition or ""):
        match = TERM.match(term.strip())
        if match:
            wanted[match[1]]["xyz".index(match[2])] = int(match[3])
        elif term.strip():
            more = True
    if "||" in (condition or ""):
        return [-1] * 3, [-1] * 3, True
    return wanted["blockIdx"], wanted["threadIdx"], more


def addresses_of(breakpoint):
    text = gdb.execute("info breakpoints %d" % breakpoint.number, to_string=True)
    return [int(a, 16) for a in re.findall(r"\b0x[0-9a-f]{8,16}\b(?= in )", text)]


def tell_places():
    """Tells the simulated device where breakpoints are, and which threads they are for."""
    if not gdb.selected_inferior().pid or is_core():
        return
    entries = []
    for b in gdb.breakpoints() or ():
        if b.is_valid() and b.enabled and b.type == gdb.BP_BREAKPOINT and b.visible and not b.pending:
            block, thread, more = coordinates(b.condition)
            if b.condition:
                entries += [(pc, block, thread, more) for pc in addresses_of(b)]
            else:
                entries += [(pc, block, thread, False) for pc in addresses_of(b)]
    if len(entries) > MOST_PLACES:
        print("only the first %d breakpoint locations stop in kernels" % MOST_PLACES)
    places = table()["places"]
    for i, (pc, block, thread, more) in enumerate(entries[:MOST_PLACES]):
        data = pc.to_bytes(8, "little")
        for n in block + thread:
            data += n.to_bytes(4, "little", signed=True)
        data += bytes([more])
        put(places[i].address, data)
    put(table()["place_count"].address, len(entries[:MOST_PLACES]).to_bytes(4, "little"))


def changed(_):
    try:
        tell_places()
    except (gdb.error, gdb.GdbError, gdb.MemoryError, OSError):
        pass  # the program has not started: happens at the first launch


for event in (gdb.events.breakpoint_created, gdb.events.breakpoint_modified, gdb.events.breakpoint_deleted):
    event.connect(changed)


class Launch(gdb.Breakpoint):
    """A kernel begins. With `set cuda break_on_launch`, it stops at its first line."""

    def stop(self):
        changed(None)
        return False


class Report(gdb.Breakpoint):
    """A checker has found something."""

    def stop(self):
        return True


def own_breakpoints(_=None):
    if own or not gdb.lookup_global_symbol("sim::debugged"):
        return
    own.extend((Launch("sim_debugger_launch", internal=True), Report("sim_debugger_report", internal=True)))
    for breakpoint in own:
        breakpoint.silent = not in_mi()  # it reports a silent stop without a reason, which editors show as unknown


own = []
gdb.events.new_objfile.connect(own_breakpoints)


class Break(gdb.Command):
    """Set a breakpoint: break FILE.cu:LINE, break KERNEL, with a condition as in cuda-gdb:
break saxpy.cu:12 if blockIdx.x == 3 && threadIdx.x == 17
In each warp that reaches the line, the first thread that meets the condition stops; the others wait at the same line."""

    def __init__(self, name, temporary):
        super().__init__(name, gdb.COMMAND_BREAKPOINTS, gdb.COMPLETE_LOCATION)
        self.temporary = temporary

    def invoke(self, argument, from_tty):
        spec = argument.strip() or "*$pc"
        where, _, condition = spec.partition(" if ")
        where = where.strip()
        try:
            places = gdb.decode_line(where)[1]
            if re.search(r"\b(threadIdx|blockIdx)\b", condition) and not any(in_device_code(p.pc) for p in places):
                raise gdb.GdbError("%s is in no kernel, so no thread of a block reaches it; the kernels: %s" %
                                   (where, all_kernels()))
            made = gdb.Breakpoint(where, temporary=self.temporary)
        except gdb.error as e:
            raise gdb.GdbError(advice(where, str(e)))
        try:
            made.condition = condition.strip() or None
        except gdb.error as e:
            made.delete()
            raise gdb.GdbError("the condition %s: %s" % (condition.strip(), e))
        line = re.search(r":(\d+)$", where) or re.search(r"^(\d+)$", where)
        if line and places and places[0].line != int(line[1]):
            print("line %s has no code; the next line with code is %d" % (line[1], places[0].line))


def is_line_call(address):
    """Whether the previous instruction is simcc's call."""
    try:
        code = gdb.selected_inferior().read_memory(address - 5, 5).tobytes()
        target = address + int.from_bytes(code[1:], "little", signed=True)
        return code[0] == 0xE8 and target == int(gdb.parse_and_eval("(unsigned long) &sim_line"))
    except (gdb.error, gdb.MemoryError):
        return False


def in_device_code(address):
    """Whether simcc put its call here, and the function is declared for the device."""
    block = gdb.block_for_pc(address) if is_line_call(address) else None
    while block is not None and block.function is None:
        block = block.superblock
    if block is None:
        return False
    name, line = block.function.name, block.function.line
    if "operator()" in name:
        return True
    path = block.function.symtab.fullname()
    above = "".join(linecache.getline(path, n) for n in range(max(line - 4, 1), line + 1))
    return bool(re.search(r"__(global|device)__", re.split(r"[;}]", above)[-1]))


def program_files():
    names = set()
    for symtab in re.findall(r"(/[^,\s]+)", gdb.execute("info sources", to_string=True)):
        path = os.path.realpath(symtab)
        if path.endswith((".cu", ".cuh", ".cpp")) and is_programs_file(path) and os.path.exists(path):
            names.add(path)
    return sorted(names)


def all_kernels():
    """The names of the __global__ functions, from the source."""
    found = []
    for path in program_files():
        with open(path, errors="replace") as f:
            text = f.read()
        for match in re.finditer(r"__global__[^;{(]*?(?:__launch_bounds__\s*\([^)]*\)\s*)?[^;{(]*?\b(\w+)\s*\(", text):
            found.append("%s (%s:%d)" % (match[1], os.path.basename(path), text.count("\n", 0, match.start(1)) + 1))
    if not found:
        return "the program has none"
    return ", ".join(found[:8]) + (", ..." if len(found) > 8 else "")


def advice(where, error):
    error = error.strip().rstrip(".")
    files = ", ".join(os.path.basename(f) for f in program_files()) or "none with lines; build it with -G"
    if error.startswith("No source file") or error.startswith("No symbol table"):
        return "there is no file %s in this program; its files: %s" % (where.rsplit(":", 1)[0], files)
    if error.startswith("No line"):
        return "%s; the kernels: %s" % (error, all_kernels())
    if "not defined" in error:
        return "%s; the kernels: %s" % (error, all_kernels())
    return error


Break("break", False)
Break("tbreak", True)

# ---- cuda, info cuda


def coordinates_in(text, of, what):
    """`5`, `(5)`, `(5,0)` or `(5,0,0)`; a single number counts all, as in cuda-gdb."""
    numbers = [int(n) for n in re.findall(r"\d+", text)]
    if not numbers or len(numbers) > 3:
        raise gdb.GdbError("which %s? write: cuda %s (5,0,0)" % (what, what))
    count = of[0] * of[1] * of[2]
    if len(numbers) == 1 and "(" not in text:
        if numbers[0] >= count:
            raise gdb.GdbError("there is no %s %d: they are 0 to %d" % (what, numbers[0], count - 1))
        return numbers[0] % of[0], numbers[0] // of[0] % of[1], numbers[0] // of[0] // of[1]
    numbers += [0] * (3 - len(numbers))
    if any(n >= o for n, o in zip(numbers, of)):
        last = tuple(o - 1 for o in of)
        raise gdb.GdbError("there is no %s %s: they are (0,0,0) to %s" % (what, shown(tuple(numbers)), shown(last)))
    return tuple(numbers)


def switch(kernel, number):
    global focus, seen
    thread = kernel.thread(number)
    frame = view(kernel, number)
    if frame is None:
        why = {"done": "has returned", "fresh": "has not started yet"}.get(thread.state, "is not in the kernel's own code")
        raise gdb.GdbError("thread %s %s, so it has no frames; info cuda threads shows where each thread is" %
                           (shown(thread.index), why))
    focus = number
    seen = (kernel.number, kernel.block, number // 32, number)
    print("[Switching focus to CUDA %s]" % say_focus(kernel, number))
    print_source(frame)


class Cuda(gdb.Command):
    """cuda thread, cuda block, cuda kernel, cuda warp, cuda lane: show what is in focus.
cuda thread (5,0,0), cuda lane 3, cuda warp 1 lane 3, ...: switch to another thread of the running block."""

    def __init__(self):
        super().__init__("cuda", gdb.COMMAND_DATA)

    def complete(self, text, word):
        return [w for w in ("thread", "block", "kernel", "warp", "lane") if w.startswith(word)]

    def invoke(self, argument, from_tty):
        kernel = Kernel()
        number = focused(kernel)
        found = re.findall(r"(thread|block|kernel|grid|warp|lane)\b\s*(\([\d,\s]*\)|\d+)?", argument)
        rest = re.sub(r"(thread|block|kernel|grid|warp|lane)\b\s*(\([\d,\s]*\)|\d+)?", "", argument).strip()
        if rest or not found:
            raise gdb.GdbError("usage: cuda thread|block|kernel|warp|lane [NUMBER or (x,y,z)], such as: cuda thread (5,0,0)")
        if not any(value for _, value in found):
            thread = kernel.thread(number)
            values = {"thread": shown(thread.index), "block": shown(kernel.block), "kernel": "%d" % kernel.number,
                      "grid": "%d" % (kernel.number + 1), "warp": "%d" % (number // 32), "lane": "%d" % (number % 32)}
            print(", ".join("%s %s" % (what, values[what]) for what, _ in found))
            return
        for what, value in found:
            if not value:
                raise gdb.GdbError("which %s? write: cuda %s 0" % (what, what))
            if what in ("kernel", "grid"):
                running = kernel.number + (what == "grid")
                if int(re.sub(r"\D", "", value) or -1) != running:
                    raise gdb.GdbError("only %s %d runs now; set a breakpoint in the other one" % (what, running))
            elif what == "block":
                block = coordinates_in(value, kernel.grid, "block")
                if block != kernel.block:
                    raise gdb.GdbError("block %s is not running: the simulated device runs one block at a time, now %s; stop "
                                       "in it with: break LINE if blockIdx.x == %d" % (shown(block), shown(kernel.block), block[0]))
            elif what == "thread":
                number = linear(coordinates_in(value, kernel.block_size, "thread"), kernel.block_size)
            else:
                n, most = int(re.sub(r"\D", "", value)), 31 if what == "lane" else (kernel.count - 1) // 32
                number = number // 32 * 32 + n if what == "lane" else n * 32 + number % 32
                if n > most or number >= kernel.count:
                    raise gdb.GdbError("there is no %s %d here: they are 0 to %d" % (
                        what, n, min(most, kernel.count - 1 - number // 32 * 32) if what == "lane" else most))
        switch(kernel, number)


def where(kernel, thread):
    """The state of a thread and its line in the program."""
    state = STATES.get(thread.state, "active")
    pc = None
    if thread.number == kernel.current:
        frames = kernel_frames(gdb.newest_frame()) if fibers.thread is None else []
        pc = frames[0].pc() if frames else None
    elif thread.line and state == "active":
        pc = thread.line
    elif thread.waits_at and state not in ("active", "returned", "not started"):
        pc = thread.waits_at - 1
    if pc is None:
        return state, ""
    sal = gdb.find_pc_line(pc)
    return state, "%s:%d" % (os.path.basename(sal.symtab.filename), sal.line) if sal.symtab else ""


def all_places(kernel, numbers):
    """The place of each of these threads, seen from the thread that stopped."""
    shown_now = fibers.thread
    if shown_now is not None:
        fibers.show(None)
    places = [where(kernel, kernel.thread(n)) for n in numbers]
    if shown_now is not None:
        view(kernel, shown_now.number)
    return places


def print_table(head, rows):
    widths = [max(len(str(r[i])) for r in [head] + rows) for i in range(len(head))]
    for r in [head] + rows:
        print("  ".join(str(c).ljust(w) for c, w in zip(r, widths)).rstrip())


class InfoCuda(gdb.Command):
    """info cuda kernels|blocks|warps|lanes|threads: what runs, and where each thread is. * marks the focus."""

    KINDS = ("kernels", "blocks", "warps", "lanes", "threads")

    def __init__(self):
        super().__init__("info cuda", gdb.COMMAND_STATUS)

    def complete(self, text, word):
        return [k for k in self.KINDS if k.startswith(word)]

    def invoke(self, argument, from_tty):
        kind = argument.strip()
        if kind not in self.KINDS:
            raise gdb.GdbError("usage: info cuda %s" % "|".join(self.KINDS))
        kernel = Kernel()
        getattr(self, kind)(kernel, focused(kernel))

    def kernels(self, kernel, number):
        print_table(("", "Kernel", "GridDim", "BlockDim", "Name"),
                    [("*", kernel.number, shown(kernel.grid), shown(kernel.block_size), kernel.name)])

    def blocks(self, kernel, number):
        done = linear(kernel.block, kernel.grid)
        print_table(("", "BlockIdx", "State"), [("*", shown(kernel.block), "running (one block runs at a time)")])
        if done:
            print("blocks 0 to %d have begun before it" % (done - 1) if done > 1 else "block 0 has begun before it")

    def lanes(self, kernel, number):
        numbers = [t.number for t in kernel.warp_of(number)]
        print_table(("", "Lane", "State", "ThreadIdx", "Line"),
                    [("*" if n == number else "", n % 32, state, shown(kernel.thread(n).index), line)
                     for n, (state, line) in zip(numbers, all_places(kernel, numbers))])

    def warps(self, kernel, number):
        rows = []
        for first in range(0, kernel.count, 32):
            numbers = range(first, min(first + 32, kernel.count))
            places = all_places(kernel, numbers)
            mine = places[number % 32 if number // 32 == first // 32 else 0]
            active = sum(1 << i for i, p in enumerate(places) if p == mine and p[0] == "active")
            other = sum(1 << i for i, p in enumerate(places) if p[0] != "returned") & ~active
            rows.append(("*" if number // 32 == first // 32 else "", first // 32, "0x%08x" % active, "0x%08x" % other,
                         shown(kernel.thread(first).index), " ".join(filter(None, mine))))
        print_table(("", "Warp", "Active lanes", "Other lanes", "First thread", "Where"), rows)

    def threads(self, kernel, number):
        places, rows, begin = all_places(kernel, range(kernel.count)), [], 0
        for n in range(1, kernel.count + 1):
            if n < kernel.count and places[n] == places[begin]:
                continue
            rows.append(("*" if begin <= number < n else "", shown(kernel.thread(begin).index),
                         shown(kernel.thread(n - 1).index), n - begin) + places[begin])
            begin = n
        print("Kernel %d, block %s" % (kernel.number, shown(kernel.block)))
        print_table(("", "ThreadIdx", "To ThreadIdx", "Count", "State", "Line"), rows)


class Lanes(gdb.Command):
    """lanes EXPRESSION: its value in each lane of the warp in focus. Without one: info cuda lanes."""

    def __init__(self):
        super().__init__("lanes", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        if not argument.strip():
            gdb.execute("info cuda lanes")
            return
        kernel = Kernel()
        number = focused(kernel)
        function = gdb.selected_frame().name()  # after `up`, this is the caller
        if not is_programs(gdb.selected_frame()):
            frame = view(kernel, number)
            function = frame.name() if frame else None
        values, error = [], None
        for thread in kernel.warp_of(number):
            text = STATES.get(thread.state, "?")
            if view(kernel, thread.number) is not None:
                same = [f for f in kernel_frames(gdb.newest_frame()) if f.name() == function]
                text = "elsewhere"
                if same:
                    same[0].select()
                    try:
                        text = gdb.parse_and_eval(in_thread(argument, thread)).format_string(max_elements=8)
                    except gdb.error as e:
                        error = error or str(e)
                        text = None
            values.append((thread.number % 32, text))
        if view(kernel, number) is not None:
            next((f for f in kernel_frames(gdb.newest_frame()) if f.name() == function), gdb.selected_frame()).select()
        if all(text is None for _, text in values):
            raise gdb.GdbError(error)
        known = ["" if text is None else text for _, text in values]
        if max(map(len, known)) > 14:
            for lane, text in zip((l for l, _ in values), known):
                print("%4d  %s" % (lane, text))
            return
        width = max(max(map(len, known)), 1)
        for first in range(0, len(known), 8):
            print("lanes %2d-%-2d  %s" % (first, min(first + 7, len(known) - 1),
                                         "  ".join(t.rjust(width) for t in known[first:first + 8])))


def in_thread(expression, thread):
    """In a dump, threadIdx cannot be set, so its value is put into the expression."""
    if not is_core():
        return expression
    return re.sub(r"\bthreadIdx\.([xyz])\b", lambda m: str(thread.index["xyz".index(m[1])]), expression)


class Shared(gdb.Command):
    """shared: the arrays and variables in the block's shared memory. shared NAME: its contents."""

    def __init__(self):
        super().__init__("shared", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        kernel = Kernel()
        t = table()
        rows, names = [], []
        for i in range(int(t["array_count"])):
            a = t["arrays"][i]
            if a["guard"]:
                continue
            name = a["name"]["_M_dataplus"]["_M_p"].string()
            dynamic = bool(a["dynamic"])
            size = int(t["dynamic_shared_bytes"]) if dynamic else int(a["bytes"])
            if dynamic and not size:
                continue
            short = "extern (dynamic)" if dynamic else name.rsplit("::", 1)[-1]
            owner = name.rsplit("::", 1)[0].split("(")[0] if "::" in name else ""
            if owner and owner.split("<")[0].split("::")[-1] not in kernel.name and not self.reached(owner):
                continue  # belongs to another kernel
            try:
                kind = str(gdb.parse_and_eval(short).type) if not dynamic else ""
            except gdb.error:
                kind = ""
            rows.append((short, kind, size, owner))
        if not rows:
            print("kernel %s has no shared arrays" % kernel.name)
            return
        if argument.strip():
            if argument.strip() not in [r[0] for r in rows]:
                raise gdb.GdbError("there is no shared array %s; shared lists them" % argument.strip())
            print("%s = %s" % (argument.strip(), gdb.parse_and_eval(argument).format_string()))
            return
        print_table(("Name", "Type", "Bytes", "Function"), rows)

    @staticmethod
    def reached(owner):
        return any(owner in (f.name() or "") for f in kernel_frames(gdb.newest_frame()))


def open_dump(path):
    """For ./course debug --dump: opens a dump written by generate-core-file, and its program."""
    try:
        gdb.execute("core-file %s" % path, to_string=True)
        mapped = re.findall(r"\s(/\S+)$", gdb.execute("info proc mappings", to_string=True), re.M)
    except gdb.error as e:
        print("%s is not a dump: %s" % (path, e))
        gdb.execute("quit 2")
    program = mapped[0] if mapped else ""
    if not os.path.exists(program):
        print("the program of this dump, %s, is gone; build it again: ./course debug FILE.cu" % program)
        gdb.execute("quit 2")
    if os.path.getmtime(program) > os.path.getmtime(path):
        print("warning: %s was built after this dump was written; lines and values may be wrong" % program)
    gdb.execute("file %s" % program, to_string=True)
    gdb.execute("core-file %s" % path, to_string=True)
    try:
        kernel = Kernel()
    except gdb.GdbError as e:
        print(e)
        return
    select_worker()
    report = table()["report"]
    if int(report):
        print("The checkers found: " + report.string())
    number = int(table()["report_thread"]) if int(report) else focused(kernel)
    switch(kernel, number)


Cuda()
InfoCuda()
Lanes()
Shared()
for line in ("set pagination off", "set confirm off", "set print thread-events off", "set breakpoint pending off",
             "set print frame-arguments scalars", "set environment SIM_DEBUG 1",
             *("skip -gfi %s%s" % (folder, depth) for depth in ("*", "*/*", "*/*/*", "*/*/*/*")
               for folder in ("common/sim/include/", "common/sim/src/", "common/sim/libraries/", "lib/sim/include/",
                              "/usr/include/"))):
    gdb.execute(line, to_string=True)
own_breakpoints()
