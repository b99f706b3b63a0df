#!/usr/bin/env python3
"""Lab 14's training in PyTorch: train.py check RECORD START LOSSES, or train.py bench RESULTS

check repeats a run of the program train, with the same start (train --write START), tokens and settings (train --record
RECORD), in FP32, and writes the losses of both as JSON. It prints the largest difference and exits with 1 if that exceeds 1e-4.

bench times a step of GPT-2 124M, B = 4, T = 1024, eager and compiled, with FP32, TF32 and bf16 products, and AdamW
fused or not; it needs a GPU. A step is forward, backward and update, with gradients set to None, as PyTorch does it.
"""
import argparse
import json
import pathlib
import statistics
import struct
import sys
import time

import torch
import transformers


def gpt2_of(context, vocabulary, layers, heads, channels):
    config = transformers.GPT2Config(
        vocab_size=vocabulary, n_positions=context, n_embd=channels, n_layer=layers, n_head=heads, resid_pdrop=0.0,
        embd_pdrop=0.0, attn_pdrop=0.0, layer_norm_epsilon=1e-5, activation_function="gelu_new", use_cache=False,
        bos_token_id=0, eos_token_id=0)
    return transformers.GPT2LMHeadModel(config).train()


def load_start(path, record):
    """llm.c's checkpoint, version 3: 256 integers, then all layers of one tensor after the other. Hugging Face's Conv1D
    has its matrices transposed."""
    data = pathlib.Path(path).read_bytes()
    header = struct.unpack("<256i", data[:1024])
    if header[0] != 20240326 or header[1] != 3:
        sys.exit(f"{path}: not an llm.c checkpoint in fp32; write it with train --write")
    context, vocabulary, layers, heads, channels, padded = header[2:8]
    for name, value in (("context", context), ("vocabulary", vocabulary), ("layers", layers), ("heads", heads),
                        ("channels", channels), ("padded_vocabulary", padded)):
        if record[name] != value:
            sys.exit(f"{path}: {name} is {value}, but {record[name]} in the record; write both in one run")
    numbers = torch.frombuffer(bytearray(data[1024:]), dtype=torch.float32)
    model, at = gpt2_of(context, vocabulary, layers, heads, channels), 0

    def take(*shape):
        nonlocal at
        count = int(torch.tensor(shape).prod())
        part = numbers[at:at + count].reshape(shape)
        at += count
        return part

    with torch.no_grad():
        body = model.transformer
        body.wte.weight.copy_(take(padded, channels)[:vocabulary])
        body.wpe.weight.copy_(take(context, channels))
        c = channels
        for path_of, shape in ((("ln_1", "weight"), (c,)), (("ln_1", "bias"), (c,)),
                               (("attn", "c_attn", "weight"), (3 * c, c)), (("attn", "c_attn", "bias"), (3 * c,)),
                               (("attn", "c_proj", "weight"), (c, c)), (("attn", "c_proj", "bias"), (c,)),
                               (("ln_2", "weight"), (c,)), (("ln_2", "bias"), (c,)),
                               (("mlp", "c_fc", "weight"), (4 * c, c)), (("mlp", "c_fc", "bias"), (4 * c,)),
                               (("mlp", "c_proj", "weight"), (c, 4 * c)), (("mlp", "c_proj", "bias"), (c,))):
            for layer in range(layers):
                to = body.h[layer]
                for name in path_of:
                    to = getattr(to, name)
                part = take(*shape)
                to.copy_(part.t() if len(shape) == 2 else part)
        body.ln_f.weight.copy_(take(c))
        body.ln_f.bias.copy_(take(c))
    if at != numbers.numel():
        sys.exit(f"{path}: {numbers.numel()} numbers, but {at} are expected")
    if model.lm_head.weight is not body.wte.weight:
        model.lm_head.weight = body.wte.weight
    return model


def adamw_of(model, rate, betas, epsilon, decay, **how):
    """Weights decay in matrices only, which here includes both embeddings."""
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() == 1]
    return torch.optim.AdamW([{"params": matrices, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}],
                             lr=rate, betas=betas, eps=epsilon, **how)


def loss_of(model, tokens, targets):
    logits = model(input_ids=tokens).logits
    return torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), targets.flatten(), ignore_index=-1)


