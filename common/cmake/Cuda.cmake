# Turns on CUDA if there is an nvcc, sets CUDA_ENABLED and CUDA_GPU_HERE, and says what is missing if there is none.
# Include it from the top-level CMakeLists.txt.

# What the simulated device allows in device code, too: lambdas, and constexpr functions of the C++ library.
set(LAB_NVCC_LANGUAGE --extended-lambda --expt-relaxed-constexpr)
set(CUDA_ENABLED OFF)
set(CUDA_GPU_HERE OFF)
if(EXISTS /proc/driver/nvidia/version OR EXISTS /dev/nvidiactl)
  set(CUDA_GPU_HERE ON)
endif()
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
    set(CUDA_ENABLED ON)
  else()
    message(STATUS "No nvcc: labs are built for the simulated device only")
  endif()
endif()
