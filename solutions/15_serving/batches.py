"""Decode steps of a model shaped like Llama 3.2 1B on a GPU, for batches of 1 to 256, and for several processes.

Makes the records of given/records.md. Run it alone on a GPU, with PyTorch 2.11; it needs no network.

  python3 batches.py > batches.json
  python3 batches.py --replicas > replicas.json   only one process against several; with --mps: under MPS, whose
                                                  daemon it starts for itself and stops
  python3 batches.py --small          one layer on any device, to check that it runs

A step makes one token for each sequence. Weights are random, in bf16; each sequence has a cache for 1024 tokens, all of
which are read. The whole step is one CUDA graph, so the host takes no part; with --replicas, steps are also launched
kernel by kernel.
"""

import argparse
import contextlib
import json
import math
import multiprocessing
import os
import statistics
import subprocess
import tempfile
import time

import torch
import torch.nn.functional as F

CONTEXT = 1024


class Model:
    """Weights, caches and buffers of one batch."""

    def __init__(self, batch, layers, device):
        self.batch, self.layers, self.device = batch, layers, device
        self.width, self.heads, self.kv_heads, self.size, self.hidden, self.vocabulary = 2048, 32, 8, 64, 8192, 128256

        def weights(rows, columns):
            return torch.randn(rows, columns, device=device, dtype=torch.bfloat16).mul_(columns**-0.5)

        self.embedding = weights(self.vocabulary, self.width)
        self.norm = torch.ones(self.width, device=device, dtype=torch.bfloat16)
        self.of_layer = [
            {
                "qkv": weights((self.heads + 2 * self.kv_heads) * self.size, self.width),
                "out": weights(self.width, self.heads * self.size),
                "gate_up": weights(2 * self.hidden, self.width),
                "down": weights(self.width, self.hidden),
                "cache": torch.randn(2, batch, self.kv_heads, CONTEXT, self.size, device=device, dtype=torch.bfloat16),
            }
            for _ in range(layers)
        ]
        angles = (CONTEXT - 1) * 500000.0 ** (-torch.arange(0, self.size, 2, device=device) / self.size)
        self.cos, self.sin = angles.cos().bfloat16(), angles.sin().bfloat16()
        self.token = torch.randint(self.vocabulary, (batch,), device=device)

    def rotated(self, x):
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack((even * self.cos - odd * self.sin, odd * self.cos + even * self.sin), -1).flatten(-2)

    def step(self):
        """The next token of each sequence, always at the last position of the cache."""
        x = self.embedding[self.token]
        for layer in self.of_layer:
            qkv = F.linear(F.rms_norm(x, (self.width,), self.norm, 1e-5), layer["qkv"])
            q, k, v = qkv.view(self.batch, -1, self.size).split((self.heads, self.kv_heads, self.kv_heads), 1)
            layer["cache"][0, :, :, -1] = self.rotated(k)
            layer["cache"][1, :, :, -1] = v
            # The query heads of a group are the rows of one query: K and V are read once for them.
            group = self.rotated(q).reshape(self.batch, self.kv_heads, self.heads // self.kv_heads, self.size)
            attention = F.scaled_dot_product_attention(group, layer["cache"][0], layer["cache"][1])
            x = x + F.linear(attention.reshape(self.batch, -1), layer["out"])
            gate, up = F.linear(F.rms_norm(x, (self.width,), self.norm, 1e-5), layer["gate_up"]).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, layer["down"])
        logits = F.linear(F.rms_norm(x, (self.width,), self.norm, 1e-5), self.embedding)
        self.token.copy_(logits.argmax(-1))

    def weight_bytes(self):
        matrices = [self.embedding] + [w for layer in self.of_layer for name, w in layer.items() if name != "cache"]
        return sum(2 * w.numel() for w in matrices)

    def cache_bytes(self):
        return sum(2 * layer["cache"].numel() for layer in self.of_layer)


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def replayed(model, graph):
    """A function that makes one step: on a GPU a graph's replay, or else its launches."""
    if model.device != "cuda" or not graph:
        return model.step
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            model.step()
    stream.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        model.step()
    return captured.replay


