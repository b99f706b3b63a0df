#include "support/kept.hpp"

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "support/files.hpp"

namespace grading {
namespace {

namespace fs = std::filesystem;

/// "" for none.
fs::path folder() {
  const auto variable = [](const char* name) { return std::string(std::getenv(name) ? std::getenv(name) : ""); };
  if (const std::string named = variable("LABS_CACHE"); !named.empty()) return named == "off" ? "" : named;
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return fs::path(cache) / "roofline-labs";
  const std::string home = variable("HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".cache" / "roofline-labs";
}

}  // namespace

std::optional<std::string> kept_outcome(const std::string& key) {
  const fs::path file = folder() / key;
  std::error_code error;
  if (folder().empty() || !fs::is_regular_file(file, error)) return {};
  fs::last_write_time(file, fs::file_time_type::clock::now(), error);
  return text_of(file);
}

void keep_outcome(const std::string& key, const std::string& text) {
  constexpr auto kept = std::chrono::hours(24 * 30);
  if (folder().empty()) return;
  std::error_code error;
  fs::create_directories(folder(), error);
  if (error) return;
  for (const auto& entry : fs::directory_iterator(folder(), error))
    if (fs::file_time_type::clock::now() - entry.last_write_time(error) > kept) fs::remove(entry, error);
  try {
    replace_file(folder() / key, text);
  } catch (const std::exception&) {  // an outcome that is not stored is computed again next time
  }
}

bool time_is_up() {
  const char* end = std::getenv("TESTS_END");
  return end && std::time(nullptr) >= std::atoll(end);
}

}  // namespace grading
