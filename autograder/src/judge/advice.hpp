// Waste that costs no points: what the counters of a case show beyond the conditions of its item.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/rubric.hpp"
#include "lab/execute.hpp"
#include "lab/roofline.hpp"

namespace grading {

/// The simulated device's description; all zeros if there is none.
struct modelled_device {
  std::string name;
  int multiprocessors = 0;
  double bytes_per_second = 0, flops_per_second = 0, launch_seconds = 0;
};
modelled_device read_modelled_device(const std::filesystem::path& source);

/// One entry per line and operation, summed over all launches, ordered by file and line.
std::vector<lab::line_counters> lines_of(const std::vector<lab::launch_record>& launches);
bool is_shared(const lab::line_counters& c);
std::uint64_t cost_of(
    const lab::line_counters& c);  ///< sectors, or wavefronts of shared memory: both cost about the same
std::uint64_t excess_of(const lab::line_counters& c);  ///< the part of the cost that the requests did not need

struct advice {
  waste about = waste::small_grid;
  std::string place;  ///< "x.cu:12"; "" for a whole kernel
  std::string text;   ///< one sentence, with the name that Nsight Compute uses
};

/// At most two pieces of advice, the worst first. Only kernels in these files count, and only in cases that are large
/// enough to matter.
std::vector<advice> advice_on(const std::vector<lab::launch_record>& launches, const lab::work& work,
                              const std::vector<std::string>& files, const modelled_device& device);

/// The line to blame for a missed condition, "x.cu:12: 32 sectors per global store where 4 suffice". For a counter per
/// request: the line furthest beyond the bound, over all its requests; else the line that wastes most; else the line
/// that costs most. "" if the counter is not about memory.
std::string worst_line(const std::vector<lab::launch_record>& launches, const condition& missed);

}  // namespace grading
