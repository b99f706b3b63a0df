// The warp view. It draws the page's JSON, which src/see.cpp writes. The counts are the simulated device's; this file
// only works out where each request's bytes lie. Plain SVG: rectangles, lines and two logarithmic axes need no library.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
/** An earlier page's data: this page's launches can be compared with its launches. */
const before = document.getElementById('before') && JSON.parse(document.getElementById('before').textContent);
const at = id => document.getElementById(id);
const LANES = 32, LINE = 128, SECTOR = 32, WORD = 4, BANKS = 32;

// ---- the recorded data ------------------------------------------------------------------------------------------------

/** A launch's counts by source line and operation, in the order of the lines. */
function rowsOf(launch) {
  const rows = new Map();
  for (const [number, requests, lanes, bytes, sectors, idealSectors, wavefronts, idealWavefronts, seconds] of launch.counts) {
    const site = data.sites[number];
    if (site.space === 'none' || site.op === 'copy') continue;  // copies are counted where they end, as in the summary
    const key = [site.file, site.line, site.space, site.op].join(':');
    if (!rows.has(key))
      rows.set(key, {key, ...site, sites: new Set(), requests: 0, lanes: 0, moved: 0, cost: 0, ideal: 0, seconds: 0});
    const row = rows.get(key);
    row.sites.add(number);
    row.requests += requests;
    row.lanes += lanes;
    row.moved += bytes;
    row.cost += sectors + wavefronts;
    row.ideal += idealSectors + idealWavefronts;
    row.seconds += seconds;
  }
  return [...rows.values()].sort((a, b) => a.file - b.file || a.line - b.line || a.space.localeCompare(b.space));
}

/** One recorded step: which lanes were active and, of an access, what each of them asked for. */
function decoded([number, site, mask, instructions, lanesPerPhase, cost, ideal, bytes, first, rest]) {
  const lanes = [];
  for (let lane = 0; lane < LANES; ++lane) if ((mask >>> lane) & 1) lanes.push(lane);
  const step = {number, site: data.sites[site], siteNumber: site, lanes, instructions};
  if (first === undefined) return step;
  const addresses = lanes.map((_, i) => first + (Array.isArray(rest) ? rest[i] : i * rest));
  return {...step, lanesPerPhase, cost, ideal, moved: bytes, addresses};
}

/** The launch whose steps stand for this one: itself, or a recorded one of the same kernel and sizes. */
function recordedLike(launch) {
  if (launch.blocks) return launch;
  const same = (a, b) => a.function !== '' && a.function === b.function && String([a.grid, a.block, a.dynamic_shared]) === String([b.grid, b.block, b.dynamic_shared]);
  return data.launches.find(l => l.blocks && same(l, launch));
}

/** Names of allocations: given, or the variable that the line of the cudaMalloc names. */
for (const a of data.allocations) {
  const file = data.files[a.file], text = file.lines[a.line - file.first] || '';
  const names = [...text.matchAll(/cudaMalloc\w*\s*\(\s*(?:\([^)]*\)\s*)?&\s*([\w.]+)/g)].map(m => m[1]);
  const here = data.allocations.filter(b => b.file === a.file && b.line === a.line);
  a.title = a.name || (names.length === here.length ? names[here.indexOf(a)] : `allocation ${a.number}`);
}

/** Names of shared arrays, without the kernel's own name and types, which are too long for a phone. */
for (const l of data.launches) for (const b of l.blocks || []) for (const a of b.arrays) a.name = a.name.replace(/^.*::/s, '');

function placeOf(address) {
  const home = data.allocations.find(a => a.begin <= address && address < a.end);
  return home ? {name: home.title, offset: address - home.begin} : {name: 'a __device__ variable', offset: address % LINE};
}

/** The sectors that an access touches, in order: their numbers. */
function sectorsOf(step) {
  const all = new Set();
  for (const a of step.addresses)
    for (let s = Math.floor(a / SECTOR); s <= Math.floor((a + step.site.bytes - 1) / SECTOR); ++s) all.add(s);
  return [...all].sort((a, b) => a - b);
}

/** The wavefronts of a shared access. Each is a map from bank to {word, lanes}: a bank serves one word at a time. */
function wavefrontsOf(step) {
  const result = [];
  for (let first = 0; first < LANES; first += step.lanesPerPhase) {
    const banks = new Map();  // to a map from word to its lanes
    step.lanes.forEach((lane, i) => {
      if (lane < first || lane >= first + step.lanesPerPhase) return;
      for (let w = Math.floor(step.addresses[i] / WORD); w <= Math.floor((step.addresses[i] + step.site.bytes - 1) / WORD); ++w) {
        if (!banks.has(w % BANKS)) banks.set(w % BANKS, new Map());
        const words = banks.get(w % BANKS);
        words.set(w, [...(words.get(w) || []), lane]);
      }
    });
    const most = Math.max(0, ...[...banks.values()].map(words => words.size));
    for (let n = 0; n < most; ++n) {
      const front = new Map();
      for (const [bank, words] of banks) {
        const entry = [...words].sort((a, b) => a[0] - b[0])[n];
        if (entry) front.set(bank, {word: entry[0], lanes: entry[1]});
      }
      result.push(front);
    }
  }
  return result;
}

// ---- text and SVG -----------------------------------------------------------------------------------------------------

