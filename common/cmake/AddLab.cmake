# add_lab(03_coalescing) is the whole declaration of a lab: the folder says the rest.
#
# For each submission (the student's own files, the solution, and each folder of solutions/NN_topic/wrong/) and each
# backend it makes
#   lab03.<submission>.<backend>.runner    the program that the grader talks to: student code, no cases
# and for the student and the solution also
#   lab03.<submission>.<backend>.test      GoogleTest over the rubric, in one process
#   lab03.<submission>.<backend>.bench     Google Benchmark over the cases
# `lab03` builds all that a student runs. Tests carry the labels lab03, sim or cuda or cpu, and their kind.

set(LABS_MEASURE OFF CACHE BOOL "Build labNN.solution.<backend>.measure, which writes the committed results")

# A .cu file compiled for the simulated device. The student may change it: only its own object is built anew.
function(_lab_sim_object source contract object)
  file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${source})
  set(output ${PROJECT_BINARY_DIR}/sim/${name}.o)
  add_custom_command(
    OUTPUT ${output}
    COMMAND simcc ${source} -c -o ${output} -MF ${output}.d -Wall -Wextra -I${contract} -I${PROJECT_SOURCE_DIR}/common/include
    DEPENDS ${source} simcc
    DEPFILE ${output}.d
    COMMENT "simcc ${name}"
    VERBATIM)
  set(${object} ${output} PARENT_SCOPE)
endfunction()

