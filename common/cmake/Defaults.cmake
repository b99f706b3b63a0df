# One set of flags for all of our own code, and the libraries that it uses.

include(${CMAKE_CURRENT_LIST_DIR}/../sim/cmake/Defaults.cmake)

# For this machine's processor; clang on Arm uses the other option. A cross compiler does not know the machine.
include(CheckCXXCompilerFlag)
set(LAB_NATIVE)
if(NOT CMAKE_CROSSCOMPILING)
  foreach(flag IN ITEMS -march=native -mcpu=native)
    string(MAKE_C_IDENTIFIER LAB_KNOWS${flag} known)
    check_cxx_compiler_flag(${flag} ${known})
    if(${known})
      list(APPEND LAB_NATIVE ${flag})
      break()
    endif()
  endforeach()
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  list(APPEND LAB_NATIVE -fsigned-char)  # where the flags above do not apply
endif()

# Without a GPU nvcc's output cannot run, so it compiles only on request.
set(LABS_CUDA_HERE OFF)
if(EXISTS /proc/driver/nvidia/version OR EXISTS /dev/nvidiactl)
  set(LABS_CUDA_HERE ON)
endif()
option(LABS_CUDA "Build the CUDA backend too, where nvcc is found" ${LABS_CUDA_HERE})

find_package(benchmark REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(LibArchive REQUIRED)
find_package(SQLite3 REQUIRED)
find_library(SODIUM_LIBRARY sodium REQUIRED)
find_path(SODIUM_INCLUDE_DIR sodium.h REQUIRED)
add_library(sodium INTERFACE IMPORTED)  # it has no CMake package
target_link_libraries(sodium INTERFACE ${SODIUM_LIBRARY})
target_include_directories(sodium INTERFACE ${SODIUM_INCLUDE_DIR})

lab_headers(mustache kainjow/mustache.hpp . libk/libkainjow-mustache/libkainjow-mustache_4.1+ds.orig.tar.xz
            da0ed0c7d9842cf9f68f9f7e3f58e456efc5a7d6c05cb8786f98ed3979e56685)

set(SIM_OBJECT_FLAGS -I${PROJECT_SOURCE_DIR}/common/include)  # used by add_sim_object
add_library(lab_defaults INTERFACE)
target_link_libraries(lab_defaults INTERFACE sim_defaults)
target_include_directories(lab_defaults INTERFACE ${PROJECT_SOURCE_DIR}/common/include)
