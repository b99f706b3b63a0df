#!/usr/bin/env bash
# A build tree inside an image: made once, used by a folder with the same path, whose files may differ.
#   tree.sh make PREBUILT TARGET...   builds the course, and fills the compiler cache in PREBUILT; does begin, the build and keep
#   tree.sh begin PREBUILT            before the build: records the content of each file of the course
#   tree.sh keep PREBUILT             after it: moves build/ there
#   tree.sh take PREBUILT             copies it to build/. Ninja then compiles what differs or was built for another processor.
# Ninja compares times, and all files of a fresh clone are new. So files with the recorded content get a time before that
# build, and all others the current time.
set -euo pipefail
tree=$2/build
processor() { "${CXX:-c++}" -march=native -x c++ -E -v /dev/null 2>&1 | grep -e -cc1 -e cc1plus; }  # the processor as the compiler sees it

case $1 in
  make)
    mkdir -p "$2/ccache"
    "$0" begin "$2"
    prebuilt=$2
    . common/prebuilt/env.sh  # otherwise objects go to a cache that ./course does not use
    ./course setup
    cmake --build build --target "${@:3}"
    [[ $(find "$2/ccache" -type f -size +1k | wc -l) -gt 100 ]] || { echo "$2/ccache is empty: was ccache used?" >&2; exit 1; }
    "$0" keep "$2" ;;
  begin)
    find . \( -path './build*' -o -path ./backups -o -path ./.git \) -prune -o -type f -print0 | xargs -0 sha256sum >"$2/sources" ;;
  keep)
    processor >"$2/processor"
    pwd >"$2/folder"
    rm -rf "$tree"
    # With CUDA, CMake detects the GPU when it configures, on the machine that has it.
    if grep -q '^CMAKE_CUDA_COMPILER:.*=/' build/CMakeCache.txt; then rm -rf build; else mv build "$tree"; fi ;;
  take)
    [[ -d $tree && ! -e build && $(cat "$2/folder") == "$PWD" ]] || exit 1
    compared=$(sha256sum -c "$2/sources" 2>/dev/null || true)
    mapfile -t same < <(sed -n 's/: OK$//p' <<<"$compared")
    mapfile -t other < <(sed -n 's/: FAILED$//p' <<<"$compared")
    ((!${#other[@]})) || touch -c -- "${other[@]}" || exit 1
    # If another user owns them, they are rebuilt from the compiler cache.
    ((!${#same[@]})) || find "${same[@]}" -newer "$2/sources" -exec touch -c -r "$2/sources" {} + 2>/dev/null || true
    trap 'rm -rf build.part' EXIT
    rm -rf build.part
    cp -r --preserve=timestamps,mode,links "$tree" build.part
    if ! cmp -s <(processor) "$2/processor"; then
      (cd build.part && ninja -t commands | grep -E -e ' -m(arch|cpu)=native ' | sed 's/.* -o \([^ ]*\) .*/\1/' | sort -u | xargs -r rm -f)
    fi
    [[ ! -e solutions ]] || rm -f build.part/build.ninja  # the image has none: CMake must look again
    mv build.part build ;;
esac
