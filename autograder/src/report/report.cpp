// The report's page: the totals first, then each submission in full.
#include "report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "report/html.hpp"
#include "report/report_parts.hpp"
#include "report/terminal.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

namespace grading {
namespace {

std::string overall_row(const result& r, std::size_t index) {
  return fmt::format(
      R"(<div class="row"><span><a href="#r{}">{} {}</a><br><span class="soft">{}</span></span>)"
      R"(<span class="bar" title="{}"><i class="lost" style="width:{:.2f}%"></i><i style="width:{:.2f}%"></i></span>)"
      R"(<span class="num">{} of {}</span></div>)",
      index, escaped(r.lab.substr(0, 2)), escaped(r.submission), escaped(verdict_summary(r)), escaped(total_line(r)),
      r.out_of(), r.score(),
      points_text(r.score()) + (r.most_score() > r.score() ? " to " + points_text(r.most_score()) : ""),
      points_text(r.out_of()));
}

std::string machine_line(const result& r) {
  std::string text;
  for (const char* key : {"cpu", "gpu", "driver", "compiler", "system"})
    if (const auto known = r.machine.find(key); known != r.machine.end()) text += escaped(known->second) + "; ";
  return text + escaped(r.date);
}

std::string section(const result& r, std::size_t index, const std::filesystem::path& source, bool open) {
  std::string out =
      fmt::format(R"(<details class="result" id="r{}"{}><summary><strong>Lab {} - {} - {}</strong><br>{}</summary>)",
                  index, open ? " open" : "", escaped(r.lab.substr(0, 2)), escaped(r.lab_title), escaped(r.submission),
                  escaped(total_line(r)));
  out += fmt::format(R"(<p class="soft">{}; {}; took {:.1f} s</p>)", machine_line(r),
                     !r.official   ? "unofficial"
                     : r.sandboxed ? "official"
                                   : "official, graded without a sandbox",
                     r.seconds);
  out += items_part(r) + roofline_part(r, source) + sweeps_part(r) + profiles_part(r, source);
  if (!r.printed.empty())
    out += fmt::format("<h3>Output of the submission</h3><pre>{}</pre>", escaped(r.printed.substr(0, 4000)));
  return out + "</details>\n";
}

}  // namespace

std::string rendered(const std::vector<result>& results, const std::filesystem::path& source) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>Roofline Labs "
      "report</title><style>";
  out += style_sheet();
  out += "</style></head><body><h1>Roofline Labs</h1>";
  out += R"(<p class="soft">Green: points; red: points )"
         "lost; the rest of the bar could not be assessed on this machine.</p>";
  out += R"(<div class="card overall">)";
  if (results.empty()) out += "<p>Nothing has been graded yet.</p>";
  for (std::size_t i = 0; i < results.size(); ++i) out += overall_row(results[i], i);
  out += "</div>\n";
  for (std::size_t i = 0; i < results.size(); ++i) out += section(results[i], i, source, results.size() == 1);
  // A link into a closed section opens it.
  out +=
      "<script>const open = () => { const d = document.querySelector(location.hash || null); if (d) d.open = true; };"
      "addEventListener('hashchange', open); if (location.hash) open();</script>";
  return out + "</body></html>\n";
}

std::filesystem::path write_report(const result_store& store, const std::filesystem::path& source,
                                   const std::filesystem::path& folder) {
  std::vector<result> results = store.load();
  std::stable_sort(results.begin(), results.end(), [](const result& a, const result& b) { return a.lab < b.lab; });
  std::filesystem::path file = folder / "index.html";
  replace_file(file, rendered(results, source));
  return file;
}

}  // namespace grading
