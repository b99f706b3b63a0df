// Grades a lab again whenever one of its hand-in files is saved, and says what changed.
#pragma once

#include <filesystem>
#include <optional>

#include "judge/local.hpp"

namespace grading {

struct watch_settings {
  std::filesystem::path source, progress_file, attempts_file;
  result_store store;
  local_options options;
  std::optional<result> first;  ///< the last grading, if it is still valid: then the start grades nothing
};

/// Called after a grading: draws the warp view for the report's tab. Prints errors, which cost no result.
void draw_for_report(const result& r, const lab_folder& lab, const submission& who, builder& make,
                     const local_options& options, const std::filesystem::path& report_folder);

/// Runs until "q", Ctrl-C or, if standard input is not a terminal, SIGTERM. Returns whether the lab is passed.
bool watch(const lab_folder& lab, builder& make, watch_settings s);

}  // namespace grading
