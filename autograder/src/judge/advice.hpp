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

/// At most two sentences, the worst first, each with Nsight Compute's name for what it is about: a grid that leaves
/// most of the device idle, bank conflicts, requests of more sectors than they need, one block per multiprocessor. Only
/// kernels of these files count, and only if the case is large enough that it matters.
std::vector<std::string> advice_on(const std::vector<lab::launch_record>& launches, const lab::work& work,
                                   const std::vector<std::string>& files, const modelled_device& device);

/// The line that is to blame for a condition that is missed, "x.cu:12: 32 sectors per global store where 4 suffice": of
/// a counter per request, the one furthest beyond the bound, over all its requests; else the one that wastes most; else
/// the one that asks for most. "" if the counter is not about memory.
std::string worst_line(const std::vector<lab::launch_record>& launches, const condition& missed);

}  // namespace grading
