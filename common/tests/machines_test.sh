#!/usr/bin/env bash
# Tests `course` on machines that CI lacks: without apt-get, on Ubuntu 22.04, in a checkout by Git for Windows, in a
# folder with spaces, where packages are missing, in another user's copy, on macOS, with an old compiler, CMake or CUDA toolkit,
# after a compiler that was refused, with a T4, in WSL, on 64-bit Arm, with the build tree of an image, with clang.
# usage: machines_test.sh SOURCE
set -Eeuo pipefail
source=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
trap 'echo "line $LINENO: $BASH_COMMAND"; cat "$place/log" 2>/dev/null' ERR
fail() { echo "$*"; exit 1; }

# --- packages: in a folder with spaces, with only what each test puts on the PATH
folder="$place/my course"
mkdir -p "$folder" "$place/bin"
(cd "$source" && cp --parents course VERSION common/course/progress.sh "$folder")
for tool in bash env sed dirname readlink cat; do ln -s "$(command -v $tool)" "$place/bin/$tool"; done
# fake NAME SCRIPT
fake() { printf '#!/bin/bash\n%s\n' "$2" >"$place/$1" && chmod +x "$place/$1" && mv "$place/$1" "$place/bin"; }
fake sudo 'exec "$@"'
# Ubuntu 22.04 has no toml++, and a bare image has no package lists yet.
fake dpkg-query 'exit 1'
fake apt-cache '[[ ! -e $LOG || $* == *toml* ]] || echo known'
fake apt-get 'echo "$*" >>"$LOG"'
rm -f "$place/log"
LOG=$place/log PATH=$place/bin "$folder/course" setup --packages >"$place/said" 2>&1
grep -q '^install .*libcli11-dev' "$place/log"
! grep -q toml "$place/log" || fail "apt-get was asked for what Ubuntu 22.04 lacks"
rm "$place"/bin/{apt-get,apt-cache,dpkg-query}

# On a system that lacks packages, such as Debian 11, course says what to do instead.
fake dpkg-query 'exit 1'
fake apt-cache 'exit 0'
fake apt-get '[[ $1 != install ]]'
status=0
PATH=$place/bin "$folder/course" setup --packages >"$place/said" 2>&1 || status=$?
((status == 2)) && grep -q 'common/docs/PLATFORMS.md' "$place/said" || fail "where packages are missing: $(cat "$place/said")"
rm "$place"/bin/{apt-get,apt-cache,dpkg-query}

# On macOS and in Git Bash on Windows, course names the guide to read.
for system in darwin23 msys; do
  status=0
  OSTYPE=$system "$folder/course" lab 03 >"$place/said" 2>&1 || status=$?
  ((status == 2)) && grep -q "not on $system.* common/docs/PLATFORMS.md" "$place/said" || fail "on $system: $(cat "$place/said")"
done

# Without apt-get, course says where the packages are listed.
status=0
PATH=$place/bin "$folder/course" setup --packages >"$place/said" 2>&1 || status=$?
((status == 2)) && grep -q 'no apt-get here.*common/docs/PLATFORMS.md' "$place/said" || fail "without a package manager: $(cat "$place/said")"

# --- a copy owned by another user, as sudo ./course leaves it
chmod 755 "$place"
chmod 555 "$folder"
user=()
((EUID != 0)) || user=(setpriv --reuid=65534 --clear-groups)
status=0
PATH=$place/bin:$PATH "${user[@]}" "$folder/course" setup >"$place/said" 2>&1 || status=$?
((status == 2)) && grep -q "sudo chown -R .USER '$folder'" "$place/said" || fail "in another user's copy: $(cat "$place/said")"
chmod 755 "$folder"

# --- a toolkit too old for CUPTI's range profiler, such as Debian 13's
mkdir "$place/cuda"
fake nvcc 'echo "Cuda compilation tools, release 12.4, V12.4.131"'
mv "$place/bin/nvcc" "$place/cuda"
fake bwrap 'exit 1'  # as in a container
mv "$place/bin/bwrap" "$place/cuda"
PATH=$place/cuda:$PATH "$source/course" doctor >"$place/said" || true
grep -q 'CUDA toolkit  *12.4 is too old' "$place/said" || fail "doctor does not say that the toolkit is too old: $(cat "$place/said")"
grep -q 'sandbox .*bubblewrap is installed, but' "$place/said" || fail "doctor does not say that a sandbox is forbidden: $(cat "$place/said")"
grep -q 'labs here .* 13: ' "$place/said" && grep -q 'official grading' "$place/said" || fail "doctor stopped halfway: $(cat "$place/said")"

