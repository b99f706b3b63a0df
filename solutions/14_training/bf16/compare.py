#!/usr/bin/env python3
"""Compares train.bf16.cuda with PyTorch and llm.c; needs a GPU.

compare.py check RECORD START GRADIENTS RESULTS   the files of train.bf16.cuda --record --write --gradients
    PyTorch repeats that training, in FP32 and with bf16 autocast. The losses may differ from FP32's by twice as much as
    autocast's do, plus 1e-4; each tensor's gradient in the first step by twice as much, by relative norm, plus 1e-3.

compare.py bench RESULTS PROGRAM [NAME=COMMAND ...]   steps of GPT-2 124M, B = 4, T = 1024, alternating
    PROGRAM and the COMMANDs (llm.c) run in their own processes while PyTorch, whose step is compiled, is idle.
"""
import json
import pathlib
import re
import statistics
import subprocess
import sys

import torch

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import train as lab  # noqa: E402


def relative(a, b):
    return (a.double() - b.double()).norm().item() / b.double().norm().item()


def training(record, start, autocast):
    """The losses, and the first step's gradients in the order of gpt2::tensor, by name and layer."""
    model = lab.load_start(start, record).cuda()
    optimizer = lab.adamw_of(model, record["learning_rate"], (record["beta1"], record["beta2"]), record["epsilon"],
                             record["weight_decay"])
    shape = (record["steps"], record["batch"], record["length"])
    tokens, targets = (torch.tensor(record[name]).reshape(shape).cuda() for name in ("tokens", "targets"))
    losses, gradients = [], {}
    for step in range(record["steps"]):
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
            loss = lab.loss_of(model, tokens[step], targets[step])
        loss.backward()
        if step == 0:
            gradients = {name: (p.grad.t() if p.dim() == 2 and ".h." in name else p.grad).clone()
                         for name, p in model.named_parameters()}
        optimizer.step()
        losses.append(loss.item())
    return losses, gradients


def check(record_file, start, gradients_file, results):
    torch.set_float32_matmul_precision("highest")  # no TF32
    record = json.loads(pathlib.Path(record_file).read_text())
    exact, of_exact = training(record, start, False)
    rounded, of_rounded = training(record, start, True)
    ours = torch.frombuffer(bytearray(pathlib.Path(gradients_file).read_bytes()), dtype=torch.float32).cuda()
    c, layers, at = record["channels"], record["layers"], 0

    def take(count):
        nonlocal at
        part = ours[at:at + count]
        at += count
        return part

    rows = []

    def compare(name, mine):
        want = of_exact[name]
        rows.append({"tensor": name, "ours": relative(mine[:want.numel()].reshape(want.shape), want),
                     "autocast": relative(of_rounded[name], want)})

    compare("transformer.wte.weight", take(record["padded_vocabulary"] * c))
    compare("transformer.wpe.weight", take(record["context"] * c))
    for name, count in (("ln_1.weight", c), ("ln_1.bias", c), ("attn.c_attn.weight", 3 * c * c),
                        ("attn.c_attn.bias", 3 * c), ("attn.c_proj.weight", c * c), ("attn.c_proj.bias", c),
                        ("ln_2.weight", c), ("ln_2.bias", c), ("mlp.c_fc.weight", 4 * c * c), ("mlp.c_fc.bias", 4 * c),
                        ("mlp.c_proj.weight", 4 * c * c), ("mlp.c_proj.bias", c)):
        for layer in range(layers):
            compare(f"transformer.h.{layer}.{name}", take(count))
    compare("transformer.ln_f.weight", take(c))
    compare("transformer.ln_f.bias", take(c))
    good = at == ours.numel()
    for row in rows:
        row["good"] = row["ours"] <= 2 * row["autocast"] + 1e-3
        good &= row["good"]
        if not row["good"] or layers <= 4:
            print(f"{row['tensor']:40} ours {row['ours']:.2e}  autocast {row['autocast']:.2e}  {row['good']}")
    of_ours = max(abs(a - b) for a, b in zip(record["losses"], exact))
    of_autocast = max(abs(a - b) for a, b in zip(rounded, exact))
    good &= of_ours <= 2 * of_autocast + 1e-4
    print(f"worst gradient: ours {max(r['ours'] for r in rows):.2e}, autocast {max(r['autocast'] for r in rows):.2e}")
    print(f"largest difference of losses from FP32: ours {of_ours:.2e}, autocast {of_autocast:.2e}; "
          f"last loss {record['losses'][-1]:.5f}, autocast {rounded[-1]:.5f}, FP32 {exact[-1]:.5f}")
    settings = {name: value for name, value in record.items() if name not in ("tokens", "targets", "losses")}
    pathlib.Path(results).write_text(json.dumps(
        {"torch": torch.__version__, "settings": settings, "good": bool(good), "losses": record["losses"],
         "losses_autocast": rounded, "losses_fp32": exact, "gradients": rows}, indent=1) + "\n")
    return good


