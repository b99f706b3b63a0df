#!/usr/bin/env bash
# Checks one page of each kind of the built site with axe-core, at 390, 1280 and 1600 pixels, light and dark:
# alternative text, contrast, names, sizes of tap targets (WCAG 2.2, A and AA). Also: nothing wider than the window, and
# no page heavier than 1 MB with its pictures, scripts and styles.
# usage: axe_test.sh HTML AXE_MIN_JS CHROMIUM
set -euo pipefail
html=$1 axe=$2 chromium=$3
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp -rl "$html" "$place/site" 2>/dev/null || { rm -rf "$place/site"; cp -r "$html" "$place/site"; }
cp "$axe" "$place/site/axe.min.js"
cat >"$place/site/faulty.html" <<'HTML'
<!DOCTYPE html><html lang="en"><head><title>Faults</title></head><body><div class="contents">
<img src="doc.png"><p style="color:#ccc">Pale.</p><p style="width:3000px">Wide.</p>
<p><code>a_name_that_is_longer_than_a_phone_is_wide_a_name_that_is_longer_than_a_phone_is_wide</code></p>
<div style="overflow-x:auto"><table class="markdownTable"><tr><th>name</th><th>what it is</th></tr><tr><td>a_name_that_is_longer_than_a_phone_is_wide_a_name</td><td>x</td></tr></table></div>
<a href="a" style="position:absolute;top:50px;left:0;font-size:6px">a</a><a href="b" style="position:absolute;top:52px;left:8px;font-size:6px">b</a></div></body></html>
HTML
cat >"$place/ask" <<'JS'
<script src="axe.min.js"></script>
<script>addEventListener('load', async () => {
  const found = [], width = innerWidth;
  await new Promise(done => setTimeout(done, 300));  // the theme builds its menus after loading
  if (window.MathJax) await new Promise(done => MathJax.Hub.Queue(done));
  if (document.documentElement.scrollWidth > width + 1) found.push(`wider than the window: ${document.documentElement.scrollWidth}`);
  const scrolls = e => e && !e.matches('.contents') && (/auto|scroll/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  for (const e of document.querySelectorAll('.contents p, .contents li, .contents td, .contents pre, .contents img'))
    if (e.getBoundingClientRect().right > width + 1 && !scrolls(e)) { found.push(`cut off: ${e.tagName} ${e.textContent.trim().slice(0, 30)}`); break; }
  for (const e of document.querySelectorAll('.contents :is(p, li) code'))  // the page would clip code that is too wide
    if (!e.closest('table') && e.getBoundingClientRect().right > width) { found.push(`cut off: code ${e.textContent.slice(0, 30)}`); break; }
  for (const t of document.querySelectorAll('.contents .markdownTable'))  // a wide table of numbers may scroll; one of words must fit
    if (t.rows[0].cells.length <= 4 && [...t.rows].some(r => [...r.cells].some(c => c.getBoundingClientRect().right > width))) {
      found.push(`a table of ${t.rows[0].cells.length} columns is cut off: ${t.textContent.trim().slice(0, 30)}`); break; }
  for (const mode of width == 1280 ? ['light-mode', 'dark-mode'] : ['light-mode']) {
    document.documentElement.classList.remove('light-mode', 'dark-mode');
    document.documentElement.classList.add(mode);
    const said = await axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] });
    for (const v of said.violations) found.push(`${mode}: ${v.id}, ${v.nodes.length} times: ` + v.nodes.slice(0, 4).map(n => n.target[0]).join(' ; '));
  }
  // The glossary's pop-up opens by keyboard, stays in the window, and closes with Escape.
  const term = document.querySelector('a.term'), popup = document.querySelector('#term');
  if (/^labs_\d/.test(location.pathname.split('/').pop()) && !term) found.push('no term is explained');
  if (term) {
    term.focus();
    await new Promise(done => setTimeout(done, 300));
    const box = popup.getBoundingClientRect();
    if (popup.hidden || box.height < 20 || box.left < 0 || box.right > width) found.push('the explanation of a term is not visible');
    dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }));
    if (!popup.hidden) found.push('Escape does not hide an explanation');
  }
  if (/^index/.test(location.pathname.split('/').pop()) && width == 1280) {  // the search finds terms and headings
    document.querySelector('#MSearchField').value = 'bank conf';
    searchBox.Search();
    await new Promise(done => setTimeout(done, 2000));
    const shown = [...frames.MSearchResults.document.querySelectorAll('.SRResult')].filter(e => e.checkVisibility()).map(e => e.textContent);
    if (!shown.some(words => words.includes('bank conflict'))) found.push('the search does not find "bank conf": ' + shown);
  }
  parent.postMessage({ width, found }, '*');
});</script>
JS
# look PAGE: prints what is wrong with it
look() {
  local weight
  cat "$place/site/$1.html" "$place/ask" >"$place/site/$1_asked.html"
  sed "s/ASKED/$1_asked.html/" >"$place/site/frames.html" <<'HTML'
<!DOCTYPE html><body><script>
const said = [], widths = [390, 1280, 1600];
const next = () => {
  if (said.length == widths.length) { document.body.innerHTML = '<pre></pre>'; document.querySelector('pre').textContent =
    'LOOKED AT ' + said.length + '\n' + said.flatMap(s => s.found.map(f => `${s.width}: ${f}`)).join('\n') + '\n'; return; }
  document.body.innerHTML = `<iframe src="ASKED" style="border:0;height:1000px;width:${widths[said.length]}px"></iframe>`;
};
addEventListener('message', e => { said.push(e.data); next(); });
next();
</script></body>
HTML
  for _ in 1 2 3; do  # on a busy machine the browser may end before the page has loaded
    "$chromium" --headless --no-sandbox --disable-gpu --disable-web-security --allow-file-access-from-files --user-data-dir="$place/profile" \
      --window-size=1700,1100 --virtual-time-budget=20000 --dump-dom "file://$place/site/frames.html" 2>/dev/null >"$place/said" || true
    if grep -q 'LOOKED AT 3' "$place/said"; then break; fi
  done
  grep -q 'LOOKED AT 3' "$place/said" || echo "the browser printed nothing"
  grep -E '^(390|1280|1600): ' "$place/said" || true
  weight=$(cd "$place/site" && { stat -L -c %s "$1.html"; grep -oE '<(img|script|link)[^>]* (src|href)="[^":]*\.(png|svg|js|css)"' "$1.html" | sed 's/.*="//; s/"$//' | sort -u | xargs -r stat -L -c %s; } | awk '{ sum += $1 } END { print sum }')
  ((weight <= 1000000)) || echo "weighs $weight bytes"
}
bad=0
for page in index labs labs_03_coalescing labs_13_when_it_crashes labs_13_when_it_crashes_seen labs_glossary common_sim common_docs_playground \
            solutions coalescing_8hpp annotated; do
  [[ $page != solutions || -e $html/$page.html ]] || continue  # a student's checkout has none
  look "$page" >"$place/wrong"
  echo "$page: $(wc -l <"$place/wrong") complaints"
  sed 's/^/  /' "$place/wrong"
  [[ ! -s $place/wrong ]] || bad=1
done
look faulty >"$place/wrong"
for fault in 'image-alt' 'color-contrast' 'target-size' 'wider than the window' 'cut off: code' 'a table of 2 columns is cut off'; do
  grep -q "$fault" "$place/wrong" || { echo "was not noticed: $fault"; cat "$place/wrong"; bad=1; }
done
exit $bad
