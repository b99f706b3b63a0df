#include "support/files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace grading {
namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in || fs::is_directory(file)) throw input_error(fmt::format("cannot read {}; does it exist?", file.string()));
  std::ostringstream text;  // copies whole blocks; an iterator would copy single characters
  text << in.rdbuf();
  return std::move(text).str();
}

void replace_file(const fs::path& file, std::string_view text) {
  if (file.has_parent_path()) fs::create_directories(file.parent_path());
  const fs::path beside = file.string() + fmt::format(".{}.tmp", getpid());
  std::ofstream out(beside, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw std::runtime_error(fmt::format("cannot write {}", beside.string()));
  fs::rename(beside, file);
}

temporary_folder::temporary_folder(const std::string& purpose) {
  std::string name = (fs::temp_directory_path() / (purpose + "-XXXXXX")).string();
  if (!mkdtemp(name.data())) throw std::runtime_error("cannot make a folder in " + fs::temp_directory_path().string());
  path_ = name;
  fs::permissions(path_, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace grading
