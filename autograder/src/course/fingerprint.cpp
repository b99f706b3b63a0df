#include "course/fingerprint.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "support/files.hpp"
#include "support/hash.hpp"

namespace grading {
namespace {

namespace fs = std::filesystem;

/// Whether a folder cannot affect a grading: it holds what students write or read, or only shows results.
bool decides_nothing(const fs::path& folder) {
  static const std::set<std::string> anywhere = {"handin", "tests", "docs", "drawings", "prebuilt", "goldens"};
  static const std::set<std::string> under_src = {"class", "commands", "demo", "report", "staff", "student"};
  static const std::set<std::string> under_sim = {"debugger", "see"};
  const std::string name = folder.filename().string(), parent = folder.parent_path().filename().string();
  return anywhere.contains(name) || (parent == "src" && under_src.contains(name)) ||
         (parent == "sim" && under_sim.contains(name)) || (parent == "common" && name == "course");
}

/// The files of a folder that can affect a grading, in order.
std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> found;
  if (fs::is_regular_file(folder)) found.push_back(folder);
  if (!fs::is_directory(folder)) return found;
  for (fs::recursive_directory_iterator at(folder), end; at != end; ++at) {
    if (at->is_directory() && decides_nothing(at->path()))
      at.disable_recursion_pending();
    else if (at->is_regular_file() && at->path().extension() != ".md")
      found.push_back(at->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string contents_of(const fs::path& place, const fs::path& named_from) {
  std::string all;
  for (const fs::path& file : files_in(place))
    all += file.lexically_relative(named_from).string() + ' ' + sha256(text_of(file)) + '\n';
  return all;
}

}  // namespace

std::string staff_fingerprint(const lab_folder& lab) {
  const fs::path root = lab.path.parent_path().parent_path();
  std::string all;
  for (const char* part : {"CMakeLists.txt", "common", "autograder/CMakeLists.txt", "autograder/src",
                           "labs/CMakeLists.txt", "labs/hints.toml"})
    all += contents_of(root / part, root);
  return sha256(all + contents_of(lab.path, lab.path.parent_path()));
}

std::string fingerprint_of_files(const fs::path& place) { return sha256(contents_of(place, place.parent_path())); }

}  // namespace grading
