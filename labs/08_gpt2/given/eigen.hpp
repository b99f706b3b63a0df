// Eigen as block.cpp has it, without assembly, which cannot be checked:
//  - It has a name of its own, because other parts of the program compile it for other vectors.
//  - Its products of matrices, and of a matrix and a vector, are calls of sgemm_ and sgemv_, which the course has
//  compiled
//    once from Eigen's own (common/gpt2/blas.cpp). That also saves you seconds.
//  - It takes clang for g++ 12, for which it writes no instructions itself.
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
