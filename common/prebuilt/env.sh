# `course` reads this in a container image or a bundle, which bring a compiler cache in $prebuilt, so that a first build takes
# seconds. A bundle also brings compiler, CMake and libraries in $prebuilt/root: no root, no internet, no packages.
export CCACHE_DIR=$prebuilt/ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 CCACHE_COMPILERCHECK=content
export CCACHE_SLOPPINESS=locale,pch_defines,time_macros,include_file_mtime,include_file_ctime
export CMAKE_CXX_COMPILER_LAUNCHER=$PWD/common/prebuilt/compile
configure_options=(-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON)  # precompiled headers differ in every folder, and so does everything that includes them
if [[ -d $prebuilt/root ]]; then
  # CMake does not find the folders of a compiler if its path has spaces.
  [[ $prebuilt != *' '* ]] || { echo "course: this folder's path has spaces, with which a bundle cannot work; move it: $PWD" >&2; exit 2; }
  manager="" packages=()
  export PATH=$prebuilt/bin:$PATH CXX=$prebuilt/bin/c++ CMAKE_PREFIX_PATH=$prebuilt/root/usr
  if [[ $(cat "$prebuilt/place" 2>/dev/null) != "$prebuilt" ]]; then
    # Its programs name their loader and libraries by absolute paths: patch them once for each location.
    libraries=("$prebuilt/root"/{usr/lib,lib}/*-linux-gnu)
    loader=$(echo "$prebuilt/root/lib"/*-linux-gnu/ld-linux-*.so.*)
    patchelf=("$loader" --library-path "${libraries[0]}:${libraries[1]}" "$prebuilt/root/usr/bin/patchelf")
    while read -r program; do
      "${patchelf[@]}" --set-interpreter "$loader" --force-rpath --set-rpath "${libraries[0]}:${libraries[1]}" "$prebuilt/root/$program"
    done <"$prebuilt/programs"
    rm -rf build  # built at the old place
    echo "$prebuilt" >"$prebuilt/place"
  fi
fi
