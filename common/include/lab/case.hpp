// The judge's side of a lab: its problems, each with inputs, check and work. The student's functions are called by
// another program (call.hpp); the two are never compiled together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lab/buffer.hpp"
#include "lab/part.hpp"
#include "lab/random.hpp"
#include "lab/roofline.hpp"

namespace lab {

/// Holds information that a submission may ask for during a call but must not have in its memory. Lives in the judge's
/// process; each call has its own.
class oracle {
 public:
  virtual ~oracle() = default;
  /// Replaces the question in the call's last output with its answer. The submission may have written anything there.
  virtual void answer(std::span<std::byte>) {}
  /// What the judge knows after the call.
  virtual buffer account() const = 0;
};

struct test_case {
  std::string id;     ///< unique in its lab, "entry/sizes", such as "transpose/33x65"
  std::string entry;  ///< name of the function, as in the lab's calls.cpp; "" if no function is called, see `oracle`
  part where = part::device;
  std::vector<std::int64_t> parameters;  ///< sizes and other parameters, in the order in which calls.cpp reads them
  std::size_t own_sizes = 0;  ///< where the function's own sizes begin in `parameters`; before them are a ceiling's
  std::vector<buffer_spec> outputs;
  std::function<std::vector<buffer>(std::uint64_t seed)> inputs;
  /// Returns "" if the outputs are right, otherwise what is wrong. `before`: the inputs as the judge made them.
  std::function<std::string(std::span<const buffer> before, std::span<const buffer> outputs)> check;
  /// If set, its account() after the call follows the other outputs, for `check` and for predictions.
  std::function<std::unique_ptr<lab::oracle>(std::uint64_t seed)> oracle = {};
  lab::work work;
  std::size_t memory = 0;     ///< host part: bytes that the call may take in addition to its buffers; 0: no limit
  bool counts_calls = false;  ///< host part: the judge counts its system calls, see call_counter.hpp
  bool on_sim = false;  ///< host part: calls.cpp tells the simulated device what to answer; no GPU can run the case
  int threads = 1;      ///< host part: the most threads that it may have at a time
  bool timed = false;   ///< for throughput items only: too large for the simulated device, and not matched by "entry/*"
  std::string like = {};  ///< for a drawn case: counted like the case with this id or, if timed, timed in its place
};

/// Returns `base`, for throughput items only.
inline test_case timed(test_case base) {
  base.timed = true;
  return base;
}

/// Returns `drawn`, a case that counters items about the case `id` then include: their bars scale with its sizes as the
/// rubric says.
inline test_case like(std::string id, test_case drawn) {
  drawn.like = std::move(id);
  return drawn;
}

/// A lab's cases.cpp defines one such object; a program that links it finds the cases by the lab's name. `draw`, if
/// set, makes more cases with random sizes, unknown before an official grading; the rubric's "entry/*" includes them.
struct case_registration {
  case_registration(std::string lab, std::vector<test_case> (*make)(),
                    std::vector<test_case> (*draw)(std::uint64_t seed) = nullptr);
};

/// Lets `cases_of` find a lab that is not linked in, in the module FOLDER/NN_topic.so.
void load_cases_from(const std::filesystem::path& folder);

/// The module with a lab's cases in the folder of `load_cases_from`.
std::filesystem::path module_of(const std::string& lab);

/// All cases of a lab ("03_coalescing"); throws std::invalid_argument if they are neither linked in nor in a module.
const std::vector<test_case>& cases_of(const std::string& lab);

/// The lab's cases with random sizes; empty if it makes none.
std::vector<test_case> drawn_cases_of(const std::string& lab, std::uint64_t seed);

/// Splits [0, count) into parts and calls body(first, last) for each, on all cores at once; returns when all are done.
/// `body` must not throw. `each` is the amount of work per index; small jobs run without threads.
void in_parallel(std::size_t count, const std::function<void(std::size_t first, std::size_t last)>& body,
                 std::size_t each = 1);

/// The same, calling compute(i) for each i below `count`.
template <class Compute>
void for_each_index(std::size_t count, const Compute& compute, std::size_t each = 1) {
  const auto part = [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) compute(i);
  };
  in_parallel(count, part, each);
}

}  // namespace lab
