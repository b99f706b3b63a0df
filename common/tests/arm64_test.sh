#!/usr/bin/env bash
# arm64_test.sh PART SOURCE BUILD: the course on 64-bit Arm, cross-built and run by qemu-user.
#   sim     the simulator's unit tests, the goldens, and both compared with the counts and results of this machine's build
#   grader  lab 03: solution, skeleton and wrong submissions
# Compilers run natively: only what they build is emulated. Exit code 77: impossible here; prints what is missing.
set -euo pipefail
part=$1 source=$2 native=$3
arm=$native/arm64

skip() { echo "SKIPPED: $*"; exit 77; }
declare -A may_take=([sim]=900 [grader]=300)  # seconds
[[ -z ${TESTS_END:-} ]] || (($(date +%s) + may_take[$part] < TESTS_END)) || skip "LEFT OUT: 1 test; it may take ${may_take[$part]} s"
[[ $(uname -m) == x86_64 ]] || skip "this machine is not x86-64, so there is nothing to cross-build"
for program in aarch64-linux-gnu-g++-12 qemu-aarch64-static apt-get; do
  command -v "$program" >/dev/null || skip "$program is missing: apt-get install g++-12-aarch64-linux-gnu qemu-user-static"
done
# If a program starts another, the kernel must recognize Arm programs.
starts_programs=$(grep -qsx enabled /proc/sys/fs/binfmt_misc/qemu-aarch64 && echo yes || true)
"$source/common/cmake/arm64/sysroot.sh" "$arm/root" ||
  skip "Debian's packages for arm64 cannot be had here"

build() {
  if [[ ! -f $arm/build.ninja ]]; then
    cmake -G Ninja -S "$source" -B "$arm" -DCMAKE_TOOLCHAIN_FILE="$source/common/cmake/arm64/toolchain.cmake" \
      -DLAB_ARM64="$arm/root" -DCMAKE_LINKER="$(command -v aarch64-linux-gnu-ld)" -DCMAKE_OBJCOPY="$(command -v aarch64-linux-gnu-objcopy)" -DLABS_CUDA=OFF -DCMAKE_BUILD_TYPE=Release >"$arm/configured.log" 2>&1 ||
      { cat "$arm/configured.log"; exit 1; }
  fi
  cmake --build "$arm" --target "$@" -- -j2 >"$arm/built.log" 2>&1 || { tail -n 60 "$arm/built.log"; exit 1; }
}
emulate() { qemu-aarch64-static -L "$arm/root/root" "$@"; }
export QEMU_LD_PREFIX=$arm/root/root  # for programs that other programs start
export SIM_THREADS=2                  # each costs the emulator a second

case $part in
sim)
  units=(assembly_test lower_test devices_test async_test blas_test checkers_test cub_test device_test fp8_test groups_test
    hopper_test intrinsics_test launches_test libraries_test memory_test mma_test order_test ptx_test runtime_test streams_test textures_test
    waits_test goldens_test)
  build simcc "${units[@]/#/sim_}"
  for unit in "${units[@]}"; do
    filter="-GoldensTimed.*"
    [[ $starts_programs ]] || filter+=:Kernels.AssertEndsTheLaunch
    # Runs blocks in order, so that the goldens' counts are the same each time.
    SIM_THREADS=$([[ $unit == goldens_test ]] && echo 1 || echo 2) emulate "$arm/bin/sim_$unit" \
      "--gtest_filter=$filter" --gtest_brief=1 >"$arm/$unit.log" 2>&1 || { cat "$arm/$unit.log"; exit 1; }
    echo "$unit: $(grep -o 'PASSED.*' "$arm/$unit.log")"
  done

  # Counts and results must equal this machine's. Instructions and predicated branches come from the compiler's code
  # for each processor, and the modelled time follows them.
  SIM_THREADS=1 "$native/bin/sim_goldens_test" '--gtest_filter=Goldens.*' --gtest_brief=1 >/dev/null
  same='!/,(smsp__inst_executed.sum|smsp__inst_executed_op_shared_..\.sum|smsp__thread_inst_executed.*|gpu__time_duration.sum),/'
  compared=$(awk "$same" "$native/common/sim/goldens_errors.csv" | tee "$arm/goldens.x86-64" | wc -l)
  awk "$same" "$arm/common/sim/goldens_errors.csv" | diff "$arm/goldens.x86-64" - ||
    { echo "counters differ from x86-64's"; exit 1; }
  echo "goldens: $((compared - 1)) counters besides those that must agree with hardware are equal on both processors"
  program=$source/common/sim/tests/results_program.cu
  if grep -qw fma /proc/cpuinfo; then
    "$native/bin/simcc" "$program" -o "$arm/results.x86-64"
    emulate "$arm/bin/simcc" "$program" -o "$arm/results.arm64"
    "$arm/results.x86-64" >"$arm/results.x86-64.txt"
    emulate "$arm/results.arm64" | diff "$arm/results.x86-64.txt" - || { echo "results differ from x86-64's"; exit 1; }
    echo "results: $(wc -l <"$arm/results.x86-64.txt") kernels, equal bit for bit"
  fi
  # Kernels compiled for the debugger, line by line.
  emulate "$arm/bin/simcc" -G -g "$source/common/sim/tests/programs/merge_sort.cu" -o "$arm/merge_sort"
  SIM_DEBUG=1 emulate "$arm/merge_sort"
  ;;
grader)
  [[ $starts_programs ]] || skip "the kernel does not know Arm's programs; as root, .ci/run registers qemu-aarch64"
  mkdir -p "$arm/root/bin"
  for tool in as ld objcopy addr2line; do ln -sf "$(command -v "aarch64-linux-gnu-$tool")" "$arm/root/bin/$tool"; done
  build grader lab03.staff
  PATH=$arm/root/bin:$PATH "$arm/bin/grader" --timeout 30 demo --lab 03 --again --jobs 2  # the emulator is slow
  ;;
esac
