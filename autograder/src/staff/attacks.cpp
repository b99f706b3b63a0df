// Assembles an attack, grades it officially, and compares.
#include "staff/attacks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "demo/expected.hpp"
#include "support/command.hpp"
#include "support/files.hpp"
#include "support/toml.hpp"

namespace grading {
namespace fs = std::filesystem;

namespace {

struct attack_text {
  std::string lab = "03";
  std::string says;  ///< part of a message that the student must read
  std::map<std::string, expected_item> items, unchecked;
};

attack_text read_attack(const fs::path& file) {
  const std::string name = (file.parent_path().filename() / file.filename()).string();
  const toml::table document = toml_from(text_of(file), name);
  const toml_reader in(document, name);
  in.allow({"story", "lab", "threat", "seen", "says", "items", "unchecked"});
  in.text("story");
  in.number("threat");
  attack_text result;
  if (in.has("lab")) result.lab = in.text("lab");
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

std::vector<std::string> attacks_in(const fs::path& attacks) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(attacks))
    if (fs::exists(entry.path() / "attack.toml")) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

lab_folder lab_attacked(const fs::path& attack, const fs::path& source) {
  return find_lab(source, read_attack(attack / "attack.toml").lab);
}

attack_outcome run_attack(const fs::path& attack, const fs::path& source, official_options options) {
  const auto start = std::chrono::steady_clock::now();
  attack_outcome out;
  out.name = attack.filename().string();
  const attack_text want = read_attack(attack / "attack.toml");
  const lab_folder lab = find_lab(source, want.lab);
  const temporary_folder place("attack-" + out.name);
  const fs::path& folder = place.path();
  fs::copy(solution_of(source, lab).path, folder);
  for (const auto& file : fs::directory_iterator(attack)) {
    const std::string name = file.path().filename().string();
    if (name != "attack.toml" && name != "make.sh")
      fs::copy_file(file.path(), folder / name, fs::copy_options::overwrite_existing);
  }
  const fs::path make = attack / "make.sh";
  if (fs::exists(make) &&
      run_command(fmt::format("sh {} {}", shell_word(make.string()), shell_word(folder.string()))) != 0)
    out.surprises += "make.sh failed\n";
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
