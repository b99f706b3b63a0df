#include "lab_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "expected.hpp"
#include "hints.hpp"
#include "toml_file.hpp"

namespace grading {
namespace {

/// "a.b.c" of every value in a table.
void collect_keys(const toml::table& of, const std::string& before, std::set<std::string>& keys) {
  for (const auto& [key, node] : of) {
    const std::string name = before + std::string(key.str());
    if (const toml::table* inner = node.as_table())
      collect_keys(*inner, name + ".", keys);
    else
      keys.insert(name);
  }
}

void check_hints(const std::vector<hint>& hints, const rubric& rules) {
  for (const item& i : rules.items)
    if (std::none_of(hints.begin(), hints.end(), [&](const hint& h) { return h.item == i.id; }))
      throw input_error(fmt::format("hints.toml: no hint for {}; give it three levels, and never the solution", i.id));
  for (const hint& h : hints)
    if (h.text.size() != 3 || !rules.has(h.item))
      throw input_error(
          fmt::format("hints.toml: the hint for '{}' has {} levels, and must have three, for an item of rubric.toml",
                      h.item, h.text.size()));
}

void check_predictions(const std::filesystem::path& file, const rubric& rules) {
  std::set<std::string> asked, there;
  for (const item& i : rules.items)
    for (const prediction& p : i.predict) asked.insert(p.key);
  if (asked.empty() && !std::filesystem::exists(file)) return;
  collect_keys(toml_from(text_of(file), "predictions.toml"), "", there);
  for (const std::string& key : asked)
    if (!there.contains(key))
      throw input_error(fmt::format("predictions.toml: '{}' of rubric.toml is missing; write it as nan", key));
  for (const std::string& key : there)
    if (!asked.contains(key)) throw input_error(fmt::format("predictions.toml: rubric.toml never asks for '{}'", key));
}

}  // namespace

void check_lab(const lab_folder& lab, const rubric& rules, const std::vector<submission>& submissions) {
  check_hints(read_hints(lab.path / "hints.toml"), rules);
  check_predictions(lab.path / "predictions.toml", rules);
  for (const submission& who : submissions)
    if (who.id.starts_with("wrong-"))
      for (const auto& [id, ignored] : read_expectation(who.path / "expected.toml").items)
        if (id != "all" && !rules.has(id))
          throw input_error(fmt::format("{}/expected.toml: the rubric has no item '{}'", who.id, id));
}

}  // namespace grading
