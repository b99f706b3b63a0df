// Nothing of attention here.
#include "host.hpp"

namespace lab12 {

void count_positive(volatile std::int64_t*, const std::int32_t*, std::size_t, int, int) {}
std::int64_t total_of(const volatile std::int64_t*, int, int) { return 0; }

}  // namespace lab12
