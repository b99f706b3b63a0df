// The report's view of the source: each line that accesses memory, with its counters.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "result/result.hpp"

namespace grading {

/// The cases with their launches and lines, as report.html shows them under "memory"; null if nothing was counted.
nlohmann::ordered_json memory_lines(const result& r, const std::filesystem::path& source);

}  // namespace grading
