// The report's list of items.
#include <fmt/format.h>

#include <algorithm>

#include "report/html.hpp"
#include "report/report_parts.hpp"
#include "report/terminal.hpp"
#include "support/text.hpp"

namespace grading {
namespace {

const char* class_of(verdict v) {
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

/// The figure as a bar, with a mark where the threshold is.
std::string margin_bar(const item_result& item) {
  if (!item.figure || !item.threshold || *item.threshold <= 0) return {};
  const double scale = 100.0 / std::max(*item.threshold * 1.25, *item.figure);
  return fmt::format(R"(<span class="bar"><i class="{}" style="width:{:.1f}%"></i><b style="left:{:.1f}%"></b></span>)",
                     item.verdict == verdict::pass ? "" : "slow", *item.figure * scale, *item.threshold * scale);
}

std::string shown(const std::optional<double>& value, const char* none) {
  return value ? figure_text(*value) : std::string(none);
}

std::string conditions_table(const item_result& item) {
  if (item.conditions.size() < 2 && item.verdict == verdict::pass) return {};
  std::string out =
      R"(<div class="scroll"><table><tr><th>counter</th><th class="num">seen</th><th class="num">at least</th>)"
      R"(<th class="num">at most</th><th>on</th></tr>)";
  for (const condition_result& c : item.conditions)
    out += fmt::format(
        R"(<tr{}><td>{}<br><code class="soft">{}</code></td><td class="num">{}</td><td class="num">{}</td><td class="num">{}</td><td>{}</td></tr>)",
        c.ok ? "" : R"( class="waste")", escaped(c.what), escaped(c.metric), shown(c.value, "no access"),
        shown(c.min, ""), shown(c.max, ""), name_of(c.backend));
  return item.conditions.empty() ? "" : out + "</table></div>";
}

const char* note_of(prediction_state state) {
  switch (state) {
    case prediction_state::not_compared: return "not compared";
    case prediction_state::pending: return "pending";
    case prediction_state::wrong: return "wrong";
    case prediction_state::corrected: return "corrected";
    case prediction_state::first_try: return "right";
  }
  return "";
}

std::string predictions_table(const item_result& item) {
  if (item.predictions.empty()) return {};
  const bool gpu = std::any_of(item.predictions.begin(), item.predictions.end(),
                               [](const prediction_result& p) { return p.seen_on_gpu.has_value(); });
  std::string out = fmt::format(
      R"(<details><summary>{} predictions</summary><div class="scroll"><table><tr><th>prediction</th>)"
      R"(<th class="num">first</th><th class="num">now</th><th class="num">right</th><th class="num">your code</th>{})"
      R"(<th></th></tr>)",
      item.predictions.size(), gpu ? R"(<th class="num">on the GPU</th>)" : "");
  for (const prediction_result& p : item.predictions) {
    const bool fine = p.state == prediction_state::first_try || p.state == prediction_state::corrected;
    out += fmt::format(
        R"(<tr{}><td class="code">{}</td><td class="num">{}</td><td class="num">{}</td><td class="num">{}</td>)"
        R"(<td class="num">{}</td>{}<td>{}</td></tr>)",
        fine ? "" : R"( class="waste")", escaped(p.key), shown(p.first, ""), shown(p.predicted, "not made"),
        shown(p.right, ""), shown(p.seen, ""),
        gpu ? fmt::format(R"(<td class="num">{}</td>)", shown(p.seen_on_gpu, "")) : "", note_of(p.state));
  }
  return out + "</table></div></details>";
}

std::string statistics_line(const item_result& item) {
  if (!item.ci95 || !item.noise) return {};
  return fmt::format(
      R"(<p class="soft">median of {} pairs, 95 % interval {:.3f} to {:.3f}, noise floor {:.1f} %, measured</p>)",
      item.samples.size(), item.ci95->low, item.ci95->high, 100 * *item.noise);
}

std::string row(const item_result& item) {
  const bool assessed = is_assessed(item.verdict);
  std::string out = fmt::format(R"(<div class="row"><span class="title">{}<br><code class="soft">{}</code></span>)"
                                R"(<span><span class="chip {}">{}</span></span><span class="figure">{}{}</span>)"
                                R"(<span class="num">{} / {}</span><div class="why">)",
                                escaped(item.title), escaped(item.id), class_of(item.verdict), name_of(item.verdict),
                                escaped(figure_column(item)), margin_bar(item), assessed ? item.earned_text() : "-",
                                points_text(item.max_points));
  if (!item.message.empty()) out += fmt::format(R"(<p class="message">{}</p>)", escaped(item.message));
  if (!item.hint.empty() && assessed) out += fmt::format(R"(<p class="hint">Hint: {}</p>)", escaped(item.hint.front()));
  for (const std::string& text : item.advice)
    out += fmt::format(R"(<p class="advice">Advice, costs no points: {}</p>)", escaped(text));
  return out + statistics_line(item) + conditions_table(item) + predictions_table(item) + "</div></div>";
}

}  // namespace

std::string items_part(const result& r) {
  std::string out = R"(<div class="items">)", last;
  for (const item_result& item : r.items) {
    out += row(item.message == last && item.verdict == verdict::build_error
                   ? [&] { item_result same = item; same.message = "the same"; return same; }()
                   : item);
    last = item.message;
  }
  return out + "</div>";
}

}  // namespace grading
