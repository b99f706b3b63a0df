#!/usr/bin/env python3
"""Measures the solutions against published programs, in one process on one GPU: compare.py RESULTS.json

Rivals that come with PyTorch always take part. Others take part if these variables name their clones; none is copied here:
    SGEMM_CUDA  github.com/siboehm/SGEMM_CUDA       FAST_CU  github.com/pranjalssh/fast.cu
    TRITON      github.com/triton-lang/triton, at the version that PyTorch has
ONLY, a regular expression, selects workloads. The kernels are built with nvcc, for compute capability 9.0.

First compares each result with float64, in sampled rows. Then all programs of a workload take turns, in a new random order each
round; the device waits before each call until the call has been queued, so that no launch is timed. Reports a rival that fails,
with its error. comparison.py makes the page from RESULTS.json.
"""
import ctypes
import functools
import importlib.util
import json
import math
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as F
import triton
from torch.nn.attention import SDPBackend, sdpa_kernel

here = pathlib.Path(__file__).resolve().parent
root = here.parents[1]
folder = pathlib.Path(tempfile.mkdtemp())
clones = {name: os.environ[name] for name in ("SGEMM_CUDA", "FAST_CU", "TRITON") if os.environ.get(name)}

# ---- What is compiled: name -> sources, folders of headers, flags, and functions that Python finds --------------------------

MATRICES = "float* c, float* a, float* b, int n"
RUNGS = ["naive", "coalesced", "tiled", "1d", "2d", "vectorized", "pipelined", "warptiled"]
LIBRARIES = {
    "lab03": (["solutions/03_coalescing/handin/transpose.cu"], ["labs/03_coalescing"], '''#include "coalescing.hpp"
        extern "C" void transpose(float* out, const float* in, int n) { lab03::transpose(out, in, n, n, nullptr); }'''),
    "lab04": (["solutions/04_fusion/handin/fused.cu"], ["labs/04_fusion"], '''#include "fusion.hpp"
        extern "C" void layernorm(float* out, const float* in, int r, int c) { lab04::layernorm(out, in, r, c, nullptr); }
        extern "C" void softmax(float* out, const float* in, int r, int c) { lab04::softmax(out, in, r, c, nullptr); }'''),
    "lab06": (["solutions/06_tiling/handin/sgemm.cu", "labs/06_tiling/given/naive.cu"], ["labs/06_tiling"],
              '#include "tiling.hpp"\n' + "\n".join(
                  f'extern "C" void {f}({MATRICES}) {{ lab06::{f}(c, a, b, n, n, n, nullptr); }}'
                  for f in ["sgemm", *(f"sgemm_{rung}" for rung in RUNGS)])),
    "lab09": (["solutions/09_low_precision/handin/tensor.cu", "solutions/09_low_precision/hopper/hopper.cu"],
              ["labs/09_low_precision", "labs/09_low_precision/hopper"], '#include "hopper.hpp"\n' + "\n".join(
                  f'extern "C" void {f}(lab09::bf16* c, lab09::bf16* a, lab09::bf16* b, int n) {{ lab09::{f}(c, a, b, n, n, n, nullptr); }}'
                  for f in ("gemm_pipelined", "gemm_hopper"))),
    "lab11": (["solutions/11_attention/handin/attention.cu", "solutions/11_attention/hopper/hopper.cu"],
              ["labs/11_attention", "labs/11_attention/hopper"], '''#include "hopper.hpp"
        using lab11::bf16;
        extern "C" void mma(bf16* out, float* lse, bf16* q, bf16* k, bf16* v, int heads, int tokens, int size, int causal) {
          lab11::attention_bf16(out, lse, q, k, v, heads, tokens, size, causal != 0, nullptr);
        }
        extern "C" void wgmma(bf16* out, float* lse, bf16* q, bf16* k, bf16* v, int heads, int tokens, int size, int causal) {
          lab11::attention_hopper(out, lse, q, k, v, heads, tokens, size, causal != 0, nullptr);
        }'''),
    "lab15": (["solutions/15_serving/handin/paged.cu"], ["labs/15_serving"], '''#include "serving.hpp"
        extern "C" void paged(float* out, float* q, __nv_bfloat16* k, __nv_bfloat16* v, int* table, int* lengths, int texts, int heads,
                              int kv_heads, int size, int width) {
          lab15::paged_attention(out, q, k, v, table, lengths, texts, heads, kv_heads, size, width, nullptr);
        }'''),
    # Each project's own files, with its flags.
    "SGEMM_CUDA": ([], [], f'''#include "src/runner.cu"
        extern "C" void rung(int kernel, {MATRICES}) {{ run_kernel(kernel, n, n, n, 1, a, b, 0, c, nullptr); }}'''),
    "FAST_CU": ([], [], '''#define main main_of_fast
        #include "matmul.cu"
        extern "C" void rung(int kernel, bf16* c, bf16* a, bf16* b, int n) { run_kernel(kernel, n, n, n, a, b, c); }'''),
}
FLAGS = {"SGEMM_CUDA": "-std=c++20 -O3 -lcublas", "FAST_CU": "-std=c++17 -O3 -DNDEBUG --use_fast_math --expt-relaxed-constexpr "
         "--expt-extended-lambda -Xcompiler=-fno-strict-aliasing -lcublas -lcuda"}


