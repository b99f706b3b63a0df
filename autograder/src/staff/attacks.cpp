// Assembles an attack, grades it officially, and compares.
#include "staff/attacks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "course/expectation.hpp"
#include "demo/expected.hpp"
#include "support/command.hpp"
#include "support/files.hpp"
#include "support/toml.hpp"

namespace grading {
namespace fs = std::filesystem;

namespace {

struct attack_head {
  std::string lab = "03";
  std::string then;  ///< commands
  std::string says;  ///< part of a message that the student must read
  std::map<std::string, expected_item> items, unchecked;
};

attack_head read_attack(const fs::path& patch) {
  const toml::table document = head_of(patch);
  const toml_reader in(document, patch.filename().string());
  in.allow({"story", "lab", "threat", "then", "says", "items", "unchecked"});
  in.text("story");
  in.number("threat");
  attack_head result;
  if (in.has("lab")) result.lab = in.text("lab");
  if (in.has("then")) result.then = in.text("then");
  if (in.has("says")) result.says = in.text("says");
  result.items = expected_items(in.table("items"));
  if (in.has("unchecked")) result.unchecked = expected_items(in.table("unchecked").table("items"));
  return result;
}

std::string differences(const result& r, const std::map<std::string, expected_item>& items, const std::string& says) {
  std::string text;
  bool said = says.empty();
  for (const item_result& item : r.items) {
    if (const std::string why = surprise(item, items.at(item.id)); !why.empty())
      text += why + "  " + item.message + "\n";
    said = said || item.message.find(says) != std::string::npos;
  }
  if (!said) text += fmt::format("no message says '{}': {}\n", says, r.items.front().message);
  return text;
}

std::set<std::string> names_of(const std::map<std::string, expected_item>& items) {
  std::set<std::string> names;
  for (const auto& [id, ignored] : items) names.insert(id);
  return names;
}

}  // namespace

std::vector<fs::path> attacks_in(const fs::path& attacks) {
  std::vector<fs::path> patches;
  for (const auto& entry : fs::directory_iterator(attacks))
    if (entry.path().extension() == ".patch") patches.push_back(entry.path());
  std::sort(patches.begin(), patches.end());
  return patches;
}

lab_folder lab_attacked(const fs::path& attack, const fs::path& source) {
  return find_lab(source, read_attack(attack).lab);
}

attack_outcome run_attack(const fs::path& attack, const fs::path& source, official_options options) {
  const auto start = std::chrono::steady_clock::now();
  attack_outcome out;
  out.name = attack.stem().string();
  const attack_head want = read_attack(attack);
  const lab_folder lab = find_lab(source, want.lab);
  const temporary_folder place("attack-" + out.name);
  const fs::path folder = place.path() / "submission";
  const auto run = [&](const std::string& command, const std::string& what) {
    if (run_command(command) != 0) out.surprises += what + " failed\n";
  };
  run(fmt::format("{} {} {} {}", shell_word((source / "common" / "cmake" / "make_whole.sh").string()),
                  shell_word(solution_of(source, lab).path.string()), shell_word(attack.string()),
                  shell_word(folder.string())),
      "its patch");
  fs::remove(folder / "made");
  if (!want.then.empty()) run(fmt::format("cd {} && {}", shell_word(folder.string()), want.then), "'then'");
  options.items = names_of(want.items);
  out.surprises += differences(grade_officially(lab, out.name, folder, options), want.items, want.says);
  if (!want.unchecked.empty()) {
    options.check_objects = false;
    options.items = names_of(want.unchecked);
    const std::string behind = differences(grade_officially(lab, out.name, folder, options), want.unchecked, "");
    if (!behind.empty()) out.surprises += "without the object check: " + behind;
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace grading
