#!/usr/bin/env python3
"""Trains the small Llama of common/llama/tiny on the course's own texts, with NumPy alone: train_tiny.py FOLDER

Four layers of width 128, 4 query heads and 2 K/V heads of 64, the 512 tokens of common/gpt2/tiny: 0.85 million
parameters, learnt from the handouts, decks and worklogs of 2026-11-23 (305,015 tokens) in 2,870 s on two cores of a busy
machine; the last loss was 1.30. Other texts or another BLAS give another model. Writes what Hugging Face's
LlamaForCausalLM and this course's llama read (model.safetensors in bf16, config.json), and expected.json: logits in
float64, and the tokens that they choose greedily, after a few prompts. They come from the pass below, which shares no code with the course's programs: it rotates halves of a head, as Hugging Face's
weights require, and has no cache.

train_tiny.py --check compares the gradients with finite differences in float64, and trains nothing.
"""
import json
import math
import pathlib
import re
import struct
import sys
import time

import numpy as np

root = pathlib.Path(__file__).resolve().parents[2]
layers, width, heads, kv_heads, size, hidden, context, theta, eps = 4, 128, 4, 2, 64, 256, 256, 10000.0, 1e-5
steps, batch, length, rate, seed = 2400, 16, 128, 3e-3, 10


# ---- text to tokens, as common/gpt2/text.cpp does it --------------------------------------------------------------