def build():
    """Builds all in parallel."""
    running = {}
    for name, (sources, headers, functions) in LIBRARIES.items():
        if not name.startswith("lab") and name not in clones:
            continue
        (folder / f"{name}.cu").write_text(functions)
        headers = [root / "common/include", *(root / h for h in headers)] if name not in clones else [clones[name]]
        command = ["nvcc", *FLAGS.get(name, "-std=c++20 -O3").split(), "-gencode=arch=compute_90a,code=sm_90a", "-w", "-shared",
                   "-Xcompiler", "-fPIC", *(f"-I{h}" for h in headers), folder / f"{name}.cu", *(root / s for s in sources),
                   f"-L{pathlib.Path(shutil.which('nvcc')).resolve().parents[1]}/lib64/stubs", "-o", folder / f"{name}.so"]
        running[name] = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = {name: process.communicate()[0] for name, process in running.items()}
    for name, process in running.items():
        if process.returncode:
            sys.exit(f"compare: {name} does not compile:\n{said[name]}")
    return {name: ctypes.CDLL(str(folder / f"{name}.so")) for name in running}


@functools.cache
def tutorial(name, end):
    """Triton's tutorial up to the line that begins with `end`, after which it tests and measures itself."""
    text = (pathlib.Path(clones["TRITON"]) / f"python/tutorials/{name}.py").read_text()
    cut = re.search(f"^{end}", text, re.MULTILINE)
    file = folder / f"tutorial_{name[:2]}.py"
    file.write_text(text[:cut.start()] if cut else text)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- Taking turns ----------------------------------------------------------------------------------------------------------

results = {"works": []}


def relative_error(got, want):
    return ((got.double() - want).norm() / want.norm()).item()


def calls(function, *arguments):
    function(*(ctypes.c_void_p(x.data_ptr()) if isinstance(x, torch.Tensor) else ctypes.c_int(x) for x in arguments))