class pytorch:
    """GPT-2 124M, bf16 autocast, compiled, fused AdamW, as in train.py bench; tokens stay on the device."""

    def __init__(self, mode):
        torch.manual_seed(1)
        self.model = lab.gpt2_of(1024, 50257, 12, 12, 768).cuda()
        self.optimizer = lab.adamw_of(self.model, 1e-3, (0.9, 0.999), 1e-8, 0.1, fused=True)
        tokens = torch.randint(0, 50257, (4, 1025), device="cuda")
        self.ids, self.wanted = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
        self.forward = torch.compile(lambda ids, wanted: lab.loss_of(self.model, ids, wanted), mode=mode)
        self.steps(5)

    def steps(self, count):
        """Times in ms."""
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
        for i in range(count + 1):
            if i > 0:
                with torch.autocast("cuda", torch.bfloat16):
                    loss = self.forward(self.ids, self.wanted)
                loss.backward()
                self.optimizer.step()
                self.optimizer.zero_grad(set_to_none=True)
            marks[i].record()
        torch.cuda.synchronize()
        return [a.elapsed_time(b) for a, b in zip(marks, marks[1:])]


def bench(results, program, others):
    torch.set_float32_matmul_precision("high")
    commands = dict([("ours", program)] + [other.split("=", 1) for other in others])
    times = {}
    compiled = {}
    for mode in ("default", "reduce-overhead"):
        try:
            compiled[f"PyTorch compiled, {mode}"] = pytorch(mode)
        except Exception as error:  # a failure must not lose the other results
            print(f"PyTorch {mode}: {type(error).__name__}: {error}"[:300])
    for turn in range(3):
        for name, model in compiled.items():
            times.setdefault(name, []).extend(model.steps(20))
        for name, command in commands.items():
            out = subprocess.run(command, shell=True, capture_output=True, text=True)
            median = re.findall(r"([\d.]+) ms a step", out.stdout)
            steps = re.findall(r"\| ([\d.]+) ms \|", out.stdout)[3:]
            if not median and not steps:
                print(f"{name}: {(out.stdout + out.stderr)[-300:]}")
            times.setdefault(name, []).extend(float(x) for x in median or steps)
    rows = {name: {"median_ms": statistics.median(all_of), "min": min(all_of), "max": max(all_of),
                   "values": len(all_of)}
            for name, all_of in times.items() if all_of}
    for name, row in rows.items():
        print(f"{name:34} {row['median_ms']:8.3f} ms  ({row['min']:.3f} to {row['max']:.3f}, {row['values']} values)")
    driver = subprocess.run("nvidia-smi --query-gpu=driver_version --format=csv,noheader", shell=True,
                            capture_output=True, text=True).stdout.strip()
    pathlib.Path(results).write_text(json.dumps(
        {"gpu": torch.cuda.get_device_name(), "driver": driver, "torch": torch.__version__, "batch": 4, "length": 1024,
         "commands": commands, "rows": rows}, indent=1) + "\n")
    return True


if __name__ == "__main__":
    if len(sys.argv) == 6 and sys.argv[1] == "check":
        sys.exit(not check(*sys.argv[2:]))
    elif len(sys.argv) >= 4 and sys.argv[1] == "bench":
        sys.exit(not bench(sys.argv[2], sys.argv[3], sys.argv[4:]))
    sys.exit(__doc__)
