"""The warp view in a real browser: what it draws equals the counters, at each width, whatever the source file says.
usage: see_test.py SIMCC PROGRAM"""
import csv
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

simcc, program = sys.argv[1:]
browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if not browser:
    print("SKIPPED: no chromium here; apt-get install chromium")
    sys.exit(77)

# Asks the page: each launch, each line, each recorded warp and request.
PROBE = """<script>
const numberIn = e => parseFloat(e.textContent.replace(/\u2009/g, ''));
const found = {title: document.title, images: document.images.length, scripts: document.scripts.length, launches: [], errors: []};
addEventListener('error', e => found.errors.push(e.message));
data.launches.forEach((launch, n) => {
  chooseLaunch(n);
  const about = {kernel: launch.kernel, title: at('launch').selectedOptions[0].textContent, rows: [], facts: at('facts').textContent, grid: at('grid-sentence').textContent,
                 block: at('block-sentence').textContent, roofline: at('roofline-sentence').textContent,
                 copies: document.querySelectorAll('#block-drawing .copy').length, copied: document.querySelectorAll('#strip .copy').length};
  for (const e of document.querySelectorAll('.counts')) {
    e.querySelector('button').click();
    const [, requests, each] = e.children;
    const row = {...rowNow(), sites: undefined, shownRequests: numberIn(requests), shownEach: numberIn(each),
                 title: at('request-title').textContent, code: at('request-code').textContent, steps: []};
    warps.forEach((w, k) => {
      chooseWarp(k);
      stepsOf(warps[chosen.warp], rowNow()).forEach((s, i) => {
        chooseStep(i);
        const d = at('drawing');
        const drawn = s.site.space === 'global' ? d.querySelectorAll('[data-fetched]').length
                                                : new Set([...d.querySelectorAll('[data-wavefront]')].map(c => c.dataset.wavefront)).size;
        if (s.site.space === 'global') {  // nothing red shows in a sector that is used whole; names lie below their lines, not on links
          const boxes = [...d.querySelectorAll('[data-fetched]')], number = (e, name) => Number(e.getAttribute(name));
          const area = all => all.reduce((sum, e) => sum + number(e, 'width') * number(e, 'height'), 0);
          if (s.moved === 32 * s.cost && area([...d.querySelectorAll('[data-bytes]')]) < area(boxes)) found.errors.push('red between bytes that are used');
          for (const t of [...d.querySelectorAll('text')].filter(t => / B$/.test(t.textContent)))
            if (!boxes.some(b => number(t, 'y') > number(b, 'y') + 28 && number(t, 'y') < number(b, 'y') + 36)) found.errors.push(`${t.textContent} lies on links`);
        }
        row.steps.push({warp: w.number, cost: s.cost, drawn, lanes: s.lanes.length, moved: s.moved,
                        hollow: d.querySelectorAll('.lane.hollow').length, sentence: at('sentence').textContent, label: d.getAttribute('aria-label')});
      });
    });
    if (!at('shared').hidden) Object.assign(row, {untouched: document.querySelectorAll('#shared-drawing .untouched').length, array: document.querySelector('#shared-drawing .strong').textContent});
    about.rows.push(row);
  }
  about.strip = [...document.querySelectorAll('#strip [data-step]')].map(e => Math.round(e.getAttribute('height') / 4));
  about.moved = ['loaded', 'stored'].map(what => [...document.querySelectorAll(`#launches-drawing [data-${what}]`)].map(e => Number(e.dataset[what])));
  about.roofs = [...document.querySelectorAll('#roofline-drawing .strong')].map(t => t.textContent);
  // The point's position by the axes' ticks, logarithmic between any two.
  const circle = document.querySelector('#roofline-drawing .point.here');
  if (circle) {
    const ticks = anchor => [...document.querySelectorAll(`#roofline-drawing text[text-anchor="${anchor}"]`)].filter(t => /^[0-9.]+ ?[kMGTP]?$/.test(t.textContent))
        .map(t => [parseFloat(t.textContent) * ({k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15}[t.textContent.slice(-1)] || 1), Number(t.getAttribute('x')), Number(t.getAttribute('y')) - 4]);
    const read = ([v0, ...p0], [v1, ...p1], k, at) => v0 * (v1 / v0) ** ((at - p0[k]) / (p1[k] - p0[k]));
    const across = ticks('middle'), up = ticks('end');
    about.point = {intensity: read(across[0], across[across.length - 1], 0, Number(circle.getAttribute('cx'))),
                   rate: read(up[0], up[up.length - 1], 1, Number(circle.getAttribute('cy')))};
  }
  found.launches.push(about);
});
// keys: to the next request and the next warp
if (data.launches.length > 5) {
  chooseLaunch(5);
  at('other').value = '0';
  at('other').dispatchEvent(new Event('change'));
  const row = document.querySelector('[data-metric="l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"]');
  found.compared = [1, 2, 3].map(i => row.children[i].textContent.replace(/\\u2009/g, ''));
  chooseLaunch(5);
  const keys = [];
  const press = (e, key) => { e.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})); keys.push([chosen.warp, chosen.step]); };
  chooseWarp(0); chooseStep(0);
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowLeft', 'ArrowDown', 'ArrowUp', 'ArrowUp']) press(at('drawing'), key);
  found.keys = keys;
  const buttons = [...document.querySelectorAll('.counts button')];
  buttons[0].focus();
  press(buttons[0], 'ArrowDown');
  found.focus = document.activeElement === buttons[1] && chosen.row === buttons[1].parentElement.dataset.row;
}
document.body.replaceChildren(Object.assign(document.createElement('pre'), {id: 'found', textContent: JSON.stringify(found)}));
</script>"""

