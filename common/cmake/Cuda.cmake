# Turns on CUDA if there is an nvcc, sets CUDA_ENABLED and CUDA_GPU_HERE, and says what is missing if there is none.
# Include it from the top-level CMakeLists.txt.

# As on the simulated device, device code may use lambdas and constexpr functions of the C++ library.
set(LAB_NVCC_LANGUAGE --extended-lambda --expt-relaxed-constexpr)
set(CUDA_ENABLED OFF)
set(CUDA_GPU_HERE ${LABS_CUDA_HERE})
if(LABS_CUDA)
  include(CheckLanguage)
  if(NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(CMAKE_CUDA_COMPILER nvcc HINTS /usr/local/cuda/bin)  # often installed without being on the PATH
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    if(CUDA_GPU_HERE)
      set(CMAKE_CUDA_ARCHITECTURES native)
    else()
      set(CMAKE_CUDA_ARCHITECTURES 90)  # to be compiled here and run elsewhere
    endif()
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)  # here, so that its targets are known in every folder
    # NVIDIA's installers put CUPTI in extras/CUPTI, some packages next to the toolkit; FindCUDAToolkit knows only some
    # of these places.
    set(cupti_places ${CUDAToolkit_TARGET_DIR} ${CUDAToolkit_LIBRARY_ROOT} ${CUDAToolkit_BIN_DIR}/..)
    list(TRANSFORM cupti_places APPEND /extras/CUPTI OUTPUT_VARIABLE cupti_extras)
    find_path(CUPTI_INCLUDE_DIR cupti_range_profiler.h HINTS ${cupti_extras} ${cupti_places} PATH_SUFFIXES include)
    find_library(CUPTI_LIBRARY cupti HINTS ${cupti_extras} ${cupti_places} PATH_SUFFIXES lib64 lib)
    if(CUPTI_INCLUDE_DIR AND CUPTI_LIBRARY)
      set(CUDA_ENABLED ON)
    else()  # Debian 13 and Ubuntu 24.04 package an older toolkit
      message(STATUS "CUDA ${CUDAToolkit_VERSION} has no CUPTI of 12.6 or newer (cupti_range_profiler.h): labs are built for the "
                     "simulated device only. For a GPU, install a newer toolkit with its package cuda-cupti-dev")
    endif()
  else()
    message(STATUS "No nvcc: labs are built for the simulated device only")
  endif()
elseif(NOT CUDA_GPU_HERE)
  message(STATUS "No GPU: labs are built for the simulated device only; cmake -DLABS_CUDA=ON compiles them for a GPU, too")
endif()
