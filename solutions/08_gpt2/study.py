#!/usr/bin/env python3
"""Tables of the whole pass, as Markdown: study.py EIGEN/profile.json CUDA/profile.json gpt2.json

From two profiles of B = 4, T = 64 and 12 layers: what each block of a layer does in LLM-Eigen and in LLM-CUDA, and the study's
four corrections with this machine's own numbers; ratios are ratios of sums. From measure.py's gpt2.json:
times against PyTorch and llm.c, and the logits' errors.
"""
import json
import sys

blocks = ["LayerNorm 1", "attention", "residual 1", "LayerNorm 2", "MLP", "residual 2"]
others = ["embedding", "final LayerNorm", "logits"]
layers = 12
channels, rows = 768, 256


class Profile:
    def __init__(self, path):
        with open(path) as file:
            whole = json.load(file)
        self.device = whole["device"]["name"]
        self.rows = {row["path"].split("/")[-1]: row for row in whole["ranges"]}

    def of(self, block, value):
        row = self.rows.get(block, {})
        return value(row, row.get("metrics", {})) / (layers if block in blocks else 1) if row else 0.0

    def layer(self, value):
        return sum(self.of(block, value) for block in blocks)


def metric(*names):
    return lambda row, m: sum(m.get(name, 0.0) for name in names)


launches = lambda row, m: row["launches"]
gpu = lambda row, m: 1e6 * row["device_seconds"]
wall = lambda row, m: 1e6 * row["host_seconds"]
dram_read = metric("dram__bytes_read.sum")
dram_write = metric("dram__bytes_write.sum")
l2 = metric("lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum")
global_ld = metric("smsp__sass_inst_executed_op_global_ld.sum")
ldgsts = metric("smsp__sass_inst_executed_op_ldgsts.sum")
tma = metric("l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum")


def occupancy(profile, block):
    cycles = profile.of(block, metric("sm__cycles_active.sum"))
    return 100 * profile.of(block, metric("sm__warps_active.sum")) / cycles / 64 if cycles else 0.0


def ratio(a, b):
    return f"{a / b:.2f}" if b else "-"


def against_rivals(path):
    with open(path) as file:
        got = json.load(file)
    print(f"\n{got['gpu']}, PyTorch {got['torch']}, transformers {got['transformers']}, {got['date']}; milliseconds per pass, median "
          f"(10 to 90 %), alternating in one process; compiled: torch.compile(mode=\"{got['compile_mode']}\")\n")
    names = ("PyTorch eager", "PyTorch compiled", "llm.c", "ours", "ours, graph")
    print("| | " + " | ".join(names) + " | PyTorch, llm.c over ours |")
    print("|---" * (len(names) + 2) + "|")
    for name, row in got["times"].items():
        cells = [f"{row[n]['median_ms']:.3f} ({row[n]['p10_ms']:.3f} to {row[n]['p90_ms']:.3f})" if n in row else "" for n in names]
        theirs = min(row[n]["median_ms"] for n in names[:2] if n in row)
        ours = min(row[n]["median_ms"] for n in names[3:] if n in row)
        llmc = f", {row['llm.c']['median_ms'] / ours:.2f}" if "llm.c" in row else ""
        print(f"| {name} | " + " | ".join(cells) + f" | {theirs / ours:.2f}{llmc} |")
    print("\n| logits | ours: rms, largest error | PyTorch's, same precision | within a factor of 4 |")
    print("|---|---|---|---|")
    for shape, kinds in got["logits"].items():
        for kind, e in kinds.items():
            if isinstance(e, dict):
                print(f"| {kind}, {shape} | {e['ours']['rms']:.1e}, {e['ours']['largest']:.1e} | {e['pytorch']['rms']:.1e}, "
                      f"{e['pytorch']['largest']:.1e} | {'yes' if e['ok'] else '**no**'} |")


