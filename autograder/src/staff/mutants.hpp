// Mutation testing: a solution with one small slip must lose points, whatever the seed. If no item detects a slip, the
// lab lacks a case or the slip changes nothing that the contract promises.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "course/submission.hpp"
#include "judge/official.hpp"

namespace grading {

/// One replacement in one file.
struct mutant {
  std::string file;
  std::size_t at = 0, length = 0;
  std::string text{};       ///< replaces the original text
  int line = 0;             ///< in the file, from 1
  std::string line_text{};  ///< trimmed
  std::string what{};       ///< "'<' -> '<='", "statement dropped"
  bool lazy = false;        ///< not a slip but right for most inputs, like the code of a student who tries only a few
};

/// The mutant's name in mutants.toml: file, change and line; mutants of identical lines may share one.
std::string name_of(const mutant& m);

/// The text of `file` with the mutant in it.
std::string mutated(const std::string& source, const mutant& m);

/// All supported mutants of a C++ or CUDA source. Slips: operators, bounds, constants, types, conditions, terms and
/// statements dropped, adjacent statements swapped, another stream. Lazy code: loops that end at 1000, a number instead
/// of minus infinity, values in fp16, leaked memory, stream and event, an extra launch, a missing barrier. `sizes`: a
/// loop can end at 1000 only if its bound has one of these names; empty: any loop.
std::vector<mutant> mutants_of(const std::string& file, const std::string& source,
                               const std::set<std::string>& sizes = {});

/// The solution's mutants, except those that mutants.toml lists as equivalent. Throws input_error if that file lists
/// one that does not exist.
std::vector<mutant> mutants_of_lab(const lab_folder& lab, const submission& solution);

struct mutant_outcome {
  bool compiles = true;
  std::vector<std::uint64_t> survived;  ///< seeds at which nothing lost points
  std::string lost;                     ///< the first item that lost points
};

/// Grades the mutant officially with each seed, without predictions and timings.
mutant_outcome try_mutant(const lab_folder& lab, const submission& solution, const mutant& m,
                          const std::vector<std::uint64_t>& seeds, official_options options);

}  // namespace grading
