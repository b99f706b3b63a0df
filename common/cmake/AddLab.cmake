# add_lab(03_coalescing) is the whole declaration of a lab; its folders define the rest. handin/ holds only what a
# student hands in, given/ provided code, judge/ the judge's side; the contract is next to them. With ROOT FOLDER,
# labs/ and solutions/ are in FOLDER instead of the source tree.
#
# What the grader needs to build submissions itself (the student's own files, the solution, and other right and wrong
# ones): the target lab03.staff and build/recipes/03_coalescing.<backend>.json. For
# the student and the solution it makes, for each backend,
#   lab03.<submission>.<backend>.bench     Google Benchmark over the cases
#   lab03.<submission>.<backend>.experiment   where given/ has an experiment.cpp
# and lab03.student.sim.debug, which assesses an item in one process, with kernels compiled for the debugger (./course debug).
# Each program in crashed/ becomes build/bin/crashed/labNN.NAME, with its own main.
# add_lab(12_host CALLS open read) lets the .cpp files of that lab call these functions of the C library, too.
# With COUNTED attention, that function of the contract is plain C++ in a .cu file, and the judge counts its accesses.
# add_lab(07_quantization USES sim_cublas): the simulated device's library that its code calls. With OFFERS, the .cpp
# files of a hand-in may call it, too.
# add_lab(02_benchmarking LINKS benchmark::benchmark lab_ceilings): more libraries for the runner. The lab's .cpp
# files may include the headers of an installed one (other labs' files may be measured against it); CALLS lists the
# functions of it that they may call.
# add_lab(08_gpt2 LIBRARY gpt2) links gpt2_model to the judge's side and gpt2_<backend> to the runner's.
# `lab03` builds what ctest runs for the student. Tests carry the labels lab03, sim or cuda or cpu, and their kind.

set(LABS_MEASURE OFF CACHE BOOL "Build labNN.solution.<backend>.measure, which writes the committed results")

# One core: keeps <execution> sequential even where TBB is installed.
# -g1: the line of a crash.
set(_lab_host_flags -O3 -g1 ${LAB_NATIVE} -Wall -Wextra -D_GLIBCXX_USE_TBB_PAR_BACKEND=0)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND _lab_host_flags -Wno-maybe-uninitialized)  # a false warning in the headers of AVX-512 intrinsics (GCC bug 105593)
endif()
set(_lab_sim_flags -Wall -Wextra -D_GLIBCXX_USE_TBB_PAR_BACKEND=0)

# An object library or a list of objects from one source for one backend, compiled once for all programs that use it.
# `contract` lists folders of headers. What lies in hopper/ is for compute capability 9.0 alone.
function(lab_objects source contract backend objects)
  file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${source})
  string(MAKE_C_IDENTIFIER "obj.${name}" id)
  list(TRANSFORM contract APPEND /given OUTPUT_VARIABLE given)
  get_filename_component(extension ${source} LAST_EXT)
  if(extension STREQUAL ".cu" AND backend STREQUAL "sim")
    list(TRANSFORM contract PREPEND -I OUTPUT_VARIABLE headers)
    list(TRANSFORM given PREPEND -I)
    add_sim_object(${source} object ${_lab_sim_flags} ${headers} ${given})
    set(${objects} ${object} PARENT_SCOPE)
    return()
  endif()
  if(extension STREQUAL ".cu")
    set(id ${id}.cuda)
  endif()
  if(NOT TARGET ${id})
    add_library(${id} OBJECT EXCLUDE_FROM_ALL ${source})
    target_include_directories(${id} PRIVATE ${contract} ${given} ${PROJECT_SOURCE_DIR}/common/include)
    target_compile_options(${id} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${_lab_host_flags}>)
    if(extension STREQUAL ".cu")
      target_link_libraries(${id} PRIVATE lab_cuda)
      if(source MATCHES "/hopper/")
        set_target_properties(${id} PROPERTIES CUDA_ARCHITECTURES 90a)
      endif()
    else()
      target_include_directories(${id} SYSTEM PRIVATE ${PROJECT_SOURCE_DIR}/common/sim/include)
    endif()
  endif()
  set(${objects} $<TARGET_OBJECTS:${id}> PARENT_SCOPE)