def check(record_file, start_file, losses_file):
    torch.set_float32_matmul_precision("highest")  # no TF32
    device = "cuda" if torch.cuda.is_available() else "cpu"
    record = json.loads(pathlib.Path(record_file).read_text())
    model = load_start(start_file, record).to(device)
    shape = (record["steps"], record["batch"], record["length"])
    tokens = torch.tensor(record["tokens"]).reshape(shape).to(device)
    targets = torch.tensor(record["targets"]).reshape(shape).to(device)
    optimizer = adamw_of(model, record["learning_rate"], (record["beta1"], record["beta2"]), record["epsilon"],
                         record["weight_decay"])
    losses = []
    for step in range(record["steps"]):
        optimizer.zero_grad()
        loss = loss_of(model, tokens[step], targets[step])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        print(f"step {step + 1:3}  loss {losses[-1]:.6f}  train {record['losses'][step]:.6f}", flush=True)
    worst = max(abs(a - b) for a, b in zip(losses, record["losses"]))
    print(f"largest difference: {worst:.2e}")
    settings = {name: value for name, value in record.items() if name not in ("tokens", "targets", "losses")}
    pathlib.Path(losses_file).write_text(json.dumps(
        {"torch": torch.__version__, "transformers": transformers.__version__, "device": device, "settings": settings,
         "losses": losses}, indent=1) + "\n")
    return worst <= 1e-4


def bench(results_file, batch, length, steps):
    if not torch.cuda.is_available():
        sys.exit("bench needs a GPU; PyTorch finds none")
    gpu = torch.cuda.get_device_name()
    rows = []
    for precision in ("fp32", "tf32", "bf16"):
        for compiled in (False, True):
            for fused in (False, True):
                name = f"{precision} {'compiled' if compiled else 'eager'} {'fused' if fused else 'foreach'} AdamW"
                try:
                    row = bench_one(precision, compiled, fused, batch, length, steps)
                except Exception as error:  # a failure must not lose the other results
                    row = {"error": f"{type(error).__name__}: {error}"[:500]}
                row = {"name": name, "precision": precision, "compiled": compiled, "fused": fused, **row}
                rows.append(row)
                print(json.dumps(row), flush=True)
                # After each one, so that a time limit does not lose all results.
                pathlib.Path(results_file).write_text(json.dumps(
                    {"gpu": gpu, "torch": torch.__version__, "transformers": transformers.__version__, "batch": batch,
                     "length": length, "rows": rows}, indent=1) + "\n")


def bench_one(precision, compiled, fused, batch, length, steps):
    torch.compiler.reset()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    torch.manual_seed(1)
    model = gpt2_of(1024, 50257, 12, 12, 768).cuda()
    optimizer = adamw_of(model, 1e-3, (0.9, 0.999), 1e-8, 0.1, fused=fused)
    tokens = torch.randint(0, 50257, (batch, length + 1), device="cuda")
    bf16 = torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16")

    def forward(ids, wanted):
        return loss_of(model, ids, wanted)

    begin = time.monotonic()
    if compiled:
        forward = torch.compile(forward)
    ids, wanted = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(4)] for _ in range(steps)]

    def step(marks):
        marks[0].record()
        with bf16:
            loss = forward(ids, wanted)
        marks[1].record()
        loss.backward()
        marks[2].record()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        marks[3].record()

    for _ in range(3):
        step(events[0])
    torch.cuda.synchronize()
    warm = time.monotonic() - begin
    start = time.monotonic()
    for marks in events:
        step(marks)
    torch.cuda.synchronize()
    wall = (time.monotonic() - start) / steps

    def median(a, b):
        return statistics.median(marks[a].elapsed_time(marks[b]) for marks in events)

    return {"ms": 1e3 * wall, "device_ms": median(0, 3), "forward_ms": median(0, 1), "backward_ms": median(1, 2),
            "update_ms": median(2, 3), "tokens_per_second": batch * length / wall, "warm_up_s": warm,
            "peak_GB": 1e-9 * torch.cuda.max_memory_allocated()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    of_check = commands.add_parser("check")
    for name in ("record", "start", "losses"):
        of_check.add_argument(name)
    of_bench = commands.add_parser("bench")
    of_bench.add_argument("results")
    of_bench.add_argument("--batch", type=int, default=4)
    of_bench.add_argument("--length", type=int, default=1024)
    of_bench.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    if args.command == "bench":
        bench(args.results, args.batch, args.length, args.steps)
    elif not check(args.record, args.start, args.losses):
        sys.exit("the losses differ by more than 1e-4")


if __name__ == "__main__":
    main()
