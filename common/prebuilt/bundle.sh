#!/usr/bin/env bash
# ./course bundle: see its help. Unpacks the packages that the course needs, builds with them as on a student's machine,
# and keeps the compiler cache.
set -euo pipefail
course=$(realpath "$(dirname "$0")/../..")
output=$course/build/roofline-labs.tar.gz labs=() without=(--exclude=./solutions --exclude=./slides)
while (($#)); do
  case $1 in
    --solutions) without=(--exclude=./slides) ;;
    --help)
      cat <<'TEXT'
usage: ./course bundle [NN...] [--solutions] [--output FILE.tar.gz]
Writes build/roofline-labs.tar.gz: the course with a compiler, CMake, libraries and what was compiled from it. Unpacked on another
machine of the same architecture, ./course works there without internet, without root and without packages. Made on Debian or Ubuntu;
compiles all labs in advance, or those named. Solutions are left out, except with --solutions.
TEXT
      exit ;;
    --output) output=$(realpath -m "${2:?--output needs a file}"); shift ;;
    [0-9][0-9]) labs+=("lab$1.staff") ;;
    *) echo "course: $1? usage: ./course bundle [NN...] [--solutions] [--output FILE.tar.gz]" >&2; exit 2 ;;
  esac
  shift
done
((${#labs[@]})) || mapfile -t labs < <(cd "$course/labs" && printf 'lab%.2s.staff\n' [0-9][0-9]_*)
command -v apt-get >/dev/null || { echo "course: a bundle is made on Debian or Ubuntu, from their packages" >&2; exit 2; }
place=$course/build/bundle
if [[ -t 2 ]]; then  # shows the time taken, after the output
  (while sleep 1; do printf '\0337\033[Kbundling %d s\0338' $SECONDS; done) >&2 &
  trap "kill $!; printf '\033[K' >&2" EXIT
fi
mapfile -t packages < <(grep -oE '[a-z0-9.+-]+-dev\b' "$course/course" | sort -u)
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
# Every program that a build runs: those in bin/, and the compiler's own.
for program in bin/* root/usr/bin/g++ root/usr/lib/gcc/*/*/{cc1plus,collect2,lto-wrapper}; do
  program=$(realpath "$program")
  case $program in "$PWD/root/"*) echo "${program#"$PWD/root/"}" ;; esac
done | sort -u >programs
cd ..
unset "${!CCACHE_@}" "${!CMAKE_@}" CXX
prebuilt=$PWD/prebuilt
. common/prebuilt/env.sh
cmake --preset default "${configure_options[@]}" -DLABS_CUDA=OFF >&2
build=(cmake --build build --target grader grader-class course-tools simcc sim_libraries "${labs[@]}")
echo "\$ ${build[*]}" >&2
"${build[@]}" >&2
rm -rf build backups prebuilt/place
cd ..
# On a terminal, shows the progress of packing.
tar --checkpoint=4000 --checkpoint-action='ttyout=packing %{}T%*\r' -czf "$output" roofline-labs
du -h "$output"