# --- on an Arm machine, whose kernel does not know the processor's name
fake lscpu 'echo "Model name:   -"'
mv "$place/bin/lscpu" "$place/cuda"
PATH=$place/cuda:$PATH "$source/course" doctor >"$place/said" || true
grep -q 'processor  *unknown model, ' "$place/said" || fail "doctor says of a processor without a name: $(cat "$place/said")"
rm "$place/cuda/lscpu"

# --- in WSL, below /mnt/c
fake stat "[[ \$1 == -f ]] && echo v9fs || exec $(command -v stat) \"\$@\""
mv "$place/bin/stat" "$place/cuda"
PATH=$place/cuda:$PATH "$source/course" doctor >"$place/said" || true
grep -q 'folder .*your home in WSL' "$place/said" || fail "doctor does not say that a disk of Windows is slow: $(cat "$place/said")"
rm "$place/cuda/stat"

# --- doctor, with a compiler and a CMake that are too old
fake g++ '[[ $1 == -dumpversion ]] && echo 11 || echo "g++ (Ubuntu 11.4.0-1ubuntu1) 11.4.0"'
fake cmake 'echo "cmake version 3.18.4"'
mv "$place"/bin/{g++,cmake} "$place/cuda"
! CXX=g++ PATH=$place/cuda:$PATH "$source/course" doctor >"$place/said" || fail "doctor accepts an old compiler"
grep -q 'g++ 11 is too old: the course needs 12' "$place/said" || fail "doctor does not say that g++ is too old: $(cat "$place/said")"
grep -q 'CMake 3.18.4 is too old: the course needs 3.22' "$place/said" || fail "doctor does not say that CMake is too old: $(cat "$place/said")"
rm "$place"/cuda/{g++,cmake}

# --- a compiler that CMake refuses, then one that it accepts
mkdir "$place/two compilers"
(cd "$source" && cp --parents course VERSION CMakePresets.json common/course/progress.sh "$place/two compilers")
cat >"$place/two compilers/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(compilers CXX)
if(CMAKE_CXX_COMPILER MATCHES "old$")
  message(FATAL_ERROR "too old: name another")
endif()
END
for name in old new; do
  fake $name "exec $(command -v c++) \"\$@\""
  mv "$place/bin/$name" "$place/cuda"
done
! CXX=$place/cuda/old "$place/two compilers/course" setup >"$place/said" 2>&1 || fail "accepted a compiler that CMake refuses"
CXX=$place/cuda/new "$place/two compilers/course" setup >"$place/said" 2>&1 || fail "after a refused compiler, another is refused: $(cat "$place/said")"

# --- every file names the same minimum CMake, and none needs a newer one
least=$(sed -n 's/^least_cmake=\([0-9.]*\).*/\1/p' "$source/course")
grep -q "^cmake_minimum_required(VERSION $least)" "$source/CMakeLists.txt" && grep -q '"cmakeMinimumRequired": { "major": 3, "minor": '"${least#3.}"',' "$source/CMakePresets.json" ||
  fail "course needs CMake $least, but CMakeLists.txt or CMakePresets.json name another version"
mapfile -t cmake_files < <(cd "$source" && find CMakeLists.txt common autograder labs $(ls -d solutions slides 2>/dev/null) -name CMakeLists.txt -o -name '*.cmake')
# 3.23: FILE_SET; 3.24: --fresh, LINK_LIBRARY, LINK_GROUP, PATH_EQUAL, COMPILE_WARNING_AS_ERROR, find_package(GLOBAL), EXTRACT_TIMESTAMP;
# 3.25: block(), PROPAGATE, SYSTEM as a property; 3.27: COMPILE_ONLY, LIST:; 3.30: TLS_VERIFY
! (cd "$source" && grep -nE '\b(FILE_SET|LINK_LIBRARY:|LINK_GROUP:|PATH_EQUAL|COMPILE_WARNING_AS_ERROR|DOWNLOAD_EXTRACT_TIMESTAMP|PROPAGATE|COMPILE_ONLY:)|\$<LIST:|^ *block\(|cmake --fresh' \
  "${cmake_files[@]}" course common/prebuilt/*.sh) || fail "these need a newer CMake than $least"

# --- a notebook machine with a T4: root, but in a container without CAP_SYS_ADMIN
fake nvcc 'echo "Cuda compilation tools, release 12.8, V12.8.93"'
fake nvidia-smi '[[ $1 == -L ]] && echo "GPU 0: Tesla T4" || echo 7.5'
mv "$place"/bin/{nvcc,nvidia-smi} "$place/cuda"
echo 'RmProfilingAdminOnly: 1' >"$place/params"
without=()
((EUID != 0)) || without=(setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin)
NVIDIA_PARAMS=$place/params PATH=$place/cuda:$PATH "${without[@]}" "$source/course" doctor >"$place/said" || true
grep -q 'GPU counters  *not readable' "$place/said" || fail "doctor calls counters readable without CAP_SYS_ADMIN: $(cat "$place/said")"
grep -q '03: 100.* 09: 85, 10: 100, 11: 80,' "$place/said" && grep -q 'labs 09 and 11 need compute capability 8.0.* has 7.5' "$place/said" ||
  fail "doctor says of a T4: $(cat "$place/said")"

# --- 64-bit Arm has no immintrin.h
while IFS= read -r file; do
  grep -qE '^[+]?#(if|ifdef|elif|ifndef).*__(x86_64|aarch64|AVX)' "$file" || fail "$file includes immintrin.h on 64-bit Arm, too"
done < <(grep -rlE '^[+]?#include <immintrin.h>' "$source"/{autograder/honest,autograder/attacks,labs} $([[ ! -d $source/solutions ]] || echo "$source"/solutions/*/handin))