def spread(values):
    ordered = sorted(values)
    return {"median": round(statistics.median(values), 5), "p10": round(ordered[len(ordered) // 10], 5),
            "p90": round(ordered[len(ordered) * 9 // 10], 5)}


def race(work, amount, unit, programs, sample, want, tolerance, rounds=40):
    """programs: name -> a call that returns its result; sample(result): the part to compare with `want`; amount: operations or
    bytes of one call. Our programs' names begin with "ours"; "copy" is a ceiling, not a result."""
    print(work, flush=True)
    rows, left_out = {}, {}
    for name, run in list(programs.items()):
        try:
            error = relative_error(sample(run()), want)
            if not error < tolerance and name != "copy":
                raise ArithmeticError(f"is off by {error:.2g}")
            rows[name] = {"error": float(f"{error:.2g}")} if name != "copy" else {}
            run()
            torch.cuda.synchronize()
        except Exception as problem:  # a rival's failure is no failure of ours
            if name.startswith("ours"):
                raise
            left_out[name] = f"{type(problem).__name__}: {str(problem).strip().splitlines()[0][:200] if str(problem).strip() else ''}"
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times, names = {name: [] for name in rows}, list(rows)
    for _ in range(rounds):
        random.shuffle(names)
        for name in names:
            torch.cuda._sleep(1_000_000)
            begin.record()
            programs[name]()
            end.record()
            end.synchronize()
            times[name].append(begin.elapsed_time(end))
    for name, each in times.items():
        rows[name].update({"ms": spread(each), unit: round(amount / statistics.median(each) / 1e9, 3 if unit == "TB/s" else 1)})
    best = min((n for n in rows if n.startswith("ours")), key=lambda n: rows[n]["ms"]["median"])
    for name in rows:  # round by round
        rows[name]["of ours"] = spread([a / b for a, b in zip(times[best], times[name])])
        print(f"  {name:38s} {rows[name]['ms']['median']:9.4f} ms {rows[name][unit]:8.2f} {unit} {rows[name]['of ours']['median']:.3f}", flush=True)
    for name, why in left_out.items():
        print(f"  {name}: {why}", flush=True)
    keep({"work": work, "unit": unit, "amount": amount, "rows": rows, "left out": left_out})


def keep(work):
    results["works"].append(work)
    a_row_a_line = re.sub(r"\{(?:[^{}]|\{[^{}]*\})*\}", lambda row: re.sub(r"\s*\n\s*", " ", row[0]), json.dumps(results, indent=1))
    pathlib.Path(sys.argv[1]).write_text(a_row_a_line + "\n")


def chosen(work):
    return re.search(os.environ.get("ONLY", ""), work)


# ---- The workloads -----------------------------------------------------------------------------------------------------------

def transposes(libraries):
    n = 32768
    x = torch.randn(n, n, device="cuda")
    out = torch.empty_like(x)
    compiled = torch.compile(lambda m: m.t().contiguous(), dynamic=False)

    def mine():
        calls(libraries["lab03"].transpose, out, x, n)
        return out

    rows = torch.randint(n, (64,), device="cuda")
    race("transpose 32768", 8 * n * n, "TB/s",
         {"ours": mine, "copy": lambda: out.copy_(x), "PyTorch": lambda: out.copy_(x.t()), "PyTorch, compiled": lambda: compiled(x)},
         lambda got: got[rows], x.t()[rows].double(), 1e-12)


def by_rows(libraries):
    for name, columns in (("LayerNorm", 4096), ("LayerNorm", 8192), ("softmax", 4096), ("softmax", 8192)):
        work = f"{name}, rows of {columns}"
        if not chosen(work):
            continue
        rows = 2**28 // columns
        x = torch.randn(rows, columns, device="cuda")
        out, one, zero = torch.empty_like(x), torch.ones(columns, device="cuda"), torch.zeros(columns, device="cuda")
        eager = (lambda m: F.layer_norm(m, (columns,))) if name == "LayerNorm" else lambda m: torch.softmax(m, -1)
        compiled = torch.compile(eager, dynamic=False)

        def mine():
            calls(getattr(libraries["lab04"], name.lower()), out, x, rows, columns)
            return out

        programs = {"ours": mine, "copy": lambda: out.copy_(x), "PyTorch": lambda: eager(x), "PyTorch, compiled": lambda: compiled(x)}
        if "TRITON" in clones and name == "LayerNorm":
            layer_norm = tutorial("05-layer-norm", "def test_layer_norm").LayerNorm
            programs["Triton's tutorial"] = lambda: layer_norm.apply(x, (columns,), one, zero, 1e-5)
        elif "TRITON" in clones:
            softmax = tutorial("02-fused-softmax", "# %%\n# Unit Test").softmax
            programs["Triton's tutorial"] = lambda: softmax(x)
        some = torch.randint(rows, (64,), device="cuda")
        race(work, 8 * rows * columns, "TB/s", programs, lambda got: got[some], eager(x[some].double()), 1e-5)


def products(libraries):
    for n in (4096, 8192):
        work = f"FP32 product, {n}"
        if chosen(work):
            a, b = (torch.randn(n, n, device="cuda") for _ in range(2))
            c = torch.empty_like(a)

            def called(function, *first):
                return lambda: (calls(function, *first, c, a, b, n), c)[1]

            programs = {"ours": called(libraries["lab06"].sgemm), "cuBLAS": lambda: torch.mm(a, b, out=c)}
            ladder = {f"ours: {rung}": called(getattr(libraries["lab06"], f"sgemm_{rung}")) for rung in RUNGS}
            if "SGEMM_CUDA" in clones:
                theirs = {f"SGEMM_CUDA {i}": called(libraries["SGEMM_CUDA"].rung, i) for i in range(1, 12)}
                programs.update({name: theirs[name] for name in ("SGEMM_CUDA 9", "SGEMM_CUDA 10", "SGEMM_CUDA 11")})
                ladder.update(theirs)
            some = torch.randint(n, (64,), device="cuda")
            want = a[some].double() @ b.double()
            race(work, 2 * n**3, "TFLOP/s", programs, lambda got: got[some], want, 1e-5)
            if n == 4096:
                race("FP32 product, the ladders", 2 * n**3, "TFLOP/s", {**programs, **ladder}, lambda got: got[some], want, 1e-5, 7)
        work = f"bf16 product, {n}"
        if chosen(work):
            a, b = (torch.randn(n, n, device="cuda").bfloat16() for _ in range(2))
            c, a_columns, b_columns = torch.empty_like(a), a, b.t().contiguous()
            half_a, half_b = a.half(), b.half()
            half_columns = half_b.t().contiguous()

            def into(function, second, *first):
                return lambda: (calls(function, *first, c, a, second, n), c)[1]

            programs = {"ours, mma.sync": into(libraries["lab09"].gemm_pipelined, b),
                        "ours, wgmma": into(libraries["lab09"].gemm_hopper, b), "cuBLAS": lambda: torch.mm(a, b, out=c),
                        "cuBLAS, columns of B": lambda: torch.mm(a, b_columns.t(), out=c)}
            if "FAST_CU" in clones:  # column-major B and C
                for i in (11, 12):
                    programs[f"fast.cu {i}"] = lambda i=i: (calls(libraries["FAST_CU"].rung, i, c, a, b_columns, n), c.t())[1]
            if "TRITON" in clones:  # in fp16, as the tutorials do
                simple, persistent = tutorial("03-matrix-multiplication", "# %%\n# Unit Test"), tutorial("09-persistent-matmul", "if __name__")
                programs["Triton's tutorial"] = lambda: simple.matmul(half_a, half_b)
                programs["Triton's tutorial, persistent"] = lambda: persistent.matmul_tma_persistent(half_a, half_columns, False)
            some = torch.randint(n, (64,), device="cuda")
            race(work, 2 * n**3, "TFLOP/s", programs, lambda got: got[some], a[some].double() @ b.double(), 1e-2)


def attentions(libraries):
    for size in (128, 64):
        for tokens in (4096, 16384):
            for causal in (True, False):
                work = f"attention{', causal' if causal else ''}, heads of {size}, {tokens} tokens"
                if not chosen(work):
                    continue
                batch, heads = 16384 // tokens, 2048 // size
                q, k, v = (torch.randn(batch, heads, tokens, size, device="cuda", dtype=torch.bfloat16) for _ in range(3))
                out, lse = torch.empty_like(q), torch.empty(q.shape[:3], device="cuda")
                halves = [x.half() for x in (q, k, v)]

                def into(function):
                    return lambda: (calls(function, out, lse, q, k, v, batch * heads, tokens, size, int(causal)), out)[1]

                def sdpa(backend):
                    with sdpa_kernel(backend):
                        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

                programs = {"ours, mma.sync": into(libraries["lab11"].mma), "ours, wgmma": into(libraries["lab11"].wgmma),
                            "cuDNN": lambda: sdpa(SDPBackend.CUDNN_ATTENTION), "FlashAttention-2": lambda: sdpa(SDPBackend.FLASH_ATTENTION)}
                if "TRITON" in clones:
                    fused = tutorial("06-fused-attention", "never")
                    programs["Triton's tutorial"] = lambda: fused.attention(*halves, causal, 1 / math.sqrt(size), False)
                some = torch.randint(tokens, (64,), device="cuda")
                scores = q[0, 1, some].double() @ k[0, 1].double().t() / math.sqrt(size)
                if causal:
                    scores.masked_fill_(torch.arange(tokens, device="cuda") > some[:, None], -math.inf)
                race(work, 4 * batch * heads * tokens**2 * size // (2 if causal else 1), "TFLOP/s", programs,
                     lambda got: got[0, 1, some], scores.softmax(-1) @ v[0, 1].double(), 1e-2)


def decoding(libraries):
    heads, kv_heads, size, tokens, page = 32, 8, 64, 1024, 16
    for texts in (32, 256):
        work = f"attention of one new token, {texts} texts of {tokens} tokens"
        if not chosen(work):
            continue
        q = torch.randn(texts, heads, 1, size, device="cuda", dtype=torch.bfloat16)
        k, v = (torch.randn(texts, kv_heads, tokens, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        # The same in pages, which are at random places in memory.
        order = torch.randperm(texts * tokens // page, device="cuda", dtype=torch.int32)
        pages = [torch.empty(len(order), page, kv_heads, size, device="cuda", dtype=torch.bfloat16) for _ in range(2)]
        for to, of in zip(pages, (k, v)):
            to[order.long()] = of.transpose(1, 2).reshape(to.shape)
        of_floats, out = q.float(), torch.empty(q.shape, device="cuda")
        lengths = torch.full((texts,), tokens, device="cuda", dtype=torch.int32)
        copied = torch.empty_like(k)  # read and written: as many bytes as K and V

        def paged():
            calls(libraries["lab15"].paged, out, of_floats, *pages, order, lengths, texts, heads, kv_heads, size, tokens // page)
            return out

        def sdpa(backend):
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)

        programs = {"ours": paged, "cuDNN": lambda: sdpa(SDPBackend.CUDNN_ATTENTION),
                    "FlashAttention-2": lambda: sdpa(SDPBackend.FLASH_ATTENTION),
                    "copy": lambda: copied.copy_(k)}
        scores = (q[-1].view(kv_heads, -1, size).double() @ k[-1].double().transpose(1, 2)) / math.sqrt(size)
        race(work, 2 * k.nbytes, "TB/s", programs, lambda got: got[-1].reshape(kv_heads, -1, size)[:, :heads // kv_heads],
             scores.softmax(-1) @ v[-1].double(), 1e-2)


def token():
    """Uses lab 10's own measurement; each program runs alone, one after the other."""
    work = "token of Llama 3.2 1B's shape"
    if not chosen(work):
        return
    spec = importlib.util.spec_from_file_location("decode", root / "solutions/10_decode/measure.py")
    decode = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(decode)
    torch.cuda.set_stream(torch.cuda.Stream())
    library = decode.built(decode.VERSIONS["as handed in"])
    error = decode.check(library)
    model = decode.Model(library, 16, 2048, 32, 8, 64, 8192, 128256, 4096)
    rows = {"ours": {"error": error, "ms": {"median": decode.per_token(model, 1024)["ms per token"]}}}
    with torch.inference_mode():
        for row in decode.PyTorch(model).rows(1024):
            rows[f"PyTorch, {row['PyTorch']}"] = {"ms": {"median": row["ms per token"]}}
    for name, row in rows.items():
        row["TB/s"] = round(model.weight_bytes() / row["ms"]["median"] / 1e9, 3)
        row["of ours"] = {"median": round(rows["ours"]["ms"]["median"] / row["ms"]["median"], 5)}
        print(f"  {work}: {name} {row}", flush=True)
    keep({"work": work, "unit": "TB/s", "amount": model.weight_bytes(), "rows": rows, "left out": {}})


def commit(git):
    head = (git / "HEAD").read_text().strip()
    return (git / head[5:]).read_text().strip() if head.startswith("ref: ") else head


def environment():
    def said(*command):
        return subprocess.run(command, capture_output=True, text=True, timeout=30).stdout.strip()

    driver, clock = said("nvidia-smi", "--query-gpu=driver_version,clocks.max.sm", "--format=csv,noheader").split(", ")
    return {"gpu": torch.cuda.get_device_name(), "driver": driver, "highest clock": clock, "torch": torch.__version__,
            "cuda": re.search(r"release ([\d.]+)", said("nvcc", "--version"))[1], "torch's cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(), "triton": triton.__version__,
            "date": time.strftime("%Y-%m-%dT%H:%M", time.gmtime()),
            "rivals": {name: commit(pathlib.Path(place) / ".git") for name, place in clones.items()}}


def main():
    random.seed(45)
    torch.manual_seed(45)
    torch.backends.cuda.matmul.allow_tf32 = False
    results["environment"] = environment()
    libraries = build()
    if chosen("transpose 32768"):
        transposes(libraries)
    for works in (by_rows, products, attentions, decoding):
        works(libraries)
        torch.cuda.empty_cache()
    token()


if __name__ == "__main__":
    main()
