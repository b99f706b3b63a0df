#!/usr/bin/env bash
# Every command that a guide or handout shows must be run by a test. The list below names the test for each; a command that is
# not listed fails. `here` is this test, in a copy of the files that a ./course command touches, with 03 for NN and the file
# named after it; `there` is this test in the build itself; `gpu` is skipped without a GPU. A ./course command for a GPU uses
# the test of the same command on the simulated device. Without a sandbox, nothing is graded here.
# usage: shown_test.sh SOURCE BUILD GRADER SIMCC
set -euo pipefail
source=$1 build=$2 grader=$3 simcc=$4
list='
doctor                                                  here
setup                                                   here
setup --packages                                        here
list                                                    here
history                                                 here
next                                                    here
reset NN                                                here
update                                                  update
update --from FILE                                      update
update --to 1.0.1                                       update
update --undo                                           update
run FILE.cu                                             here FILE.cu=program.cu
run columns.cu                                          here
run multiply.cu                                         here
run FILE.cu --budget 60                                 here FILE.cu=program.cu
run FILE.cu --devices 4                                 here FILE.cu=program.cu
run FILE.cu --schedule 1                                here FILE.cu=program.cu
run FILE.cu -- ARGUMENTS                                here FILE.cu=program.cu
run labs/13_when_it_crashes/crashed/kv_scores.cu -- NAME   lab13.crashed
run labs/13_when_it_crashes/handin/kv_scores.cu -- NAME    lab13.crashed
run $FILE -- NAME; done                                 lab13.crashed
run labs/13_when_it_crashes/crashed/prefix_hits.cpp -- NAME   lab13.crashed
run labs/13_when_it_crashes/crashed/prefix_hits.cpp -g -O1 -Xcompiler -fsanitize=address -- NAME   lab13.crashed
findings NN                                             here
see FILE.cu                                             here FILE.cu=program.cu
see NN                                                  here
debug FILE.cu                                           here FILE.cu=program.cu
debug FILE.cu -- ARGUMENTS                              here FILE.cu=program.cu
debug labs/13_when_it_crashes/crashed/kv_scores.cu -- NAME   here
debug NN ITEM                                           here
debug common/sim/tests/debugger/faults.cu -- 0          sim.debugger
debug --dump FILE                                       sim.debugger
debug FILE --build                                      sim.debugger
simcc                                                   here
grade submissions/ --lab NN --jobs 2                    here
grade submissions/ --lab NN --jobs 4                    here
grade submissions/ --lab NN --round deadline            here
grade submissions/ --lab NN --round predictions         here
report --store grades.sqlite                            here
export --format gradescope                              here
export --format canvas --gradebook exported.csv --column "Lab 3"   here
new-lab NN sparsity                                     here
bundle                                                  bundle
lab                                                     help
run                                                     help
grade                                                   help
profile                                                 help
new-lab                                                 help
lab NN                                                  docs.watch
lab NN ITEM                                             docs.watch
watch NN                                                docs.watch
hint NN                                                 docs.watch
hint NN ITEM                                            docs.watch
demo --all                                              lab03.expected
demo NN                                                 lab03.expected
demo NN --all                                           lab03.expected
profile FILE.cu                                         profile.command.sim
profile FILE.cu --flame                                 profile.command.flame
profile PROGRAM                                         profile.command.gpt2
profile PROGRAM --flame                                 profile.command.flame
profile timeline                                        lab12.timeline
profile train                                           lab14.train.profile
profile gpt2                                            profile.command.gpt2
profile gpt2 --backend sim -- --pass cuda --random tiny --batch 2 --time 32   profile.command.gpt2
profile gpt2 -- --my-ranges                             gpt2.other_labs.sim
profile gpt2 --prompt "A warp reads"                    profile.command.prompt
profile llama                                           profile.command.llama
profile llama --prompt "A warp reads"                   profile.command.llama_text
profile llama --backend sim -- --pass parts             llama.sim
profile common/tests/programs/profile_demo.cu --backend cuda --output build/profile/demo -- 512   profile.command.sim
docs                                                    docs.site
slides                                                  docs.slides
test                                                    .ci/run
test --all                                              .ci/run
ctest --preset labs -L labNN                            there
ctest --preset labs                                     editor
ctest --preset labs -L lab42                            lab99.expected
cmake --build build && ctest --test-dir build -R lab42  lab99.expected
cmake --build build --target lab02.student.sim.experiment && build/bin/lab02.student.sim.experiment --benchmark_filter=.   there
cmake --build build --target sim_libraries              sim.libraries_test
cmake --build b && ctest --test-dir b                    sim.install
cmake --install b --prefix DIR && DIR/bin/simcc FILE.cu -o PROGRAM   sim.install
ctest --test-dir build -L docs                          docs.links
ctest --test-dir build -L release                       bundle
ctest --test-dir build -L profiler --output-on-failure  profile
cmake --build build --target lab02.student.sim.experiment && build/bin/lab02.student.sim.experiment   there
cmake --build build --target lab07.student.sim.experiment   there
build/bin/lab07.student.sim.experiment                  lab07.experiment
cmake --build build --target lab15.student.sim.experiment && build/bin/lab15.student.sim.experiment day 500   there
cmake --build build --target lab15.student.endpoint && build/bin/lab15.student.endpoint --requests 192   lab15.endpoint
SIM_DEVICE=rtx3060 build/bin/lab07.student.sim.experiment   there
cmake --build build --target lab07.student.sim.bench    there
build/bin/lab07.student.sim.bench --benchmark_filter=narrow_gemm/384   there
build/bin/gpt2.sim --help                               there
cmake --build build --target gpt2.sim                   there
build/bin/gpt2.sim --pass cuda --random tiny --batch 2 --time 32 --trace   there
build/bin/gpt2.sim --pass cuda --random tiny --batch 2 --time 32 --trace --graph   there
build/bin/gpt2.sim --pass cuda --random tiny --batch 2 --time 32 --count   there
build/bin/gpt2.solution.sim --pass cuda --random tiny --batch 2 --time 32 --two-blocks --count   gpt2.count
build/bin/gpt2.solution.sim --pass cuda --random tiny --batch 2 --time 32 --two-blocks --trace   gpt2.trace
build/bin/gpt2.solution.sim --pass cuda --random tiny --batch 2 --time 32 --two-blocks --trace --graph   gpt2.trace.graph
cmake --build build --target train.sim && build/bin/train.sim   lab14.train
build/bin/train.sim --keep 2 --steps 3                  lab14.train
build/bin/train.cuda --model d12 --batch 4 --length 1024   gpu
cmake --build build --target lab11.backward.sim && build/bin/lab11.backward.sim   lab11.backward.sim
cmake --build build --target lab09.hopper.sim && build/bin/lab09.hopper.sim       lab09.hopper.sim
cmake --build build --target lab09.loss && build/bin/lab09.loss   there
cmake --build build --target lab11.hopper.sim && build/bin/lab11.hopper.sim       lab11.hopper.sim
build/bin/grader lab NN --submission wrong-hangs        lab03.expected
build/bin/grader lab NN --submission wrong-hangs --show   there
build/bin/grader check                                  rubrics
build/bin/grader check --write                          rubrics
build/bin/grader attacks                                attacks
build/bin/grader honest                                 honest
build/bin/grader mutants NN --sample 100 --jobs 2       mutants
build/bin/grader gradescope-zip NN                      gradescope
cmake --build build --target tidy                       .github/workflows/ci.yml
cmake --build build --target gpt2.cuda                  gpu
build/bin/gpt2.cuda                                     gpu
cmake --preset default && cmake --build build --target profile_device_test.cuda profile_gpu_test nvtx_test   gpu
'
declare -A how
while read -r line; do
  [[ -z $line ]] || how[${line%%  *}]=${line##*  }
done <<<"$list"

# A checkout with the files that these commands read and write, and a build that is always up to date.
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"
mkdir -p "$place"/{autograder/src,common/sim,solutions,slides,build/bin,submissions/ann}
cp -r "$source"/{course,VERSION,labs} "$place"
cp -r "$source"/common/{update.sh,course} "$place/common"
cp -r "$source"/autograder/{CMakeLists.txt,template} "$place/autograder"
cp -r "$source"/common/sim/{debugger,devices} "$place/common/sim"
cp "$source/common/sim/tests/programs/vector_add.cu" "$place/program.cu"
cp "$place/program.cu" "$place/columns.cu"  # the handout of lab 06 has it
cp "$place/program.cu" "$place/multiply.cu"  # the handout of lab 09 has it
{
  echo 'cmake_minimum_required(VERSION 3.22)'
  echo 'project(shown NONE)'
  (cd "$source/labs" && printf 'add_custom_target(%s)\n' grader grader-class course-tools simcc $(for lab in [0-9][0-9]_*; do echo "lab${lab%%_*}.staff lab${lab%%_*}.student.sim.debug"; done))
} >"$place/CMakeLists.txt"
cmake -S "$place" -B "$place/build" -G Ninja >/dev/null
ln -s "$simcc" "$place/build/bin/simcc"
ln -s "$build/bin/lab99.student.sim.debug" "$place/build/bin/lab03.student.sim.debug"
printf '#!/bin/sh\nexec %q "$@" --source %q --build %q --report %q\n' "$grader" "$place" "$build" "$place/build/report" >"$place/build/bin/grader"
chmod +x "$place/build/bin/grader"
ln -s grader "$place/build/bin/grader-class"
printf '#!/bin/sh\nexec %q --source %q --build %q "$@"\n' "$build/bin/course-tools" "$place" "$place/build" >"$place/build/bin/course-tools"
chmod +x "$place/build/bin/course-tools"
printf 'Student,ID,SIS Login ID,Section,Lab 3 (1)\nPoints Possible,,,,85\n"Ann",1,ann,1,\n' >"$place/exported.csv"
cd "$place"
git init -q . && git add labs && git -c user.name=test -c user.email=test@localhost commit -qm start

bad=0 sandbox=yes whole=yes
# A student's copy lacks the tests of solutions and decks; builds in other folders lack the tests that need build/.
[[ -d $source/solutions && -d $source/slides && $build == "$source/build" ]] && command -v python3 >/dev/null || whole=no  # some tests need Python
complain() { echo "$*"; bad=1; }
cd "$source"
mapfile -t pages < <(find . \( -name 'build*' -o -name '.*' ! -name . -o -path ./autograder/template -o -path ./slides \) -prune -o -name '*.md' -print | sort)
shown=$(grep -ohE '\./course [a-z][^`|#]*|(ctest|cmake) --?[a-z][^`|#]*|(^|[^& ] *)([A-Z_]+=[a-z0-9]+ )?build/bin/[a-z][^`|#]*' "${pages[@]}" |
  sed -E 's|^\./course ||; s/^[^a-zA-Z]+//; s/[ \\]+$//; s/\b([01][0-9]|42)\b/NN/; s/lab[01][0-9]$/labNN/' | sort -u)
tests=$(ctest --test-dir "$build" -N)
cd "$place"
# In the order of the list: grading comes before reporting.
while read -r line; do
  command=${line%%  *}
  [[ -n $command ]] && grep -qxF -- "$command" <<<"$shown" || { [[ -z $command ]] || complain "$command: no page shows it any longer"; continue; }
  case ${how[$command]} in
    here*)
      if [[ $command =~ ^(grade|report|export) && $sandbox == no ]]; then echo "./course $command: left out, no sandbox here"; continue; fi
      if [[ $command == debug* ]] && ! command -v gdb >/dev/null; then echo "./course $command: left out, no gdb here"; continue; fi
      typed=${command/NN/03}
      typed=${typed/ITEM/tiled_correct}
      [[ $command != new-lab* ]] || typed=${command/NN/42}
      if [[ $command == findings* ]]; then
        typed=${command/NN/13}
        sed -i 's/^student = ""/student = "ann"/' labs/13*/handin/findings.toml
      fi
      [[ ${how[$command]} != *=* ]] || typed=${typed/FILE.cu/${how[$command]#*=}}
      start=$(date +%s%N)
      status=0
      eval "./course $typed" >log 2>&1 </dev/null || status=$?
      ((status == 0)) || { cat log; complain "./course $typed: ended with $status"; }
      if [[ $command == doctor ]]; then
        grep -q '^ok *sandbox' log || sandbox=no
        [[ $(fold -w 80 log | wc -l) -le 24 && $(head -n 1 log) == "$(./course --version), on "* ]] || complain "./course doctor: more than a screen, or no version"
        for part in processor compiler GPU 'labs here .*03: ' 'official grading .*possible'; do
          grep -qE "$part" log || complain "./course doctor does not show: $part"
        done
      fi
      echo "./course $typed: $((($(date +%s%N) - start) / 1000000)) ms" ;;
    there)
      [[ $whole == yes ]] || continue
      typed=${command/NN/03} status=0
      # Other tests build, too; a lab's own tests take the lock themselves.
      [[ $typed != cmake* ]] || typed="flock build/building.lock bash -c '$typed'"
      (cd "$source" && export BENCHMARK_MIN_TIME=0.01 && eval "$typed") >log 2>&1 </dev/null || status=$?
      # An unsolved lab fails its tests, but all of them must run without a crash.
      if [[ $typed == ctest* && $status == 8 ]] && ! grep -qE 'Not Run|Exception|SEGFAULT|Timeout|No tests' log; then status=0; fi
      ((status == 0)) || { tail -n 40 log; complain "$typed: ended with $status"; } ;;
    gpu) ;;
    help) ./course $command --help >log || complain "./course $command --help: ended with $?" ;;
    .*)
      typed="./course $command"
      [[ $command != cmake* ]] || typed=$command
      grep -qF "$typed" "$source/${how[$command]}" || complain "$typed: ${how[$command]} does not run it" ;;
    *) [[ $whole == no ]] || grep -qE ": ${how[$command]//./\\.}$" <<<"$tests" || complain "$command: there is no test ${how[$command]}" ;;
  esac
done <<<"$list"
while read -r command; do
  [[ -n ${how[$command]:-} ]] || complain "$command: no test runs it; see the list in common/docs/shown_test.sh"
done <<<"$shown"
[[ $(./course </dev/null) == *'course watch'* ]] || complain "./course alone does not say what comes next"
made=(build/run/program build/see/program.html labs/42_sparsity/judge/rubric.toml)
[[ $sandbox == no ]] || made+=(grades.sqlite build/report/class/index.html build/report/class/leaderboard.html results.json canvas.csv)
for file in "${made[@]}"; do [[ -s $file ]] || complain "no command made $file"; done

# Paths are relative to where a command is typed.
if [[ $sandbox == yes ]]; then
  mkdir -p "$place/elsewhere/class/bob" && cd "$place/elsewhere"
  echo '#error nothing needs to run' >class/bob/column_sums.cpp
  ../course grade class --lab 03 --store own.sqlite >../log 2>&1 && ../course report --store own.sqlite --output pages >>../log 2>&1 ||
    { cat ../log; complain "./course grade and report fail in another folder"; }
  for file in own.sqlite pages/index.html; do [[ -s $file ]] || complain "./course made $file somewhere else"; done
fi
exit $bad
