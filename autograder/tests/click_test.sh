#!/usr/bin/env bash
# The class page in a real browser: typing filters, a click opens the student's page, and no text from a student runs as code.
# usage: click_test.sh GRADER SOURCE
set -euo pipefail
grader=$1 source=$2
for program in chromium chromedriver curl sqlite3; do
  command -v $program >/dev/null || { echo "SKIPPED: no $program here; apt-get install chromium-driver curl sqlite3"; exit 77; }
done
place=$(mktemp -d /tmp/click-test-XXXXXX)
driver=
trap '[[ -z $driver ]] || kill $driver 2>/dev/null; wait; rm -rf "$place"' EXIT
chmod 755 "$place"

# Two students; one attacks the reader of the report through a name and a hand-in file.
mkdir -p "$place/class/ann" "$place/class/<img src=x onerror=document.title='owned'>"
for who in "$place"/class/*; do
  cp "$source"/solutions/03_coalescing/handin/{column_sums.cpp,predictions.toml} "$who"
done
evil='#error </pre><script>document.title="owned"</script><img src=x onerror="document.title=1">'
echo "$evil" >"$place/class/<img src=x onerror=document.title='owned'>/column_sums.cpp"
echo '#error stop here: nothing needs to run' >"$place/class/ann/column_sums.cpp"
"$grader" grade "$place/class" --lab 03 --store "$place/book.sqlite" >/dev/null 2>&1
"$grader" report --store "$place/book.sqlite" --output "$place/pages" >/dev/null

port=$((20000 + RANDOM % 20000))
chromedriver --port=$port >"$place/driver.log" 2>&1 &
driver=$!
for _ in {1..50}; do curl -sf "localhost:$port/status" >/dev/null && break; sleep 0.2; done
arguments='"--headless","--no-sandbox","--disable-gpu","--no-first-run","--disable-background-networking",
  "--disable-component-update","--disable-sync","--user-data-dir='$place'/profile"'
session=$(curl -sf "localhost:$port/session" -d '{"capabilities":{"alwaysMatch":{"goog:chromeOptions":{"args":['"$arguments"']}}}}' |
  sed 's/.*"sessionId":"\([^"]*\)".*/\1/')
at="localhost:$port/session/$session"
script() { curl -sf "$at/execute/sync" -d "{\"script\":\"$1\",\"args\":[]}"; }
find_element() { curl -sf "$at/element" -d "{\"using\":\"css selector\",\"value\":\"$1\"}" | sed 's/.*:"\([^"]*\)"}}/\1/'; }
expect() { [[ $2 == "$3" ]] || { echo "$1: got $2, expected $3"; exit 1; }; }

curl -sf "$at/url" -d "{\"url\":\"file://$place/pages/index.html\"}" >/dev/null
expect "rows" "$(script "return document.querySelectorAll('tr.who').length")" '{"value":2}'
curl -sf "$at/window/rect" -d '{"width":500,"height":900}' >/dev/null
expect "fits a narrow window" "$(script "return document.documentElement.scrollWidth <= innerWidth")" '{"value":true}'
expect "rows that a phone cuts off" "$(script "document.body.style.width = '390px'; return [...document.querySelectorAll('.row')].filter(r => r.scrollWidth > r.clientWidth).length")" '{"value":0}'
expect "images from a name" "$(script "return document.images.length")" '{"value":0}'
curl -sf "$at/element/$(find_element '#only')/value" -d '{"text":"ann"}' >/dev/null
expect "rows after typing" "$(script "return document.querySelectorAll('tr.who:not([hidden])').length")" '{"value":1}'
curl -sf "$at/element/$(find_element 'tr.who:not([hidden]) a')/click" -d '{}' >/dev/null
expect "the page behind the link" "$(script "return document.body.textContent.includes('ann')")" '{"value":true}'
for page in "$place"/pages/*.html; do
  curl -sf "$at/url" -d "{\"url\":\"file://$page\"}" >/dev/null
  expect "something ran in $page" "$(script "return document.title.startsWith('Roofline Labs') && document.images.length == 0")" '{"value":true}'
done
curl -sf -X DELETE "$at" >/dev/null
echo "clicked through $(ls "$place/pages" | wc -l) pages in $(chromium --version 2>/dev/null | cut -d' ' -f1-2)"