# In a frame of each width: does the page scroll sideways, does a drawing overflow its place, and is a word in it cut off?
FRAMES = """<!doctype html><body><script>
addEventListener('load', async () => {
  const found = {};
  for (const f of document.querySelectorAll('iframe')) {
    const d = f.contentDocument, bad = [], w = f.contentWindow;
    if (f.hidden) {  // as in a tab that is opened later
      f.hidden = false;
      const outside = () => {
        const row = d.querySelector('.counts.chosen').getBoundingClientRect(), pane = d.getElementById('source').getBoundingClientRect();
        return row.height === 0 || row.top < pane.top || row.bottom > pane.bottom;
      };
      // A frame tells the page of its new size before it calls back; timers may run out before there is one.
      for (let frames = 10; outside() && frames > 0; --frames) await new Promise(requestAnimationFrame);
      if (outside()) bad.push('the chosen line is outside the source');
    }
    for (let n = 0; n < w.eval('data').launches.length; ++n) {
      w.eval(`chooseLaunch(${n})`);
      if (d.documentElement.scrollWidth > d.documentElement.clientWidth) bad.push(`launch ${n}: page ${d.documentElement.scrollWidth}`);
      for (const counts of d.querySelectorAll('.counts')) {
        counts.querySelector('button').click();
        for (const e of d.querySelectorAll('section:not([hidden]) .drawing svg')) {
          const place = `launch ${n}: ${e.parentElement.id}`, box = e.getBoundingClientRect();
          if (!e.parentElement.classList.contains('scroll') && box.width > e.parentElement.clientWidth + 1) bad.push(place);
          for (const t of e.querySelectorAll('text')) {
            const words = t.getBoundingClientRect();
            if (words.left < box.left - 1 || words.right > box.right + 1 || words.top < box.top - 1 || words.bottom > box.bottom + 1) bad.push(`${place}: cut off: ${t.textContent}`);
          }
        }
      }
    }
    found[f.width] = bad;
  }
  document.body.innerHTML = '';
  document.body.append(Object.assign(document.createElement('pre'), {id: 'found', textContent: JSON.stringify(found)}));
});
</script>"""


def ask(page, folder):
    said = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--window-size=1280,900",
         f"--user-data-dir={folder}/profile", "--virtual-time-budget=20000", "--dump-dom", f"file://{page}"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=240, check=False).stdout.decode()
    answer = re.search(r'<pre id="found">(.*?)</pre>', said, re.S)
    assert answer, "the page's script has failed: " + said[-2000:]
    return json.loads(html.unescape(answer.group(1)))


def see(program, folder, name, before=""):
    page, table = os.path.join(folder, name + ".html"), os.path.join(folder, name + ".csv")
    said = subprocess.run([program], check=True, stderr=subprocess.PIPE, env={**os.environ, "SIM_SEE": page, "SIM_CSV": table, "SIM_SEE_BEFORE": before})
    assert page in said.stderr.decode(), said.stderr
    rows = list(csv.reader(open(table)))
    with open(page, encoding="utf-8") as file:
        text = file.read()
    asking = page.replace(".html", "-asked.html")
    with open(asking, "w", encoding="utf-8") as file:
        file.write(text.replace("</body>", PROBE + "</body>"))
    return ask(asking, folder), [dict(zip(rows[0], r)) for r in rows[2:]], page


