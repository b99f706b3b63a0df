// Answers an instructor's first questions: how did it go, what was hard, what should I review?
#include "class/class_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "class/store.hpp"
#include "lab/statistics.hpp"
#include "report/page.hpp"
#include "report/report.hpp"
#include "report/terminal.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/names.hpp"
#include "support/text.hpp"

namespace grading {
namespace {

using json = nlohmann::ordered_json;
using group = std::vector<const result*>;

json distribution(const group& all) {
  std::array<int, 10> tenths{};
  for (const result* r : all) {
    const double share = r->out_of() > 0 ? r->score() / r->out_of() : 0;
    ++tenths[static_cast<std::size_t>(std::clamp(share * 10, 0.0, 9.0))];
  }
  const int most = std::max(1, *std::max_element(tenths.begin(), tenths.end()));
  json bars = json::array();
  for (std::size_t i = 0; i < tenths.size(); ++i)
    bars.push_back({{"height", fmt::format("{:.0f}", 100.0 * tenths[i] / most)},
                    {"count", tenths[i]},
                    {"from", 10 * i},
                    {"to", 10 * i + 10}});
  return bars;
}

/// Items by the share of their points that the class earned, the lowest first.
json hardest(const group& all) {
  struct tally {
    std::string title;
    double points = 0, of = 0;
    int full = 0, count = 0;
  };
  std::map<std::string, tally> items;
  for (const result* r : all)
    for (const item_result& item : r->items) {
      if (!is_assessed(item.verdict)) continue;
      tally& t = items[item.id];
      t.title = item.title;
      t.points += item.points;
      t.of += item.max_points;
      t.full += item.points >= item.max_points - 1e-6;
      ++t.count;
    }
  std::vector<std::pair<std::string, tally>> sorted(items.begin(), items.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.points / a.second.of < b.second.points / b.second.of;
  });
  json rows = json::array();
  for (const auto& [id, t] : sorted) {
    const double percent = 100 * t.points / t.of;
    rows.push_back({{"title", t.title},
                    {"id", id},
                    {"width", fmt::format("{:.1f}", percent)},
                    {"share", fmt::format("{:.0f}", percent)},
                    {"full", t.full},
                    {"count", t.count}});
  }
  return rows;
}

json review(const group& all, const std::string& pinned) {
  json rows = json::array();
  for (const result* r : all) {
    const auto add = [&](const std::string& why) {
      rows.push_back({{"page", page_of(*r)}, {"submission", r->submission}, {"why", why}});
    };
    for (const std::string& flag : r->flags) add(flag);
    for (const std::string& why : graded_by_others({*r}, pinned)) add(why.substr(why.find(": ") + 2));
    if (r->official && !r->sandboxed) add("graded without a sandbox");
    if (r->outcome == outcome::infra_error) add("no grade yet because the machine failed; grade it again");
    if (r->outcome == outcome::refused) add(r->items.empty() ? "refused" : r->items.front().message);
  }
  return rows.empty() ? json() : json{{"rows", rows}};
}

json everyone(const group& all) {
  json rows = json::array();
  for (const result* r : all)
    rows.push_back({{"page", page_of(*r)},
                    {"submission", r->submission},
                    {"score", points_text(r->score())},
                    {"out_of", points_text(r->out_of())},
                    {"outcome", name_of(r->outcome)},
                    {"summary", verdict_summary(*r)}});
  return rows;
}

json shown_of(const std::string& lab, const group& all, const std::string& pinned) {
  group graded;
  std::vector<double> scores;
  double seconds = 0;
  for (const result* r : all) {
    seconds += r->seconds;
    if (r->outcome == outcome::infra_error) continue;
    graded.push_back(r);
    scores.push_back(r->score());
  }
  return {{"number", lab.substr(0, 2)},
          {"title", all.front()->lab_title},
          {"submissions", all.size()},
          {"median", points_text(scores.empty() ? 0 : lab::median(scores))},
          {"minutes", fmt::format("{:.1f}", seconds / 60)},
          {"tenths", distribution(graded)},
          {"hardest", hardest(graded)},
          {"review", review(all, pinned)},
          {"everyone", everyone(all)}};
}

/// An invented name for each submission, drawn from its first grading's secret seed: it stays the same all term and
/// does not reveal the student, even to a reader with the list of names.
std::map<std::string, std::string> made_up_names(const std::vector<result>& history) {
  std::map<std::string, std::string> names;
  for (const result& r : history)
    names.try_emplace(r.submission, sha256(fmt::format("{} {} {}", r.submission, r.seed, r.digest)).substr(0, 6));
  return names;
}

}  // namespace

std::string leaderboard_page(const std::vector<result>& history) {
  struct entry {
    std::string student, date;
    double ratio = 0;
    json shown() const {
      return {{"student", student}, {"date", date.substr(0, 10)}, {"ratio", fmt::format("{:.3f}", ratio)}};
    }
  };
  struct board {
    std::string title;
    std::map<std::string, entry> best;  // by student
    json records = json::array();
    double record = 0;
  };
  std::map<std::pair<std::string, std::string>, board> boards;  // by lab and item
  const std::map<std::string, std::string> names = made_up_names(history);
  for (const result& r : history)
    for (const item_result& i : r.items) {
      const bool counts = i.verdict == verdict::pass || i.verdict == verdict::too_slow;
      if (i.kind != item_kind::throughput || !counts || !i.figure || !r.flags.empty()) continue;
      board& b = boards[{r.lab.substr(0, 2), i.id}];
      b.title = i.title;
      const entry now = {names.at(r.submission), r.date, *i.figure};
      if (entry& best = b.best[now.student]; now.ratio > best.ratio) best = now;
      if (now.ratio > b.record) {
        b.record = now.ratio;
        b.records.push_back(now.shown());
      }
    }
  json items = json::array();
  for (const auto& [key, b] : boards) {
    std::vector<entry> sorted;
    for (const auto& [student, best] : b.best) sorted.push_back(best);
    std::stable_sort(sorted.begin(), sorted.end(), [](const entry& x, const entry& y) { return x.ratio > y.ratio; });
    json best = json::array();
    for (std::size_t i = 0; i < std::min<std::size_t>(10, sorted.size()); ++i) {
      best.push_back(sorted[i].shown());
      best.back()["rank"] = i + 1;
    }
    items.push_back({{"lab", key.first}, {"title", b.title}, {"best", best}, {"records", b.records}});
  }
  return page("leaderboard.html", {{"items", items}});
}

std::string page_of(const result& r) { return r.lab + "-" + file_name_of(r.submission) + ".html"; }

std::string class_page(const std::vector<result>& results, const std::string& pinned) {
  std::map<std::string, group> groups;
  for (const result& r : results) groups[r.lab].push_back(&r);
  json labs = json::array();
  for (const auto& [name, all] : groups) labs.push_back(shown_of(name, all, pinned));
  return page("class.html", {{"filter", !labs.empty()}, {"labs", labs}});
}

std::filesystem::path write_class_report(const std::vector<result>& results, const std::filesystem::path& source,
                                         const std::filesystem::path& folder, const std::string& pinned) {
  for (const result& r : results) replace_file(folder / page_of(r), rendered({r}, source));
  replace_file(folder / "index.html", class_page(results, pinned));
  return folder / "index.html";
}

}  // namespace grading
