# One set of flags for all of our own code, and the libraries it stands on.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# Not CMAKE_CXX_STANDARD: CUDA targets would inherit it, and CMake 3.25 does not know C++20 of nvcc 13.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-std=c++20>)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# For this machine's processor: clang on Arm knows it by the other name. A cross compiler does not know the machine.
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
# char has a sign on x86-64 and none on Arm; in the course it has one. simcc says the same.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  list(APPEND LAB_NATIVE -fsigned-char)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsigned-char>)
endif()

option(LABS_CUDA "Build the CUDA backend too, where nvcc is found" ON)

find_package(Threads REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
find_package(LibArchive REQUIRED)
find_package(SQLite3 REQUIRED)
find_path(MUSTACHE_INCLUDE_DIR kainjow/mustache.hpp REQUIRED)  # headers only, without a CMake package
find_library(SODIUM_LIBRARY sodium REQUIRED)
find_path(SODIUM_INCLUDE_DIR sodium.h REQUIRED)
add_library(sodium INTERFACE IMPORTED)  # it has no CMake package of its own
target_link_libraries(sodium INTERFACE ${SODIUM_LIBRARY})
target_include_directories(sodium INTERFACE ${SODIUM_INCLUDE_DIR})
find_package(Boost REQUIRED CONFIG COMPONENTS context)

add_library(lab_defaults INTERFACE)
# -Wno-restrict: g++ 12 warns of std::string's own operator+ (GCC bug 105651).
target_compile_options(lab_defaults INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow
                                              $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>>)
target_include_directories(lab_defaults INTERFACE ${PROJECT_SOURCE_DIR}/common/include)
