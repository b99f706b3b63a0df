// Eigen for block.cpp, without assembly, which cannot be checked:
//  - It has its own name, because other parts of the program compile Eigen for other vectors.
//  - Its products of matrices, and of a matrix and a vector, call sgemm_ and sgemv_. The course compiles these once
//    (common/gpt2/blas.cpp), which also saves you seconds.
//  - It treats clang as g++ 12, for which it uses no assembly.
#pragma once

#define Eigen EigenOfTheBlock
#define EIGEN_USE_BLAS
#define EIGEN_NO_CPUID
#include <Eigen/src/Core/util/Macros.h>
#ifdef __clang__
#undef EIGEN_COMP_CLANG
#undef EIGEN_COMP_GNUC
#undef EIGEN_GNUC_AT_LEAST
#define EIGEN_COMP_CLANG 0
#define EIGEN_COMP_GNUC 120
#define EIGEN_GNUC_AT_LEAST(major, minor) ((major) <= 12)
#endif
#include <Eigen/Core>