endfunction()

function(_lab_program target objects)
  add_executable(${target} EXCLUDE_FROM_ALL ${objects})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${target} PRIVATE ${ARGN})
endfunction()

function(add_lab dir)
  cmake_parse_arguments(PARSE_ARGV 1 add "" "LIBRARY;ROOT" "CALLS;COUNTED;LINKS;OFFERS;USES")
  if(NOT dir MATCHES "^([0-9][0-9])_[a-z0-9_]+$")
    message(FATAL_ERROR "add_lab(${dir}): a lab's folder is named NN_topic, such as 03_coalescing")
  endif()
  set(number ${CMAKE_MATCH_1})
  set(lab lab${number})
  list(APPEND add_USES ${add_OFFERS})
  set(root ${PROJECT_SOURCE_DIR})
  if(add_ROOT)
    set(root ${add_ROOT})
  endif()
  set(linked_headers "")
  foreach(linked IN LISTS add_LINKS)
    if(linked MATCHES "^(.*)::")
      set(folder_name ${CMAKE_MATCH_1})
      get_target_property(folder ${linked} INTERFACE_INCLUDE_DIRECTORIES)
      if(folder MATCHES "/include$")
        list(APPEND linked_headers ${folder}/${folder_name})
      else()
        list(APPEND linked_headers ${folder})
        list(APPEND _lab_host_flags -isystem${folder})
      endif()
    endif()
  endforeach()
  set(contract ${root}/labs/${dir})
  set(answers ${root}/solutions/${dir})

  set(backends sim)
  if(TARGET lab_cuda)
    list(APPEND backends cuda)
  endif()

  # The judge's side: a module that the judge loads for this lab, and the same objects for this lab's own programs.
  add_library(${lab}.judge OBJECT EXCLUDE_FROM_ALL ${contract}/judge/cases.cpp)
  set_target_properties(${lab}.judge PROPERTIES POSITION_INDEPENDENT_CODE ON)
  add_library(${lab}.cases MODULE $<TARGET_OBJECTS:${lab}.judge>)
  set_target_properties(${lab}.cases PROPERTIES PREFIX "" OUTPUT_NAME ${dir} LINKER_LANGUAGE CXX
                                                LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/cases)
  target_include_directories(${lab}.judge PRIVATE ${contract} ${contract}/given)
  target_link_libraries(${lab}.judge PRIVATE lab_defaults toml fmt::fmt)
  # Computing expected values takes as long as a submission. No fused multiply-adds, so that the values are the same on
  # every machine.
  target_compile_options(${lab}.judge PRIVATE ${LAB_NATIVE} -ffp-contract=off)
  target_compile_definitions(${lab}.judge PRIVATE LAB_DEVICES="${PROJECT_SOURCE_DIR}/common/sim/devices")
  target_link_libraries(${lab}.cases PRIVATE fmt::fmt)
  if(add_LIBRARY)
    target_link_libraries(${lab}.judge PRIVATE ${add_LIBRARY}_model)
    target_link_libraries(${lab}.cases PRIVATE ${add_LIBRARY}_model)
  endif()

  # The staff's part of the runner: calls and provided device code.
  file(GLOB given CONFIGURE_DEPENDS ${contract}/given/*.cu)
  foreach(backend IN LISTS backends)
    set(library_${backend} ${add_LINKS} lab_${backend})
    if(backend STREQUAL "sim" AND add_USES)
      list(PREPEND library_sim ${add_USES})
    endif()
    if(add_LIBRARY)
      list(PREPEND library_${backend} ${add_LIBRARY}_${backend})
    endif()
    add_library(${lab}.${backend}.calls OBJECT ${contract}/judge/calls.cpp)
    target_include_directories(${lab}.${backend}.calls PRIVATE ${contract} ${contract}/given)
    target_link_libraries(${lab}.${backend}.calls PRIVATE ${library_${backend}} lab_defaults Eigen3::Eigen)
    set(staff_${backend} $<TARGET_OBJECTS:${lab}.${backend}.calls>)
    foreach(source IN LISTS given)
      lab_objects(${source} ${contract} ${backend} objects)
      list(APPEND staff_${backend} ${objects})
    endforeach()
  endforeach()

  add_custom_target(${lab}.staff DEPENDS simcc sim runner_main)
  add_dependencies(${lab}.staff ${lab}.cases)
  # Programs that crash, so that the judge can read the simulated device's reports.
  file(GLOB crashed CONFIGURE_DEPENDS ${contract}/crashed/*.cu)
  foreach(source IN LISTS crashed)
    cmake_path(GET source STEM name)
    add_sim_object(${source} object ${_lab_sim_flags} -I${contract} -I${contract}/given)
    _lab_program(${lab}.${name} ${object} sim)
    set_target_properties(${lab}.${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/crashed)
    add_dependencies(${lab}.staff ${lab}.${name})
  endforeach()
  foreach(backend IN LISTS backends)
    _lab_recipe(${backend})
  endforeach()
  set(submissions student)
  file(GLOB from_student CONFIGURE_DEPENDS ${contract}/handin/*.cu ${contract}/handin/*.cpp)
  if(EXISTS ${answers}/handin)
    _lab_others(${lab} ${dir} ${answers})
    list(APPEND submissions solution)
    file(GLOB from_solution CONFIGURE_DEPENDS ${answers}/handin/*.cu ${answers}/handin/*.cpp)
  endif()

  set(name_of_lab ${PROJECT_BINARY_DIR}/recipes/${dir}.name.cpp)
  file(CONFIGURE OUTPUT ${name_of_lab} CONTENT [[namespace grading {
extern const char* const lab_name = "@dir@";
extern const char* const lab_dir = "@contract@";
}
]] @ONLY)
  add_library(${lab}.name OBJECT EXCLUDE_FROM_ALL ${name_of_lab})
  set(judge $<TARGET_OBJECTS:${lab}.judge> $<TARGET_OBJECTS:${lab}.name>)

  add_custom_target(${lab} DEPENDS grader)
  add_dependencies(${lab} ${lab}.staff)
  foreach(submission IN LISTS submissions)
    foreach(backend IN LISTS backends)
      set(objects ${staff_${backend}})
      foreach(source IN LISTS from_${submission})
        lab_objects(${source} ${contract} ${backend} object)
        list(APPEND objects ${object})
      endforeach()
      set(name ${lab}.${submission}.${backend})
      _lab_program(${name}.bench "${objects};${judge}" in_process_bench ${library_${backend}})
      if(EXISTS ${contract}/given/experiment.cpp)
        set(products "")
        if(backend STREQUAL "sim")
          set(products sim_cublas)
        endif()
        _lab_program(${name}.experiment "${objects};${contract}/given/experiment.cpp" ${products} ${library_${backend}} lab_common lab_defaults
                     Eigen3::Eigen nlohmann_json::nlohmann_json)
        target_include_directories(${name}.experiment PRIVATE ${contract} ${contract}/given)
        # g++ 12 warns about its own AVX-512 headers (bug 105593).
        target_compile_options(${name}.experiment PRIVATE ${_lab_host_flags} $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
      endif()
      if(submission STREQUAL "student" AND backend STREQUAL "sim")
        set(objects ${staff_sim})
        foreach(source IN LISTS from_student)
          if(source MATCHES "\\.cu$")
            add_sim_object(${source} object -G -g ${_lab_sim_flags} -I${contract} -I${contract}/given)
          else()
            lab_objects(${source} ${contract} sim object)
          endif()
          list(APPEND objects ${object})
        endforeach()
        _lab_program(${name}.debug "${objects};${judge}" in_process_debug ${library_sim})
      endif()
      if(submission STREQUAL "solution" AND LABS_MEASURE)
        _lab_program(${name}.measure "${objects};${judge}" in_process_measure ${library_${backend}})
      endif()
    endforeach()
  endforeach()
  _lab_tests(${lab} ${dir} ${root})
endfunction()

# The headers that C, C++ and POSIX need, for the sandboxes that compile submissions. They exclude other installed
# headers, such as those of a library that submissions are measured against. A folder among them, such as
# /usr/include/c++, is included whole.
function(_lab_standard_headers headers)
  if(NOT LAB_STANDARD_HEADERS_OF STREQUAL "${CMAKE_CXX_COMPILER} ${CMAKE_CXX_COMPILER_VERSION}")
    # clang ships the headers of every processor; those of another processor cause errors.
    set(intrinsics immintrin x86intrin)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
      set(intrinsics arm_neon arm_acle)
    endif()
    set(text "#include <bits/stdc++.h>\n#include <experimental/simd>\n#include <cuchar>\n")
    foreach(name IN ITEMS aio alloca arpa/inet assert byteswap complex ctype dirent dlfcn elf endian err errno execinfo fcntl
                          features fenv float fnmatch ftw getopt glob grp inttypes langinfo libgen limits link linux/futex
                          linux/perf_event locale malloc math memory mntent mqueue netdb netinet/in poll pthread pty pwd
                          regex sched search semaphore setjmp signal spawn stdint stdio stdlib string strings sys/epoll
                          sys/mman sys/prctl sys/ptrace sys/socket sys/stat sys/syscall sys/time sys/types sys/wait syslog
                          termios tgmath threads time uchar ucontext unistd utime values wait wchar wctype wordexp
                          ${intrinsics})
      string(APPEND text "#if __has_include(<${name}.h>)\n#include <${name}.h>\n#endif\n")
    endforeach()
    set(file ${PROJECT_BINARY_DIR}/standard_headers.cpp)
    file(WRITE ${file} "${text}")
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -D_GLIBCXX_USE_TBB_PAR_BACKEND=0 -M ${file}
                    OUTPUT_VARIABLE rule COMMAND_ERROR_IS_FATAL ANY)
    set(found "")
    string(REGEX MATCHALL "/[^ \n\\]+" files "${rule}")
    foreach(file IN LISTS files)
      cmake_path(NORMAL_PATH file)
      if(file MATCHES "^(/usr(/local)?/include/[a-z0-9_]+-linux-gnu[a-z0-9]*/[^/]+|/usr(/local)?/include/[^/]+)")
        list(APPEND found ${CMAKE_MATCH_1})
      endif()
    endforeach()
    list(REMOVE_DUPLICATES found)
    set(LAB_STANDARD_HEADERS "${found}" CACHE INTERNAL "")
    set(LAB_STANDARD_HEADERS_OF "${CMAKE_CXX_COMPILER} ${CMAKE_CXX_COMPILER_VERSION}" CACHE INTERNAL "")
  endif()
  set(${headers} ${LAB_STANDARD_HEADERS} PARENT_SCOPE)