# --- a bundle, moved to a folder whose path has spaces
mkdir -p "$folder/prebuilt/root" "$folder/common/prebuilt"
cp "$source/common/prebuilt/env.sh" "$folder/common/prebuilt"
status=0
"$folder/course" setup >"$place/said" 2>&1 || status=$?
((status == 2)) && grep -q 'path has spaces' "$place/said" || fail "a bundle in a path with spaces: $(cat "$place/said")"

# --- a build tree inside an image: exactly the files that differ are compiled, whatever their times
mkdir "$place/image" "$folder/tree"
cd "$folder/tree"
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.22)
project(tree CXX)
add_executable(tree main.cpp same.cpp other.cpp native.cpp)
set_source_files_properties(native.cpp PROPERTIES COMPILE_OPTIONS "$<$<CXX_COMPILER_ID:GNU>:-march=native>;-mtune=generic")
END
echo 'int main() {}' >main.cpp
touch same.cpp other.cpp native.cpp
"$source/common/prebuilt/tree.sh" begin "$place/image"
cmake -G Ninja -B build >/dev/null && cmake --build build >/dev/null
"$source/common/prebuilt/tree.sh" keep "$place/image"
[[ ! -e build ]]
compiled() {
  rm -rf build
  "$source/common/prebuilt/tree.sh" take "$place/image"
  cmake --build build | sed -n 's/.*Building.*\/\(.*\)\.cpp\.o$/\1/p' | sort | tr '\n' ' '
}
sleep 1
touch same.cpp
echo 'int other;' >other.cpp
touch -d '1 day ago' other.cpp
[[ $(compiled) == "other " ]] || fail "with another file, ninja compiled: $(compiled)"
echo another >"$place/image/processor"
[[ $(compiled) == *native* ]] || ! grep -q march=native build/build.ninja || fail "on another processor, ninja compiled: $(compiled)"
[[ $(cd "$place" && "$source/common/prebuilt/tree.sh" take "$place/image" || echo refused) == refused ]] || fail "a folder with another path accepted the tree"
cd "$place"

# --- clang, where one is installed
for compiler in clang++ clang++-{14..22}; do
  ! command -v $compiler >/dev/null || { clang=$compiler; break; }
done
if [[ -n ${clang:-} ]]; then
  cmake -G Ninja -S "$source" -B "$place/clang" -DCMAKE_CXX_COMPILER="$clang" -DLABS_CUDA=OFF >"$place/said" 2>&1 ||
    fail "with $clang: $(tail -n 30 "$place/said")"
fi

# --- a checkout by Git for Windows
if command -v git >/dev/null; then
  mkdir "$place/origin"
  (cd "$source" && cp --parents course VERSION .gitattributes common/course/progress.sh "$place/origin")
  git -C "$place/origin" init -q
  git -C "$place/origin" add -A
  git -C "$place/origin" -c user.name=test -c user.email=test@localhost commit -qm start
  git -c core.autocrlf=true -c core.eol=crlf clone -q "$place/origin" "$place/windows course"
  [[ $("$place/windows course/course" --version) == "Roofline Labs "* ]] || fail "a checkout with CRLF does not run"
fi
echo "apt-get, none; spaces; an old toolkit; an image's build; ${clang:-no clang}; CRLF"
