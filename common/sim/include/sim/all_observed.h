// Included before a submission that is graded: it must not tell the compiler to omit the hooks of its accesses.
#pragma once

#include "cuda_runtime.h"  // whose own functions may, as they report for themselves

#pragma GCC poison no_sanitize no_sanitize_thread no_sanitize_coverage disable_sanitizer_instrumentation
#pragma GCC poison __no_sanitize__ __no_sanitize_thread__ __no_sanitize_coverage__ __disable_sanitizer_instrumentation__