const NS = 'http://www.w3.org/2000/svg';
function svg(tag, attributes, ...children) {
  const e = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes || {})) if (value !== undefined) e.setAttribute(name, value);
  e.append(...children);
  return e;
}
function html(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) if (value !== undefined) e.setAttribute(name, value);
  e.append(...children);
  return e;
}
function draw(place, width, height, label, ...children) {
  place.setAttribute('aria-label', label);
  place.replaceChildren(svg('svg', {width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': true}, ...children));
}
const rect = (x, y, width, height, name, more) => svg('rect', {x, y, width: Math.max(width, 0), height, class: name, ...more});
const line = (x1, y1, x2, y2, name) => svg('line', {x1, y1, x2, y2, class: name});
const text = (x, y, content, more) => svg('text', {x, y, ...more}, content);
const hint = (e, words) => (e.append(svg('title', {}, words)), e);
const laneColour = lane => `oklch(var(--lane) .13 ${(70 + lane * 270 / 31).toFixed(0)})`;
const widthOf = place => Math.max(240, place.clientWidth);

const whole = n => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, '\u2009');
const short = (n, digits = 3) => Number(n.toPrecision(digits)).toString();
const counted = (n, one, many = one + 's') => `${whole(n)} ${n === 1 ? one : many}`;
const percent = part => part < 1 && part > .9995 ? 'over 99.9 %' : `${short(100 * part)} %`;
function inUnits(value, unit) {
  const prefixes = ['', 'k', 'M', 'G', 'T', 'P'];
  let k = 0;
  for (; value >= 1000 && k < prefixes.length - 1; ++k) value /= 1000;
  return `${short(value)} ${prefixes[k]}${unit}`;
}
function duration(seconds) {
  return seconds >= 1e-3 ? `${short(seconds * 1e3)} ms` : seconds >= 1e-6 ? `${short(seconds * 1e6)} µs` : `${short(seconds * 1e9)} ns`;
}
const product = d => d.filter((n, i) => i === 0 || n > 1 || d.slice(i).some(m => m > 1)).join(' × ');
const threadsOf = launch => launch.block[0] * launch.block[1] * launch.block[2];
/** The kernel's own name, without namespaces; if launched through a variable, also the variable's name. */
function titleOf({kernel, function: code}) {
  if (!code) return kernel;
  const own = code.replaceAll('(anonymous namespace)::', '').replace(/^void /, '').replace(/^([^<(]*(<.*>)?)\(.*$/s, '$1').replace(/\w+::/g, '');
  const variable = /^\w+$/.test(kernel) && kernel !== own.split('<')[0];
  return variable ? `${kernel} = ${own}` : own;
}
const blocksOf = launch => launch.grid[0] * launch.grid[1] * launch.grid[2];
function blockIndex(number, [x, y]) {
  return `(${number % x}, ${Math.floor(number / x) % y}, ${Math.floor(number / x / y)})`;
}
const operationName = ({space, op}) => op === 'copied' ? 'asynchronous copy' : `${space} ${op}`;
const unitOf = row => row.space === 'shared' ? 'wavefront' : 'sector';

/** The counters of a launch to which a row's counts contribute, by Nsight Compute's names. */
const METRICS = {
  'copied': {requests: 'smsp__inst_executed_op_ldgsts.sum'},
  'global load': {requests: 'l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum', cost: 'l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum'},
  'global store': {requests: 'l1tex__t_requests_pipe_lsu_mem_global_op_st.sum', cost: 'l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum'},
  'global atomic': {requests: 'l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum', cost: 'l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum'},
  'shared load': {requests: 'smsp__sass_inst_executed_op_shared_ld.sum', cost: 'smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum'},
  'shared store': {requests: 'smsp__sass_inst_executed_op_shared_st.sum', cost: 'smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum'},
  'shared atomic': {requests: 'smsp__inst_executed_op_shared_atom.sum'},
  'matrix load': {requests: 'smsp__inst_executed_op_ldsm.sum', cost: 'smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum'},
  'matrix store': {requests: 'smsp__inst_executed_op_shared_stsm.sum', cost: 'smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_stsm.sum'},
};
const metricsOf = ({space, op, matrix}) => METRICS[op === 'copied' ? op : `${matrix ? 'matrix' : space} ${op}`] || {};
const named = metric => metric && (data.labels[metric] ? `${data.labels[metric]}: ${metric}` : metric);

// ---- what is chosen ---------------------------------------------------------------------------------------------------

const chosen = {launch: 0, row: null, warp: 0, step: 0, cursor: null};
let rows = [], like = null, warps = [];

const launchNow = () => data.launches[chosen.launch];

/** The launches to compare with, by what the menu calls them: 0, 1, ... of this run, b0, b1, ... of the earlier one. */
const others = new Map([...data.launches.map((l, i) => [String(i), l]), ...(before ? before.launches : []).map((l, i) => [`b${i}`, l])]);
const otherNow = () => others.get(at('other').value);

/** The earlier run's launch in the same position among this kernel's launches, or else among all. "" if there are none. */
function earlierOf(launch) {
  const nth = (list, l) => list.slice(0, list.indexOf(l)).filter(k => k.kernel === l.kernel).length;
  if (!before || before.launches.length === 0) return '';
  const same = before.launches.filter(l => l.kernel === launch.kernel);
  const found = same.length > 0 ? same[Math.min(nth(data.launches, launch), same.length - 1)] : before.launches[Math.min(data.launches.indexOf(launch), before.launches.length - 1)];
  return `b${before.launches.indexOf(found)}`;
}
const rowNow = () => rows.find(r => r.key === chosen.row);
function stepsOf(warp, row) { return row ? warp.steps.filter(s => row.sites.has(s.siteNumber)) : []; }

function chooseLaunch(number) {
  chosen.launch = number;
  if (before) at('other').value = earlierOf(launchNow());
  const launch = launchNow();
  rows = rowsOf(launch);
  like = recordedLike(launch);
  warps = like ? like.blocks.flatMap(b => b.warps.map(w => ({block: b, number: w.warp, taken: w.taken, steps: w.steps.map(decoded)}))) : [];
  if (!rowNow()) {  // the line that costs most
    const first = [...rows].sort((a, b) => b.seconds - a.seconds)[0];
    chosen.row = first ? first.key : null;
  }
  chosen.warp = Math.min(chosen.warp, Math.max(0, warps.length - 1));
  chosen.step = 0;
  chosen.cursor = null;
  at('launch').value = String(number);
  showSource();
  showLaunch();
  showRequest();
}
function chooseRow(key) {
  chosen.row = key;
  chosen.step = 0;
  chosen.cursor = null;
  if (warps[chosen.warp] && stepsOf(warps[chosen.warp], rowNow()).length === 0) {
    const other = warps.findIndex(w => stepsOf(w, rowNow()).length > 0);
    if (other >= 0) chosen.warp = other;
  }
  markRow();
  showRequest();
}
function chooseWarp(number) {
  chosen.warp = Math.min(Math.max(number, 0), warps.length - 1);
  chosen.cursor = null;
  showRequest();
}
function chooseStep(number) {
  chosen.step = number;
  chosen.cursor = null;
  showRequest();
}

// ---- 1. the source ----------------------------------------------------------------------------------------------------

function showSource() {
  const total = Math.max(...rows.map(r => r.seconds), 1e-30);
  const places = [...new Set(rows.map(r => r.file))];
  at('files').replaceChildren(...places.flatMap(number => {
    const file = data.files[number], own = rows.filter(r => r.file === number), lines = [];
    const show = (n, content) => {
      lines.push(html('div', {class: 'code'}, html('span', {class: 'number'}, String(n)), html('span', {class: 'text'}, content)));
      for (const r of own.filter(r => r.line === n)) lines.push(countsOf(r, total));
    };
    if (file.lines.length > 0) file.lines.forEach((content, i) => show(file.first + i, content));
    else for (const n of [...new Set(own.map(r => r.line))]) show(n, n > 0 ? '(the source file is not here)' : '(no debug information)');
    return [html('div', {class: 'file'}, file.path), ...lines];
  }));
  if (rows.length === 0) at('files').replaceChildren(html('p', {class: 'file'}, 'This launch has no accesses to global or shared memory that are counted.'));
  markRow();
}

function countsOf(row, most) {
  const metrics = metricsOf(row), each = row.requests > 0 ? row.cost / row.requests : 0;
  const wasteful = row.ideal > 0 && row.cost > row.ideal;
  const cost = html('span', {class: 'num cost', title: 'modelled: how long these requests alone keep L1 or L2 busy, if none hit L1'}, duration(row.seconds));
  cost.style.setProperty('--share', `${100 * row.seconds / most}%`);
  const e = html('div', {class: 'counts', 'data-row': row.key},
                 html('button', {type: 'button'}, operationName(row)),
                 html('span', {class: 'num', title: named(metrics.requests)}, whole(row.requests)),
                 html('span', {class: `num${wasteful ? ' wasteful' : ''}`,
                               title: `${named(metrics.cost) || 'wavefronts'}: ${whole(row.cost)}; ${whole(row.ideal)} at best`},
                      `${each.toFixed(2)} ${row.space === 'shared' ? 'wf' : 'sect.'}`),
                 cost);
  e.addEventListener('click', () => chooseRow(row.key));
  return e;
}

function markRow() {
  for (const e of at('files').querySelectorAll('.counts')) {
    const here = e.dataset.row === chosen.row;
    e.classList.toggle('chosen', here);
    e.querySelector('button').setAttribute('aria-pressed', String(here));
    if (!here) continue;
    const pane = at('source'), box = e.getBoundingClientRect(), frame = pane.getBoundingClientRect();
    if (box.top < frame.top + 60 || box.bottom > frame.bottom - 20) pane.scrollTop += box.top - frame.top - frame.height / 2;
  }
}

at('files').addEventListener('keydown', event => {
  const by = {ArrowUp: -1, ArrowDown: 1}[event.key];
  if (!by) return;
  const buttons = [...at('files').querySelectorAll('.counts button')];
  const next = buttons[buttons.indexOf(document.activeElement) + by];
  if (!next) return;
  event.preventDefault();
  next.focus();
  chooseRow(next.parentElement.dataset.row);
});

// ---- 2. one request -----------------------------------------------------------------------------------------------------

function showRequest() {
  const row = rowNow(), warp = warps[chosen.warp];
  at('request').hidden = !row;
  at('lanes').hidden = at('block').hidden = !warp;
  if (row) {
    const file = data.files[row.file];
    at('request-title').textContent = `Line ${row.line}: ${operationName(row)}`;
    at('request-code').textContent = (file.lines[row.line - file.first] || '').trim();
    const steps = warp ? stepsOf(warp, row) : [];
    chosen.step = Math.min(Math.max(chosen.step, 0), Math.max(0, steps.length - 1));
    slider('warp', warps.length, chosen.warp,
           warp ? `${counted(warps.length, 'warp')} recorded. Block ${blockIndex(warp.block.number, like.grid)}, warp ${warp.number}` : 'none recorded');
    slider('step', steps.length, chosen.step, steps.length ? `${chosen.step + 1} of ${steps.length} recorded` : 'none of this line');
    showStep(row, steps[chosen.step], warp);
  }
  showShared(row, warp);
  if (warp) {
    showStrip(row, warp);
    showBlock(warp);
  }
}

function slider(id, count, value, words) {
  at(id).max = Math.max(0, count - 1);
  at(id).disabled = count < 2;
  at(id).value = value;
  at(`${id}-text`).textContent = words;
  at(id).setAttribute('aria-valuetext', words);
}

const sentenceEnd = (cost, ideal, unit) => cost > ideal && ideal > 0 ? ` ${counted(ideal, unit)} would do.` : '';

function sentenceOf(step) {
  const lanes = counted(step.lanes.length, 'lane'), bytes = counted(step.moved, 'byte'), op = step.site.op;
  const are = n => n === 1 ? '' : 's', verb = n => step.lanes.length === 1 ? `${n}s` : n;
  if (step.site.space === 'global') {
    const part = percent(step.moved / (step.cost * SECTOR)), sectors = counted(step.cost, 'sector');
    const enough = sentenceEnd(step.cost, Math.ceil(step.moved / SECTOR), 'sector');  // a byte that lanes share counts once
    const shared = step.moved < step.lanes.length * step.site.bytes ? (new Set(step.addresses).size === 1 ? 'the same ' : '') : '';
    if (op === 'atomic') {
      const each = step.addresses.map(a => step.addresses.filter(b => a === b).length), rounds = Math.max(...each);
      return `${lanes} ${verb('update')} ${shared}${bytes} in ${counted(sectorsOf(step).length, 'sector')}.` + (rounds > 1 ? ` Lanes that share an address take turns: ${rounds} rounds, ${sectors} counted.` : '');
    }
    if (op === 'store') return `${lanes} ${verb('store')} ${shared}${bytes} in ${sectors}: ${part} of these sectors is written.${enough}`;
    return `${lanes} ${verb('ask')} for ${shared}${bytes} in ${sectors}: ${part} of what is fetched is used.${enough}`;
  }
  const fronts = wavefrontsOf(step), words = new Set(fronts.flatMap(f => [...f.values()].map(v => v.word))).size;
  const does = {load: verb('ask') + ' for', store: verb('store'), copied: verb('copy'), atomic: verb('update')}[op];
  const said = `${lanes} ${does} ${counted(words, 'word')} ${op === 'copied' ? 'into' : 'of'} shared memory in ${counted(step.cost, 'wavefront')}${step.cost > 1 && step.lanesPerPhase < LANES ? `, ${step.lanesPerPhase} lanes at a time` : ''}`;
  if (step.cost <= step.ideal)
    return `${said}: ${words === 1 && step.lanes.length > 1 ? 'one word serves all lanes.' : 'no bank conflict.'}`;
  const groups = new Map();  // of lanes that are served together
  step.lanes.forEach((lane, i) => {
    const first = lane - lane % step.lanesPerPhase, {lanes = [], addresses = []} = groups.get(first) || {};
    groups.set(first, {lanes: [...lanes, lane], addresses: [...addresses, step.addresses[i]]});
  });
  const worst = [...groups.values()].map(g => wavefrontsOf({...step, ...g})).reduce((a, b) => b.length > a.length ? b : a);
  const bank = worst[worst.length - 1].keys().next().value, most = worst.length;
  return `${said}: bank ${bankName(bank)} alone has to serve ${counted(most, 'word')}${groups.size > 1 ? ` to ${step.lanesPerPhase} lanes` : ''}, one after another (${most === 8 || most === 11 || most === 18 ? 'an' : 'a'} ${most}-way bank conflict).${sentenceEnd(step.cost, step.ideal, 'wavefront')}`;
}

function showStep(row, step, warp) {
  const place = at('drawing');
  at('readout').textContent = '';
  if (!step) {
    place.replaceChildren();
    place.setAttribute('aria-label', 'nothing recorded');
    at('sentence').textContent = !warp ? `No steps of this launch were recorded: a page holds the first ${data.limits.launches} different launches.`
                                       : 'No recorded step of this warp is at this line.';
    at('lane-table').replaceChildren();
    at('legend').replaceChildren();
    return;
  }
  const words = sentenceOf(step);
  at('sentence').textContent = words;
  const global = step.site.space === 'global';
  (global ? drawGlobal : drawShared)(step, place, words);
  const mark = (name, meaning) => html('span', {}, html('i', {class: name}), meaning);
  const last = `All ${whole(row.requests)} requests of this line: ${(row.cost / row.requests).toFixed(2)} ${unitOf(row)}s each.`;
  at('legend').replaceChildren(...(global ? [mark('asked', 'asked for, by lane'), mark('unused', {store: 'in a sector, not written', atomic: 'in a sector, not updated'}[step.site.op] || 'fetched, not asked for'), mark('none', 'not touched')]
                                          : [mark('asked', 'served, by lane'), mark('none', 'idle bank')]), html('span', {}, last));
  at('lane-table').replaceChildren(
      html('tr', {}, ...['lane', 'address', global ? 'sector' : 'bank'].map(h => html('th', {class: h === 'address' ? undefined : 'num'}, h))),
      ...Array.from({length: LANES}, (_, lane) => {
        const i = step.lanes.indexOf(lane);
        const [where, unit] = i < 0 ? ['inactive', ''] : wordsOf(step, i);
        return html('tr', {}, html('td', {class: 'num'}, String(lane)), html('td', {}, where), html('td', {class: 'num'}, unit));
      }));
}

/** Where a lane's access is: [address, sector or bank]. */
function wordsOf(step, i) {
  const a = step.addresses[i];
  if (step.site.space === 'global') {
    const {name, offset} = placeOf(a);
    return [`${name} + ${whole(offset)} bytes`, whole(Math.floor(offset / SECTOR))];
  }
  const home = arrayOf(a), offset = a - (home ? home.begin : 0);
  return [`${home ? home.name : 'shared memory'} + ${whole(offset)} bytes`, String(bankName(Math.floor(a / WORD) % BANKS))];
}

/** The number of a lane or a bank in its column; the last one is right-aligned if the column is too narrow for it. */
function columnNumber(number, left, each, y, more) {
  const last = number === 31 && each < 16;
  return text(left + (last ? LANES * each : (number + .5) * each), y, String(number), {'text-anchor': last ? 'end' : 'middle', ...more});
}

/** The row of lanes; returns the x of each lane's centre. */
function laneRow(parts, step, width, y) {
  const each = Math.min(30, width / LANES), left = (width - each * LANES) / 2, x = [];
  for (let lane = 0; lane < LANES; ++lane) {
    const active = step.lanes.includes(lane);
    x.push(left + (lane + .5) * each);
    const cell = rect(left + lane * each + .5, y, each - 1, 20, `lane of-lane${active ? '' : ' hollow'}`, {'data-lane': lane, rx: 2});
    if (active) cell.style.fill = laneColour(lane);
    parts.push(cell);
    if (each >= 17 || lane % 8 === 0 || lane === 31)
      parts.push(columnNumber(lane, left, each, each >= 17 ? y + 14 : y - 3, {class: each >= 17 && active ? 'on' : '', 'pointer-events': 'none'}));
  }
  return x;
}

function link(x1, y1, x2, y2, lane) {
  const bend = Math.min(40, (y2 - y1) / 2);
  const e = svg('path', {d: `M${x1.toFixed(1)} ${y1}C${x1.toFixed(1)} ${y1 + bend} ${x2.toFixed(1)} ${y2 - bend} ${x2.toFixed(1)} ${y2}`,
                         class: 'link of-lane', 'data-lane': lane});
  e.style.stroke = laneColour(lane);
  return e;
}

/** Shows one lane alone, and says in words what it does. */
function laneFocus(place, step) {
  const pick = event => {
    const lane = event.target.dataset ? event.target.dataset.lane : undefined, root = place.firstElementChild;
    root.classList.toggle('some', lane !== undefined);
    for (const e of root.querySelectorAll('.of-lane')) e.classList.toggle('this', e.dataset.lane === lane);
    const i = step.lanes.indexOf(Number(lane));
    at('readout').textContent = lane === undefined ? '' : i < 0 ? `lane ${lane}: inactive` : `lane ${lane}: ${wordsOf(step, i)[0]}, ${unitName(step)} ${wordsOf(step, i)[1]}`;
  };
  place.onpointermove = place.onclick = pick;
  place.onpointerleave = () => pick({target: {}});
}
const unitName = step => step.site.space === 'global' ? 'sector' : 'bank';

function drawGlobal(step, place, words) {
  const width = widthOf(place), parts = [], top = 14;
  const x = laneRow(parts, step, width, top);
  const sectors = new Set(sectorsOf(step)), lines = [...new Set([...sectors].map(s => Math.floor(s * SECTOR / LINE)))];
  const across = Math.min(lines.length, width >= 800 ? 4 : width >= 330 ? 2 : 1), gap = 12;
  const lineWidth = Math.min(420, (width - gap * (across - 1)) / across), left = (width - across * lineWidth - (across - 1) * gap) / 2;
  const first = top + 70, down = lines.length > 8 ? 36 : 42, height = 20, position = new Map(), boxes = [];
  lines.forEach((number, i) => {
    const px = left + (i % across) * (lineWidth + gap), py = first + Math.floor(i / across) * down;
    position.set(number, [px, py]);
    const {name, offset} = placeOf(number * LINE >= 0 ? Math.max(number * LINE, Math.min(...step.addresses.filter(a => Math.floor(a / LINE) === number))) : 0);
    boxes.push(text(px, py + height + 12, `${name} + ${whole(Math.floor(offset / LINE) * LINE)} B`));
    for (let s = 0; s < LINE / SECTOR; ++s) {
      const fetched = sectors.has(number * LINE / SECTOR + s);
      boxes.push(rect(px + s * lineWidth / 4 + .5, py, lineWidth / 4 - 1, height, fetched ? 'waste' : 'hollow', {'data-fetched': fetched ? '' : undefined}));
    }
  });
  const sharers = new Map();  // by address: the lanes that ask for it
  step.lanes.forEach((lane, i) => sharers.set(step.addresses[i], [...(sharers.get(step.addresses[i]) || []), lane]));
  const links = [], marks = [];
  step.lanes.forEach((lane, i) => {
    const a = step.addresses[i], [px, py] = position.get(Math.floor(a / LINE)), inLine = a % LINE;
    const own = sharers.get(a), share = own.indexOf(lane), h = height / own.length;
    const mx = px + inLine / LINE * lineWidth, mw = step.site.bytes / LINE * lineWidth;
    const mark = rect(mx, py + share * h, mw, h, 'of-lane', {'data-lane': lane, 'data-bytes': step.site.bytes});
    mark.style.fill = laneColour(lane);
    marks.push(mark);
    links.push(link(x[lane], top + 20, mx + mw / 2, py, lane));
  });
  for (const [number, [px, py]] of position)
    for (let s = 0; s < 4; ++s)
      if (sectors.has(number * LINE / SECTOR + s)) marks.push(rect(px + s * lineWidth / 4 + .5, py, lineWidth / 4 - 1, height, 'edge', {'pointer-events': 'none'}));
  draw(place, width, first + Math.ceil(lines.length / across) * down, words, ...links, ...parts, ...boxes, ...marks);
  laneFocus(place, step);
}

/** A bank's number as in a block whose first array starts in bank 0. */
function bankName(bank) {
  const arrays = warps[chosen.warp].block.arrays;
  const base = arrays.length ? Math.floor(Math.min(...arrays.map(a => a.begin)) / WORD) : 0;
  return ((bank - base) % BANKS + BANKS) % BANKS;
}
function arrayOf(address) {
  return warps[chosen.warp].block.arrays.find(a => a.begin <= address && address < a.begin + a.bytes);
}

function fillLanes(parts, lanes, x, y, width, height, more) {
  lanes.forEach((lane, i) => {
    const e = rect(x + i * width / lanes.length, y, width / lanes.length, height, 'of-lane', {'data-lane': lane, ...more});
    e.style.fill = laneColour(lane);
    parts.push(e);
  });
}

function drawShared(step, place, words) {
  const width = widthOf(place), parts = [], links = [], top = 14;
  const x = laneRow(parts, step, width, top);
  const fronts = wavefrontsOf(step), each = Math.min(30, width / BANKS), left = (width - each * BANKS) / 2;
  const first = top + 84, height = fronts.length > 12 ? 14 : 20;
  for (let bank = 0; bank < BANKS; ++bank)
    if (each >= 17 || bank % 8 === 0 || bank === 31)
      parts.push(columnNumber(bank, left, each, first - 4));
  parts.push(text(left, first - 18, each >= 17 ? 'banks' : 'banks, one row for each wavefront'));
  fronts.forEach((front, n) => {
    const y = first + n * height;
    for (let bank = 0; bank < BANKS; ++bank)
      parts.push(rect(left + bank * each + .5, y + .5, each - 1, height - 1, 'cell', {'data-wavefront': n}));
    for (const [bank, {lanes}] of front) {
      const bx = left + bankName(bank) * each + .5;
      fillLanes(parts, lanes, bx, y + .5, each - 1, height - 1);
      for (const lane of lanes) links.push(link(x[lane], top + 20, bx + each / 2, y, lane));
    }
  });
  draw(place, width, first + fronts.length * height + 4, words, ...links, ...parts);
  laneFocus(place, step);
}

at('drawing').addEventListener('keydown', event => {
  const by = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
  if (!by) return;
  event.preventDefault();
  if (by[0]) chooseWarp(chosen.warp + by[0]);
  else chooseStep(chosen.step + by[1]);
});

// ---- 4. shared memory as a grid -----------------------------------------------------------------------------------------

function showShared(row, warp) {
  const steps = row && warp ? stepsOf(warp, row) : [], step = steps[chosen.step];
  at('shared').hidden = !step || step.site.space !== 'shared';
  if (at('shared').hidden) return;
  const place = at('shared-drawing'), width = widthOf(place), parts = [];
  const arrays = warp.block.arrays.filter(a => step.addresses.some(x => a.begin <= x && x < a.begin + a.bytes));
  const label = 40, each = Math.min(26, (width - label) / BANKS), height = Math.max(7, Math.min(14, each)), most = 40;
  let y = 14, untouched = 0, words = 0;
  for (let bank = 0; bank < BANKS; ++bank)
    if (each >= 16 || bank % 8 === 0 || bank === 31) parts.push(columnNumber(bank, label, each, 10));
  for (const array of arrays) {
    const begin = array.begin / WORD, total = Math.ceil(array.bytes / WORD), lead = bankName(begin % BANKS);
    const lanesOf = new Map();
    step.lanes.forEach((lane, i) => {
      for (let b = step.addresses[i]; b < step.addresses[i] + step.site.bytes; b += WORD) {
        const w = Math.floor(b / WORD) - Math.floor(begin);
        lanesOf.set(w, [...(lanesOf.get(w) || []), lane]);
      }
    });
    const known = new Uint8Array(total);
    for (let i = 0; i < array.touched.length; i += 2) known.fill(1, array.touched[i], array.touched[i + 1]);
    words += total;
    untouched += known.reduce((n, k) => n + (k ? 0 : 1), 0);
    const rowsInAll = Math.ceil((lead + total) / BANKS), rowsUsed = Math.min(rowsInAll, Math.ceil((lead + array.touched[array.touched.length - 1]) / BANKS) + 2);
    const firstRow = rowsUsed <= most ? 0 : Math.max(0, Math.min(rowsUsed - most, Math.floor((lead + Math.min(...lanesOf.keys())) / BANKS) - 4));
    const lastRow = Math.min(rowsUsed, firstRow + most);
    parts.push(text(0, y + 10, `${array.name}, ${whole(array.bytes)} bytes${lastRow - firstRow < rowsInAll ? `: rows ${firstRow} to ${lastRow - 1} of ${rowsInAll}` : ''}`, {class: 'strong'}));
    y += 16;
    for (let r = firstRow; r < lastRow; ++r, y += height) {
      if ((r - firstRow) % 4 === 0) parts.push(text(label - 6, y + height - 1, String(r * BANKS), {'text-anchor': 'end'}));
      for (let bank = 0; bank < BANKS; ++bank) {
        const w = r * BANKS + bank - lead;
        if (w < 0 || w >= total) continue;
        parts.push(hint(rect(label + bank * each + .5, y + .5, each - 1, height - 1, known[w] ? 'touched' : 'untouched'), `word ${w}, bank ${bank}`));
        if (lanesOf.has(w)) fillLanes(parts, lanesOf.get(w), label + bank * each + .5, y + .5, each - 1, height - 1);
      }
    }
    y += 10;
  }
  const said = `${untouched === 0 ? `The block accesses each of the ${whole(words)} words.` : `The block never accesses ${whole(untouched)} of the ${whole(words)} words (dashed): padding, or space to spare.`} Numbers on the left count words; each column is a bank.`;
  draw(place, width, y, `Shared memory as 32 banks by rows. ${said}`, ...parts);
  at('shared-sentence').textContent = said;
}

// ---- 3. lanes over steps ------------------------------------------------------------------------------------------------

function showStrip(row, warp) {
  const place = at('strip'), steps = warp.steps, label = 44, lane = 4, gap = 10;
  const files = new Set(rows.map(r => r.file)), lineOf = s => files.has(s.site.file) ? s.site.line : 0;  // 0: in a header
  const known = [...new Set(steps.map(lineOf))].sort((a, b) => a - b), rank = new Map(known.map((l, i) => [l, i])), below = Math.min(140, Math.max(24, 11 * known.length));
  const each = Math.max(2, Math.min(14, (widthOf(place) - label - 4) / steps.length)), width = Math.max(widthOf(place) - 2, label + each * steps.length + 4);
  const parts = [], own = row ? stepsOf(warp, row) : [], here = own[chosen.step];
  const cursor = chosen.cursor === null ? steps.indexOf(here) : chosen.cursor;
  for (const l of [0, 8, 16, 24, 31]) parts.push(text(label - 6, gap + l * lane + 6, String(l), {'text-anchor': 'end'}));
  const path = [];
  let gaps = 0;
  steps.forEach((s, i) => {
    const x = label + i * each, name = `step${s.addresses ? ' memory' : ''}${row && row.sites.has(s.siteNumber) ? ' here' : ''}`;
    for (let a = 0; a < s.lanes.length;) {
      let b = a;
      while (b + 1 < s.lanes.length && s.lanes[b + 1] === s.lanes[b] + 1) ++b;
      parts.push(rect(x, gap + s.lanes[a] * lane, each > 3 ? each - .5 : each, (s.lanes[b] - s.lanes[a] + 1) * lane, name, {'data-step': i}));
      a = b + 1;
    }
    if (i > 0 && s.number !== steps[i - 1].number + 1) {
      parts.push(line(x, gap - 6, x, gap + LANES * lane + 4, 'barrier'));
      ++gaps;
    }
    const y = gap + LANES * lane + 14 + (known.length > 1 ? rank.get(lineOf(s)) / (known.length - 1) : .5) * below;
    path.push(`${x.toFixed(1)} ${y.toFixed(1)}H${(x + each).toFixed(1)}`);
  });
  parts.push(svg('path', {d: `M${path.join('L')}`, class: 'path'}));
  const copies = copiesOf(warp);
  for (const c of copies) parts.push(line(label + steps.indexOf(c.from) * each, gap - 4, label + (steps.indexOf(c.to) + 1) * each, gap - 4, 'copy'));
  known.forEach((l, i) => {
    if (known.length <= 14 || i === 0 || i === known.length - 1)
      parts.push(text(label - 6, gap + LANES * lane + 18 + (known.length > 1 ? i / (known.length - 1) : .5) * below, l ? String(l) : 'header', {'text-anchor': 'end'}));
  });
  if (cursor >= 0) parts.push(rect(label + cursor * each - .5, gap - 3, each + 1, LANES * lane + below + 24, 'cursor'));
  const partly = steps.filter(s => s.lanes.length < LANES).length, left = warp.taken - steps.length;
  const said = `${counted(warp.taken, 'step')}: basic blocks (pale), accesses (dark), those of the chosen line (blue). ${partly === 0 ? 'All 32 lanes are active in each recorded step.' : `In ${whole(partly)} of ${whole(steps.length)} recorded steps some lanes are idle: they took another branch, have returned, or do not exist.`} The line below shows the source line of each step.${copies.length ? ' Green bars: asynchronous copies, from issue to wait.' : ''}${left > 0 ? ` ${counted(left, 'later step')} left out${gaps > 0 ? ` (at the black ${gaps === 1 ? 'bar' : 'bars'}, and at the end)` : ''}.` : ''}`;
  const scrolled = place.scrollLeft;
  draw(place, width, gap + LANES * lane + below + 26, said, ...parts);
  place.scrollLeft = scrolled;
  at('lanes-sentence').textContent = said;
  const s = steps[cursor];
  at('strip-readout').textContent = s ? `Step ${whole(s.number)}: ${s.addresses ? operationName(s.site) : s.site.op === 'sync' ? 'warp function' : 'basic block'} at line ${s.site.line}, ${counted(s.lanes.length, 'lane')} active.` : '';
  place.onclick = event => {
    const x = event.clientX - place.firstElementChild.getBoundingClientRect().left;
    goTo(Math.floor((x - label) / each));
  };
}

/** Moves to a recorded step, and to its line if it is an access. */
function goTo(number) {
  const warp = warps[chosen.warp], step = warp && warp.steps[number];
  if (!step) return;
  const row = rows.find(r => r.sites.has(step.siteNumber));
  if (row) {
    chosen.row = row.key;
    chosen.step = stepsOf(warp, row).indexOf(step);
    markRow();
  }
  chosen.cursor = number;
  showRequest();
}
at('strip').addEventListener('keydown', event => {
  const by = {ArrowLeft: -1, ArrowRight: 1}[event.key], warp = warps[chosen.warp];
  if (!by || !warp) return;
  event.preventDefault();
  const own = rowNow() ? stepsOf(warp, rowNow())[chosen.step] : null;
  goTo((chosen.cursor === null ? warp.steps.indexOf(own) : chosen.cursor) + by);
});

// ---- 5. a block from barrier to barrier ---------------------------------------------------------------------------------

/** Asynchronous copies of a warp, each with the instructions executed before its issue and before the wait that ends it. */
function copiesOf(warp) {
  const open = new Map(), found = [];
  for (const s of warp.steps) {
    if (!s.addresses || !['copy', 'copied'].includes(s.site.op)) continue;
    const key = `${s.site.file}:${s.site.line}:${s.addresses[0]}`;
    if (s.site.op === 'copy') open.set(key, s);
    else if (open.has(key)) {
      found.push({from: open.get(key), to: s});
      open.delete(key);
    }
  }
  return found;
}

function showBlock(warp) {
  const place = at('block-drawing'), block = warp.block, phases = block.phases, width = widthOf(place);
  const count = phases.length ? phases[0].length : 0, label = 36, top = 20, row = count > 16 ? 11 : 16, inner = width - label - 4;
  const longest = phases.map(p => Math.max(...p.map(w => w[0]), 1)), total = longest.reduce((a, b) => a + b, 0), parts = [];
  parts.push(svg('defs', {}, svg('pattern', {id: 'hatch', width: 5, height: 5, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)'}, line(0, 0, 0, 5, 'hatch'))));
  const scale = n => n / total * inner;
  let x = label, waits = 0, lastLabel = -100;
  const begins = [];  // of each phase: x, and what each warp had executed
  const before = Array(count).fill(0);
  phases.forEach((phase, p) => {
    begins.push({x, before: [...before]});
    const end = x + scale(longest[p]);
    phase.forEach(([instructions, loads], w) => {
      const y = top + w * row;
      const name = `work${w === warp.number ? ' here' : ''}`;
      parts.push(hint(rect(x, y, scale(instructions), row - 3, name), `warp ${w}: ${counted(instructions, 'instruction')}, ${counted(loads, 'global load')}`));
      if (instructions < longest[p] && phase[w][2] >= 0) {
        parts.push(hint(rect(x + scale(instructions), y, end - x - scale(instructions), row - 3, 'wait'), `warp ${w} waits at line ${phase[w][3]}`));
        waits += longest[p] - instructions;
      }
      before[w] += instructions;
    });
    const barrier = phase.find(w => w[2] >= 0);
    if (barrier) {
      parts.push(line(end, top - 4, end, top + count * row, 'barrier'));
      if (end - lastLabel > 48) {
        parts.push(text(Math.min(end, width - 24), top - 7, `line ${barrier[3]}`, {'text-anchor': 'middle'}));
        lastLabel = end;
      }
    }
    x = end;
  });
  const copies = warps.filter(w => w.block === block).flatMap(w => copiesOf(w).map(c => ({...c, warp: w.number})));
  const xOf = (w, n) => {
    for (let p = begins.length; p-- > 0;) if (n >= begins[p].before[w]) return begins[p].x + scale(n - begins[p].before[w]);
    return label;
  };
  for (const c of copies) {
    const y = top + c.warp * row + row - 2;
    parts.push(hint(line(xOf(c.warp, c.from.instructions), y, Math.max(xOf(c.warp, c.to.instructions), xOf(c.warp, c.from.instructions) + 5), y, 'copy'),
                    `warp ${c.warp}: copy issued at line ${c.from.site.line}, awaited ${counted(c.to.instructions - c.from.instructions, 'instruction')} later`));
  }
  for (let w = 0; w < count; ++w) if (row > 11 || w % 4 === 0) parts.push(text(label - 6, top + w * row + row - 5, String(w), {'text-anchor': 'end'}));
  const done = phases.reduce((sum, p) => sum + p.reduce((s, w) => s + w[0], 0), 0), barriers = phases.filter(p => p.some(w => w[2] >= 0)).length;
  const said = `Block ${blockIndex(block.number, like.grid)}, ${counted(count, 'warp')}; to the right: instructions that each warp has executed, not time. ` +
      (barriers === 0 ? 'No barrier.' : `${counted(barriers, 'barrier')}${waits === 0 ? '; all warps execute as many instructions before each.' : `; the hatched waits for warps with more to do are ${percent(waits / (waits + done))} of the whole.`}`) +
      (copies.length ? ` ${counted(copies.length, 'asynchronous copy', 'asynchronous copies')} of the recorded warps ${copies.length === 1 ? 'is' : 'are'} drawn in green, from issue to wait.` : '') +
      (block.phases_passed > phases.length ? ` The last ${whole(block.phases_passed - phases.length)} of ${whole(block.phases_passed)} phases are left out.` : '');
  draw(place, width, top + count * row + 4, said, ...parts);
  at('block-sentence').textContent = said;
}

// ---- 6. the device --------------------------------------------------------------------------------------------------------

function showGrid(launch) {
  const m = name => launch.metrics[name] || 0, sms = data.device.multiprocessors, blocks = blocksOf(launch);
  const limits = {threads: m('launch__occupancy_limit_warps'), blocks: m('launch__occupancy_limit_blocks'),
                  'shared memory': m('launch__occupancy_limit_shared_mem'), registers: m('launch__occupancy_limit_registers')};
  at('grid').hidden = !m('launch__registers_per_thread');
  if (at('grid').hidden) return;
  const each = Math.max(1, Math.min(...Object.values(limits))), wave = each * sms, waves = blocks / wave;
  const limiting = Object.keys(limits).find(k => limits[k] === Math.min(...Object.values(limits)));
  const place = at('grid-drawing'), width = widthOf(place), label = 52, cell = (width - label) / sms, parts = [];
  // One row per block that a multiprocessor runs at a time, wave after wave; of long grids, only the first and last
  // waves.
  const all = Math.ceil(waves), shown = [], fit = Math.max(2, Math.floor(40 / each));
  for (let k = 0; k < all; ++k) if (k < fit - 1 || k >= all - Math.max(1, Math.floor(fit / 2)) || all <= fit) shown.push(k);
  const slots = Math.min(each, all > 1 ? 24 : Math.ceil(blocks / sms) + 3), height = Math.max(4, Math.min(14, 120 / slots));
  let y = 4;
  shown.forEach((k, i) => {
    if (i > 0 && shown[i - 1] !== k - 1) {
      parts.push(text(label, y + 11, `… ${whole(k - shown[i - 1] - 1)} more waves`));
      y += 18;
    }
    parts.push(text(label - 6, y + 10, `wave ${k + 1}`, {'text-anchor': 'end'}));
    const here = Math.min(wave, blocks - k * wave);
    for (let slot = 0; slot < slots; ++slot, y += height) {
      const filled = Math.max(0, Math.min(sms, here - slot * sms));
      // one rectangle for all busy multiprocessors: one for each would be invisible
      parts.push(rect(label, y, filled * cell, height - 1, k % 2 ? 'odd' : 'even'));
      if (filled < sms) parts.push(rect(label + filled * cell, y, (sms - filled) * cell, height - 1, all > 1 ? 'tail' : 'hollow'));
    }
    y += 3;
  });
  parts.push(text(label, y + 12, `${sms} multiprocessors, from 0 on the left`));
  const last = blocks - (all - 1) * wave;
  const empty = `leaves ${percent(1 - last / wave)} of the places empty`;
  const said = `${counted(blocks, 'block')} of ${counted(threadsOf(launch), 'thread')}. A multiprocessor holds ${whole(each)} at a time, limited by ${limiting === 'blocks' ? 'its number of blocks' : limiting}; ` +
      `the ${sms} hold ${whole(wave)}: ${waves < .01 ? 'under 0.01' : short(waves)} waves. ` + (last === wave ? 'The last wave is full.' : all === 1 ? `One wave takes them all and ${empty}.` : `The last wave has ${counted(last, 'block')} and ${empty}: the tail.`) +
      ' Drawn as if all blocks took equally long.' + (slots < each ? ` Of the ${each} rows of a wave, ${slots} are drawn.` : '');
  draw(place, width, y + 18, said, ...parts);
  at('grid-sentence').textContent = said;
}

/** What each launch loads and stores, in sectors: a fused kernel keeps the data that separate kernels would exchange. */
function showLaunches() {
  const launches = data.launches, most = 24, row = 15;
  at('launches').hidden = launches.length < 2;
  if (at('launches').hidden) return;
  const place = at('launches-drawing'), width = widthOf(place), label = Math.min(280, width * .45), parts = [];
  const bytes = (l, op) => SECTOR * (l.metrics[`l1tex__t_sectors_pipe_lsu_mem_global_op_${op}.sum`] || 0);
  const moved = launches.map(l => ({loaded: bytes(l, 'ld'), stored: bytes(l, 'st')}));
  const longest = Math.max(1, ...moved.map(m => m.loaded + m.stored)), across = n => n / longest * (width - label - 4);
  const first = Math.max(0, Math.min(chosen.launch - most / 2, launches.length - most)), shown = launches.slice(first, first + most);
  shown.forEach((l, i) => {
    const number = first + i, {loaded, stored} = moved[number], y = i * row + 1, words = `${number + 1}: ${titleOf(l)}`, fit = Math.floor(label / 6.5);
    const bars = svg('g', {}, rect(label, y, across(loaded), row - 3, 'even', {'data-loaded': loaded}), rect(label + across(loaded), y, across(stored), row - 3, 'odd', {'data-stored': stored}));
    bars.addEventListener('click', () => chooseLaunch(number));
    parts.push(text(0, y + 10, words.length > fit ? `${words.slice(0, fit - 1)}…` : words, {class: number === chosen.launch ? 'strong' : undefined}),
               hint(bars, `${words}: ${inUnits(loaded, 'B')} loaded, ${inUnits(stored, 'B')} stored`));
  });
  const sum = what => inUnits(moved.reduce((all, m) => all + m[what], 0), 'B');
  const said = `${counted(launches.length, 'launch', 'launches')}: ${sum('loaded')} loaded (blue) and ${sum('stored')} stored (grey), in sectors of global memory. What one launch stores and the next one loads, a fused kernel keeps in registers.` +
      (shown.length < launches.length ? ` Launches ${first + 1} to ${first + shown.length} are drawn.` : '');
  draw(place, width, shown.length * row, said, ...parts);
  at('launches-sentence').textContent = said;
}

/** The floating-point operations of one instruction. */
const FLOPS = {
  'smsp__sass_thread_inst_executed_op_fadd_pred_on.sum': 1, 'smsp__sass_thread_inst_executed_op_fmul_pred_on.sum': 1,
  'smsp__sass_thread_inst_executed_op_ffma_pred_on.sum': 2, 'smsp__sass_thread_inst_executed_op_dadd_pred_on.sum': 1,
  'smsp__sass_thread_inst_executed_op_dmul_pred_on.sum': 1, 'smsp__sass_thread_inst_executed_op_dfma_pred_on.sum': 2,
};

/** A launch's FLOPs, its bytes to and from DRAM, and its roof: FP32's, unless tensor cores do most of the work. */
function workOf(launch) {
  const m = name => launch.metrics[name] || 0;
  let flop = 0, tensor = 0, roof = 'FP32';
  for (const [metric, each] of Object.entries(FLOPS)) flop += each * m(metric);
  for (const [name, value] of Object.entries(launch.metrics)) if (name.startsWith('sm__ops_path_tensor_')) {
    tensor += value;
    if (tensor > flop) roof = name.includes('_src_tf32') ? 'TF32' : 'bf16';
  }
  return {roof, flop: flop + tensor, bytes: m('dram__bytes_read.sum') + m('dram__bytes_write.sum'), seconds: launch.seconds};
}

function showRoofline() {
  const place = at('roofline-drawing'), width = Math.min(720, widthOf(place)), height = Math.min(360, width * .6), left = 64, bottom = 40, right = 24, top = 26;
  const points = [...others].map(([name, launch]) => ({i: name[0] === 'b' ? name : Number(name), launch, ...workOf(launch)})).filter(p => p.flop > 0 && p.bytes > 0 && p.seconds > 0);
  const {bytes_per_second: bandwidth, flop_per_second: peaks} = data.device;
  const roofs = ['FP32', ...new Set(points.map(p => p.roof).filter(r => r !== 'FP32'))].map(name => ({name, peak: peaks[name], ridge: peaks[name] / bandwidth}));
  const peak = Math.max(...roofs.map(r => r.peak)), ridge = peak / bandwidth, lowest = roofs[0];
  const intensity = points.map(p => p.flop / p.bytes), rate = points.map(p => p.flop / p.seconds);
  const decade = (values, round) => round(Math.log10(round === Math.floor ? Math.min(...values) : Math.max(...values)));
  const x0 = decade([.1, ...intensity], Math.floor), x1 = decade([10 * ridge, ...intensity], Math.ceil);
  const y0 = decade([bandwidth * 10 ** x0, ...rate], Math.floor), y1 = decade([peak, ...rate], Math.ceil);
  const x = v => left + (Math.log10(v) - x0) / (x1 - x0) * (width - left - right), y = v => height - bottom - (Math.log10(v) - y0) / (y1 - y0) * (height - bottom - top);
  const parts = [];
  const ticks = (from, to, vertical) => {
    for (let d = from; d <= to; ++d)
      for (let n = 1; n < (d < to ? 10 : 2); ++n) {
        const v = n * 10 ** d, p = vertical ? x(v) : y(v), major = n === 1;
        if (major) parts.push(vertical ? line(p, top, p, height - bottom, 'tick') : line(left, p, width - right, p, 'tick'));
        parts.push(vertical ? line(p, height - bottom, p, height - bottom + (major ? 6 : 3), 'axis') : line(left - (major ? 6 : 3), p, left, p, 'axis'));
        if (major) parts.push(vertical ? text(p, height - bottom + 18, short(v), {'text-anchor': 'middle'}) : text(left - 9, p + 4, inUnits(v, ''), {'text-anchor': 'end'}));
      }
  };
  ticks(x0, x1, true);
  ticks(y0, y1, false);
  parts.push(line(left, height - bottom, width - right, height - bottom, 'axis'), line(left, top, left, height - bottom, 'axis'));
  const low = Math.max(10 ** x0, 10 ** y0 / bandwidth);
  parts.push(line(x(low), y(low * bandwidth), x(ridge), y(peak), 'roof'));
  for (const r of roofs) {
    parts.push(line(x(r.ridge), y(r.peak), x(10 ** x1), y(r.peak), 'roof'));
    parts.push(text(width - right, y(r.peak) - 5, `${r.name} ${inUnits(r.peak, 'FLOP/s')}`, {'text-anchor': 'end', class: 'strong'}));
  }
  const slope = Math.atan2(y(peak) - y(peak / 10), x(ridge) - x(ridge / 10)) * 180 / Math.PI;
  const mx = x(lowest.ridge / 12), my = y(lowest.peak / 12);
  parts.push(text(mx, my - 6, `DRAM ${inUnits(bandwidth, 'B/s')}`, {'text-anchor': 'middle', class: 'strong', transform: `rotate(${slope.toFixed(1)} ${mx.toFixed(1)} ${my.toFixed(1)})`}));
  parts.push(text((left + width - right) / 2, height - 4, 'FLOP per byte of DRAM', {'text-anchor': 'middle'}), text(left - 9, 11, 'FLOP/s', {'text-anchor': 'end'}));
  for (const p of [...points].sort((a, b) => (a.i === chosen.launch) - (b.i === chosen.launch))) {
    const e = svg('circle', {cx: x(p.flop / p.bytes), cy: y(p.flop / p.seconds), r: p.i === chosen.launch ? 6 : 4.5, class: `point${p.i === chosen.launch ? ' here' : at('other').value === String(p.i) ? ' other' : ''}`, 'data-launch': p.i});
    if (data.launches[p.i]) e.addEventListener('click', () => chooseLaunch(p.i));
    parts.push(hint(e, `${data.launches[p.i] ? '' : 'before: '}${titleOf(p.launch)}: ${short(p.flop / p.bytes)} FLOP/byte, ${inUnits(p.flop / p.seconds, 'FLOP/s')}`));
  }
  const from = points.find(p => at('other').value === String(p.i)), to = points.find(p => p.i === chosen.launch);
  if (from && to) parts.push(line(x(from.flop / from.bytes), y(from.flop / from.seconds), x(to.flop / to.bytes), y(to.flop / to.seconds), 'change'));
  const {roof, flop, bytes, seconds} = workOf(launchNow());
  const own = flop > 0 && bytes > 0 ? `${titleOf(launchNow())}: ${inUnits(flop, 'FLOP')} and ${inUnits(bytes, 'B')} of DRAM in ${duration(seconds)}: ${short(flop / bytes)} FLOP/byte, ${inUnits(flop / seconds, 'FLOP/s')}, ${percent(flop / seconds / Math.min(peaks[roof], flop / bytes * bandwidth))} of the roof above it${roof === 'FP32' ? '' : `, of ${roof} on tensor cores`}.`
              : bytes > 0 ? `${titleOf(launchNow())} has no floating-point operations, so no point here: it moves ${inUnits(bytes / seconds, 'B/s')}, ${percent(bytes / seconds / bandwidth)} of what a copy reaches.`
                          : `${titleOf(launchNow())} moves nothing to or from DRAM, so it has no point here.`;
  const said = `${own} Times and DRAM bytes are modelled.`;
  draw(place, width, height, said, ...parts);
  at('roofline-sentence').textContent = said;
}

// ---- the launch -------------------------------------------------------------------------------------------------------------

function showLaunch() {
  const launch = launchNow(), observed = data.sampling > 1 ? `, counts are estimates from one block in ${data.sampling}` : '';
  const everything = like && warps.length === blocksOf(launch) * Math.ceil(threadsOf(launch) / LANES) && warps.every(w => w.taken === w.steps.length);
  const recorded = everything ? 'Every step of every warp is recorded.'
                 : !like ? `No steps recorded: a page holds the first ${data.limits.launches} different launches.`
                         : `Steps recorded of ${counted(warps.length, 'warp')} out of ${whole(blocksOf(launch) * Math.ceil(threadsOf(launch) / LANES))}: the first ${data.limits.steps} of each, then the first ${data.limits.further} of each instruction.`;
  const whose = like && like !== launch ? ` The steps are those of launch ${data.launches.indexOf(like) + 1}, with the same sizes.` : '';
  at('facts').textContent = `${duration(launch.seconds)} modelled${observed}. ${recorded}${whose}${everything ? '' : ' Counts include every warp.'}${sinceThen(launch, otherNow())}`;
  at('faults').hidden = launch.faults.length === 0;
  at('faults').replaceChildren(...launch.faults.map(f => html('li', {}, f)));
  showCounters(launch, otherNow());
  showGrid(launch);
  showLaunches();
  showRoofline();
}

const entryOf = (l, i) => `${i + 1}: ${titleOf(l)}, ${product(l.grid)} block${blocksOf(l) === 1 ? '' : 's'} of ${product(l.block)}, ${duration(l.seconds)}`;

/** All counters of the launch and, if one is chosen, of another to compare it with. */
function showCounters(launch, other) {
  const cell = value => html('td', {class: 'num'}, value === undefined ? '0' : Number.isInteger(value) ? whole(value) : short(value, 4));
  const names = [...new Set([...Object.keys(launch.metrics), ...Object.keys(other ? other.metrics : {})])].sort();
  const head = ['', 'this launch', ...(other ? ['the other', 'this / other'] : []), 'Nsight Compute'];
  at('counters').replaceChildren(html('tr', {}, ...head.map((h, i) => html('th', {class: i > 0 && i < head.length - 1 ? 'num' : undefined}, h))), ...names.map(name => {
    const a = launch.metrics[name], b = other && other.metrics[name];
    const compared = other ? [cell(b), html('td', {class: 'num'}, b ? short((a || 0) / b) : '')] : [];
    return html('tr', {'data-metric': name}, html('td', {}, data.labels[name] || ''), cell(a), ...compared, html('td', {}, html('code', {}, name)));
  }));
}

/** What happened to a launch since the earlier run, in a sentence. */
function sinceThen(launch, other) {
  if (!before || !other || data.launches.includes(other)) return '';
  const faster = other.seconds / launch.seconds, m = (l, name) => l.metrics[name] || 0;
  const parts = [faster > 1.005 ? `${short(faster)} times as fast` : faster < .995 ? `${short(1 / faster)} times as slow` : 'as fast'];
  for (const name of data.compared) {
    const [were, are] = [m(other, name), m(launch, name)];
    if (were !== are) parts.push(`${whole(were)} ${data.labels[name]} are now ${whole(are)}`);
  }
  return ` Against launch ${before.launches.indexOf(other) + 1} of ${before.program}, ${duration(other.seconds)}: ${parts.join('; ')}.`;
}

function start() {
  document.title = `${data.program}: warp view`;
  at('program').textContent = data.program;
  const missing = data.launches_in_all - data.launches.length;
  at('device').textContent = `Simulated ${data.device.name}. Counts are ${data.sampling > 1 ? 'estimates' : 'exact'}, times are modelled.${missing > 0 ? ` The last ${whole(missing)} of ${whole(data.launches_in_all)} launches are left out.` : ''}`;
  at('of-requests').title = 'one load or store instruction of one warp is one request';
  at('of-each').title = 'sectors of 32 bytes (sect.) or passes over the banks of shared memory (wf), per request; red: more than needed';
  at('of-cost').title = 'modelled: how long these requests alone keep L1 or L2 busy, if none hit L1';
  at('launch').append(...data.launches.map((l, i) => html('option', {value: i}, entryOf(l, i))));
  at('other').append(...[...at('launch').options].map(o => o.cloneNode(true)));
  if (before) {
    const group = html('optgroup', {label: `before: ${before.program}`});
    group.append(...before.launches.map((l, i) => html('option', {value: `b${i}`}, entryOf(l, i))));
    at('other').append(group);
    at('counters').closest('details').open = true;
  }
  at('other').addEventListener('change', () => showLaunch());
  at('launch').addEventListener('change', event => chooseLaunch(Number(event.target.value)));
  at('warp').addEventListener('input', event => chooseWarp(Number(event.target.value)));
  at('step').addEventListener('input', event => chooseStep(Number(event.target.value)));
  if (data.launches.length === 0) {
    at('facts').textContent = 'No kernel ran.';
    document.querySelector('main').hidden = true;
    return;
  }
  // The launch that takes longest among those with a line to show.
  const worth = data.launches.map(l => rowsOf(l).length ? l.seconds : -1);
  chooseLaunch(worth.indexOf(Math.max(...worth)));
  let width = document.documentElement.clientWidth;
  addEventListener('resize', () => {
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    showLaunch();
    showRequest();
    markRow();
  });
}

start();
