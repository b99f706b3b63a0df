#!/usr/bin/env python3
"""Measures tokens per second of Llama 3.2 1B's shape, with random weights, batch 1: measure.py RESULTS.json

Builds decode.cu with nvcc for this GPU. First compares a small model's tokens with PyTorch's in float64. The time per token is
the slope between two token counts, so it excludes the graph's capture. For comparison, the same process times a read of as many
bytes as the weights have, the same model in PyTorch, and single products by cuBLAS.
"""
import ctypes
import functools
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as functional

here = pathlib.Path(__file__).resolve().parent
root = here.parents[1]


def built(source):
    folder = pathlib.Path(tempfile.mkdtemp())
    sources = [folder / "decode.cu", here / "module.cu"]
    shutil.copy(here / "handin/decode.cu", sources[0])
    if source.suffix == ".patch":
        subprocess.run(["patch", "--quiet", sources[0], source], check=True)
    subprocess.run(["nvcc", "-std=c++20", "-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC", f"-I{root}/common/include",
                    f"-I{root}/labs/10_decode", *map(str, sources), "-o", folder / "decode.so"], check=True)
    library = ctypes.CDLL(folder / "decode.so")
    library.decode_scratch_floats.restype = ctypes.c_longlong
    return library


VERSIONS = {"as handed in": here / "handin/decode.cu",
            "a launch per function": here / "right/a_launch_per_function/decode.cu.patch"}


