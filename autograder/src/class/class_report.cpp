// What an instructor wants to know first: how did it go, what was hard, what should I review.
#include "class/class_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "course/names.hpp"
#include "lab/statistics.hpp"
#include "report/html.hpp"
#include "report/report.hpp"
#include "report/terminal.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

namespace grading {
namespace {

using group = std::vector<const result*>;

/// Hides rows that do not contain the typed text.
const char* filter_script() {
  return "const only = document.getElementById('only'); if (only) only.addEventListener('input', () => {"
         "for (const row of document.querySelectorAll('tr.who')) "
         "row.hidden = !row.textContent.toLowerCase().includes(only.value.toLowerCase()); });";
}

std::string head(const std::string& title) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"><title>{}</title><style>{}"
      ".bars {{ display: grid; grid-template-columns: repeat(10, 1fr); gap: .25rem; align-items: end; height: 9rem; }}"
      ".bars div {{ background: var(--mark); min-height: 1px; }} .labels {{ display: grid; grid-template-columns: "
      "repeat(10, 1fr); gap: .25rem; text-align: center; }} .hard .row {{ grid-template-columns: 1fr 12rem 9rem; }} "
      "input {{ font: inherit; padding: .25rem .5rem; }}</style></head>",
      escaped(title), style_sheet());
}

std::string distribution(const group& all) {
  std::array<int, 10> tenths{};
  for (const result* r : all) {
    const double share = r->out_of() > 0 ? r->score() / r->out_of() : 0;
    ++tenths[static_cast<std::size_t>(std::clamp(share * 10, 0.0, 9.0))];
  }
  const int most = std::max(1, *std::max_element(tenths.begin(), tenths.end()));
  std::string bars, counts, labels;
  for (std::size_t i = 0; i < tenths.size(); ++i) {
    bars += fmt::format("<div style=\"height:{:.0f}%\" title=\"{} submissions\"></div>", 100.0 * tenths[i] / most,
                        tenths[i]);
    counts += fmt::format("<span>{}</span>", tenths[i]);
    labels += fmt::format("<span class=\"soft\">{}-{} %</span>", 10 * i, 10 * i + 10);
  }
  return fmt::format(
      "<div class=\"card\"><div class=\"bars\">{}</div><div class=\"labels\">{}</div><div class=\"labels\">"
      "{}</div></div>",
      bars, counts, labels);
}

/// Items by the share of their points that the class earned, the lowest first.
std::string hardest(const group& all) {
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
  std::string rows;
  for (const auto& [id, t] : sorted)
    rows += fmt::format(
        "<div class=\"row\"><span>{}<br><code class=\"soft\">{}</code></span><span class=\"bar\"><i "
        "style=\"width:{:.1f}%\"></i></span><span class=\"num\">{:.0f} % of points; {} of {} full</span></div>",
        escaped(t.title), escaped(id), 100 * t.points / t.of, 100 * t.points / t.of, t.full, t.count);
  return "<div class=\"card hard\">" + rows + "</div>";
}

std::string flags(const group& all) {
  std::string rows;
  for (const result* r : all) {
    for (const std::string& flag : r->flags)
      rows += fmt::format("<li><a href=\"{}\">{}</a>: {}</li>", page_of(*r), escaped(r->submission), escaped(flag));
    if (r->official && !r->sandboxed)
      rows +=
          fmt::format("<li><a href=\"{}\">{}</a>: graded without a sandbox</li>", page_of(*r), escaped(r->submission));
    if (r->outcome == outcome::infra_error)
      rows += fmt::format("<li><a href=\"{}\">{}</a>: no grade yet because the machine failed; grade it again</li>",
                          page_of(*r), escaped(r->submission));
    if (r->outcome == outcome::refused)
      rows += fmt::format("<li><a href=\"{}\">{}</a>: {}</li>", page_of(*r), escaped(r->submission),
                          escaped(r->items.empty() ? "refused" : r->items.front().message));
  }
  return rows.empty() ? "<p class=\"soft\">Nothing to review.</p>" : "<ul class=\"card\">" + rows + "</ul>";
}

std::string everyone(const group& all) {
  std::string rows;
  for (const result* r : all)
    rows += fmt::format(
        "<tr class=\"who\"><td><a href=\"{}\">{}</a></td><td class=\"num\">{}</td><td class=\"num\">{}</td>"
        "<td>{}</td><td>{}</td></tr>",
        page_of(*r), escaped(r->submission), points_text(r->score()), points_text(r->out_of()), name_of(r->outcome),
        escaped(verdict_summary(*r)));
  return "<div class=\"scroll\"><table><tr><th>submission</th><th class=\"num\">points</th><th class=\"num\">of</th>"
         "<th>outcome</th><th>verdicts</th></tr>" +
         rows + "</table></div>";
}

}  // namespace

std::string page_of(const result& r) { return r.lab + "-" + file_name_of(r.submission) + ".html"; }

std::string class_page(const std::vector<result>& results) {
  std::map<std::string, group> labs;
  for (const result& r : results) labs[r.lab].push_back(&r);
  std::string out = head("Roofline Labs: the class") + "<body><h1>The class</h1>";
  if (labs.empty())
    out += "<p>The grade book is empty.</p>";
  else
    out += "<p><label>Show only <input id=\"only\" type=\"search\" placeholder=\"name or verdict\"></label></p>";
  for (const auto& [lab, all] : labs) {
    group graded;
    std::vector<double> scores;
    double seconds = 0;
    for (const result* r : all) {
      seconds += r->seconds;
      if (r->outcome == outcome::infra_error) continue;
      graded.push_back(r);
      scores.push_back(r->score());
    }
    out += fmt::format(
        "<h2>Lab {}: {}</h2><p class=\"soft\">{} submissions; median {} points; machine time: {:.1f} minutes</p>",
        escaped(lab.substr(0, 2)), escaped(all.front()->lab_title), all.size(),
        points_text(scores.empty() ? 0 : lab::median(scores)), seconds / 60);
    out += distribution(graded) + "<h3>Hardest first</h3>" + hardest(graded) + "<h3>For review</h3>" + flags(all) +
           "<h3>Everyone</h3>" + everyone(all);
  }
  return out + "<script>" + filter_script() + "</script></body></html>\n";
}

std::filesystem::path write_class_report(const std::vector<result>& results, const std::filesystem::path& source,
                                         const std::filesystem::path& folder) {
  for (const result& r : results) replace_file(folder / page_of(r), rendered({r}, source));
  replace_file(folder / "index.html", class_page(results));
  return folder / "index.html";
}

}  // namespace grading