def total(launch, space, op, what):
    return sum(r[what] for r in launch["rows"] if (r["space"], r["op"]) == (space, op))


def drawn(launch, space, op):
    return sum(s["drawn"] for r in launch["rows"] if (r["space"], r["op"]) == (space, op) for s in r["steps"])


folder = tempfile.mkdtemp(prefix="see-test-")
try:
    found, table, page = see(program, folder, "page")
    assert found["errors"] == [] and found["images"] == 0 and found["title"].endswith(": warp view"), found
    assert os.path.getsize(page) < 2_000_000, os.path.getsize(page)
    launches = found["launches"]
    assert [l["kernel"] for l in launches] == [t["Kernel Name"] for t in table]

    # The lines' counts add up to the summary's counters. Each warp is recorded, so the drawings do, too.
    requests, incomplete = 0, []
    for launch, counters in zip(launches, table):
        def counter(name):
            return float(counters[name])
        for op, short in [("load", "ld"), ("store", "st"), ("atomic", "atom")]:
            g = "pipe_lsu_mem_global_op_" + short + ".sum"
            assert total(launch, "global", op, "shownRequests") == counter("l1tex__t_requests_" + g), (launch["kernel"], op)
            sectors = counter("l1tex__t_sectors_" + g)
            assert total(launch, "global", op, "cost") == sectors, (launch["kernel"], op)
            if op != "atomic" and not launch["facts"].endswith("Every step of every warp is recorded."):
                incomplete.append(launch["kernel"])
            elif op != "atomic":
                assert drawn(launch, "global", op) == sectors, (launch["kernel"], op)
                moved = sum(s["moved"] for r in launch["rows"] if (r["space"], r["op"]) == ("global", op) for s in r["steps"])
                counted = counter(f"smsp__sass_data_bytes_mem_global_op_{short}.sum")
                if (launch["kernel"], op) == ("asynchronous", "load"):
                    assert counted < moved, (counted, moved)  # asynchronous copies count no bytes, and are drawn
                else:
                    assert counted == moved, (launch["kernel"], op)
                assert total(launch, "shared", op, "shownRequests") == counter(f"smsp__sass_inst_executed_op_shared_{short}.sum")
                wavefronts = counter(f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{short}.sum")
                assert total(launch, "shared", op, "cost") == wavefronts, (launch["kernel"], op)
                assert drawn(launch, "shared", op) == wavefronts, (launch["kernel"], op)
        for row in launch["rows"]:
            assert abs(row["shownEach"] - row["cost"] / row["requests"]) < 0.006, row
            assert row["title"].startswith(f"Line {row['line']}: ") and row["code"], row
            for step in row["steps"]:
                requests += 1
                assert row["op"] == "atomic" or step["drawn"] == step["cost"], (launch["kernel"], row["title"], step)
                assert step["hollow"] == 32 - step["lanes"] and step["label"] == step["sentence"], step
    assert requests > 100 and set(incomplete) == {"copy", "large", "products"}, (requests, incomplete)  # copy: its second launch
    assert incomplete.count("copy") == 2, incomplete

    def sentences(number, title):
        return {s["sentence"].replace("\u2009", " ") for r in launches[number]["rows"] if r["title"].endswith(title) for s in r["steps"]}
    assert sentences(0, "global load") == {"32 lanes ask for 128 bytes in 4 sectors: 100 % of what is fetched is used."}
    assert sentences(1, "global load") == {"32 lanes ask for 128 bytes in 8 sectors: 50 % of what is fetched is used. 4 sectors would do."}
    assert sentences(2, "global load") == {"32 lanes ask for 128 bytes in 32 sectors: 12.5 % of what is fetched is used. 4 sectors would do."}
    assert "18 lanes ask for 288 bytes in 9 sectors: 100 % of what is fetched is used." in sentences(3, "global load")
    assert sentences(5, "global store") == {"32 lanes store 128 bytes in 32 sectors: 12.5 % of these sectors is written. 4 sectors would do."}
    assert sentences(6, "shared load") == {f"32 lanes ask for 32 words of shared memory in 32 wavefronts: bank {b} alone has to serve 32 words, one after another (a 32-way bank conflict). 1 wavefront would do." for b in range(32)}
    assert sentences(7, "shared load") == {"32 lanes ask for 32 words of shared memory in 1 wavefront: no bank conflict."}
    assert "32 lanes ask for 32 words of shared memory in 2 wavefronts, 16 lanes at a time: no bank conflict." in sentences(8, "shared load")
    assert "32 lanes ask for 128 words of shared memory in 8 wavefronts, 8 lanes at a time: bank 0 alone has to serve 2 words to 8 lanes, one after another (a 2-way bank conflict). 4 wavefronts would do." in sentences(8, "shared load"), sentences(8, "shared load")
    untouched = [[r["untouched"] for r in launches[n]["rows"] if r["space"] == "shared"] for n in (6, 7)]
    assert untouched == [[0, 0], [32, 32]], untouched  # the padding: one word of each row
    assert {r["array"].replace("\u2009", " ") for r in launches[7]["rows"] if r["space"] == "shared"} == {"tile, 4 224 bytes"}, launches[7]["rows"]
    assert "1 barrier" in launches[6]["block"] and "No barrier" in launches[5]["block"], launches[6]["block"]

    # Both sides of the branch have 16 lanes, every second one: 16 bars of height 1 each.
    assert launches[9]["strip"].count(1) >= 32, launches[9]["strip"]
    assert {len(r["steps"]) for r in launches[9]["rows"]} == {2}, launches[9]
    assert sorted(s["lanes"] for s in launches[9]["rows"][2]["steps"]) == [8, 32]
    assert sentences(10, "global atomic") == {"32 lanes update 64 bytes in 2 sectors. Lanes that share an address take turns: 2 rounds, 4 sectors counted."}
    assert launches[11]["copies"] == 2 and launches[11]["copied"] == 1 and "2 asynchronous copies" in launches[11]["block"], launches[11]["block"]
    assert "those of launch 1, with" in launches[12]["facts"], launches[12]["facts"]

    assert sentences(13, "global load") == {"32 lanes ask for 128 bytes in 12 sectors: 33.3 % of what is fetched is used. 4 sectors would do."}
    assert sentences(14, "global load") == {"32 lanes ask for 128 bytes in 4 sectors: 100 % of what is fetched is used."}
    assert sentences(16, "global load") == {"32 lanes ask for 64 bytes in 16 sectors: 12.5 % of what is fetched is used. 2 sectors would do."}
    assert launches[13]["title"].startswith("14: kernel = copy_strided,") and "kernel = backwards_kernel," in launches[14]["title"], launches[14]
    assert launches[16]["title"].startswith("17: gather_kernel<pairs>, "), launches[16]["title"]
    assert launches[7]["title"].startswith("8: transpose_shared<33>, 1 block of 32 × 4, "), launches[7]

    # What each launch loads and stores, compared with the others.
    for what, short in enumerate(["ld", "st"]):
        counted = [32 * int(float(t[f"l1tex__t_sectors_pipe_lsu_mem_global_op_{short}.sum"])) for t in table]
        assert launches[0]["moved"][what] == counted, (launches[0]["moved"][what], counted)

    # More blocks than the device takes at a time; a point of the roofline.
    assert "132 hold 528: 1.14 waves. The last wave has 72 blocks and leaves 86.4 %" in launches[15]["grid"], launches[15]["grid"]
    point, counters = launches[15]["point"], table[15]
    flop = sum(float(counters[f"smsp__sass_thread_inst_executed_op_f{op}_pred_on.sum"]) * each for op, each in [("add", 1), ("mul", 1), ("fma", 2)])
    intensity = flop / (float(counters["dram__bytes_read.sum"]) + float(counters["dram__bytes_write.sum"]))
    rate = flop / float(counters["gpu__time_duration.sum"]) * 1e9
    assert flop == 64 and abs(point["intensity"] / intensity - 1) < .01 and abs(point["rate"] / rate - 1) < .01, (point, intensity, rate)
    # A product on tensor cores is measured against the tensor cores' roof.
    share = float(table[17]["sm__ops_path_tensor_src_bf16_dst_fp32.sum"]) / float(table[17]["gpu__time_duration.sum"]) * 1e9 / 989.4e12
    assert f" {100 * share:.3g} % of the roof above it, of bf16 on tensor cores." in launches[17]["roofline"], (share, launches[17]["roofline"])
    assert launches[17]["roofs"] == ["FP32 51 TFLOP/s", "bf16 989 TFLOP/s", "DRAM 4.25 TB/s"], launches[17]["roofs"]
    assert found["compared"] == ["1024", "16", "64"], found["compared"]

    assert found["keys"][:6] == [[0, 1], [0, 2], [0, 1], [1, 1], [0, 1], [0, 1]] and found["focus"], found["keys"]

    frames = os.path.join(folder, "frames.html")
    widths = [390, 700, 1280, 1600]
    with open(frames, "w", encoding="utf-8") as file:
        file.write(FRAMES + "".join(f'<iframe src="page.html" width="{w}" height="900"{" hidden" if w == 390 else ""}></iframe>' for w in widths))
    wrong = ask(frames, folder)
    assert wrong == {str(w): [] for w in widths}, wrong

    # A file that attacks its reader and is not UTF-8, and a kernel whose name is a tag.
    evil = os.path.join(folder, "evil <script>.cu")
    with open(evil, "wb") as file:
        file.write(b"""// \xff\xc0\xaf </script><script>document.title = 'owned'</script><img src=x onerror="document.title = 1"> <!--
template <class script> __global__ void fill(script* out) { out[threadIdx.x] = 1; }  // ]]> --> \\u003c
int main() {
  float* out = nullptr;
  if (cudaMalloc(&out, 4096) != cudaSuccess) return 1;
  fill<float><<<1, 64>>>(out);
  return cudaFree(out) != cudaSuccess;
}
""")
    subprocess.run([simcc, evil, "-o", folder + "/evil"], check=True)
    found, table, _ = see(folder + "/evil", folder, "attack")
    assert found["errors"] == [] and found["images"] == 0 and found["scripts"] == 3 and found["title"] == "evil: warp view", found
    assert [r["shownRequests"] for r in found["launches"][0]["rows"]] == [2], found

    # Before and after: the counters of two programs, kernel by kernel. Here, too, an attacker's page stays harmless.
    versions = {}
    for name, index in [("strided", "i % 512 * 1024 + i / 512"), ("coalesced", "i")]:
        source = os.path.join(folder, name + ".cu")
        with open(source, "w", encoding="utf-8") as file:
            file.write("""#include <cuda_runtime.h>
__global__ void other(float* out) { out[threadIdx.x] = 1; }
__global__ void copy(float* out, const float* in) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[INDEX];
}
int main() {
  float *in = nullptr, *out = nullptr;
  if (cudaMalloc(&in, 2 << 20) != cudaSuccess || cudaMalloc(&out, 2 << 20) != cudaSuccess) return 1;
  cudaMemset(in, 0, 2 << 20);
  FIRST
  copy<<<4096, 128>>>(out, in);
  return cudaDeviceSynchronize() != cudaSuccess;
}
""".replace("INDEX", index).replace("FIRST", "other<<<1, 32>>>(out);" if name == "coalesced" else ""))
        subprocess.run([simcc, source, "-o", folder + "/" + name], check=True)
        earlier = versions["strided"][2] if versions else ""
        versions[name] = see(folder + "/" + name, folder, name, earlier)
    (_, was, earlier), (found, now, _) = versions["strided"], versions["coalesced"]
    assert found["errors"] == [] and found["scripts"] == 4, found
    def sectors(counters):
        return int(float(counters["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]))
    facts = found["launches"][1]["facts"].replace("\u2009", "")
    assert sectors(was[0]) > 4 * sectors(now[1]), (sectors(was[0]), sectors(now[1]))
    assert f"Against launch 1 of strided, " in facts and f"{sectors(was[0])} sectors loaded are now {sectors(now[1])}" in facts, facts
    assert "times as fast" in facts, facts
    assert "Against launch 1 of strided" in found["launches"][0]["facts"], found["launches"][0]["facts"]
    found, _, _ = see(folder + "/strided", folder, "attacked", os.path.join(folder, "attack.html"))
    assert found["errors"] == [] and found["images"] == 0 and found["title"] == "strided: warp view", found
    said = subprocess.run([folder + "/strided"], stderr=subprocess.PIPE, check=True,
                          env={**os.environ, "SIM_SEE": folder + "/x.html", "SIM_SEE_BEFORE": source}).stderr.decode()
    assert "is not a page of the warp view" in said, said
    print(f"{requests} requests of {len(launches)} launches, {os.path.getsize(page) // 1024} KiB")
finally:
    shutil.rmtree(folder, ignore_errors=True)
