#!/usr/bin/env bash
# Walks through a lab in ./course watch, connected by a pipe: the skeleton, a save, a save that does not build, hints, the list,
# another grading of the passed lab, reset. Uses the trial lab in the build folder. usage: watch_test.sh GRADER SOURCE BUILD
set -euo pipefail
grader=$1 source=$2 build=$3
lab=$source/labs/99_trial/handin solution=$source/solutions/99_trial/handin
common=(--source "$source" --build "$build" --report "$source/report")
kept=$(mktemp -d)
cp "$lab"/{scale.cu,scale.cpp,predictions.toml} "$kept"
cp -r "$lab/../judge" "$kept"
watch= log=$(mktemp)
restore() {
  [[ -z $watch ]] || kill $watch 2>/dev/null || true
  wait
  rm -f "$lab/../scale.cu"
  cp "$kept/judge"/* "$lab/../judge"
  cp "$kept"/*.* "$lab"  # with new times, so that earlier builds are older
  rm -rf "$kept" "$log" "$source"/{progress.toml,backups,.git}
}
trap restore EXIT
rm -rf "$source/progress.toml" "$source/report/results"
git -C "$source" init -q 2>/dev/null && git -C "$source" add labs && git -C "$source" -c user.name=test -c user.email=test@localhost commit -qm start &&
  git -C "$source" update-ref refs/course/start HEAD

"$grader" watch 99 "${common[@]}" >>"$log" 2>&1 &
watch=$!
# expect SECONDS TEXT: the text appears in the log within that time
expect() {
  local tries=$(($1 * 10))
  until grep -qF -- "$2" "$log"; do
    ((tries-- > 0)) && { kill -0 $watch 2>/dev/null || grep -qF -- "$2" "$log"; } || { echo "not within $1 s: $2"; cat "$log"; exit 1; }
    sleep 0.1
  done
}
# says PATTERN COMMAND...: the grader's answer matches the pattern
says() {
  local pattern=$1 said status=0
  shift
  said=$("$grader" "$@" "${common[@]}" 2>&1) || status=$?
  grep -q -- "$pattern" <<<"$said" || { echo "$*: ended with $status, without: $pattern"; echo "$said"; exit 1; }
}
# Right only for the sizes that every local run has.
for_usual_sizes() {
  sed '/quads = n/a switch (n) { case 1: case 3: case 4: case 5: case 31: case 32: case 33: case 255: case 257: case 1021: case 262144: break; default: return; }' \
    "$solution/scale.cu" >"$lab/scale.cu"
}
expect 120 "next: NOT ANSWERED  predictions"   # the first build may take long
: >"$log"
cp "$solution/predictions.toml" "$lab"
expect 120 "predictions.toml saved"
expect 120 "graded in"
says "hint 1 of 3 for scale_correct" hint 99
says "hint 2 of 3" hint 99 scale_correct
says "judge/rubric.toml:12: WRONG  scale_correct, 0 of" lab 99 scale_correct  # as ctest runs it
: >"$log"
start=$(date +%s%N)
cp "$solution/scale.cu" "$lab"
expect 120 "PASS         scale_correct"
echo "graded again $((($(date +%s%N) - start) / 1000000)) ms after the save"
expect 10 "PASS         scale_wide"
page=$source/report/see/99_trial.html
for ((tries = 200; tries > 0; tries--)); do
  [[ ! $source/report/index.html -nt $page || ! $page -nt $lab/scale.cu ]] || break
  sleep 0.1
done
((tries > 0)) || { echo "neither the report nor its warp view is written again"; ls -l --time-style=full-iso "$source/report" "$page"; exit 1; }
"$(dirname "$0")/tab_test.sh" "$source/report" 99_trial
! grep -q scale_host_correct "$log" || { echo "shows what did not change"; cat "$log"; exit 1; }
: >"$log"
echo 'oops' >>"$lab/scale.cu"
expect 120 "BUILD ERROR"
grep -q "'oops'\|‘oops’" "$log" || { cat "$log"; exit 1; }
for ((tries = 100; tries > 0; tries--)); do
  ! grep -qF "Nothing is drawn until your kernels compile." "$source/report/index.html" || break
  sleep 0.1
done
((tries > 0)) || { echo "the report does not say why there is no warp view"; exit 1; }
says "next: fix the build" list
: >"$log"
cp "$solution/scale.cu" "$lab"
expect 120 "PASS         scale_correct"
! grep -q scale_host_correct "$log" || { echo "shows what did not change"; cat "$log"; exit 1; }
# A mistake that is undone while it is being graded: the last verdict must be about the current file.
: >"$log"
echo 'oops' >>"$lab/scale.cu"
expect 120 "BUILD ERROR"
cp "$solution/scale.cu" "$lab"
for ((tries = 300; tries > 0; tries--)); do
  ! tac "$log" | sed '/ saved$/q' | grep -qE "nothing changed|PASS +scale_correct" || break
  sleep 0.1
done
((tries > 0)) || { echo "a mistake that was taken back stays"; cat "$log"; exit 1; }
# A case that has changed is built, and the next save is graded by it.
: >"$log"
echo "// $$" >>"$lab/../judge/cases.cpp"
{ cat "$kept/scale.cpp"; echo "// by the new cases"; } >"$lab/scale.cpp"
expect 120 "starting again"
expect 120 "graded in"
# The first grading checks nothing with a second seed, since another item fails. The second one reuses its result, and checks that.
for_usual_sizes
: >"$log"
expect 120 "graded in"
cp "$solution/scale.cpp" "$lab"
expect 120 "WRONG        scale_correct"
cp "$solution/scale.cu" "$lab"
expect 120 "PASS         scale_correct"
# On a busy machine the throughput may be INCONCLUSIVE, so that the lab does not pass. Each try saves a different text.
for try in 1 2 3 4 5; do
  : >"$log"
  { cat "$solution/scale.cpp"; echo "// $try"; } >"$lab/scale.cpp"
  expect 120 "graded in"
  sleep 0.5
  ! grep -qF "lab 99 is passed" "$log" || break
done
expect 1 "lab 99 is passed"
expect 10 "solutions/99_trial/WORKLOG.md"
! grep -q $'\033' "$log" || { echo "escape sequences in a pipe"; exit 1; }
kill $watch
wait $watch || { echo "a passed lab ends with 0"; exit 1; }
watch=
says "you have passed all labs" next
# A case with larger arrays than the one before it needs a new process: the page has the launches of both.
sed '0,/^\[\[item\]\]/s//[[item]]\nid = "small"\ntitle = "a small case"\nkind = "counters"\npoints = 1\ncase = "scale\/1021"\nrequire = [{ counter = "kernels launched", max = 1 }]\n\n&/; s/^points = 25/points = 24/' \
  "$kept/judge/rubric.toml" >"$lab/../judge/rubric.toml"
says "the warp view: " see 99
for grid in 1 256; do grep -qF "\"grid\":[$grid,1,1]" "$page" || { echo "the page lacks the launch of $grid blocks"; exit 1; }; done
cp "$kept/judge/rubric.toml" "$lab/../judge"
SIM_BUDGET=soon says "scale loads and stores one float4.*PASS" lab 99  # a program of your own would refuse it
# The second seed finds the mistake, and --seed finds it again.
for_usual_sizes
"$grader" lab 99 "${common[@]}" >"$log" 2>&1 || true
seed=$(tr -s '\n ' ' ' <"$log" | grep -oP 'correct for the usual sizes and inputs, but not for others.*--seed \K[0-9]+') || { cat "$log"; exit 1; }
says "^[^ ]*: WRONG  scale_correct.*" lab 99 scale_correct  # the second seed, for one item, too
says "of [0-9]* cases fail.*scale/" lab 99 --seed "$seed"  # 12 cases; with a GPU 24
cp "$solution/scale.cu" "$lab/scale.cu"
says "scale.cu: reset" reset 99
cmp "$lab/scale.cu" "$kept/scale.cu"
cmp "$source"/backups/99_trial-*/scale.cu "$solution/scale.cu"
rm "$lab/scale.cu"
says "scale.cu: reset" reset 99
cmp "$lab/scale.cu" "$kept/scale.cu"
# A student's file where hand-in files were in older versions.
cp "$solution/scale.cu" "$lab/.."
says "labs/99_trial/scale.cu: hand-in files now belong in labs/99_trial/handin; move scale.cu there, or delete it" lab 99
rm "$lab/../scale.cu"
git -C "$source" update-ref refs/course/start "$(git -C "$source" hash-object -t tree --stdin </dev/null | xargs git -C "$source" -c user.name=test -c user.email=test@localhost commit-tree -m older)"
says "the version of the course that you began with has no labs/99_trial/handin" reset 99
# Without git, ./course setup has packed the original files.
rm -rf "$source/.git"
(cd "$source" && tar -czf backups/start.tar.gz labs/99_trial)
echo '// mine' >>"$lab/scale.cu"
says "scale.cu: reset" reset 99
cmp "$lab/scale.cu" "$kept/scale.cu"
# What is saved while it is compiled is graded, too: here the skeleton is read, and the solution saved right after that.
sleep 1
echo "// unlike any that was compiled before: $$" >>"$lab/scale.cu"
mkdir "$kept/tmp"
TMPDIR=$kept/tmp "$grader" lab 99 "${common[@]}" >"$log" 2>&1 &
watch=$!
for ((tries = 600; tries > 0; tries--)); do
  [[ -z $(find "$kept/tmp" -name '*.lowered.cpp') ]] || break
  sleep 0.05
done
cp "$solution/scale.cu" "$lab"
wait $watch || true  # the files are the skeleton's again
watch=
grep -q "scale loads and stores one float4.*PASS" "$log" || { echo "graded what was there before"; cat "$log"; exit 1; }
# A terminal that hangs up ends it, even without a signal (nohup).
(trap '' HUP; exec script -qfc "echo \$\$ >$kept/pid; exec $grader watch 99 ${common[*]}" "$log" </dev/null >/dev/null) &
watch=$!
expect 120 "[q] quit"
kill -9 $watch
watch=$(cat "$kept/pid")
for ((tries = 100; tries > 0; tries--)); do kill -0 "$watch" 2>/dev/null || break; sleep 0.1; done
((tries > 0)) || { echo "watch runs on without a terminal"; exit 1; }
watch=
