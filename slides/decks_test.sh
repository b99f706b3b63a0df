#!/usr/bin/env bash
# Checks that every deck finds the code, figures and steps that it shows, and has 20 to 40 slides with notes on each; a missing
# one is an error, and so is a picture without a description. A deck whose front matter says how many minutes it takes is a
# lecture: its notes say how many each slide takes, no code is longer than 15 lines, and nothing that answers the lab's
# predictions comes before the slide of class lock. The agenda's minutes are those of the notes, and it has as many votes as the
# slides. No paragraph has a line break: Marp keeps it.
# usage: decks_test.sh COURSEDOCS DRAWINGS SOURCE
set -euo pipefail
coursedocs=$1 drawings=$2 source=$3
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
bad=0
"$drawings" steps "$source" "$place/steps"
: >"$place/shown"
# complaints NAME DECK: what is wrong with a deck
complaints() {
  # The first two lines of --- enclose the front matter. Notes are comments that are not directives; a slide without one has no
  # notes.
  awk -v name="$1" '
    function say(what) { print name ": slide " rules - 1 ": " what; bad = 1 }
    # The votes and the lock between two minutes, which the agenda must state.
    function agenda(row,  i, votes, last, words) {
      votes = last = 0
      for (i = 1; i <= slides; ++i) {
        if (at[i] >= from[row] && at[i] < to[row]) { votes += vote[i]; last += lock[i] }
        if (at[i] == from[row]) from_found[row] = 1
      }
      words = you[row] ~ /vote three times/ ? 3 : you[row] ~ /vote twice/ ? 2 : you[row] ~ /vote/ ? 1 : 0
      if (!from_found[row] || from[row] != (row > 1 ? to[row - 1] : 0) || row == rows && to[row] != took)
        { print name ": agenda: " from[row] " to " to[row] ": the notes do not begin or end there"; bad = 1 }
      else if (votes != words || last != (you[row] ~ /lock/))
        { print name ": agenda: " from[row] " to " to[row] ": " votes " votes and " last " locks there, and it says " you[row]; bad = 1 }
    }
    /^minutes: / { wanted = $2 }
    /^lang: en$/ { english = 1 }
    /^```/ { if (code && wanted && lines > 15) say(lines " lines of code, and 15 fit"); code = !code; lines = 0; next }
    code { ++lines }
    /^## Agenda$/ { today = 1 }
    today && /^\| [0-9]+ to [0-9]+ \|/ { split($0, cell, / *\| */); split(cell[2], span, " to "); from[++rows] = span[1]; to[rows] = span[2]; you[rows] = cell[4] }
    { text = !code && !in_note && /^[^-|!<#`*0-9 \t$]|^\*\*/ }
    text && before && wanted && rules > 1 { say("a line break in a paragraph: " substr($0, 1, 30)) }
    { before = text }
    /^<!--$/ { in_note = 1 } /^-->$/ { in_note = 0 }
    /^---$/ && !code { today = 0; if (rules > 0) at[rules] = took + 0; if (++rules > 2) { if (!notes) { --rules; say("no notes"); ++rules }; notes = 0 } }
    /^<!-- _class: .*lock/ { locked = lock[rules - 1] = 1 }
    /^<!-- _class: .*vote/ { vote[rules - 1] = 1 }
    notes == 1 && wanted { notes = 2; if ($0 ~ /^[1-9] min\. /) took += $1; else say("its notes do not begin with \"N min. \"") }
    /^<!--$/ { notes = 1 }
    END { slides = rules - 1; least = wanted ? 25 : 20
          if (!english) print name ": no \"lang: en\": a screen reader would read it in the language of who built it"
          bad = bad || !english
          if (!notes) say("no notes")
          if (slides < least || slides > 40) { print name ": " slides " slides, and should be " least " to 40"; bad = 1 }
          if (wanted && !locked) { print name ": no slide of class lock"; bad = 1 }
          if (wanted && (took < 0.9 * wanted || took > 1.1 * wanted)) { print name ": its slides take " took " minutes, and it says " wanted; bad = 1 }
          for (row = 1; row <= rows; ++row) agenda(row)
          if (wanted >= 25 && !rows) { print name ": no agenda"; bad = 1 }
          printf "%-24s %d slides%s\n", name, slides, wanted ? ", " took " minutes" : ""
          exit bad }' "$2"
}
# given_away NAME DECK SEEN: the answers that a lecture shows before the lock. SEEN lists drawings that show answers and
# programs that students investigate; plots of results, the solution's code, and figures from SEEN.md show answers, too
given_away() {
  awk -v name="$1" -v seen="$3" '
    BEGIN { while ((getline line < seen) > 0) answers[line] = 1 }
    /^minutes: / { wanted = 1 }
    /^<!-- _class: .*lock/ { exit bad }
    /^!\[.*svg\)/ { file = $0; sub(/.*\//, "", file); sub(/.*\(/, "", file); sub(/\).*/, "", file) }
    wanted && (/^!\[/ && (file in answers || !/\//) || /^<!-- code: solutions/) {
      print name ":" NR ": answers predictions before they are locked: " $0; bad = 1 }
    wanted { tells = /\{\{labs\/[^}]*SEEN\.md/
             for (a in answers) if (a !~ /\./ && a != "" && index($0, a)) tells = 1
             if (tells) { print name ":" NR ": answers predictions before they are locked: " $0; bad = 1 } }
    END { exit bad }' "$2"
}
for deck in "$source"/slides/[0-9][0-9]_*.md; do
  "$coursedocs" deck "$source" "$deck" "$place/steps" >"$place/deck.md" || { bad=1; continue; }
  name=$(basename "$deck" .md)
  grep -oE '[a-z_]+\.svg' "$source/labs/$name/SEEN.md" >"$place/seen" 2>/dev/null || : >"$place/seen"
  for program in "$source/labs/$name"/crashed/*.cu; do [[ ! -e $program ]] || basename "$program" .cu >>"$place/seen"; done
  complaints "$name" "$place/deck.md" || bad=1
  given_away "$name" "$deck" "$place/seen" || bad=1
  grep -oE '\(steps/[a-z0-9_]+\.svg' "$deck" | sed 's/.*\///' >>"$place/shown" || :
done
ls "$place/steps" >"$place/drawn"
sort -u "$place/shown" | diff "$place/drawn" - || { echo "< is drawn and not shown, > is shown and not drawn"; bad=1; }
# refuses LINE PATTERN: a deck with this line must be refused with this error
refuses() {
  printf -- '---\n---\n%s\n' "$1" >"$place/broken.md"
  if "$coursedocs" deck "$source" "$place/broken.md" "$place/steps" >/dev/null 2>"$place/error"; then
    echo "was not noticed: $1"; bad=1
  fi
  grep -q "broken.md:3: .*$2" "$place/error" || { cat "$place/error"; bad=1; }
}
refuses '<!-- code: solutions/03_coalescing/handin/transpose.cu no_such_marker -->' 'no_such_marker.*0 times'
{ echo '//! [long]'; seq 25; echo '//! [long]'; } >"$place/long.cpp"
refuses "<!-- code: $place/long.cpp long -->" '25 lines of code'
refuses '{{solutions/08_gpt2/WORKLOG.md > no such block > launches}}' '0 tables.*no such block'
refuses '{{solutions/results/nvidia-h200/gpt2.json > blocks > B4 T64 > no such pass : .1f}}' 'no "no such pass"'
refuses '{{solutions/results/nvidia-h200/comparison.json > works > 99 > amount : .1f}}' 'no "99"'
refuses '{{solutions/results/nvidia-h200/gpt2.json > blocks > B4 T64 : .1f}}' 'is not a number'
refuses '{{solutions/results/nvidia-h200/gpt2.json}}' 'wanted FILE.md'
# reports TEXT DECK [LANGUAGE]: a lecture with this fault must be refused
printf 'told.svg\nbad_sums\n' >"$place/answers"
reports() {
  printf '%b' "---\n${3-lang: en}\nminutes: 1\n---\n$2" >"$place/faulty.md"
  { complaints faulty "$place/faulty.md" && given_away faulty "$place/faulty.md" "$place/answers"; } >"$place/said" && { echo "was not noticed: $1"; bad=1; }
  grep -q "$1" <(complaints faulty "$place/faulty.md"; given_away faulty "$place/faulty.md" "$place/answers") || { cat "$place/said"; echo "does not say: $1"; bad=1; }
}
notes='\n<!--\n1 min. Say it.\n-->\n'
reports 'faulty:5: answers predictions' "![](../labs/told.svg)$notes"
reports 'faulty:5: answers predictions' "![](plot.svg)$notes"
reports 'faulty:5: answers predictions' "<!-- code: solutions/a.cu a -->$notes"
reports 'faulty:5: answers predictions' "In bad_sums nothing waits.\n$notes"
reports 'faulty:5: answers predictions' "{{labs/03/SEEN.md > a > b}}\n$notes"
reports 'slide 1: its notes do not begin' "<!--\nSay it.\n-->\n"
reports 'no "lang: en"' "$notes" 'marp: true'
reports 'slide 1: 16 lines of code' "\`\`\`\n$(printf 'x\\n%.0s' {1..16})\`\`\`\n$notes"
reports 'no slide of class lock' "$notes"
reports 'slide 1: no notes' "\n---\n$notes"
reports 'take 2 minutes, and it says 1' "$notes---$notes"
reports '1 slides, and should be 25' "$notes"
agenda='## Agenda\n| minutes | | you |\n|---|---|---|\n'
reports 'agenda: 0 to 2: the notes do not begin or end there' "$agenda| 0 to 2 | all | |$notes"
reports 'agenda: 0 to 1: 0 votes and 0 locks there, and it says vote twice' "$agenda| 0 to 1 | all | vote twice |$notes"
reports 'a line break in a paragraph: that ends' "A paragraph\nthat ends.\n$notes"
refuses '![w:900](ladder.svg)' 'say in words'
refuses '![w:900](steps/no_such_step.svg)' 'cannot read .*no_such_step'
# A drawing has a description, digits are grouped, and no line of code is wider than a slide.
cat >"$place/shown.cpp" <<'CPP'
//! [loop]
/// The words of a comment that is as long as a line of source may be go on in its next line, which is here: they are
/// read as one.
for (int distance = 16; distance > 0; distance /= 2) value = combine(value, __shfl_xor_sync(~0u, value, distance));
  while (calls < most && take(calls).seconds * calls < 200 * tick && spent() < 0.2 * budget_seconds) calls *= 2;
  units = drop == 0 ? significand : (significand + (std::uint32_t{1} << (drop - 1)) - 1 + odd) >> drop;  // rounded
void merge(float* out, const float* other_out, const float* other_lse, std::size_t rows, std::size_t size) {
void matvec(float* y, const std::int8_t* q, const float* scale, const float* x, std::size_t rows,
            std::size_t columns) {
//! [loop]
CPP
echo '{"few": 12.5, "some": 999, "many": -1234567.8}' >"$place/figures.json"
echo '<svg><desc id="d">in[i] &amp; more</desc></svg>' >"$place/steps/shown.svg"
printf -- '---\n---\n<!-- code: %s loop -->\n![w:9](steps/shown.svg)\n{{%s > few : ,.1f}} {{%s > some : ,.0f}} {{%s > many : ,.1f}}\n' \
  "$place"/{shown.cpp,figures.json,figures.json,figures.json} >"$place/good.md"
"$coursedocs" deck "$source" "$place/good.md" "$place/steps" | tail -n +3 | diff - <(cat <<'MD'
```cpp
/// The words of a comment that is as long as a line of source may be go on in its next line,
/// which is here: they are read as one.
for (int distance = 16; distance > 0; distance /= 2)
  value = combine(value, __shfl_xor_sync(~0u, value, distance));
  while (calls < most && take(calls).seconds * calls < 200 * tick &&
      spent() < 0.2 * budget_seconds)
    calls *= 2;
  // rounded
  units = drop == 0 ? significand
      : (significand + (std::uint32_t{1} << (drop - 1)) - 1 + odd) >> drop;
void merge(float* out, const float* other_out, const float* other_lse, std::size_t rows,
    std::size_t size) {
void matvec(float* y, const std::int8_t* q, const float* scale, const float* x,
    std::size_t rows, std::size_t columns) {
```
![w:9 in\[i\] &amp; more](steps/shown.svg)
12.5 999 -1,234,567.8
MD
) || bad=1
exit $bad
