// Stores outcomes of slow checks outside any build, by a hash of everything that determines them.
#pragma once

#include <optional>
#include <string>

namespace grading {

/// The text kept under this key (64 hexadecimal digits); none if LABS_CACHE is "off". The folder is $LABS_CACHE, by
/// default roofline-labs in $XDG_CACHE_HOME or ~/.cache.
std::optional<std::string> kept_outcome(const std::string& key);

/// Stores the text if the folder is writable; removes outcomes that have not been used for 30 days.
void keep_outcome(const std::string& key, const std::string& text);

/// Whether $TESTS_END (seconds since 1970) has passed: what has not been graded by then is left to the next run.
bool time_is_up();

}  // namespace grading
