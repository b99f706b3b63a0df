// What the staff's own runner can do: the ceilings of the host part, called as a student's function is. A case whose
// ceiling is "triad", "fma" or "eigen" has its inputs, outputs and parameters as written here.
#include <lab/call.hpp>

#include "lab/ceilings.hpp"

namespace {

/// output 0, one i64: the sum of all words of all inputs; parameters: their sizes in bytes.
void read(const lab::call& c) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    sum += lab::read_all({c.input<std::byte>(i), static_cast<std::size_t>(c.parameters.at(i))});
  *c.output<std::int64_t>(0) = static_cast<std::int64_t>(sum);
}

/// Inputs b and c, n floats each, and one float, the scale; parameter: n.
void triad(const lab::call& c) {
  lab::triad(c.output<float>(0), c.input<float>(0), c.input<float>(1), *c.input<float>(2),
             static_cast<std::size_t>(c.parameters.at(0)));
}

/// Inputs: n floats, and one, the constant; parameters: n, rounds.
void fma(const lab::call& c) {
  lab::fma_chains(c.output<float>(0), c.input<float>(0), *c.input<float>(1),
                  static_cast<std::size_t>(c.parameters.at(0)), c.parameters.at(1));
}

/// Inputs a and b; parameters: m, n, k.
void eigen(const lab::call& c) {
  lab::eigen_product(c.output<float>(0), c.input<float>(0), c.input<float>(1), c.parameters.at(0), c.parameters.at(1),
                     c.parameters.at(2));
}

constexpr lab::entry table[] = {{"read", lab::part::host, read},
                                {"triad", lab::part::host, triad},
                                {"fma", lab::part::host, fma},
                                {"eigen", lab::part::host, eigen}};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
