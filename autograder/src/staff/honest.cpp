// Assembles the files, and grades them officially and locally.
#include "staff/honest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "judge/local.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

namespace grading {
namespace fs = std::filesystem;

namespace {

std::string hand_in_of(const fs::path& file) {
  return file.parent_path().filename().string() + file.extension().string();
}

/// The items that did not pass, one per line.
std::string differences(const result& r, const char* how) {
  std::string text;
  for (const item_result& item : r.items)
    if (item.verdict != verdict::pass) text += fmt::format("{}, {}: {}\n", how, item.id, item.message);
  return text;
}

}  // namespace

std::vector<honest_submission> honest_in(const fs::path& source, const fs::path& folder) {
  std::vector<honest_submission> result;
  for (const lab_folder& lab : labs_in(source)) {
    if (!fs::exists(folder / lab.name)) continue;
    std::map<std::string, std::vector<fs::path>> styles;  // by hand-in file
    for (const auto& entry : fs::recursive_directory_iterator(folder / lab.name))
      if (entry.is_regular_file()) styles[hand_in_of(entry.path())].push_back(entry.path());
    for (std::size_t k = 0;; ++k) {
      honest_submission one{lab, {}};
      for (auto& [ignored, files] : styles) {
        std::sort(files.begin(), files.end());
        if (k < files.size()) one.files.push_back(files[k]);
      }
      if (one.files.empty()) break;
      result.push_back(std::move(one));
    }
  }
  return result;
}

std::string surprises_of(const honest_submission& who, const fs::path& source, builder& make,
                         const official_options& official) {
  const submission solution = solution_of(source, who.lab);
  const std::string id = "honest-" + who.files.front().stem().string();
  const temporary_folder place(id);
  const fs::path& folder = place.path();
  std::string text;
  for (const fs::path& file : who.files) {
    fs::copy_file(file, folder / hand_in_of(file));
    text += text_of(file) + "\n";
  }
  const submission as{id, folder};
  std::set<std::string> about;
  const rubric rules = read_rubric(who.lab);
  for (const std::string& name : rules.handin)
    if (!fs::exists(folder / name)) fs::copy_file(solution.file(name), folder / name);
  for (const item& i : rules.items)
    if (i.kind == item_kind::correctness &&
        std::any_of(i.cases.begin(), i.cases.end(), [&](const lab::test_case* c) { return names(text, c->entry); }))
      about.insert(i.id);
  std::string wrong = about.empty() ? "no item covers these files\n" : "";
  // Official grading first: its objects, compiled in the box with only the box's headers, serve both.
  official_options first = official;
  first.items = about;
  wrong += differences(grade_officially(who.lab, id, folder, first), "officially");
  local_options second;
  second.items = about;
  wrong += differences(grade_locally(who.lab, as, make, second), "locally");
  fs::remove(make.program(fmt::format("lab{}.{}.sim.runner", who.lab.number, id)));
  return wrong;
}

}  // namespace grading