class words:
    def __init__(self, folder):
        seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
        hidden_bytes = [b for b in range(256) if b not in seen]
        self.visible = {b: chr(b) if b in seen else chr(256 + hidden_bytes.index(b)) for b in range(256)}
        self.bytes = {c: b for b, c in self.visible.items()}
        self.ids = json.loads((folder / "vocab.json").read_text())
        self.names = {i: word for word, i in self.ids.items()}
        lines = [line for line in (folder / "merges.txt").read_text().splitlines() if not line.startswith("#version")]
        self.rank = {tuple(line.split()): i for i, line in enumerate(lines) if line.strip()}
        self.known = {}

    def encode(self, text):
        out = []
        for word in re.findall(r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+", text):
            if word not in self.known:
                parts = [self.visible[b] for b in word.encode()]
                while len(parts) > 1:
                    best = min(range(len(parts) - 1), key=lambda i: self.rank.get((parts[i], parts[i + 1]), math.inf))
                    if (parts[best], parts[best + 1]) not in self.rank:
                        break
                    parts[best:best + 2] = [parts[best] + parts[best + 1]]
                self.known[word] = [self.ids[part] for part in parts]
            out += self.known[word]
        return out

    def decode(self, tokens):
        return bytes(self.bytes[c] for t in tokens for c in self.names[t]).decode(errors="replace")


# ---- the model ----------------------------------------------------------------------------------------------------

def shapes(vocabulary):
    of = {"model.embed_tokens.weight": (vocabulary, width), "model.norm.weight": (width,)}
    for i in range(layers):
        at = f"model.layers.{i}."
        of |= {at + "input_layernorm.weight": (width,), at + "post_attention_layernorm.weight": (width,),
               at + "self_attn.q_proj.weight": (heads * size, width),
               at + "self_attn.k_proj.weight": (kv_heads * size, width),
               at + "self_attn.v_proj.weight": (kv_heads * size, width),
               at + "self_attn.o_proj.weight": (width, heads * size),
               at + "mlp.gate_proj.weight": (hidden, width), at + "mlp.up_proj.weight": (hidden, width),
               at + "mlp.down_proj.weight": (width, hidden)}
    return of


def norm(x, g):
    r = 1 / np.sqrt(np.mean(x * x, -1, keepdims=True) + eps)
    return x * r * g, r


def norm_back(d, x, g, r):
    dg = np.sum(d * x * r, (0, 1))
    d = d * g
    return r * d - x * r ** 3 * np.mean(x * d, -1, keepdims=True), dg


def turned(x, c, s):
    """Pairs number i of a head with number i + size / 2."""
    a, b = x[..., :size // 2], x[..., size // 2:]
    return np.concatenate([a * c - b * s, b * c + a * s], -1)


def rounded(x):
    """To bf16 and back."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32).astype(x.dtype)


def forward(w, tokens, keep=None, cache=lambda x: x):
    """Logits (batch, length, vocabulary); `keep` gets what the backward pass needs; `cache` is applied to K and V."""
    kind = w["model.norm.weight"].dtype
    n, t = tokens.shape
    angle = np.outer(np.arange(t), theta ** (-np.arange(0, size, 2) / size))
    c, s = np.cos(angle).astype(kind), np.sin(angle).astype(kind)
    mask = np.triu(np.full((t, t), -np.inf, kind), 1)
    split = lambda x, count: x.reshape(n, t, count, size).transpose(0, 2, 1, 3)
    x = w["model.embed_tokens.weight"][tokens]
    for i in range(layers):
        p = lambda name: w[f"model.layers.{i}.{name}.weight"]
        h1, r1 = norm(x, p("input_layernorm"))
        q = turned(split(h1 @ p("self_attn.q_proj").T, heads), c, s).reshape(n, kv_heads, -1, t, size)
        k = cache(turned(split(h1 @ p("self_attn.k_proj").T, kv_heads), c, s))[:, :, None]
        v = cache(split(h1 @ p("self_attn.v_proj").T, kv_heads))[:, :, None]
        scores = q @ k.swapaxes(-1, -2) * kind.type(size ** -0.5) + mask
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        mixed = (weights @ v).reshape(n, heads, t, size).transpose(0, 2, 1, 3).reshape(n, t, -1)
        middle = x + mixed @ p("self_attn.o_proj").T
        h2, r2 = norm(middle, p("post_attention_layernorm"))
        gate, up = h2 @ p("mlp.gate_proj").T, h2 @ p("mlp.up_proj").T
        sigmoid = 1 / (1 + np.exp(-gate))
        if keep is not None:
            keep.append((x, h1, r1, q, k, v, weights, mixed, middle, h2, r2, gate, up, sigmoid))
        x = middle + (gate * sigmoid * up) @ p("mlp.down_proj").T
    last, r = norm(x, w["model.norm.weight"])
    if keep is not None:
        keep.append((x, last, r, c, s))
    return last @ w["model.embed_tokens.weight"].T


def loss_and_gradients(w, tokens, targets):
    keep, d = [], {}
    logits = forward(w, tokens, keep)
    n, t = tokens.shape
    logits -= logits.max(-1, keepdims=True)
    chance = np.exp(logits)
    chance /= chance.sum(-1, keepdims=True)
    rows = np.arange(n * t)
    flat = chance.reshape(n * t, -1)
    loss = -np.mean(np.log(flat[rows, targets.ravel()]))
    flat[rows, targets.ravel()] -= 1
    flat /= n * t
    outer = lambda a, b: a.reshape(n * t, -1).T @ b.reshape(n * t, -1)
    x, last, r, c, s = keep.pop()
    embedding = w["model.embed_tokens.weight"]
    d_embedding = flat.T @ last.reshape(n * t, -1)
    dx, d["model.norm.weight"] = norm_back((flat @ embedding).reshape(n, t, -1), x, w["model.norm.weight"], r)
    joined = lambda x: x.transpose(0, 2, 1, 3).reshape(n, t, -1)
    for i in reversed(range(layers)):
        name = f"model.layers.{i}."
        p = lambda which: w[f"{name}{which}.weight"]
        x, h1, r1, q, k, v, weights, mixed, middle, h2, r2, gate, up, sigmoid = keep.pop()
        d[name + "mlp.down_proj.weight"] = outer(dx, gate * sigmoid * up)
        dh = dx @ p("mlp.down_proj")
        d_up, d_gate = dh * gate * sigmoid, dh * up * sigmoid * (1 + gate * (1 - sigmoid))
        d[name + "mlp.gate_proj.weight"], d[name + "mlp.up_proj.weight"] = outer(d_gate, h2), outer(d_up, h2)
        dh = d_gate @ p("mlp.gate_proj") + d_up @ p("mlp.up_proj")
        dh, d[name + "post_attention_layernorm.weight"] = norm_back(dh, middle, p("post_attention_layernorm"), r2)
        dx = dx + dh
        d[name + "self_attn.o_proj.weight"] = outer(dx, mixed)
        dm = (dx @ p("self_attn.o_proj")).reshape(n, t, heads, size).transpose(0, 2, 1, 3).reshape(q.shape)
        dv = (weights.swapaxes(-1, -2) @ dm).sum(2)
        dp = dm @ v.swapaxes(-1, -2)
        ds = weights * (dp - np.sum(dp * weights, -1, keepdims=True)) * q.dtype.type(size ** -0.5)
        dq = joined(turned((ds @ k).reshape(n, heads, t, size), c, -s))  # turned back
        dk = joined(turned((ds.swapaxes(-1, -2) @ q).sum(2), c, -s))
        dv = joined(dv)
        for which, gradient in (("q", dq), ("k", dk), ("v", dv)):
            d[f"{name}self_attn.{which}_proj.weight"] = outer(gradient, h1)
        dh = dq @ p("self_attn.q_proj") + dk @ p("self_attn.k_proj") + dv @ p("self_attn.v_proj")
        dh, d[name + "input_layernorm.weight"] = norm_back(dh, x, p("input_layernorm"), r1)
        dx = dx + dh
    one_hot = np.zeros((embedding.shape[0], n * t), dx.dtype)
    one_hot[tokens.ravel(), rows] = 1
    d["model.embed_tokens.weight"] = d_embedding + one_hot @ dx.reshape(n * t, -1)
    return loss, d


def random_weights(vocabulary, kind, random):
    def one(name, shape):
        if len(shape) == 1:
            return np.ones(shape, kind)
        scale = 0.02 / math.sqrt(2 * layers) if name.endswith(("o_proj.weight", "down_proj.weight")) else 0.02
        return random.normal(0, scale, shape).astype(kind)
    return {name: one(name, shape) for name, shape in shapes(vocabulary).items()}


def check():
    random = np.random.default_rng(seed)
    w = random_weights(40, np.float64, random)
    for name in w:
        w[name] += random.normal(0, 0.1, w[name].shape)
    tokens = random.integers(0, 40, (2, 7))
    targets = random.integers(0, 40, (2, 7))
    _, d = loss_and_gradients(w, tokens, targets)
    worst = 0
    for name in w:
        for _ in range(4):
            at = tuple(random.integers(0, side) for side in w[name].shape)
            if name == "model.embed_tokens.weight":
                at = (tokens[0, random.integers(7)], at[1])
            before, step = w[name][at], 1e-5
            w[name][at] = before + step
            above = loss_and_gradients(w, tokens, targets)[0]
            w[name][at] = before - step
            below = loss_and_gradients(w, tokens, targets)[0]
            w[name][at] = before
            worst = max(worst, abs((above - below) / (2 * step) - d[name][at]) / (abs(d[name]).max() + 1e-12))
    print(f"gradients differ from finite differences by {worst:.1e} of the largest one")
    return worst < 1e-5


def train(folder):
    text = words(root / "common/gpt2/tiny")
    files = sorted([*root.glob("labs/*/README.md"), *root.glob("solutions/*/WORKLOG.md"), *root.glob("slides/*.md"),
                    *root.glob("common/**/*.md"), root / "README.md", *root.glob("autograder/*.md")])
    tokens = np.array([token for file in files for token in [0, *text.encode(file.read_text())]])
    print(f"{len(files)} texts, {len(tokens)} tokens", flush=True)
    random = np.random.default_rng(seed)
    w = random_weights(len(text.ids), np.float32, random)
    print(f"{sum(x.size for x in w.values())} parameters", flush=True)
    mean = {name: np.zeros_like(x) for name, x in w.items()}
    square = {name: np.zeros_like(x) for name, x in w.items()}
    begin, smooth = time.monotonic(), 0.0
    for step in range(1, steps + 1):
        at = random.integers(0, len(tokens) - length - 1, batch)[:, None] + np.arange(length + 1)
        loss, d = loss_and_gradients(w, tokens[at[:, :-1]], tokens[at[:, 1:]])
        clip = min(1.0, 1.0 / math.sqrt(sum(float(np.vdot(g, g)) for g in d.values())))
        now = rate * min(1.0, step / 100) * (0.5 + 0.5 * math.cos(math.pi * step / steps))
        for name, g in d.items():  # AdamW
            g *= clip
            mean[name] += 0.1 * (g - mean[name])
            square[name] += 0.01 * (g * g - square[name])
            w[name] -= now * (mean[name] / (1 - 0.9 ** step) / (np.sqrt(square[name] / (1 - 0.99 ** step)) + 1e-8)
                              + (0.05 * w[name] if w[name].ndim > 1 else 0))
        smooth = loss if step == 1 else smooth + 0.02 * (loss - smooth)
        if step % 100 == 0:
            print(f"{step} steps, {time.monotonic() - begin:.0f} s: loss {smooth:.3f}", flush=True)
    return {name: rounded(x) for name, x in w.items()}, text


def write(folder, w):
    index, data = {"__metadata__": {"format": "pt"}}, b""
    for name, x in sorted(w.items()):
        part = (x.astype(np.float32).view(np.uint32) >> 16).astype("<u2").tobytes()
        index[name] = {"dtype": "BF16", "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    header = json.dumps(index, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + data)
    settings = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": width,
                "intermediate_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
                "num_key_value_heads": kv_heads, "head_dim": size, "max_position_embeddings": context,
                "vocab_size": w["model.embed_tokens.weight"].shape[0], "hidden_act": "silu", "rms_norm_eps": eps,
                "rope_theta": theta, "rope_scaling": None, "attention_bias": False, "mlp_bias": False,
                "tie_word_embeddings": True, "torch_dtype": "bfloat16"}
    (folder / "config.json").write_text(json.dumps(settings, indent=2) + "\n")


def expect(folder, w, text):
    """The weights' output in float64, with K and V rounded to bf16 as in the lab's cache."""
    w = {name: x.astype(np.float64) for name, x in w.items()}
    expected, smallest = [], math.inf
    for prompt in ("A warp reads", "**The question.**", "The kernel is memory-bound, because", "float4 x = in[i];"):
        ids = text.encode(prompt)
        made, logits = list(ids), None
        for _ in range(48):
            now = forward(w, np.array([made]), cache=rounded)[0, -1]
            logits = now if logits is None else logits
            second, first = np.sort(now)[-2:]
            smallest = min(smallest, first - second)
            made.append(int(now.argmax()))
        expected.append({"prompt": prompt, "prompt_tokens": ids, "tokens": made[len(ids):], "text": text.decode(made),
                         "logits": [round(float(x), 5) for x in logits]})
        print(f"--- {text.decode(made)}")
    print(f"the likeliest token leads by at least {smallest:.4f}")
    lines = ",\n".join(json.dumps(entry) for entry in expected)
    (folder / "expected.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(not check())
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    trained, tokenizer = train(target)
    write(target, trained)
    expect(target, trained, tokenizer)
