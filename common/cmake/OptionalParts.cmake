# Ungraded parts of labs. A part is a folder of a lab with a contract, a skeleton and check.cpp (GoogleTest); the
# solution's folder has wrong/*.patch, too.

# NAME.BACKEND is the part's check, built with SOURCE.
function(_part_program part name backend source)
  get_target_property(folder ${part}.check.${backend} SOURCE_DIR)
  lab_objects(${source} "${folder};${CMAKE_CURRENT_SOURCE_DIR}" ${backend} objects)
  add_executable(${name}.${backend} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${part}.check.${backend}> ${objects})
  set_target_properties(${name}.${backend} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${name}.${backend} PRIVATE lab_${backend} lab_common GTest::gtest_main)
endfunction()

# optional_part(lab11.backward backward.cu): lab11.backward.sim and .cuda check the student's file.
function(optional_part part source)
  foreach(backend IN ITEMS sim cuda)
    if(TARGET lab_${backend})
      add_library(${part}.check.${backend} OBJECT EXCLUDE_FROM_ALL check.cpp)
      target_link_libraries(${part}.check.${backend} PRIVATE lab_${backend} GTest::gtest)
      if(backend STREQUAL "sim")
        target_include_directories(${part}.check.sim SYSTEM PRIVATE ${PROJECT_SOURCE_DIR}/common/sim/include)
      endif()
      _part_program(${part} ${part} ${backend} ${CMAKE_CURRENT_SOURCE_DIR}/${source})
    endif()
  endforeach()
endfunction()

# part_solution(lab11.backward backward.cu): the solution passes the check.
function(part_solution part source)
  foreach(backend IN ITEMS sim cuda)
    if(TARGET lab_${backend})
      _part_program(${part} ${part}.solution ${backend} ${CMAKE_CURRENT_SOURCE_DIR}/${source})
      if(backend STREQUAL "sim")
        add_dependencies(long ${part}.solution.sim)
      else()
        add_dependencies(cuda_code ${part}.solution.cuda)
      endif()
      if(backend STREQUAL "sim" OR CUDA_GPU_HERE)
        add_test(NAME ${part}.${backend} COMMAND ${part}.solution.${backend})
        set_tests_properties(${part}.${backend} PROPERTIES LABELS "course;sweep" TIMEOUT 300 RUN_SERIAL $<STREQUAL:${backend},cuda>)
      endif()
    endif()
  endforeach()
endfunction()

# part_mistake(lab11.backward backward.cu NAME tests...): with wrong/NAME.patch it fails exactly these tests, listed in
# the order in which they run.
function(part_mistake part source name)
  set(patch ${CMAKE_CURRENT_SOURCE_DIR}/wrong/${name}.patch)
  set(patched ${CMAKE_CURRENT_BINARY_DIR}/${part}.${name}.cu)
  add_custom_command(OUTPUT ${patched} COMMAND patch --quiet --output ${patched} ${CMAKE_CURRENT_SOURCE_DIR}/${source} ${patch}
                     DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} ${patch} VERBATIM)
  _part_program(${part} ${part}.${name} sim ${patched})
  add_dependencies(long ${part}.${name}.sim)
  list(LENGTH ARGN count)
  list(TRANSFORM ARGN PREPEND "FAILED  . " OUTPUT_VARIABLE names)
  list(JOIN names "[^a-zA-Z].*" names)
  add_test(NAME ${part}.wrong.${name} COMMAND ${part}.${name}.sim)
  set_tests_properties(${part}.wrong.${name} PROPERTIES LABELS "course;sweep" TIMEOUT 300
                       PASS_REGULAR_EXPRESSION "listed below:.*${names}[^a-zA-Z].* ${count} FAILED TEST")
endfunction()