class Model:
    """Random weights that keep all numbers near 1; fields as in decode.hpp."""

    def __init__(self, library, layers, width, heads, kv_heads, size, hidden, vocabulary, capacity):
        self.library = library
        self.shape = (layers, width, heads, kv_heads, size, hidden, vocabulary, capacity)
        self.layers, self.width, self.heads, self.kv_heads, self.size = layers, width, heads, kv_heads, size
        self.hidden, self.capacity = hidden, capacity

        def matrix(rows, columns, scale=1.0):
            return (torch.randn(rows, columns, device="cuda") * scale / columns**0.5).bfloat16()

        def norm():
            return (1 + 0.25 * torch.randn(width, device="cuda")).bfloat16()

        self.embedding, self.norm = torch.randn(vocabulary, width, device="cuda").bfloat16(), norm()
        self.weights = [[norm(), matrix((heads + 2 * kv_heads) * size, width, 1.25), matrix(width, heads * size), norm(),
                         matrix(2 * hidden, width), matrix(width, hidden)] for _ in range(layers)]
        angle = torch.arange(capacity, device="cuda", dtype=torch.float64)[:, None] * 500000.0 ** (
            -torch.arange(0, size, 2, device="cuda", dtype=torch.float64) / size)
        self.rotary = torch.stack([angle.cos(), angle.sin()], -1).reshape(capacity, size).float().contiguous()
        self.k, self.v = (torch.full((layers, kv_heads, capacity, size), float("nan"), device="cuda", dtype=torch.bfloat16)
                          for _ in range(2))
        self.token, self.position = (torch.zeros(1, dtype=torch.int32, device="cuda") for _ in range(2))
        self.c_shape = (ctypes.c_int * 8)(*self.shape)
        self.scratch = torch.empty(library.decode_scratch_floats(self.c_shape), device="cuda")
        self.chosen = torch.full((capacity,), -1, dtype=torch.int32, device="cuda")
        self.logits = torch.empty(vocabulary, device="cuda")
        tensors = [self.embedding, self.norm, self.rotary, self.k, self.v, self.token, self.position, self.scratch]
        tensors += [one for layer in self.weights for one in layer]
        self.pointers = (ctypes.c_void_p * len(tensors))(*(t.data_ptr() for t in tensors))

    def weight_bytes(self):
        return 2 * sum(t.numel() for t in [self.embedding, self.norm, *(one for layer in self.weights for one in layer)])

    def generate(self, count):
        self.library.decode_generate(ctypes.c_void_p(self.chosen.data_ptr()), ctypes.c_void_p(self.logits.data_ptr()),
                                     self.c_shape, self.pointers, count, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))

    def reference(self, tokens):
        """The logits after these tokens, in float64; the cache is rounded."""
        def normalized(x, gain):
            return x * gain.double() / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()

        def rotated(x):  # (tokens, heads, size)
            pairs, turn = x.unflatten(-1, (-1, 2)), self.rotary[:x.shape[0]].double().reshape(x.shape[0], 1, -1, 2)
            a, b, c, s = pairs[..., 0], pairs[..., 1], turn[..., 0], turn[..., 1]
            return torch.stack([a * c - b * s, b * c + a * s], -1).flatten(-2)

        x = self.embedding[tokens].double()
        mask = torch.ones(len(tokens), len(tokens), device="cuda", dtype=torch.bool).triu(1)
        for norm1, qkv, out, norm2, gate_up, down in self.weights:
            heads = (normalized(x, norm1) @ qkv.double().T).unflatten(-1, (-1, self.size))
            q, k, v = heads.split([self.heads, self.kv_heads, self.kv_heads], 1)
            q, k, v = rotated(q), rotated(k).bfloat16().double(), v.bfloat16().double()
            k, v = (one.repeat_interleave(self.heads // self.kv_heads, 1) for one in (k, v))
            scores = torch.einsum("qhs,khs->hqk", q, k) / self.size**0.5
            weights = scores.masked_fill(mask, -torch.inf).softmax(-1)
            x = x + torch.einsum("hqk,khs->qhs", weights, v).flatten(1) @ out.double().T
            gate, up = (normalized(x, norm2) @ gate_up.double().T).split(self.hidden, -1)
            x = x + (torch.nn.functional.silu(gate) * up) @ down.double().T
        return normalized(x[-1], self.norm) @ self.embedding.double().T


def check(library):
    torch.manual_seed(1)
    worst = 0.0
    for shape in ((2, 256, 8, 2, 64, 512, 1000, 300), (3, 128, 8, 1, 128, 264, 333, 200), (1, 64, 4, 4, 64, 72, 50, 150)):
        model = Model(library, *shape)
        model.generate(140)
        torch.cuda.synchronize()
        chosen = model.chosen[:140].tolist()
        want = model.reference([0, *chosen[:-1]])
        error = ((model.logits.double() - want).abs().max() / want.abs().max()).item()
        if not error < 0.01 or model.position.item() != 140 or want.argmax() != model.logits.argmax():
            sys.exit(f"measure: the model {shape} is wrong: logits are off by {error:.2g} of the largest")
        worst = max(worst, error)
    return worst


def milliseconds(work):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def per_token(model, position, repeats=11):
    few, many = 32, 288

    def run(count):
        model.token.zero_()
        model.position.fill_(position)
        return milliseconds(lambda: model.generate(count))

    model.k.zero_()
    model.v.zero_()
    run(few)
    each = [(run(many) - run(few)) / (many - few) for _ in range(repeats)]
    return {"position": position + (few + many) // 2, "ms per token": statistics.median(each), "fastest": min(each)}


class PyTorch:
    """The same model as its users write it: activations in bf16, a cache of fixed size, one step replayed as a graph."""

    def __init__(self, model):
        self.model = model
        self.position, self.token = (torch.zeros(1, dtype=torch.long, device="cuda") for _ in range(2))
        self.k, self.v = (torch.zeros_like(model.k) for _ in range(2))
        self.cos, self.sin = model.rotary.unflatten(-1, (-1, 2)).unbind(-1)
        self.places = torch.arange(model.capacity, device="cuda")

    def layer(self, x, k_cache, v_cache, norm1, qkv, out, norm2, gate_up, down):
        m = self.model

        def rotated(heads):
            a, b = heads.float().unflatten(-1, (-1, 2)).unbind(-1)
            c, s = self.cos[self.position], self.sin[self.position]
            return torch.stack([a * c - b * s, b * c + a * s], -1).flatten(-2).bfloat16()

        heads = functional.linear(functional.rms_norm(x, norm1.shape, norm1, 1e-5), qkv).view(-1, m.size)
        q, k, v = heads.split([m.heads, m.kv_heads, m.kv_heads])
        k_cache.index_copy_(1, self.position, rotated(k)[:, None])
        v_cache.index_copy_(1, self.position, v[:, None])
        seen = (self.places <= self.position)[None]
        attention = functional.scaled_dot_product_attention(rotated(q)[None, :, None], k_cache[None], v_cache[None],
                                                            attn_mask=seen, enable_gqa=True)
        x = x + functional.linear(attention.reshape(1, -1), out)
        gate, up = functional.linear(functional.rms_norm(x, norm2.shape, norm2, 1e-5), gate_up).chunk(2, -1)
        return x + functional.linear(functional.silu(gate) * up, down)

    def step(self, layer):
        m = self.model
        x = functional.embedding(self.token, m.embedding)
        for i, weights in enumerate(m.weights):
            x = layer(x, self.k[i], self.v[i], *weights)
        logits = functional.linear(functional.rms_norm(x, m.norm.shape, m.norm, 1e-5), m.embedding)
        self.token.copy_(logits.argmax(-1))
        self.position.add_(1)

    def rows(self, position):
        for name, layer in (("eager", self.layer), ("compiled", torch.compile(self.layer, dynamic=False))):
            for graph in (False, True):
                run = functools.partial(self.step, layer)
                for _ in range(3):
                    run()
                if graph:
                    captured = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(captured):
                        run()
                    run = captured.replay
                each = []
                for _ in range(11):
                    self.position.fill_(position)
                    each.append(milliseconds(lambda: [run() for _ in range(32)]) / 32)
                yield {"PyTorch": name + (", in a graph" if graph else ""), "position": position + 16,
                       "ms per token": statistics.median(each), "fastest": min(each)}


def products(library):
    """matvec and cuBLAS's product of the same matrix, with x and y in bf16 (PyTorch's mv), each replayed as a graph over more copies of the matrix than L2 holds."""
    pointer = lambda tensor: ctypes.c_void_p(tensor.data_ptr())
    for rows, columns in ((3072, 2048), (2048, 2048), (16384, 2048), (2048, 8192), (14336, 8192), (128256, 2048)):
        matrices = [torch.randn(rows, columns, device="cuda").bfloat16() for _ in range(max(2, 2**29 // (2 * rows * columns)))]
        x, y = torch.randn(columns, device="cuda"), torch.empty(rows, device="cuda")
        narrow_x, narrow_y = x.bfloat16(), y.bfloat16()

        def mine():
            for w in matrices:
                library.decode_matvec(pointer(y), pointer(w), pointer(x), rows, columns,
                                      ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))

        def cublas():
            for w in matrices:
                torch.mv(w, narrow_x, out=narrow_y)

        graphs = {}
        for name, run in (("matvec", mine), ("cuBLAS", cublas)):
            run()
            graphs[name] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graphs[name]):
                run()
        error = ((y.double() - matrices[-1].double() @ x.double()).abs().max() / y.abs().max()).item()
        if not error < 1e-4:
            sys.exit(f"measure: a product of {rows} x {columns} is off by {error:.2g} of the largest")
        times = {name: [] for name in graphs}
        for i in range(22):  # in alternating order
            for name in list(graphs)[:: 1 if i % 2 else -1]:
                times[name].append(milliseconds(graphs[name].replay))
        read = 2 * rows * columns * len(matrices)
        yield {"product": f"{rows} x {columns}",
               **{f"{name} TB/s": read / statistics.median(each) * 1e-9 for name, each in times.items()},
               "matvec over cuBLAS": statistics.median(b / a for a, b in zip(times["matvec"], times["cuBLAS"]))}


def main():
    torch.cuda.set_stream(torch.cuda.Stream())  # the default stream cannot be captured
    libraries = {name: built(source) for name, source in VERSIONS.items()}
    worst = max(check(library) for library in libraries.values())
    model = Model(libraries["as handed in"], 16, 2048, 32, 8, 64, 8192, 128256, 4096)
    data = torch.zeros(model.weight_bytes() // 4, device="cuda")
    data.sum()
    read = statistics.median(milliseconds(data.sum) for _ in range(21))
    single, rows = [], []
    for row in products(model.library):
        single.append(row)
        print(row, flush=True)
    for name, library in libraries.items():
        model.library = library
        for position in (0, 1024, 3584):
            rows.append({"decode.cu": name, **per_token(model, position)})
            print(rows[-1], flush=True)
    with torch.inference_mode():
        for row in PyTorch(model).rows(1024):
            rows.append(row)
            print(row, flush=True)
    pathlib.Path(sys.argv[1]).write_text(json.dumps(
        {"device": torch.cuda.get_device_name(), "pytorch": torch.__version__, "weight bytes": model.weight_bytes(),
         "ms to sum as many bytes": read, "largest error of a logit": worst, "products": single, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
