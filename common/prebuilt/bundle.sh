#!/usr/bin/env bash
# ./course bundle: see its help. Unpacks the packages that the course needs, builds with them as on a student's machine,
# and keeps the compiler cache.
set -euo pipefail
course=$(realpath "$(dirname "$0")/../..")
output=$course/build/roofline-labs.tar.gz labs=() without=(--exclude=./solutions --exclude=./slides)
while (($#)); do
  case $1 in
    --solutions) without=(--exclude=./slides) ;;
    --output) output=$(realpath -m "${2:?--output needs a file}"); shift ;;
    [0-9][0-9]) labs+=("lab$1.staff") ;;
    *) echo "course: $1? usage: ./course bundle [NN...] [--solutions] [--output FILE.tar.gz]" >&2; exit 2 ;;
  esac
  shift
done
((${#labs[@]})) || mapfile -t labs < <(cd "$course/labs" && printf 'lab%.2s.staff\n' [0-9][0-9]_*)
command -v apt-get >/dev/null || { echo "course: a bundle is made on Debian or Ubuntu, from their packages" >&2; exit 2; }
place=$course/build/bundle
mapfile -t packages < <("$course/course" setup --help | grep -oE '[a-z0-9.+-]+-dev\b' | sort -u)
"$course/common/cmake/packages_root.sh" "$place/packages" "$(dpkg --print-architecture)" g++ cmake ninja-build ccache patch patchelf "${packages[@]}"

rm -rf "$place/roofline-labs"
mkdir -p "$place/roofline-labs/prebuilt/bin"
cd "$course"
tar -cf - --exclude='./build*' --exclude=./backups --exclude=./.git --exclude=./progress.toml --exclude=./attempts.jsonl \
  --exclude=./class.toml --exclude='*.sqlite' --exclude=./prebuilt "${without[@]}" . | tar -xf - -C "$place/roofline-labs"
cd "$place/roofline-labs/prebuilt"
cp -r "$place/packages/root" .
rm -rf root/usr/share/{doc,man,locale,info,lintian,bug,perl*,cmake*/Help} root/usr/lib/gcc/*/*/{cc1,lto1} root/usr/lib/*/perl* root/var root/etc
cp "$course/common/prebuilt/c++" bin
for tool in cmake ctest ninja ccache patch as ld ar ranlib nm objcopy addr2line strip readelf; do
  for folder in bin usr/bin; do [[ ! -e root/$folder/$tool ]] || ln -sf "../root/$folder/$tool" "bin/$tool"; done
done
# Every program that gets started: those of bin/, and the compiler's own.
for program in bin/* root/usr/bin/g++ root/usr/lib/gcc/*/*/{cc1plus,collect2,lto-wrapper}; do
  program=$(realpath "$program")
  case $program in "$PWD/root/"*) echo "${program#"$PWD/root/"}" ;; esac
done | sort -u >programs
cd ..
unset "${!CCACHE_@}" "${!CMAKE_@}" CXX
prebuilt=$PWD/prebuilt
. common/prebuilt/env.sh
cmake --preset default "${configure_options[@]}" -DLABS_CUDA=OFF >&2
build=(cmake --build build --target grader grader-class simcc sim_libraries "${labs[@]}")
echo "\$ ${build[*]}" >&2
"${build[@]}" >&2
rm -rf build backups prebuilt/place
cd ..
# On a terminal, shows the progress of packing.
tar --checkpoint=4000 --checkpoint-action='ttyout=packing %{}T%*\r' -czf "$output" roofline-labs
du -h "$output"
