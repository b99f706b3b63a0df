// Mutation testing: a solution with one small slip in it must lose points, whatever the seed. If no item notices a
// slip, the lab lacks a case, or the slip changes nothing that the contract promises.
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
  std::string text;       ///< in place of what is there
  int line = 0;           ///< of the file, from 1
  std::string line_text;  ///< without blanks at either end
  std::string what;       ///< "'<' -> '<='", "statement dropped"
  bool lazy = false;      ///< no slip: right for most inputs, as a student writes who tries only a few
};

/// What mutants.toml calls it: file, change and line; another mutant of an equal line may have the same.
std::string name_of(const mutant& m);

/// The text of `file` with the mutant in it.
std::string mutated(const std::string& source, const mutant& m);

/// Every mutant of a C++ or CUDA source that this knows to make: operators, bounds, constants, types, conditions, terms
/// and statements dropped, neighbouring statements in another order, another stream. The lazy ones: loops that end at
/// 1000, a number in place of minus infinity, values in fp16, memory, a stream and an event left behind, a launch more,
/// a barrier less. `sizes`: names of which one must be in the bound of a loop that ends at 1000; empty: any loop.
std::vector<mutant> mutants_of(const std::string& file, const std::string& source,
                               const std::set<std::string>& sizes = {});

/// The solution's own, but for those that its mutants.toml names as equivalent. Throws input_error if that file
/// names one that does not exist.
std::vector<mutant> mutants_of_lab(const lab_folder& lab, const submission& solution);

struct mutant_outcome {
  bool compiles = true;
  std::vector<std::uint64_t> survived;  ///< seeds at which nothing lost points
  std::string lost;                     ///< the first item that did
};

/// Grades it officially at each seed, without predictions and timings.
mutant_outcome try_mutant(const lab_folder& lab, const submission& solution, const mutant& m,
                          const std::vector<std::uint64_t>& seeds, official_options options);

}  // namespace grading
