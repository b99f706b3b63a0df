// Looks for a property of the sizes that separates failing cases from passing ones: ragged, large, small.
#include "judge/failures.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "support/text.hpp"

namespace grading {
namespace {

using some_cases = std::vector<const lab::test_case*>;

/// Names of the case's parameters; none if the contract has a different number of them.
std::vector<std::string> names_of(const lab::test_case& c, const contract& names) {
  const auto found = names.find(c.entry);
  return found != names.end() && found->second.sizes.size() == c.parameters.size() ? found->second.sizes
                                                                                   : std::vector<std::string>{};
}

template <class Holds>
bool separates(const some_cases& failed, const some_cases& passed, Holds holds) {
  return std::all_of(failed.begin(), failed.end(), [&](const auto* c) { return holds(*c); }) &&
         std::none_of(passed.begin(), passed.end(), [&](const auto* c) { return holds(*c); });
}

}  // namespace

std::string sizes_text(const lab::test_case& c, const contract& names) {
  const std::vector<std::string> known = names_of(c, names);
  std::string text;
  for (std::size_t i = 0; i < known.size(); ++i)
    add_to_list(text, ", ", fmt::format("{} = {}", known[i], c.parameters[i]));
  return text;
}

std::string pattern_of(const some_cases& failed, const some_cases& passed, const contract& names) {
  if (failed.size() < 2 || passed.size() < 2 || failed.size() + passed.size() < 5) return {};  // could be chance
  const std::vector<std::string> sizes = names_of(*failed.front(), names);
  for (const some_cases* all : {&failed, &passed})
    for (const lab::test_case* c : *all)
      if (c->parameters.size() != sizes.size() || c->entry != failed.front()->entry) return {};
  for (std::size_t p = 0; p < sizes.size(); ++p) {
    const auto less = [p](const auto* a, const auto* b) { return a->parameters[p] < b->parameters[p]; };
    const auto [least_bad, most_bad] = std::minmax_element(failed.begin(), failed.end(), less);
    const auto [least_good, most_good] = std::minmax_element(passed.begin(), passed.end(), less);
    if (less(*most_good, *least_bad))
      return fmt::format("Only large sizes fail: every `{}` above {}.", sizes[p], (*most_good)->parameters[p]);
    if (less(*most_bad, *least_good))
      return fmt::format("Only small sizes fail: every `{}` below {}.", sizes[p], (*least_good)->parameters[p]);
  }
  constexpr std::int64_t units[] = {256, 128, 64, 32, 16, 8, 4, 2};  // the largest unit that explains all cases wins
  for (const std::int64_t unit : units) {
    for (std::size_t p = 0; p < sizes.size(); ++p)
      if (separates(failed, passed, [=](const lab::test_case& c) { return c.parameters[p] % unit != 0; }))
        return fmt::format("Only ragged sizes fail: every `{}` that is not a multiple of {}.", sizes[p], unit);
    const auto ragged = [=](const lab::test_case& c) {
      return std::any_of(c.parameters.begin(), c.parameters.end(), [=](std::int64_t n) { return n % unit != 0; });
    };
    if (sizes.size() > 1 && separates(failed, passed, ragged))
      return fmt::format("Only ragged sizes fail: every case with a size that is not a multiple of {}.", unit);
  }
  return {};
}

}  // namespace grading
