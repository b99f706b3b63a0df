// Hints from hints.toml.
#include "course/hints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "support/files.hpp"
#include "support/toml.hpp"

namespace grading {
namespace {

namespace fs = std::filesystem;

void add_from(const fs::path& file, const std::string& name, std::vector<hint>& to) {
  if (!fs::exists(file)) return;
  const toml::table document = toml_from(text_of(file), name);
  const toml_reader in(document, name);
  in.allow({"hint"});
  for (const toml_reader& h : in.tables("hint")) {
    h.allow({"item", "verdict", "says", "text"});
    hint& one = to.emplace_back();
    if (h.has("item")) one.item = h.text("item");
    if (h.has("verdict")) one.verdict = h.text("verdict");
    if (h.has("says")) one.says = h.texts("says");
    one.text = h.texts("text");
    if (one.item.empty() && one.says.empty()) h.fail("a hint needs 'item', or 'says' with words from the message");
    try {
      if (h.has("verdict")) named<verdict>(one.verdict);
    } catch (const std::invalid_argument& error) {
      h.fail_at(h.line_of("verdict"), error.what());
    }
  }
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// How well a hint fits an item: lower is better, and the highest value means that it does not fit.
std::size_t rank_of(const hint& h, const item_result& item) {
  constexpr std::size_t not_at_all = 4;
  if (!h.item.empty() && h.item != item.id) return not_at_all;
  // An item without a verdict may fail in any way.
  const bool undecided = !is_assessed(item.verdict) || item.verdict == verdict::inconclusive;
  if (!undecided && !h.verdict.empty() && h.verdict != name_of(item.verdict)) return not_at_all;
  // The compiler's message is more useful.
  if (h.verdict.empty() && item.verdict == verdict::build_error) return not_at_all;
  // Hints about counters say nothing about a wrong result.
  if (h.says.empty() && h.verdict.empty())
    return item.kind == item_kind::counters && item.verdict == verdict::wrong ? not_at_all : 3;
  if (h.says.empty()) return 2;
  if (item.kind == item_kind::findings && item.verdict == verdict::wrong) return not_at_all;
  const std::string message = lower(item.message);
  const bool said = std::any_of(h.says.begin(), h.says.end(), [&](const std::string& words) {
    return message.find(lower(words)) != std::string::npos;
  });
  return !said ? not_at_all : h.item.empty() ? 1 : 0;
}

}  // namespace

std::vector<hint> read_hints(const fs::path& lab) {
  std::vector<hint> result;
  add_from(lab / "judge" / "hints.toml", "hints.toml", result);
  add_from(lab.parent_path() / "hints.toml", "labs/hints.toml", result);
  return result;
}

void add_hints(std::vector<item_result>& items, const std::vector<hint>& hints) {
  constexpr std::size_t ranks = 4;
  for (item_result& item : items) {
    item.hint.clear();  // removes an earlier grading's hint if the item is reused
    if (item.verdict == verdict::pass) continue;
    const bool good_but_noisy = item.verdict == verdict::inconclusive && item.figure && item.figure >= item.threshold;
    if (good_but_noisy) continue;
    std::array<const hint*, ranks> best{};
    for (const hint& h : hints)
      if (const std::size_t rank = rank_of(h, item); rank < ranks && !best[rank]) best[rank] = &h;
    const auto found = std::find_if(best.begin(), best.end(), [](const hint* h) { return h != nullptr; });
    if (found != best.end()) item.hint = (*found)->text;
  }
}

void hold_causes(std::vector<item_result>& items, const rubric& rules,
                 const std::set<std::string>& programs_with_cause) {
  for (item_result& got : items) {
    const item* what = rules.find(got.id);
    const item* finding = what ? rules.find(what->follows) : nullptr;
    if (!finding || got.verdict == verdict::build_error || programs_with_cause.contains(finding->program)) continue;
    if (!got.hint.empty())
      got.hint = {fmt::format(
          "First name a cause for {} in findings.toml. The hints for its fix unlock once you have named one.",
          finding->program)};
    const bool fails = got.verdict == verdict::wrong || got.verdict == verdict::crash ||
                       got.verdict == verdict::timeout ||
                       (got.verdict == verdict::wasteful && got.kind == item_kind::counters);
    if (!fails || got.message.empty()) continue;
    const std::string how_many = got.kind == item_kind::counters
                                     ? got.verdict == verdict::wasteful ? "its case misses the bar" : "its case fails"
                                 : got.figure && got.threshold
                                     ? fmt::format("{} of {} cases fail", *got.threshold - *got.figure, *got.threshold)
                                     : "it fails";
    got.message = fmt::format("{}; {} is shown once you have named a cause for {} in findings.toml", how_many,
                              got.kind == item_kind::counters ? "why" : "which and why", finding->program);
    got.advice.clear();
    if (got.kind != item_kind::counters) continue;
    got.conditions.clear();
    got.what.clear();
    got.figure = got.threshold = {};
  }
}

}  // namespace grading
