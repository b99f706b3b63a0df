// Waste that costs no points: what the counters of a case say beyond the conditions of its item.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/rubric.hpp"
#include "lab/execute.hpp"
#include "lab/roofline.hpp"

namespace grading {

/// The simulated device as its description has it; all zeros if there is none.
struct modelled_device {
  std::string name;
  int multiprocessors = 0;
  double bytes_per_second = 0, flops_per_second = 0, launch_seconds = 0;
};
modelled_device read_modelled_device(const std::filesystem::path& source);

/// Each line and operation, summed over all launches; by file and line.
std::vector<lab::line_counters> lines_of(const std::vector<lab::launch_record>& launches);
bool is_shared(const lab::line_counters& c);
std::uint64_t cost_of(
    const lab::line_counters& c);  ///< sectors, or wavefronts of shared memory: they cost about the same
std::uint64_t excess_of(const lab::line_counters& c);  ///< of the cost, what the requests did not need

struct advice {
  waste about = waste::small_grid;
  std::string place;  ///< "x.cu:12"; "" if it is about a whole kernel
  std::string text;   ///< one sentence, with Nsight Compute's name for what it is about
};

/// At most two, the worst first. Only kernels of these files count, and only if the case is large enough that it
/// matters.
std::vector<advice> advice_on(const std::vector<lab::launch_record>& launches, const lab::work& work,
                              const std::vector<std::string>& files, const modelled_device& device);

/// The line that is to blame for a condition that is missed, "x.cu:12: 32 sectors per global store where 4 suffice": of
/// a counter per request, the one furthest beyond the bound, over all its requests; else the one that wastes most; else
/// the one that asks for most. "" if the counter is not about memory.
std::string worst_line(const std::vector<lab::launch_record>& launches, const condition& missed);

}  // namespace grading
