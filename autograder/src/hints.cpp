// Hints from hints.toml.
#include "hints.hpp"

#include "toml_file.hpp"

namespace grading {

std::vector<hint> read_hints(const std::filesystem::path& file) {
  std::vector<hint> result;
  if (!std::filesystem::exists(file)) return result;
  const std::string name = file.filename().string();
  const toml::table document = toml_from(text_of(file), name);
  const toml_reader in(document, name);
  in.allow({"hint"});
  for (const toml_reader& h : in.tables("hint")) {
    h.allow({"item", "verdict", "text"});
    result.push_back({h.text("item"), h.has("verdict") ? h.text("verdict") : "", h.texts("text")});
    try {
      if (h.has("verdict")) verdict_named(result.back().verdict);
    } catch (const std::invalid_argument& error) {
      h.fail_at(h.line_of("verdict"), error.what());
    }
  }
  return result;
}

void add_hints(std::vector<item_result>& items, const std::vector<hint>& hints) {
  for (item_result& item : items) {
    if (item.verdict == verdict::pass || !is_assessed(item.verdict)) continue;
    for (const hint& h : hints) {
      if (h.item != item.id) continue;
      // What does not compile cannot have gone wrong in the way that a hint for any verdict speaks of.
      const bool any = h.verdict.empty() && item.hint.empty() && item.verdict != verdict::build_error;
      if (h.verdict == name_of(item.verdict) || any) item.hint = h.text;
    }
  }
}

}  // namespace grading
