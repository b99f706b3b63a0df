#!/usr/bin/env bash
# Renders every deck and asks the browser whether anything hangs over a slide's edge.
# usage: fit_test.sh BUILD MARP CHROMIUM THEME
set -euo pipefail
build=$1 marp=$2 chromium=$3 theme=$4
cmake --build "$build" --target decks plots >/dev/null
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp "$build"/slides/*.md "$build"/slides/*.svg "$place"
CHROME_PATH=$chromium "$marp" --no-stdin --theme-set "$theme" --template bare "$place"/*.md >"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
cat >"$place/ask" <<'JS'
<script>addEventListener('load', () => {
  const found = [];
  document.querySelectorAll('section').forEach((s, i) => {
    const box = s.getBoundingClientRect();
    s.querySelectorAll('pre').forEach(e => {  // code may be scaled down, but must stay readable
      const text = document.createRange();
      text.selectNodeContents(e);
      const height = text.getBoundingClientRect().height / e.textContent.trimEnd().split('\n').length * 720 / box.height;
      if (height < 14) found.push(`${i + 1}: lines of code ${height.toFixed(1)} px high`);
    });
    if (s.scrollHeight > s.clientHeight + 1) found.push(`${i + 1}: too high by ${s.scrollHeight - s.clientHeight} px`);
    s.querySelectorAll('pre, table, img, p, li, h1, h2').forEach(e => {
      const b = e.getBoundingClientRect();
      const wide = e.tagName == 'PRE' && e.scrollWidth > e.clientWidth + 1;
      if (wide || b.right > box.right + 1 || b.left < box.left - 1) found.push(`${i + 1}: ${e.tagName} too wide`);
      if (e.tagName == 'IMG' && e.naturalWidth == 0) found.push(`${i + 1}: picture missing`);
    });
  });
  const slides = document.querySelectorAll('section').length;
  document.body.innerHTML = `<pre>LOOKED AT ${slides}\n${[...new Set(found)].map(f => 'slide ' + f).join('\n')}\n</pre>`;
});</script>
JS
bad=0
for page in "$place"/*.html; do
  cat "$place/ask" >>"$page"
  "$chromium" --headless --no-sandbox --disable-gpu --allow-file-access-from-files --user-data-dir="$place/profile" \
    --virtual-time-budget=3000 --dump-dom "file://$page" 2>/dev/null >"$place/said" || true
  grep -o 'LOOKED AT [0-9]*' "$place/said" | sed "s/^/$(basename "$page" .html): /" || { echo "$page: the browser said nothing"; bad=1; }
  grep '^slide ' "$place/said" && bad=1
done
exit $bad