@torch.inference_mode()
def measure(batch, layers, device, seconds, graph=True, together=None):
    """The median time of a step in milliseconds. `together` is a barrier for processes that begin together."""
    model = Model(batch, layers, device)
    step = replayed(model, graph)
    for _ in range(5):
        step()
    synchronize(device)
    if together:
        together.wait()
    times, begin = [], time.perf_counter()
    while time.perf_counter() - begin < seconds or len(times) < 5:
        start = time.perf_counter()
        step()
        synchronize(device)
        times.append(1e3 * (time.perf_counter() - start))
    elapsed = time.perf_counter() - begin
    if together:
        together.wait()  # other processes may still measure, and need the load
    return {
        "batch": batch,
        "steps": len(times),
        "ms": statistics.median(times),
        "ms_p99": sorted(times)[math.ceil(0.99 * len(times)) - 1],
        "tokens_per_second": batch * len(times) / elapsed,
        "weight_bytes": model.weight_bytes(),
        "cache_bytes": model.cache_bytes(),
    }


def measure_in_process(batch, layers, device, seconds, graph, together, results):
    results.put(measure(batch, layers, device, seconds, graph, together))


def replicas(count, batch, layers, device, seconds, graph=True):
    """Several processes at once, each with its own weights; without MPS the GPU gives each a share of the time."""
    context = multiprocessing.get_context("spawn")
    together, results = context.Barrier(count, timeout=300), context.Queue()
    arguments = (batch, layers, device, seconds, graph, together, results)
    processes = [context.Process(target=measure_in_process, args=arguments, daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    each = [results.get(timeout=600) for _ in processes]
    for process in processes:
        process.join()
    return {
        "processes": count,
        "batch_each": batch,
        "graph": graph,
        "ms": statistics.median(one["ms"] for one in each),
        "ms_p99": max(one["ms_p99"] for one in each),
        "tokens_per_second": sum(one["tokens_per_second"] for one in each),
    }


def copy_bandwidth(device, size):
    """Bytes per second that a copy reads and writes."""
    source = torch.empty(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    times = []
    for _ in range(12):
        synchronize(device)
        start = time.perf_counter()
        target.copy_(source)
        synchronize(device)
        times.append(time.perf_counter() - start)
    return 2 * size / statistics.median(times[2:])


class Mps:
    """MPS for processes that start in this context: a daemon with its own folders, which ends with the context."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        os.environ["CUDA_MPS_PIPE_DIRECTORY"] = os.environ["CUDA_MPS_LOG_DIRECTORY"] = self.folder.name
        subprocess.run(["nvidia-cuda-mps-control", "-d"], check=True)

    def __exit__(self, *_):
        subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True, check=True)
        self.folder.cleanup()


def replicas_record(layers, device, seconds, small):
    """One process compared with several; their steps are graphs, or launched kernel by kernel."""
    sizes = [(1, 2), (2, 2)] if small else [(1, 32), (2, 32), (1, 64), (2, 64), (4, 32), (1, 128)]
    return [replicas(*size, layers, device, seconds, graph) for graph in (True, False) for size in sizes]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="1 layer, batches 1 to 4, 2 processes")
    parser.add_argument("--replicas", action="store_true", help="only one process against several")
    parser.add_argument("--mps", action="store_true", help="with --replicas, under MPS")
    options = parser.parse_args()
    small = options.small
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and not small:
        parser.error("there is no GPU here; --small runs on the CPU")
    layers, seconds = (1, 0.2) if small else (16, 3.0)
    if options.replicas:
        with Mps() if options.mps else contextlib.nullcontext():
            print(json.dumps({"mps": options.mps, "processes": replicas_record(layers, device, seconds, small)}, indent=1))
        return
    bandwidth = copy_bandwidth(device, 1 << 26 if small else 1 << 32)
    batches = []
    for batch in [1, 2, 4] if small else [1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256]:
        one = measure(batch, layers, device, seconds)
        one["bytes"] = one["weight_bytes"] + one["cache_bytes"]
        one["of_copy_bandwidth"] = one["bytes"] / (1e-3 * one["ms"]) / bandwidth
        batches.append(one)
        if device == "cuda":
            torch.cuda.empty_cache()
    several = [replicas(*two, layers, device, seconds) for two in ([(2, 2)] if small else [(2, 32), (4, 32), (2, 64)])]
    record = {
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "date": time.strftime("%Y-%m-%d"),
        "layers": layers,
        "context": CONTEXT,
        "copy_bytes_per_second": bandwidth,
        "batches": batches,
        "processes": several,
    }
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
