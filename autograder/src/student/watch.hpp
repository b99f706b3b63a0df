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
  std::optional<result> first;  ///< the last grading, where it still holds: then nothing is graded at the start
};

/// Until "q", Ctrl-C or, where standard input is no terminal, SIGTERM. Returns whether the lab is passed.
bool watch(const lab_folder& lab, builder& make, watch_settings s);

}  // namespace grading
