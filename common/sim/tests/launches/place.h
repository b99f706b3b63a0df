// The compiler's current position: std::source_location, or compiler builtins, because clang 14 lacks it.
#pragma once

#ifndef __clang__
#include <source_location>
#endif

struct place {
  const char* file;
  unsigned line, column;
#ifdef __clang__
  static place here(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE(),
                    unsigned column = __builtin_COLUMN()) {
    return {file, line, column};
  }
#else
  static place here(std::source_location at = std::source_location::current()) {
    return {at.file_name(), at.line(), at.column()};
  }
#endif
};
