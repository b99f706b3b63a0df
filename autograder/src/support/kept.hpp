// Outcomes of slow checks, kept outside of any build by the hash of all that decides them.
#pragma once

#include <optional>
#include <string>

namespace grading {

/// The text kept under this key (64 hexadecimal digits); none, too, where LABS_CACHE is "off". The folder is
/// $LABS_CACHE, by default roofline-labs in $XDG_CACHE_HOME or ~/.cache.
std::optional<std::string> kept_outcome(const std::string& key);

/// Keeps it, if the folder can be written; outcomes that were not asked for within 30 days are removed.
void keep_outcome(const std::string& key, const std::string& text);

}  // namespace grading
