// What the staff's own runner can do: the ceilings of the host part, called as a student's function is.
#include <lab/call.hpp>

#include "ceilings.hpp"

namespace {

/// output 0, one i64: the sum of all words of all inputs; parameters: their sizes in bytes.
void read(const lab::call& c) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    sum += grading::read_all({c.input<std::byte>(i), static_cast<std::size_t>(c.parameters.at(i))});
  *c.output<std::int64_t>(0) = static_cast<std::int64_t>(sum);
}

constexpr lab::entry table[] = {{"read", lab::part::host, read}};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
