// Prepares a result for the page: its canonical JSON, plus figures as text and bars.
#include "report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/drawings.hpp"
#include "report/memory_lines.hpp"
#include "report/page.hpp"
#include "report/terminal.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

namespace grading {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

/// The figure as a bar with a mark at the threshold.
json bar_of(const item_result& item) {
  if (!item.figure || !item.threshold || *item.threshold <= 0) return nullptr;
  const double scale = 100.0 / std::max(*item.threshold * 1.25, *item.figure);
  return {{"colour", item.verdict == verdict::pass ? "" : "slow"},
          {"reached", fmt::format("{:.1f}", *item.figure * scale)},
          {"threshold", fmt::format("{:.1f}", *item.threshold * scale)}};
}

json interval_of(const item_result& item) {
  if (!item.ci95 || !item.noise) return nullptr;
  return {{"pairs", item.samples.size()},
          {"low", fmt::format("{:.3f}", item.ci95->low)},
          {"high", fmt::format("{:.3f}", item.ci95->high)},
          {"noise", fmt::format("{:.1f}", 100 * *item.noise)}};
}

const char* became(prediction_state state) {
  switch (state) {
    case prediction_state::not_compared: return "not compared";
    case prediction_state::pending: return "pending";
    case prediction_state::wrong: return "wrong";
    case prediction_state::corrected: return "corrected";
    case prediction_state::first_try: return "right";
  }
  return "";
}

json predictions_of(const item_result& item, json rows) {
  if (rows.empty()) return nullptr;
  bool gpu = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const prediction_result& p = item.predictions[i];
    gpu = gpu || p.seen_on_gpu;
    rows[i]["fine"] = p.state == prediction_state::first_try || p.state == prediction_state::corrected;
    rows[i]["became"] = became(p.state);
  }
  return {{"count", rows.size()}, {"gpu", gpu}, {"rows", std::move(rows)}};
}

/// Adds to an item's canonical JSON everything else that the page shows.
void prepare(json& shown, const item_result& item, bool same_message) {
  const bool assessed = is_assessed(item.verdict);
  if (same_message) shown["message"] = "the same";
  shown["colour"] = colour_of(item.verdict);
  shown["figure"] = figure_column(item);
  shown["bar"] = bar_of(item);
  shown["earned"] = assessed ? item.earned_text() : "-";
  shown["max_points"] = points_text(item.max_points);
  shown["first_hint"] = item.hint.empty() || !assessed ? "" : item.hint.front();
  shown["interval"] = interval_of(item);
  if (item.conditions.size() > 1 || (item.conditions.size() == 1 && item.verdict != verdict::pass))
    shown["counters"] = {{"rows", shown["conditions"]}};
  shown["predictions"] =
      item.kind == item_kind::predictions ? predictions_of(item, shown["predictions"]) : json(nullptr);
}

/// The tab with the warp view, or why it is empty; null for no tab.
json warp_view(const result& r, const fs::path& folder) {
  if (folder.empty() || r.official || r.submission != "student" || !fs::is_directory(r.path)) return nullptr;
  const fs::path page = warp_view_of(r.lab);
  const bool there = fs::exists(folder / page);
  bool has_kernels = false, older = false;
  for (const fs::directory_entry& file : fs::directory_iterator(r.path)) {
    if (file.path().extension() != ".cu") continue;
    has_kernels = true;
    older = older || (there && file.last_write_time() > fs::last_write_time(folder / page));
  }
  const bool built = r.outcome != outcome::build_failed &&
                     (there || std::none_of(r.items.begin(), r.items.end(),
                                            [](const item_result& i) { return i.verdict == verdict::build_error; }));
  const char* nothing = !has_kernels ? "In this lab you write no kernel, so nothing is drawn."
                        : !built     ? "Nothing is drawn until your kernels compile."
                        : !there     ? "Nothing is drawn: none of your kernels that are counted has run to its end."
                                     : "";
  return {{"nothing", nothing}, {"page", *nothing ? "" : page.string()}, {"older", older}};
}

json shown_of(const result& r, std::size_t index, const fs::path& source, const fs::path& folder, bool open) {
  constexpr std::size_t most_printed = 4000;
  json shown = json::parse(to_json(r));
  shown["index"] = index;
  shown["open"] = open;
  shown["number"] = r.lab.substr(0, 2);
  shown["summary"] = verdict_summary(r);
  shown["total"] = total_line(r);
  shown["score"] = points_text(r.score());
  shown["most_score"] = r.most_score() > r.score() ? points_text(r.most_score()) : "";
  shown["out_of"] = points_text(r.out_of());
  shown["seconds"] = fmt::format("{:.1f}", r.seconds);
  shown["machine"] = json::array();
  for (const char* key : {"cpu", "gpu", "driver", "compiler", "system"})
    if (const auto known = r.machine.find(key); known != r.machine.end()) shown["machine"].push_back(known->second);
  shown["conditions_of_grading"] = !r.official   ? "unofficial"
                                   : r.sandboxed ? "official"
                                                 : "official, graded without a sandbox";
  for (std::size_t i = 0; i < r.items.size(); ++i)
    prepare(shown["items"][i], r.items[i],
            i > 0 && r.items[i].verdict == verdict::build_error && r.items[i].message == r.items[i - 1].message);
  if (const auto drawn = roofline(r, source))
    shown["roofline"] = {{"svg", drawn->svg}, {"modelled", drawn->svg.empty() ? "" : drawn->subject}};
  shown["sweeps"] = json::array();
  for (const drawing& sweep : sweeps(r)) shown["sweeps"].push_back({{"case", sweep.subject}, {"svg", sweep.svg}});
  shown.erase("profiles");  // large; the page has their sums
  shown["memory"] = memory_lines(r, source);
  shown["see"] = warp_view(r, folder);
  shown["printed"] = r.printed.substr(0, most_printed);
  return shown;
}

}  // namespace

const char* colour_of(verdict v) {
  switch (v) {
    case verdict::pass: return "good";
    case verdict::too_slow:
    case verdict::wasteful:
    case verdict::pending:
    case verdict::inconclusive:
    case verdict::not_answered: return "slow";
    case verdict::not_assessed: return "none";
    default: return "bad";
  }
}

fs::path warp_view_of(const std::string& lab) { return fs::path("see") / (lab + ".html"); }

std::string rendered(const std::vector<result>& results, const fs::path& source, const fs::path& folder) {
  json shown = json::array();
  for (const result& r : results) shown.push_back(shown_of(r, shown.size(), source, folder, results.size() == 1));
  return page("report.html", {{"results", shown}});
}

std::filesystem::path write_report(const result_store& store, const std::filesystem::path& source,
                                   const std::filesystem::path& folder) {
  std::filesystem::path file = folder / "index.html";
  replace_file(file, rendered(store.load(), source, folder));
  return file;
}

}  // namespace grading
