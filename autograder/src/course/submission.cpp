// Labs and submissions are folders; no list repeats their names.
#include "course/submission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "support/files.hpp"
#include "support/text.hpp"

namespace grading {
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> sorted(const fs::path& folder) {
  std::vector<fs::path> result;
  if (fs::is_directory(folder))
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) result.push_back(entry.path());
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace

std::vector<lab_folder> labs_in(const fs::path& source) {
  std::vector<lab_folder> result;
  for (const fs::path& folder : sorted(source / "labs")) {
    const std::string name = folder.filename().string();
    const bool numbered = name.size() > 3 && std::isdigit(static_cast<unsigned char>(name[0])) &&
                          std::isdigit(static_cast<unsigned char>(name[1])) && name[2] == '_';
    if (numbered && fs::exists(folder / "judge" / "rubric.toml")) result.push_back({name.substr(0, 2), name, folder});
  }
  return result;
}

lab_folder find_lab(const fs::path& source, const std::string& wanted) {
  const std::vector<lab_folder> labs = labs_in(source);
  std::string numbers;
  for (const lab_folder& lab : labs) {
    if (wanted == lab.number || wanted == lab.name || "0" + wanted == lab.number) return lab;
    add_to_list(numbers, ", ", lab.number);
  }
  throw input_error(fmt::format("no lab {}; labs here: {}", wanted, numbers.empty() ? "none" : numbers));
}

submission student_of(const lab_folder& lab) { return {"student", lab.handin()}; }

submission solution_of(const fs::path& source, const lab_folder& lab) {
  return {"solution", source / "solutions" / lab.name / "handin"};
}

std::vector<submission> submissions_of(const fs::path& source, const fs::path& build, const lab_folder& lab) {
  std::vector<submission> result;
  const submission solution = solution_of(source, lab);
  // A lab's folder in solutions/ may contain only notes.
  if (fs::exists(solution.path)) result.push_back(solution);
  result.push_back(student_of(lab));
  for (const std::string kind : {"right", "wrong"})
    for (const fs::path& patch : sorted(solution.path.parent_path() / kind))
      if (patch.extension() == ".patch") {
        const std::string id = kind + "-" + patch.stem().string();
        result.push_back({id, build / "submissions" / lab.name / id, patch});
      }
  return result;
}

const submission& submission_named(const std::vector<submission>& all, const std::string& id, const lab_folder& lab) {
  std::string ids;
  for (const submission& who : all) {
    if (who.id == id) return who;
    add_to_list(ids, ", ", who.id);
  }
  throw input_error(fmt::format("no submission '{}' of lab {}; there are: {}", id, lab.number, ids));
}

}  // namespace grading