# An object library or a list of objects from one source for one backend, made once however many programs use it.
function(_lab_objects source contract backend objects)
  file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${source})
  string(MAKE_C_IDENTIFIER "obj.${name}" id)
  get_filename_component(extension ${source} LAST_EXT)
  if(extension STREQUAL ".cu" AND backend STREQUAL "sim")
    _lab_sim_object(${source} ${contract} object)
    set(${objects} ${object} PARENT_SCOPE)
    return()
  endif()
  if(extension STREQUAL ".cu")
    set(id ${id}.cuda)
  endif()
  if(NOT TARGET ${id})
    add_library(${id} OBJECT EXCLUDE_FROM_ALL ${source})
    target_include_directories(${id} PRIVATE ${contract} ${PROJECT_SOURCE_DIR}/common/include)
    target_compile_options(${id} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O3 -march=native -Wall -Wextra>)
    if(extension STREQUAL ".cu")
      target_link_libraries(${id} PRIVATE lab_cuda)
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
  if(NOT dir MATCHES "^([0-9][0-9])_[a-z0-9_]+$")
    message(FATAL_ERROR "add_lab(${dir}): a lab's folder is named NN_topic, such as 03_coalescing")
  endif()
  set(number ${CMAKE_MATCH_1})
  set(lab lab${number})
  set(contract ${PROJECT_SOURCE_DIR}/labs/${dir})
  set(answers ${PROJECT_SOURCE_DIR}/solutions/${dir})

  file(STRINGS ${contract}/rubric.toml handin_line REGEX "^handin *=")
  string(REGEX MATCHALL "[A-Za-z0-9_]+\\.(cu|cpp)" handin "${handin_line}")
  if(NOT handin)
    message(FATAL_ERROR "labs/${dir}/rubric.toml: no line handin = [\"file.cu\", ...]")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${contract}/rubric.toml)

  set(backends sim)
  if(TARGET lab_cuda)
    list(APPEND backends cuda)
  endif()

  # The judge's side.
  add_library(${lab}.cases OBJECT ${contract}/cases.cpp)
  target_link_libraries(${lab}.cases PRIVATE lab_defaults)
  target_sources(grader PRIVATE $<TARGET_OBJECTS:${lab}.cases>)

  # The runner's side that the staff wrote: calls, and device code that is given.
  file(GLOB given CONFIGURE_DEPENDS ${contract}/*.cu)
  foreach(file IN LISTS handin)
    list(REMOVE_ITEM given ${contract}/${file})
  endforeach()
  foreach(backend IN LISTS backends)
    add_library(${lab}.${backend}.calls OBJECT ${contract}/calls.cpp)
    target_link_libraries(${lab}.${backend}.calls PRIVATE lab_${backend} lab_defaults)
    set(staff_${backend} $<TARGET_OBJECTS:${lab}.${backend}.calls>)
    foreach(source IN LISTS given)
      _lab_objects(${source} ${contract} ${backend} objects)
      list(APPEND staff_${backend} ${objects})
    endforeach()
  endforeach()

  set(submissions student)
  set(from_student ${contract})
  if(EXISTS ${answers})
    list(APPEND submissions solution)
    set(from_solution ${answers})
    file(GLOB wrong CONFIGURE_DEPENDS ${answers}/wrong/*)
    foreach(folder IN LISTS wrong)
      get_filename_component(why ${folder} NAME)
      list(APPEND submissions wrong-${why})
      set(from_wrong-${why} ${folder})
    endforeach()
  endif()

  add_custom_target(${lab})
  foreach(submission IN LISTS submissions)
    foreach(backend IN LISTS backends)
      set(objects ${staff_${backend}})
      foreach(file IN LISTS handin)
        set(source ${from_${submission}}/${file})
        if(submission MATCHES "^wrong-" AND NOT EXISTS ${source})
          set(source ${answers}/${file})
        endif()
        _lab_objects(${source} ${contract} ${backend} object)
        list(APPEND objects ${object})
      endforeach()
      set(name ${lab}.${submission}.${backend})
      _lab_program(${name}.runner "${objects}" runner_main lab_${backend} lab_common)
      if(submission MATCHES "^wrong-")
        continue()
      endif()
      foreach(kind IN ITEMS test bench)
        _lab_program(${name}.${kind} "${objects};$<TARGET_OBJECTS:${lab}.cases>" grading lab_${backend} lab_common)
      endforeach()
      target_link_libraries(${name}.test PRIVATE GTest::gtest)
      target_link_libraries(${name}.bench PRIVATE benchmark::benchmark)
      foreach(kind IN ITEMS test bench)
        target_sources(${name}.${kind} PRIVATE ${PROJECT_SOURCE_DIR}/autograder/src/${kind}_main.cpp)
        target_compile_definitions(${name}.${kind} PRIVATE LAB_NAME="${dir}" LAB_DIR="${contract}"
                                                           SUBMISSION_DIR="${from_${submission}}")
      endforeach()
      if(submission STREQUAL "student")
        add_dependencies(${lab} ${name}.runner ${name}.test ${name}.bench)
      elseif(LABS_MEASURE)
        _lab_program(${name}.measure "${objects};$<TARGET_OBJECTS:${lab}.cases>" grading lab_${backend} lab_common)
        target_sources(${name}.measure PRIVATE ${PROJECT_SOURCE_DIR}/common/src/measure.cpp)
        target_compile_definitions(${name}.measure PRIVATE LAB_NAME="${dir}" LAB_DIR="${contract}")
      endif()
    endforeach()
  endforeach()
  _lab_tests(${lab} ${dir} "${backends}")
endfunction()

# What `ctest -L lab03` runs: a build, then the student's programs, one test for each backend and kind.
function(_lab_tests lab dir backends)
  add_test(NAME ${lab}.build COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target ${lab})
  set_tests_properties(${lab}.build PROPERTIES LABELS "${lab}" FIXTURES_SETUP ${lab}.built)
  foreach(kind IN ITEMS Correctness Counters Predictions Throughput)
    string(TOLOWER ${kind} lower)
    foreach(backend IN ITEMS sim cuda)
      set(test ${lab}.${backend}.${lower})
      if(backend IN_LIST backends)
        add_test(NAME ${test} COMMAND ${lab}.student.${backend}.test --gtest_filter=${kind}.*)
      else()
        add_test(NAME ${test} COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: no CUDA toolkit found when this was configured")
      endif()
      set_tests_properties(
        ${test} PROPERTIES LABELS "${lab};${backend};${lower}" FIXTURES_REQUIRED ${lab}.built TIMEOUT 300
                           SKIP_REGULAR_EXPRESSION "SKIPPED: " RUN_SERIAL TRUE)
    endforeach()
  endforeach()
  if(EXISTS ${PROJECT_SOURCE_DIR}/solutions/${dir})
    add_test(NAME ${lab}.expected COMMAND grader demo --lab ${dir})
    set_tests_properties(${lab}.expected PROPERTIES LABELS "course" TIMEOUT 1200 RUN_SERIAL TRUE)
  endif()
endfunction()
