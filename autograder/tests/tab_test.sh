#!/usr/bin/env bash
# The report's warp view tab in a browser: the arrow keys open it, it fits on a phone, no verdict's table is cut off, and its
# figures for each line and operation match the report's own table. usage: tab_test.sh REPORT_FOLDER LAB
set -euo pipefail
report=$1 page=$2
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
  { echo "SKIPPED: no chromium here; apt-get install chromium"; exit 0; }
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/see"
cp "$report/see/$page.html" "$place/see"
cat "$report/index.html" - >"$place/index.html" <<'HTML'
<script>
addEventListener('load', async () => {
  const bad = [], text = e => e.textContent.replace(/[\u2009\s]+/g, ''), at = s => document.querySelector(s);
  const [verdicts, warps] = document.querySelectorAll('[role=tab]'), frame = at('.see iframe');
  verdicts.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
  const panel = tab => document.getElementById(tab.getAttribute('aria-controls'));
  if (document.activeElement !== warps || panel(warps).hidden || !panel(verdicts).hidden) bad.push('the arrow key opens nothing');
  while (!frame.contentDocument?.querySelector('.counts')) await new Promise(later => setTimeout(later, 50));
  const d = frame.contentDocument, wide = [document, d].filter(x => x.documentElement.scrollWidth > x.documentElement.clientWidth);
  if (wide.length) bad.push(`wider than the window, ${innerWidth}`);
  // The report: line, access, requests, sectors, wavefronts; the tab: operation, requests, per request.
  const figures = rows => rows.map(([line, access, requests, each]) => `${line} ${access} ${requests} ${parseFloat(each).toFixed(2)}`).sort().join('; ');
  const reported = figures([...document.querySelectorAll('tr:has(td.source)')].map(r => [...r.children].map(text))
      .map(([line, access, requests, sectors, wavefronts]) => [line.split(':')[1], access, requests, sectors || wavefronts]));
  const rows = [...d.querySelectorAll('.counts')];
  const drawn = figures(rows.map(r => [r.dataset.row.split(':')[1], ...[...r.children].map(text)]));
  if (!rows.length || drawn !== reported) bad.push(`the tab: ${drawn}; the report: ${reported}`);
  if (d.querySelector('#files').textContent.includes('(the source file is not here)')) bad.push('no source');
  verdicts.click();
  if (innerWidth < 1000) document.body.style.width = '390px';  // a phone's, where the other tables scroll
  for (const e of document.querySelectorAll('.items .scroll'))
    if ((innerWidth > 1000 || text(e.querySelector('th')) === 'counter') && e.scrollWidth > e.clientWidth) bad.push(`a table is cut off: ${text(e).slice(0, 40)}`);
  if (!panel(warps).hidden) bad.push('a click does not go back');
  document.body.innerHTML = `<pre id="found">${rows.length} lines; ${bad.join('\n')}</pre>`;
});
</script>
HTML
for width in 500 1600; do  # a window is never narrower than 500
  "$browser" --headless --no-sandbox --disable-gpu --allow-file-access-from-files --user-data-dir="$place/profile" --window-size=$width,900 \
    --virtual-time-budget=20000 --dump-dom "file://$place/index.html" >"$place/said" 2>/dev/null || true
  found=$(sed -n '/<pre id="found">/,/<\/pre>/p' "$place/said" | sed 's/.*<pre id="found">//; s/<\/pre>.*//')
  [[ $found =~ ^[1-9][0-9]*" lines; "$ ]] || { echo "the tab, $width pixels wide: ${found:-the script of the page has failed}"; exit 1; }
done
echo "the tab shows what the report counts: $found"