def main():
    eigen, cuda = Profile(sys.argv[1]), Profile(sys.argv[2])
    print(f"{cuda.device}; per layer, LLM-Eigen / LLM-CUDA\n")
    print("| block | launches | GPU µs | host µs | DRAM read, MB | DRAM written, MB | L2 sectors, k | loads, k | of them LDGSTS, k "
          "| TMA, MB | warps active, % |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    columns = [(launches, 1, ".0f"), (gpu, 1, ".1f"), (wall, 1, ".0f"), (dram_read, 1e-6, ".2f"), (dram_write, 1e-6, ".2f"),
               (l2, 1e-3, ".0f"), (lambda r, m: global_ld(r, m) + ldgsts(r, m), 1e-3, ".1f"), (ldgsts, 1e-3, ".1f"),
               (tma, 1e-6, ".1f")]
    for block in blocks + others:
        cells = [f"{scale * eigen.of(block, v):{form}} / {scale * cuda.of(block, v):{form}}" for v, scale, form in columns]
        cells.append(f"{occupancy(eigen, block):.0f} / {occupancy(cuda, block):.0f}")
        print(f"| {block} | " + " | ".join(cells) + " |")
    cells = [f"{scale * eigen.layer(v):{form}} / {scale * cuda.layer(v):{form}}" for v, scale, form in columns]
    print("| **a layer** | " + " | ".join(cells) + " | |")

    print("\n1. Loads, LLM-Eigen over LLM-CUDA, per layer: "
          f"{ratio(eigen.layer(global_ld), cuda.layer(global_ld))} without LDGSTS, "
          f"{ratio(eigen.layer(lambda r, m: global_ld(r, m) + ldgsts(r, m)), cuda.layer(lambda r, m: global_ld(r, m) + ldgsts(r, m)))}"
          f" with it; and {1e-6 * cuda.layer(tma):.1f} MB came by TMA, which is in neither.")
    weights = {"attention": 4 * (4 * channels * channels + 4 * channels), "MLP": 4 * (8 * channels * channels + 5 * channels)}
    for block, size in weights.items():
        print(f"2. {block}: {1e-6 * cuda.of(block, dram_read):.2f} MB read from DRAM, weights are {1e-6 * size:.2f} MB"
              f" (FP32): {'L2-warm' if cuda.of(block, dram_read) < 1.2 * size else 'not L2-warm'}.")
    print(f"3. Residual streams of {layers} layers: {layers} x {rows * channels * 4} = {layers * rows * channels * 4} bytes, "
          f"{layers * rows * channels * 4 / 2**20:.2f} MiB.")
    parts = [(cuda.of(b, lambda r, m: r["device_seconds"]), cuda.of(b, dram_read) + cuda.of(b, dram_write)) for b in blocks]
    rates = [1e-9 * size / seconds for seconds, size in parts if seconds]
    total = 1e-9 * sum(size for _, size in parts) / max(sum(seconds for seconds, _ in parts), 1e-12)
    print(f"4. DRAM rates of the six blocks add up to {sum(rates):.0f} GB/s; over the layer's time it is {total:.0f} GB/s.")
    exact = {"smsp__sass_data_bytes_mem_global_op_ld.sum": 1572864, "smsp__sass_data_bytes_mem_global_op_st.sum": 786432,
             "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 49152, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": 24576}
    for name, want in exact.items():
        got = cuda.of("residual 1", metric(name))
        print(f"5. residual 1: {name} is {got:.0f}, and must be {want}: {'ok' if got == want else 'WRONG'}.")
    print(f"\nA layer's GPU time, LLM-Eigen over LLM-CUDA: {ratio(eigen.layer(gpu), cuda.layer(gpu))}; DRAM read "
          f"{ratio(eigen.layer(dram_read), cuda.layer(dram_read))}.")
    if len(sys.argv) > 3:
        against_rivals(sys.argv[3])


if __name__ == "__main__":
    main()
