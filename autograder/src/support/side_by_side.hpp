// Runs work in several processes at a time.
#pragma once

#include <cstddef>
#include <functional>

namespace grading {

/// Calls f(0) to f(count - 1) in this many processes, each of which takes the next free number; each call stores its
/// own result. Returns how many returned false or threw; errors are printed.
std::size_t side_by_side(std::size_t processes, std::size_t count, const std::function<bool(std::size_t)>& f);

}  // namespace grading
