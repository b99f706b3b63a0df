# Flags and libraries of the simulated device. The course includes this, too.

# g++ 11 does not know no_sanitize_coverage: the simulated device would count its own code.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12 OR
   CMAKE_CXX_COMPILER_ID STREQUAL Clang AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  message(FATAL_ERROR "It needs g++ 12 or clang 14, or newer, and ${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_ID} "
                      "${CMAKE_CXX_COMPILER_VERSION}. Install a newer one and name it: CXX=g++-12 ./course setup")
endif()

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# Not CMAKE_CXX_STANDARD: CUDA targets would inherit it, and CMake 3.25 does not know nvcc 13's C++20 mode.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-std=c++20>)
# char is signed on x86-64 and unsigned on Arm; here it is signed. simcc does the same.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsigned-char>)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
option(LABS_BY_FOLDER "Compile files folder by folder; OFF for tools that look at one file" ON)

find_package(Threads REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(GTest REQUIRED)
find_package(fmt REQUIRED)
find_package(Boost REQUIRED CONFIG COMPONENTS context)

# Header-only libraries that not every distribution packages; elsewhere CMake fetches their sources.
# lab_headers(TARGET HEADER FOLDER SOURCE SHA256): FOLDER, inside the source, holds the header.
include(FetchContent)
function(lab_headers target header folder source sha256)
  find_path(${target}_INCLUDE_DIR ${header})
  if(NOT ${target}_INCLUDE_DIR)
    message(STATUS "No package has ${header}: fetching ${source}")
    FetchContent_Declare(${target} URL http://archive.ubuntu.com/ubuntu/pool/universe/${source} http://deb.debian.org/debian/pool/main/${source}
                         URL_HASH SHA256=${sha256} SOURCE_SUBDIR none)
    FetchContent_MakeAvailable(${target})
    cmake_path(GET header PARENT_PATH parent)
    set(include ${PROJECT_BINARY_DIR}/include)
    file(MAKE_DIRECTORY ${include})
    file(CREATE_LINK ${${target}_SOURCE_DIR}/${folder} ${include}/${parent} SYMBOLIC)
    set(${target}_INCLUDE_DIR ${include} CACHE PATH "Where ${header} is" FORCE)
  endif()
  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE ${${target}_INCLUDE_DIR})
endfunction()
lab_headers(toml toml++/toml.h include/toml++ t/tomlplusplus/tomlplusplus_3.4.0+ds.orig.tar.xz
            0ae736e13a49cc8a0aa7799705cf18bd93f5f56624613e6aa554b65fe2d72768)
target_compile_definitions(toml INTERFACE TOML_HEADER_ONLY=1)  # the same everywhere: no library to link

add_library(sim_defaults INTERFACE)
# -Wno-restrict: g++ 12 warns about std::string's own operator+ (GCC bug 105651).
target_compile_options(sim_defaults INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow
                                              $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>>)
target_include_directories(sim_defaults INTERFACE ${CMAKE_CURRENT_LIST_DIR}/../interface)
