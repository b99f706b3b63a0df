# Checks of the sources themselves: `ctest -R "format|without_nvcc"`, and `cmake --build build --target tidy`.

file(GLOB_RECURSE own_sources CONFIGURE_DEPENDS autograder/*.[ch]pp common/*.[ch]pp common/*.h common/*.cu labs/*.[ch]pp
     labs/*.cu solutions/*.cpp solutions/*.cu)

find_program(CLANG_FORMAT NAMES clang-format-14 clang-format)
if(CLANG_FORMAT)
  execute_process(COMMAND ${CLANG_FORMAT} --version OUTPUT_VARIABLE format_version)
endif()
if(format_version MATCHES "version 14\\.")
  add_test(NAME format COMMAND ${CLANG_FORMAT} --dry-run --Werror ${own_sources})
else()  # other versions break lines elsewhere
  add_test(NAME format COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: no clang-format 14; apt-get install clang-format-14")
  set_tests_properties(format PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED: ")
endif()

find_program(RUN_CLANG_TIDY NAMES run-clang-tidy-14 run-clang-tidy)
if(RUN_CLANG_TIDY)
  add_custom_target(tidy COMMAND ${CMAKE_COMMAND} -S ${PROJECT_SOURCE_DIR} -B ${PROJECT_BINARY_DIR}/tidy -G ${CMAKE_GENERATOR}
                                 -DLABS_BY_FOLDER=OFF
                         COMMAND ${RUN_CLANG_TIDY} -quiet -p ${PROJECT_BINARY_DIR}/tidy "(autograder|common|program)/.*\\.cpp$" "/module\\.cpp$"
                    COMMENT "clang-tidy; the settings are in .clang-tidy" VERBATIM)
endif()

# Configures without nvcc, as on most students' machines, even if this one has it.
add_test(NAME without_nvcc COMMAND ${CMAKE_COMMAND} -S ${PROJECT_SOURCE_DIR} -B ${PROJECT_BINARY_DIR}/without_nvcc -G ${CMAKE_GENERATOR} -DLABS_CUDA=ON
                                   -DCMAKE_CUDA_COMPILER=CMAKE_CUDA_COMPILER-NOTFOUND)
set_tests_properties(without_nvcc PROPERTIES LABELS course PASS_REGULAR_EXPRESSION "No nvcc.*Build files have been written")
# Compiles everything that nvcc compiles, if it is installed: running it needs a GPU, compiling does not.
add_test(NAME cuda_compiles COMMAND ${PROJECT_SOURCE_DIR}/common/tests/cuda_test.sh ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/cuda)
set_tests_properties(cuda_compiles PROPERTIES LABELS "course;sweep" TIMEOUT 1800 SKIP_RETURN_CODE 77)

# Sandboxes for official grading must mount a compiler outside /usr.
set(elsewhere ${PROJECT_BINARY_DIR}/compiler_elsewhere)
file(CONFIGURE OUTPUT ${elsewhere}/real/bin/c++ CONTENT "#!/bin/sh\nexec '${CMAKE_CXX_COMPILER}' \"$@\"\n" @ONLY)
file(CHMOD ${elsewhere}/real/bin/c++ PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
file(MAKE_DIRECTORY ${elsewhere}/linked/bin)
file(CREATE_LINK ${elsewhere}/real/bin/c++ ${elsewhere}/linked/bin/c++ SYMBOLIC)
add_test(NAME compiler_elsewhere
         COMMAND sh -c "'${CMAKE_COMMAND}' -S '${PROJECT_SOURCE_DIR}' -B build -G '${CMAKE_GENERATOR}' -DCMAKE_CXX_COMPILER=$PWD/linked/bin/c++ &&
                        grep toolchain build/recipes/00*.sim.json"
         WORKING_DIRECTORY ${elsewhere})
set_tests_properties(compiler_elsewhere PROPERTIES LABELS course PASS_REGULAR_EXPRESSION "elsewhere/linked\".*elsewhere/real\"")
