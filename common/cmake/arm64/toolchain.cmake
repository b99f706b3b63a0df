# Builds the course for 64-bit Arm Linux on another machine, with the folder that sysroot.sh makes:
#   cmake -S . -B build-arm64 -DCMAKE_TOOLCHAIN_FILE=common/cmake/arm64/toolchain.cmake -DLAB_ARM64=FOLDER -DLABS_CUDA=OFF
# qemu-aarch64-static runs what it builds, here and in CTest.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LAB_ARM64)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER ${LAB_ARM64}/g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${LAB_ARM64}/root)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${LAB_ARM64}/root)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind IN ITEMS LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
