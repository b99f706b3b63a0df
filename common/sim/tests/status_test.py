"""While a kernel runs, a terminal shows its progress and keeps the program's output; a pipe gets no progress.
usage: status_test.py SIMCC"""
import os
import pty
import re
import subprocess
import sys
import tempfile

PROGRAM = """#include <cuda_runtime.h>
#include <unistd.h>
__global__ void slow() { if (threadIdx.x == 0) usleep(400000); }
int main() {
  write(2, "working: ", 9);
  slow<<<8, 32>>>();
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  write(2, "done\\n", 5);
}
"""
with tempfile.TemporaryDirectory() as folder:
    with open(folder + "/slow.cu", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    subprocess.run([sys.argv[1], folder + "/slow.cu", "-o", folder + "/slow"], check=True, stderr=subprocess.DEVNULL)
    asked = {**os.environ, "SIM_THREADS": "1"}
    ours, theirs = pty.openpty()
    with subprocess.Popen([folder + "/slow"], env=asked, stderr=theirs, stdout=subprocess.DEVNULL) as run:
        os.close(theirs)
        said = b""
        try:
            while piece := os.read(ours, 4096):
                said += piece
        except OSError:  # the other end is closed
            pass
    assert run.returncode == 0, said
    said = said.decode()
    steps = [(int(share), int(seconds)) for share, seconds in re.findall(r"launch 1, slow: (\d+) % of its blocks begun, (\d+) s", said)]
    assert len(steps) >= 2 and 0 < steps[0][0] < steps[-1][0] and steps[0][1] < steps[-1][1], said
    left = re.sub("\0337.*?\0338|\033\\[K", "", said)  # the text that stays on the screen
    assert left.startswith("working: done\r\n") and "\033" not in left, said
    piped = subprocess.run([folder + "/slow"], env=asked, stderr=subprocess.PIPE, check=True).stderr.decode()
    assert "\033" not in piped and "% of its" not in piped, piped
