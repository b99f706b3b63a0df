#!/usr/bin/env bash
# Renders every deck and its handout, and asks the browser whether anything overflows a slide, whether text contrasts with its
# background, and whether a lecture's slide (decks_test.sh) is more than half empty.
# usage: fit_test.sh BUILD MARP CHROMIUM THEME
set -euo pipefail
build=$1 marp=$2 chromium=$3 theme=$4
cmake --build "$build" --target decks plots >/dev/null
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp -r "$build"/slides/[0-9][0-9]_*.md "$build"/slides/*.svg "$build/slides/steps" "$place"
# A lecture with a slide of each fault, which the checks must find.
cat >"$place/faulty.md" <<'MD'
---
marp: true
theme: roofline
minutes: 50
---

## A title, and nothing else

---

<!-- _color: "#ccc" -->

Pale text.

---

![w:1140 h:800](banks.svg)
MD
{ printf -- '---\nmarp: true\ntheme: handout\n---\n\n## A slide\n\n<div class="notes">\n\n'; printf 'Notes. %.0s' {1..400}; printf '\n\n</div>\n'; } \
  >"$place/faulty_handout.md"
CHROME_PATH=$chromium "$marp" --no-stdin --theme-set "$(dirname "$theme")" --template bare "$place"/*.md >"$place/log" 2>&1 || { cat "$place/log"; exit 1; }
cat >"$place/ask" <<'JS'
<script>addEventListener('load', () => {
  const found = [];
  document.querySelectorAll('section').forEach((s, i) => {
    const box = s.getBoundingClientRect();
    s.querySelectorAll('pre, marp-pre').forEach(e => {  // Marp replaces pre; code may be scaled down, but must stay readable
      const text = document.createRange();
      text.selectNodeContents(e);
      const height = text.getBoundingClientRect().height / e.textContent.trimEnd().split('\n').length * 1280 / box.width;
      if (height < 21) found.push(`${i + 1}: lines of code ${height.toFixed(1)} px high`);
    });
    // Of 24 x 18 fields inside the margins, how many hold text, a picture, a table or code?
    const fields = new Set(), left = box.left + 70 * box.width / 1280, top = box.top + 40 * box.height / 720;
    const across = box.width * 1140 / 1280 / 24, down = box.height * 630 / 720 / 18;
    const boxes = [...s.querySelectorAll('pre, marp-pre, table, img, .vote li')].map(e => e.getBoundingClientRect());
    const walk = document.createTreeWalker(s, NodeFilter.SHOW_TEXT);
    for (let t; (t = walk.nextNode());) {
      const text = document.createRange();
      text.selectNodeContents(t);
      if (t.textContent.trim()) boxes.push(...text.getClientRects());
      if (!t.textContent.trim() || !t.parentElement.checkVisibility()) continue;
      // Contrast as WCAG 2 defines it: 4.5, or 3 for large print.
      const light = c => { const [r, g, b] = c.match(/[\d.]+/g).map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      let behind = t.parentElement;
      while (behind && /, 0\)|transparent/.test(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
      const style = getComputedStyle(t.parentElement), a = light(style.color), b = behind ? light(getComputedStyle(behind).backgroundColor) : 1;
      const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (contrast < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5)) found.push(`${i + 1}: contrast ${contrast.toFixed(1)} of "${t.textContent.trim().slice(0, 20)}"`);
    }
    for (const b of boxes)
      for (let x = Math.max(0, Math.floor((b.left - left) / across)); x < 24 && left + x * across < b.right; ++x)
        for (let y = Math.max(0, Math.floor((b.top - top) / down)); y < 18 && top + y * down < b.bottom; ++y) fields.add(24 * y + x);
    if (LECTURE && fields.size < 216) found.push(`${i + 1}: ${Math.round(100 - fields.size / 4.32)} % of the slide is empty`);
    if (s.scrollHeight > s.clientHeight + 1) found.push(`${i + 1}: too high by ${s.scrollHeight - s.clientHeight} px`);
    s.querySelectorAll('pre, marp-pre, table, img, p, li, h1, h2').forEach(e => {
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
  lecture=$([[ $page != *_handout.html ]] && grep -q '^minutes:' "${page%.html}.md" && echo true || echo false)
  sed "s/LECTURE/$lecture/" "$place/ask" >>"$page"
  for _ in 1 2 3; do  # on a busy machine the browser may end before the page has loaded
    "$chromium" --headless --no-sandbox --disable-gpu --allow-file-access-from-files --user-data-dir="$place/profile" \
      --virtual-time-budget=3000 --dump-dom "file://$page" 2>/dev/null >"$place/said" || true
    if grep -q 'LOOKED AT' "$place/said"; then break; fi
  done
  grep -o 'LOOKED AT [0-9]*' "$place/said" | sed "s/^/$(basename "$page" .html): /" || { echo "$page: the browser printed nothing"; bad=1; }
  if [[ $page == */faulty.html ]]; then
    for fault in '1: [89]. % of the slide is empty' '2: contrast 1.6 of "Pale text."' '3: too high'; do
      grep "^slide $fault" "$place/said" >/dev/null || { echo "was not noticed: slide $fault"; grep '^slide ' "$place/said"; bad=1; }
    done
  elif [[ $page == */faulty_handout.html ]]; then
    grep '^slide 1: too high' "$place/said" >/dev/null || { echo "was not noticed: notes that are cut off"; grep '^slide ' "$place/said"; bad=1; }
  else
    grep '^slide ' "$place/said" && bad=1
  fi
done
exit $bad
