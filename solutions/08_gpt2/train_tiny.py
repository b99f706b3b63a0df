#!/usr/bin/env python3
"""Trains the small GPT-2 of common/gpt2/tiny on the course's own texts: train_tiny.py FOLDER

Four layers of 64 channels with one head of 64, 512 tokens, a context of 256: 0.25 million parameters, learnt by heart
from the handouts and worklogs in a minute on a GPU. Writes what Hugging Face's GPT2LMHeadModel and this course's gpt2
read (model.safetensors in FP16, config.json, vocab.json, merges.txt), and expected.json: the tokens that transformers
takes greedily in FP32, with the same weights, after a few prompts. After each prompt, the likeliest token leads by a margin that rounding cannot reverse; prints the smallest margin.
"""
import json
import math
import pathlib
import sys
import time

import tokenizers
import torch
import transformers

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
root = pathlib.Path(__file__).resolve().parents[2]
files = sorted([*root.glob("labs/*/README.md"), *root.glob("solutions/*/WORKLOG.md"), *root.glob("slides/*.md"),
                *root.glob("common/**/*.md"), root / "README.md", *root.glob("autograder/*.md")])
texts = [file.read_text() for file in files]
steps, batch, context = 6000, 48, 256
torch.manual_seed(8)

bpe = tokenizers.ByteLevelBPETokenizer()
bpe.train_from_iterator(texts, vocab_size=512, min_frequency=2, special_tokens=["<|endoftext|>"])
bpe.save_model(str(folder))
tokens = torch.tensor([token for text in texts for token in [0, *bpe.encode(text).ids]], device="cuda")
held_out = len(tokens) // 20
print(f"{len(texts)} texts, {sum(map(len, texts))} characters, {len(tokens)} tokens")

model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
    vocab_size=512, n_positions=context, n_embd=64, n_layer=4, n_head=1, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    bos_token_id=0, eos_token_id=0)).cuda()
decayed = [p for p in model.parameters() if p.dim() > 1]
optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.05},
                               {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0.0}],
                              lr=3e-3, betas=(0.9, 0.99), fused=True)
offsets = torch.arange(context + 1, device="cuda")
begin = time.monotonic()
for step in range(steps):
    for group in optimizer.param_groups:
        group["lr"] = 3e-3 * min(1.0, step / 200) * (0.5 + 0.5 * math.cos(math.pi * step / steps))
    at = torch.randint(0, len(tokens) - held_out - context - 1, (batch, 1), device="cuda")
    window = tokens[at + offsets]
    with torch.autocast("cuda", torch.bfloat16):
        logits = model(window[:, :-1]).logits
    loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), window[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 500 == 499:
        print(f"{step + 1} steps, {time.monotonic() - begin:.0f} s: loss {loss.item():.3f}", flush=True)

model.eval().half().save_pretrained(folder, safe_serialization=True)
for extra in folder.glob("generation_config.json"):
    extra.unlink()
reference = transformers.GPT2LMHeadModel.from_pretrained(folder, torch_dtype=torch.float32).eval()  # on the CPU
expected, smallest = [], math.inf
for prompt in ("**The question.**", "A warp reads", "## Measured\n\n", "The kernel is memory-bound, because", "float4 x = in[i];"):
    ids = bpe.encode(prompt).ids
    made = list(ids)
    for _ in range(64):
        with torch.no_grad():
            first, second = reference(torch.tensor([made])).logits[0, -1].topk(2)[0].tolist()
            made.append(int(reference(torch.tensor([made])).logits[0, -1].argmax()))
        smallest = min(smallest, first - second)
    greedy = reference.generate(torch.tensor([ids]), max_new_tokens=64, do_sample=False, eos_token_id=None, pad_token_id=0)
    assert greedy[0].tolist() == made, "transformers' generate() takes other tokens"
    expected.append({"prompt": prompt, "prompt_tokens": ids, "tokens": made[len(ids):], "text": bpe.decode(made)})
    print(f"--- {bpe.decode(made)}")
print(f"the likeliest token leads by at least {smallest:.4f}")
lines = ",\n".join(json.dumps(entry) for entry in expected)
(folder / "expected.json").write_text(f"[\n{lines}\n]\n")
