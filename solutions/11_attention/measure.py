#!/usr/bin/env python3
"""Measures attention by mma.sync (attention.cu) and by wgmma (hopper/hopper.cu) against PyTorch's, in one process:
measure.py RESULTS.json

Builds both with nvcc for compute capability 9.0. First compares results with attention in float64, for ragged lengths, too. Then
times 16 heads of 128 columns and 16,384 tokens in all; calls alternate, and their order is reversed each time.
"""
import ctypes
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

here = pathlib.Path(__file__).resolve().parent
root = here.parents[1]
size = 128


def built():
    library = pathlib.Path(tempfile.mkdtemp()) / "attention.so"
    sources = [here / "handin/attention.cu", here / "hopper/hopper.cu", here / "module.cu"]
    subprocess.run(["nvcc", "-std=c++20", "-O3", "-gencode", "arch=compute_90a,code=sm_90a", "-shared", "-Xcompiler", "-fPIC",
                    f"-I{root}/common/include", f"-I{root}/labs/11_attention", f"-I{root}/labs/11_attention/hopper", *map(str, sources), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


module = built()
ours = {"mma.sync": module.attention_mma, "wgmma": module.attention_wgmma}
theirs = {"FlashAttention-2": SDPBackend.FLASH_ATTENTION, "cuDNN": SDPBackend.CUDNN_ATTENTION}


def inputs(batch, heads, tokens):
    return [torch.randn(batch, heads, tokens, size, device="cuda", dtype=torch.bfloat16) for _ in range(3)]


def run(name, q, k, v, causal, out, lse):
    if name in theirs:
        with sdpa_kernel(theirs[name]):
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    pointers = [ctypes.c_void_p(x.data_ptr()) for x in (out, lse, q, k, v)]
    ours[name](*pointers, q.shape[0] * q.shape[1], q.shape[2], int(causal),
               ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
    return out


def right(q, k, v, causal):
    scores = q.double() @ k.double().transpose(-1, -2) / math.sqrt(size)
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf)
    return torch.softmax(scores, -1) @ v.double(), torch.logsumexp(scores, -1)


errors = {name: 0.0 for name in ours}
for tokens in (1, 7, 63, 64, 65, 127, 128, 129, 200, 255, 257, 1000, 3000):
    for causal in (False, True):
        q, k, v = inputs(2, 3, tokens)
        want, want_lse = right(q, k, v, causal)
        for name in ours:
            out = torch.full_like(q, math.nan)
            lse = torch.full((2, 3, tokens), math.nan, device="cuda")
            run(name, q, k, v, causal, out, lse)
            error = (out.double() - want).abs().max().item()
            if not (error < 0.02 and (lse.double() - want_lse).abs().max().item() < 1e-4):
                sys.exit(f"measure: {name} is wrong for {tokens} tokens, causal {causal}: off by {error}")
            errors[name] = max(errors[name], error)

rows = []
for tokens in (2048, 4096, 8192, 16384):
    for causal in (False, True):
        q, k, v = inputs(16384 // tokens, 16, tokens)
        out, lse = torch.empty_like(q), torch.empty(q.shape[:3], device="cuda")
        names = [*ours, *theirs]
        times = {name: [] for name in names}
        for i in range(45):
            for name in names if i % 2 else names[::-1]:
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                begin.record()
                run(name, q, k, v, causal, out, lse)
                end.record()
                end.synchronize()
                if i >= 5:
                    times[name].append(begin.elapsed_time(end))
        flops = 4 * q.shape[0] * 16 * tokens**2 * size / (2 if causal else 1)
        median = {name: statistics.median(all_times) for name, all_times in times.items()}
        row = {"tokens": tokens, "causal": causal, "tflops": {name: round(flops / ms / 1e9, 1) for name, ms in median.items()}}
        for name, rival in (("mma.sync", "FlashAttention-2"), ("wgmma", "cuDNN")):
            ratios = sorted(b / a for a, b in zip(times[name], times[rival]))
            row[f"{name} over {rival}"] = {"median": round(statistics.median(ratios), 4), "p10": round(ratios[len(ratios) // 10], 4),
                                           "p90": round(ratios[len(ratios) * 9 // 10], 4)}
        print(row, flush=True)
        rows.append(row)

pathlib.Path(sys.argv[1]).write_text(json.dumps({"device": torch.cuda.get_device_name(), "pytorch": torch.__version__,
                                                 "largest_error": errors, "rows": rows}, indent=1) + "\n")
