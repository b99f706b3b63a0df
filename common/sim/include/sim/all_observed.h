// Included before a submission that is graded: it must not tell the compiler to omit the hooks of its accesses.
#pragma once

#include "cuda_runtime.h"  // whose own functions may, as they report for themselves

#pragma GCC poison no_sanitize no_sanitize_thread no_sanitize_coverage disable_sanitizer_instrumentation
#pragma GCC poison __no_sanitize__ __no_sanitize_thread__ __no_sanitize_coverage__ __disable_sanitizer_instrumentation__

#if !defined(__clang__)
// g++ makes moves of these functions when it has put its hooks already, unless it is one move: that has a hook. A call
// has one, too. libstdc++'s strings copy by them.
#define __builtin_memcpy(to, from, bytes)                                                                           \
  (__builtin_constant_p(bytes) && (bytes) <= 16 && ((bytes) & ((bytes)-1)) == 0 ? __builtin_memcpy(to, from, bytes) \
                                                                                : ::memcpy(to, from, bytes))
#define __builtin_memset(to, value, bytes)                                                                           \
  (__builtin_constant_p(bytes) && (bytes) <= 16 && ((bytes) & ((bytes)-1)) == 0 ? __builtin_memset(to, value, bytes) \
                                                                                : ::memset(to, value, bytes))
#pragma GCC poison __builtin_mempcpy __builtin___memcpy_chk __builtin___mempcpy_chk __builtin___memset_chk
#endif