endfunction()

# build/recipes/NN_topic.BACKEND.json: how the grader builds a submission outside this tree: with the same flags and
# staff objects. The sandbox may mount `readable` and `headers`; `device` is the folder that declares what the simulated
# device offers and the libraries that define it; `runtime` is what a runner reads; `toolchain` is where compilers
# outside /usr/bin are installed; `calls` are functions that only this lab's files may call; `counted` are host
# functions in a .cu file, all of whose accesses to memory must be seen. With `apart`, each file of a submission is a
# separate program: for a lab with crashed programs, which grades how little of each file has changed. Reads add_lab's variables.
function(_lab_recipe backend)
  set(common ${PROJECT_SOURCE_DIR}/common)
  file(GLOB own_headers CONFIGURE_DEPENDS ${contract}/*.hpp ${contract}/given/*.hpp)
  _lab_standard_headers(headers)
  list(APPEND headers ${linked_headers})
  set(include -I${contract} -I${contract}/given -I${common}/include)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND include -fno-gnu-unique)  # unique symbols cannot be made local
  endif()
  separate_arguments(base NATIVE_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_RELEASE} -std=c++20")
  set(keep -save-temps=obj -ftemplate-depth=256)
  set(cpp ${CMAKE_CXX_COMPILER} ${base} ${_lab_host_flags} ${include} -isystem ${common}/sim/include ${keep})
  set(objects ${staff_${backend}} $<TARGET_OBJECTS:runner_main>)
  set(libraries)
  if(add_LIBRARY)
    set(libraries $<TARGET_FILE:${add_LIBRARY}_${backend}> $<TARGET_FILE:${add_LIBRARY}_model>)
  endif()
  foreach(linked IN LISTS add_LINKS)
    get_target_property(type ${linked} TYPE)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
      list(APPEND libraries $<TARGET_FILE:${linked}>)
      add_dependencies(${lab}.staff ${linked})
    endif()
  endforeach()
  set(readable ${own_headers} ${common}/include ${common}/sim/include ${common}/sim/interface)
  set(device ${common}/sim/include $<TARGET_FILE:sim>)
  foreach(offered IN LISTS add_OFFERS)
    list(APPEND device $<TARGET_FILE:${offered}>)
  endforeach()
  set(link ${CMAKE_CXX_COMPILER} -z relro -z now)  # once it runs, no table of functions can be written
  if(backend STREQUAL "sim")
    set(cu $<TARGET_FILE:simcc> -std=c++20 ${_lab_sim_flags} ${include} ${keep} -include sim/all_observed.h --checked-calls)
    list(APPEND readable $<TARGET_FILE:simcc> $<TARGET_FILE_DIR:simcc>/simcc.profile)
    set(runtime "")
    foreach(used IN LISTS add_USES)
      list(APPEND libraries $<TARGET_FILE:${used}>)
      add_dependencies(${lab}.staff ${used})
    endforeach()
    list(APPEND libraries $<TARGET_FILE:lab_sim> $<TARGET_FILE:lab_common> $<TARGET_FILE:sim> -lfmt -lboost_context -ldw
                  -lpthread)
  else()
    list(TRANSFORM include REPLACE "^-fno-" "-Xcompiler=-fno-")
    string(REGEX MATCH "[0-9]+a?" architecture "${CMAKE_CUDA_ARCHITECTURES} ${CMAKE_CUDA_ARCHITECTURES_NATIVE}")
    set(cu ${CMAKE_CUDA_COMPILER} -O3 -DNDEBUG -std=c++20 ${LAB_NVCC_LANGUAGE} -arch=sm_${architecture} -lineinfo
           -Xcompiler=-save-temps=obj --ftemplate-depth=256 ${include})
    set(runtime ${LAB_CUDA_RUNTIME})
    list(APPEND link -Xlinker --disable-new-dtags -Xlinker -rpath=${LAB_CUDA_RPATH})
    list(APPEND libraries $<TARGET_FILE:lab_cuda> $<TARGET_FILE:lab_cuda_memory> $<TARGET_FILE:lab_common> -L${CUDAToolkit_LIBRARY_DIR} -lcublas -lcublasLt ${CUPTI_LIBRARY}
                  -lcudart_static -lfmt -ldl -lrt -lpthread)
  endif()
  set(apart "")
  if(EXISTS ${contract}/crashed)
    set(apart yes)
  endif()
  set(toolchain "")
  foreach(compiler IN ITEMS ${CMAKE_CXX_COMPILER} ${CMAKE_CUDA_COMPILER})
    if(NOT compiler)  # no nvcc: NOTFOUND would be a path in the course's folder, which the sandbox would open
      continue()
    endif()
    file(REAL_PATH ${compiler} real)  # often a link into another folder
    foreach(path IN ITEMS ${compiler} ${real})
      if(NOT path MATCHES "^/usr/bin/")
        cmake_path(GET path PARENT_PATH bin)
        cmake_path(GET bin PARENT_PATH prefix)
        list(APPEND toolchain ${prefix})
      endif()
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES toolchain)
  set(calls ${add_CALLS})
  set(counted ${add_COUNTED})
  set(text "{")
  foreach(key IN ITEMS cpp cu link objects libraries readable headers device runtime toolchain calls counted apart)
    if("${${key}}" STREQUAL "")
      string(APPEND text "\n\"${key}\": [],")
    else()
      string(APPEND text "\n\"${key}\": [\"$<JOIN:${${key}},\"$<COMMA> \">\"],")
    endif()
  endforeach()
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/recipes/${dir}.${backend}.json
       CONTENT "${text}\n\"lab\": [\"${dir}\"]\n}\n")
  add_dependencies(${lab}.staff lab_${backend} lab_common ${lab}.${backend}.calls)
  add_custom_target(${lab}.${backend}.staff DEPENDS ${staff_${backend}})
  if(backend STREQUAL "cuda")
    add_dependencies(cuda_code ${lab}.cuda.calls ${lab}.cuda.staff)
  endif()
  add_dependencies(${lab}.staff ${lab}.${backend}.staff)
  if(add_LIBRARY)
    add_dependencies(${lab}.staff ${add_LIBRARY}_${backend})
  endif()
endfunction()

# Submissions besides the solution, solutions/NN_topic/{right,wrong}/NAME.patch, equal their base except for the patch.
# labNN.others makes each whole, in build/submissions/NN_topic/.
function(_lab_others lab dir answers)
  file(GLOB solution CONFIGURE_DEPENDS ${answers}/handin/*)
  file(GLOB others CONFIGURE_DEPENDS RELATIVE ${answers} ${answers}/right/*.patch ${answers}/wrong/*.patch)
  list(TRANSFORM others REPLACE "\\.patch$" "")
  set(whole ${PROJECT_BINARY_DIR}/submissions/${dir})
  set(make_whole ${PROJECT_SOURCE_DIR}/common/cmake/make_whole.sh)
  set(made "")
  foreach(other IN LISTS others)
    string(REPLACE "/" "-" id ${other})
    file(STRINGS ${answers}/${other}.patch base REGEX "^base *=")
    string(REGEX REPLACE "^base *= *\"(.*)\".*" "\\1" base "${base}")
    string(REGEX REPLACE "^(right|wrong)-" "\\1/" base_folder "${base}")
    if(base STREQUAL "solution" OR base STREQUAL "")
      set(from ${answers}/handin)
      set(needs ${solution})
    elseif(base_folder IN_LIST others)
      set(from ${whole}/${base})
      set(needs ${from}/made)
    else()
      message(FATAL_ERROR "${answers}/${other}.patch: there is no submission '${base}' to be its base")
    endif()
    add_custom_command(OUTPUT ${whole}/${id}/made
                       COMMAND ${make_whole} ${from} ${answers}/${other}.patch ${whole}/${id}
                       DEPENDS ${make_whole} ${answers}/${other}.patch ${needs} COMMENT "${dir} ${id}" VERBATIM)
    list(APPEND made ${whole}/${id}/made)
  endforeach()
  add_custom_target(${lab}.others DEPENDS ${made})
endfunction()

# What `ctest -L lab03` runs: a build, then `grader lab 03 ITEM` for each item of the rubric, so that an editor can list
# the items and run them one by one.
function(_lab_tests lab dir root)
  add_test(NAME ${lab}.build COMMAND flock ${PROJECT_BINARY_DIR}/building.lock ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target ${lab})
  set_tests_properties(${lab}.build PROPERTIES LABELS "${lab}" FIXTURES_SETUP ${lab}.built)
  set(devices sim)
  if(CUDA_GPU_HERE)
    list(APPEND devices gpu)
  endif()
  set(rubric ${root}/labs/${dir}/judge/rubric.toml)
  if(root STREQUAL PROJECT_SOURCE_DIR)  # not for the trial lab: a test changes its rubric, and CMake would make it again
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${rubric})
  endif()
  file(READ ${rubric} lines)
  string(REGEX REPLACE "[][;\\]" " " lines "${lines}")  # CMake lists give these characters a meaning
  string(REPLACE "\n" ";" lines "${lines}")
  set(line_number 0)
  foreach(line IN LISTS lines)
    math(EXPR line_number "${line_number} + 1")
    if(line MATCHES "^id = \"(.*)\"")
      set(id ${CMAKE_MATCH_1})
      set(id_at ${rubric}:${line_number})
    endif()
    if(NOT line MATCHES "^kind = \"([a-z]+)\"")
      continue()
    endif()
    set(kind ${CMAKE_MATCH_1})
    # Through env: ctest lists no command for a program that is not built yet, and CMake Tools cannot run such a test.
    add_test(NAME ${lab}.${id} COMMAND env $<TARGET_FILE:grader> lab ${number} ${id} --source ${root})
    set_tests_properties(
      ${lab}.${id} PROPERTIES LABELS "${lab};${devices};${kind}" FIXTURES_REQUIRED ${lab}.built TIMEOUT 300
                              SKIP_REGULAR_EXPRESSION "SKIPPED: " RUN_SERIAL TRUE DEF_SOURCE_LINE ${id_at})
  endforeach()
  if(NOT CUDA_GPU_HERE)
    add_test(NAME ${lab}.cuda COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: no GPU with a CUDA toolkit when this was configured")
    set_tests_properties(${lab}.cuda PROPERTIES LABELS "${lab};gpu" SKIP_REGULAR_EXPRESSION "SKIPPED: ")
  endif()
  if(EXISTS ${root}/solutions/${dir}/handin)
    # Last. A separate report: a joint one would be rewritten after each lab.
    add_test(NAME ${lab}.expected COMMAND grader demo --lab ${dir} --all --source ${root} --report ${PROJECT_BINARY_DIR}/expected/${lab})
    set_tests_properties(${lab}.expected PROPERTIES LABELS "course;sweep" TIMEOUT 2400 RUN_SERIAL TRUE COST -0.5)
    # The part that every machine runs: the solution, the skeleton and a few wrong submissions.
    add_test(NAME ${lab}.demo COMMAND grader demo --lab ${dir} --source ${root} --report ${PROJECT_BINARY_DIR}/demo/${lab})
    set_tests_properties(${lab}.demo PROPERTIES LABELS "course" TIMEOUT 600 RUN_SERIAL TRUE)
    if(EXISTS ${root}/labs/${dir}/crashed)
      add_test(NAME ${lab}.crashed COMMAND ${PROJECT_SOURCE_DIR}/common/cmake/crashed_test.sh $<TARGET_FILE:simcc> ${root}/labs/${dir}
                                           ${root}/solutions/${dir}/handin ${PROJECT_BINARY_DIR}/crashed/${lab})
      set_tests_properties(${lab}.crashed PROPERTIES LABELS "course;sweep" TIMEOUT 600)
    endif()
    if(TARGET ${lab}.solution.sim.experiment)
      add_dependencies(long ${lab}.solution.sim.experiment)
      add_test(NAME ${lab}.experiment COMMAND ${lab}.solution.sim.experiment)
      set_tests_properties(${lab}.experiment PROPERTIES LABELS "course;sweep" TIMEOUT 300)
    endif()
  endif()
endfunction()
