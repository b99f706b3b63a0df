#pragma once

#include <elfutils/libdwfl.h>

#include "internal.hpp"

namespace sim {

/// `line` itself, or where it is a line of a device header, the line of the program that called the header's function.
source_line outside_headers(Dwfl* session, std::uintptr_t pc, source_line line);

}  // namespace sim
