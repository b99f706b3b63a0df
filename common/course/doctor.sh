# usage: ./course doctor
# Says what this machine can do: its processor, compilers and GPU, which points of each lab it can assess, and whether it can
# grade officially. For each thing that is missing it says what you lose and how to get it. Changes nothing.
cmd_doctor() {
  local bad=0
  row() { printf '%-3s %-16s %s\n' "$1" "$2" "$3"; }  # unless much is missing, all rows fit in 24 lines of 80 columns
  # check NAME COMMAND WHAT-IT-COSTS HOW-TO-GET-IT [required]
  check() {
    local found
    if found=$(eval "$2" 2>/dev/null | head -n 1) && [[ -n $found ]]; then
      row ok "$1" "$found"
    else
      row "${5:+NO}" "$1" "missing: $3. $4"
      [[ -z ${5:-} ]] || bad=1
    fi
  }
  echo "Roofline Labs $(head -n 1 VERSION), on $( (. /etc/os-release && echo "$PRETTY_NAME") 2>/dev/null || uname -s)"
  local arch flags model vectors="unknown vectors" official=""
  arch=$(uname -m)
  flags=" $(grep -m 1 -E '^(flags|Features)' /proc/cpuinfo 2>/dev/null) "
  model=$(lscpu 2>/dev/null | sed -n 's/^Model name: *\([^ -].*\)/\1/p' | head -n 1)  # missing on some Arm machines
  case $arch$flags in
    x86_64*' avx512f '*) vectors="AVX-512" ;;
    x86_64*' avx2 '*) vectors="AVX2" ;;
    x86_64*) vectors="SSE2" ;;
    *' sve '*) vectors="SVE" ;;
    aarch64*) vectors="NEON" ;;
  esac
  row "$([[ $arch == @(x86_64|aarch64) ]] && echo ok || echo NO)" "processor" "${model:-unknown model}, $(nproc) cores, $arch, $vectors"
  case $arch in
    x86_64) ;;
    aarch64) row "" "" "the course was tried on an emulated Arm processor only; ./course debug is not available" ;;
    *) row "" "" "the course runs on x86_64 and aarch64 only"; bad=1; official="the sandbox allows x86_64 and aarch64 only" ;;
  esac
  [[ $(stat -f -c %T . 2>/dev/null) != v9fs ]] ||
    row "" "folder" "on a disk of Windows, where a build is slow: clone the course into your home in WSL instead"
  # too_old NAME VERSION LEAST: prints a row if VERSION is older than LEAST
  too_old() {
    [[ -n $2 ]] && ! at_least "$2" "$3" || return 0
    row NO "" "$1 $2 is too old: the course needs $3 or newer. common/docs/PLATFORMS.md says what works here"
    bad=1
  }
  # get PACKAGE: how to install it
  get() { if [[ -n $has_apt ]]; then echo "apt-get install $1"; else echo "install ${1%-nox}"; fi; }
  local compiler=${CXX:-g++}
  [[ -n ${CXX:-} ]] || command -v g++ >/dev/null || compiler=clang++
  check "C++ compiler" "'$compiler' --version" "nothing works without it" "./course setup installs it" required
  if [[ $("$compiler" --version 2>/dev/null) == *clang* ]]; then
    too_old clang "$("$compiler" -dumpversion)" 14
  else
    too_old g++ "$("$compiler" -dumpversion 2>/dev/null)" 12
  fi
  check "CMake, Ninja" 'echo "$(cmake --version | sed -n "s/cmake version //p"), $(ninja --version)"' "nothing works without them" "./course setup installs them" required
  too_old CMake "$(cmake --version 2>/dev/null | sed -n 's/^cmake version \([0-9.]*\).*/\1/p')" $least_cmake
  local missing
  if [[ -n $has_apt ]]; then
    mapfile -t missing < <(missing_of "${packages[@]}")
    if ((${#missing[@]})); then
      row NO "packages" "${#missing[@]} of ${#packages[@]} missing. ./course setup names and installs them"
      bad=1
    else
      row ok "packages" "all ${#packages[@]} installed"
    fi
  elif [[ -d $prebuilt/root ]]; then
    row ok "packages" "this bundle brings compiler, CMake and libraries"
  fi
  check "gnuplot" "gnuplot --version" "the report has no roofline plot" "$(get gnuplot-nox)"
  local toolkit
  toolkit=$(nvcc --version 2>/dev/null | sed -n 's/^Cuda compilation tools, release \([0-9.]*\).*/\1/p' || true)
  if [[ -n $toolkit ]] && ! at_least "$toolkit" 12.6; then  # the same minimum as in common/cmake/Cuda.cmake
    row "" "CUDA toolkit" "$toolkit is too old: device parts run on the simulated device only. A GPU needs 12.6 or newer, with CUPTI"
    toolkit=""
  else
    check "CUDA toolkit" "echo $toolkit" \
      "only for a GPU" "developer.nvidia.com/cuda-downloads"
  fi
  check "GPU" "nvidia-smi -L" "its throughput is not assessed" "Any NVIDIA GPU since 2018"
  local driver=${NVIDIA_PARAMS:-/proc/driver/nvidia/params} capabilities
  if [[ -r $driver ]]; then
    capabilities=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)
    # Root in a container lacks CAP_SYS_ADMIN (21), which the driver requires.
    if (((16#${capabilities:-0} >> 21) & 1)) || grep -q 'RmProfilingAdminOnly: 0' "$driver"; then
      row ok "GPU counters" "readable"
    else
      row "" "GPU counters" "not readable$([[ $EUID != 0 ]] && echo " by this user" || echo ": root lacks CAP_SYS_ADMIN here"), so the simulated device counts. To allow it, load the driver with NVreg_RestrictProfilingToAdminUsers=0"
    fi
  fi
  # Try the smallest sandbox: even if bubblewrap is installed, this machine may not let it create one.
  local box="bwrap --unshare-user --unshare-pid --unshare-net --disable-userns --ro-bind / / true"
  $box 2>/dev/null || official="${official:+$official, and }there is no sandbox"
  local how
  how=$(get bubblewrap)
  ! command -v bwrap >/dev/null || how="bubblewrap is installed, but this machine forbids it: sysctl kernel.unprivileged_userns_clone=1; since
                     Ubuntu 24.04 also kernel.apparmor_restrict_unprivileged_userns=0; containers may forbid it anyway"
  check "sandbox" "$box && bwrap --version" "./course grade refuses to run without --unsafe" "$how"
  check "Thrust" "sed -n 's/.*define THRUST_VERSION \([0-9]*\).*/version \1/p' /usr/include/thrust/version.h" \
    "for thrust/ only" "$(get libthrust-dev)"
  check "browser" "command -v xdg-open chromium firefox" "to see reports here" "$([[ -n $ubuntu ]] && echo "snap install chromium" || get chromium)"
  check "gdb" "gdb -batch -ex 'python print(\"gdb\", gdb.VERSION)'" "no ./course debug" "$(get gdb)"
  check "Doxygen" "doxygen --version" "no course site" "./course docs installs it"
  check "Marp" "$build/marp/node_modules/.bin/marp --version" "decks stay Markdown" "./course slides installs it"
  check "Slurm" "command -v sbatch" "only for classes on a cluster" "Ask its administrators"
  # A throughput item with one of these ceilings is timed on a GPU.
  local gpu=no rubric points here="" capability
  [[ -z $toolkit ]] || ! nvidia-smi -L >/dev/null 2>&1 || gpu=yes
  capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | sort -V | head -n 1 || true)
  [[ $capability =~ ^[0-9]+\.[0-9]+$ ]] && ! at_least "$capability" 8.0 || capability=""
  for rubric in labs/[0-9]*/judge/rubric.toml; do
    points=100
    [[ $gpu == yes && ! ($capability && $rubric == labs/@(09|11)_*) ]] || points=$(awk '/^points = /{ p = $3 } /^ceiling = "(copy|cublas|cublas_aligned)"/{ gone += p } END { print 100 - gone }' "$rubric")
    here+="${here:+, }$(basename "$(dirname "$(dirname "$rubric")")" | cut -c1-2): $points"
  done
  row "" "labs here" "points of 100 that can be assessed: $here"
  if [[ $gpu == yes && -n $capability ]]; then
    row "" "" "labs 09 and 11 need compute capability 8.0 on a GPU, and this one has $capability; for them use the simulated device alone:"
    row "" "" "rm -rf build; cmake --preset default -DLABS_CUDA=OFF"
  fi
  [[ $gpu == yes ]] || row "" "" "the rest is throughput on a GPU; other device code is simulated"
  local folder=$PWD
  while ((EUID == 0)) && [[ $folder != / ]]; do  # official grading runs sandboxes as other users
    (( $(stat -c %a "$folder") & 1 )) || official="${official:+$official, and }other users, as which submissions run, cannot read $folder (chmod o+rx)"
    folder=$(dirname "$folder")
  done
  row "$([[ -z $official ]] && echo ok)" "official grading" "${official:+not possible: $official}$([[ -n $official ]] || echo "possible: ./course grade")"
  return $bad
}
