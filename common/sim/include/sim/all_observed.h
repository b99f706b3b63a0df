// Included before a graded submission, which must not make the compiler omit hooks for its accesses.
#pragma once

#include "cuda_runtime.h"  // its own functions may omit hooks: they report their accesses

#pragma GCC poison no_sanitize no_sanitize_thread no_sanitize_coverage disable_sanitizer_instrumentation
#pragma GCC poison __no_sanitize__ __no_sanitize_thread__ __no_sanitize_coverage__ __disable_sanitizer_instrumentation__

#if !defined(__clang__)
// g++ turns these functions into moves after inserting its hooks; only a single move, or a call, gets a hook.
// libstdc++'s strings copy with these functions.
#define __builtin_memcpy(to, from, bytes)                                                                           \
  (__builtin_constant_p(bytes) && (bytes) <= 16 && ((bytes) & ((bytes)-1)) == 0 ? __builtin_memcpy(to, from, bytes) \
                                                                                : ::memcpy(to, from, bytes))
#define __builtin_memset(to, value, bytes)                                                                           \
  (__builtin_constant_p(bytes) && (bytes) <= 16 && ((bytes) & ((bytes)-1)) == 0 ? __builtin_memset(to, value, bytes) \
                                                                                : ::memset(to, value, bytes))
#pragma GCC poison __builtin_mempcpy __builtin___memcpy_chk __builtin___mempcpy_chk __builtin___memset_chk
#endif
