// Tables and wrapped text for the terminal.
#include "report/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "support/text.hpp"

namespace grading {
namespace {

bool starts_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

/// A submission's text may contain escape sequences; none must reach the terminal.
std::string printable(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool after_c2 = i > 0 && text[i - 1] == '\xC2';  // U+0080 to U+009F: \xC2\x9B acts like ESC [
    if ((c < 32 && c != '\n') || c == 127 || (after_c2 && c < 0xA0)) text[i] = ' ';
    if (after_c2 && c < 0xA0) text[i - 1] = ' ';
  }
  return text;
}

}  // namespace

std::string fitted(const std::string& text, int width) {
  const auto length = std::count_if(text.begin(), text.end(), starts_code_point);
  if (length <= width) return text + std::string(static_cast<std::size_t>(width - length), ' ');
  std::string cut;
  int columns = 0;
  for (const char c : text) {
    if (starts_code_point(c) && ++columns == width) break;
    cut += c;
  }
  return cut + "…";
}

std::string wrapped(const std::string& text, int indent, int width) {
  std::string out;
  std::istringstream lines(printable(text));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    int column = 0;
    for (std::string word; words >> word;) {
      const int length = static_cast<int>(std::count_if(word.begin(), word.end(), starts_code_point));
      if (column > 0 && column + 1 + length > width - indent) {
        out += '\n';
        column = 0;
      }
      out += column == 0 ? std::string(static_cast<std::size_t>(indent), ' ') : " ";
      out += word;
      column += length + (column > 0 ? 1 : 0);
    }
    out += '\n';
  }
  return out;
}

namespace {

std::string right(const std::string& text, int width) {
  return text.size() >= static_cast<std::size_t>(width) ? text : std::string(width - text.size(), ' ') + text;
}

std::string coloured(const std::string& text, const char* code, const terminal_style& style) {
  return style.colours ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
}

const char* ansi_colour_of(verdict v) {
  switch (v) {
    case verdict::pass: return "32";
    case verdict::not_assessed: return "36";
    case verdict::inconclusive:
    case verdict::pending:
    case verdict::too_slow:
    case verdict::wasteful:
    case verdict::not_answered: return "33";
    default: return "31";
  }
}

std::string heading(const std::string& text, const terminal_style& style) { return coloured(text, "1", style) + "\n"; }

std::string points_column(const item_result& item) {
  const std::string got = !is_assessed(item.verdict) ? "-" : points_text(item.points) + (item.most_points ? "+" : "");
  return right(got, 5) + " / " + right(points_text(item.max_points), 2);
}

const item_result* item_of(const result* r, const std::string& id) {
  if (!r) return nullptr;
  const auto found = std::find_if(r->items.begin(), r->items.end(), [&](const item_result& i) { return i.id == id; });
  return found == r->items.end() ? nullptr : &*found;
}

/// ", was 3" if a different number of cases passed then.
std::string was(const item_result* then, const item_result& now) {
  const bool counted =
      then && now.kind == item_kind::correctness && then->figure && now.figure && *then->figure != *now.figure;
  return counted ? fmt::format(", was {:g}", *then->figure) : std::string{};
}

/// The wrong predictions, one per line.
std::string wrong_predictions(const item_result& item, const terminal_style& style) {
  std::string out;
  for (const prediction_result& p : item.predictions)
    if (p.state == prediction_state::wrong) out += wrapped(p.text(), 6, style.width);
  return out;
}

/// Advice on waste that costs no points, each remark on its own line.
std::string advice_of(const item_result& item, const terminal_style& style) {
  std::string out;
  for (const std::string& text : item.advice) out += wrapped(text, 4, style.width);
  return out.empty() ? out : fmt::format("\n{}  {}, costs no points\n", coloured("ADVICE", "36", style), item.id) + out;
}

/// What went wrong, according to an item's message; without case and count if the simulated device reported it
/// (`sums.cu:19: kernel: ... (35 times)`).
std::string_view fault_in(const item_result& item) {
  std::string_view text = item.message;
  const auto digits_before = [&](std::size_t at) {
    std::size_t n = 0;
    while (n < at && std::isdigit(static_cast<unsigned char>(text[at - 1 - n]))) ++n;
    return n;
  };
  for (std::size_t colon = text.find(": "); colon != text.npos; colon = text.find(": ", colon + 1)) {
    const std::size_t digits = digits_before(colon);
    if (digits == 0 || colon <= digits || text[colon - digits - 1] != ':') continue;
    if (const std::size_t end = text.rfind(" ("); text.ends_with(" times)") && digits_before(text.size() - 7) > 0)
      text = text.substr(0, end);
    return text.substr(text.rfind(' ', colon) + 1);
  }
  return text;
}

/// What went wrong with each item, once if several items say the same.
std::string complaints(const result& r, const terminal_style& style) {
  struct complaint {
    const item_result* item;
    std::vector<std::string> others;
  };
  std::vector<complaint> all;
  const auto is_own = [&](const item_result& item) { return !wrong_predictions(item, style).empty(); };
  for (const item_result& item : r.items) {
    if (item.verdict == verdict::pass || item.message.empty()) continue;
    // A different hint justifies the repetition.
    const auto same = std::find_if(all.begin(), all.end(), [&](const complaint& c) {
      return !is_own(item) && !is_own(*c.item) && item.verdict == c.item->verdict &&
             fault_in(item) == fault_in(*c.item) && (item.hint.empty() || item.hint == c.item->hint);
    });
    if (same == all.end())
      all.push_back({&item, {}});
    else
      same->others.push_back(item.id);
  }
  std::string out;
  std::set<std::string> hinted;  // one hint for a repeated failure
  for (const auto& [item, others] : all) {
    out += fmt::format("\n{}  {}\n", coloured(name_of(item->verdict), ansi_colour_of(item->verdict), style), item->id);
    out += wrapped(item->message, 4, style.width) + wrong_predictions(*item, style);
    if (!item->hint.empty() && is_assessed(item->verdict) && hinted.insert(item->hint.front()).second)
      out += wrapped("hint: " + item->hint.front(), 4, style.width);
    if (!others.empty()) out += wrapped(fmt::format("the same: {}", fmt::join(others, ", ")), 4, style.width);
  }
  for (const item_result& item : r.items) out += advice_of(item, style);
  return out;
}

}  // namespace

terminal_style style_of_stdout() {
  terminal_style style;
  winsize size{};
  const bool tty = isatty(STDOUT_FILENO) == 1;
  if (tty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.width = size.ws_col;
  else if (const char* columns = std::getenv("COLUMNS"))
    style.width = std::atoi(columns);
  style.width = std::clamp(style.width, 60, 140);
  style.colours = tty && std::getenv("NO_COLOR") == nullptr;
  return style;
}

std::string figure_column(const item_result& item) {
  if (!item.figure)
    return item.threshold && item.verdict != verdict::not_assessed && item.kind == item_kind::counters
               ? "none (bar " + figure_text(*item.threshold) + ")"
               : "";
  if (!item.threshold) return figure_text(*item.figure);
  if (item.kind == item_kind::correctness || item.kind == item_kind::findings)
    return fmt::format("{:g} of {:g} {}", *item.figure, *item.threshold, item.what);
  if (item.kind == item_kind::predictions)
    return fmt::format("{} {:g} of {:g}", item.what, *item.figure, *item.threshold);
  // Only for full points: otherwise the message has the ceiling, and the column is narrow.
  if (const std::string ceiling = item.ceiling_text(); item.verdict == verdict::pass && !ceiling.empty())
    return fmt::format("{} of {}", figure_text(*item.figure), ceiling);
  return fmt::format("{} (bar {})", figure_text(*item.figure), figure_text(*item.threshold));
}

std::string verdict_summary(const result& r) {
  constexpr std::size_t most_named = 2;
  std::map<verdict, std::vector<std::string>> lost;
  for (const item_result& item : r.items)
    if (item.verdict != verdict::pass && item.verdict != verdict::not_assessed) lost[item.verdict].push_back(item.id);
  std::string text;
  for (const auto& [v, ids] : lost)
    add_to_list(
        text, ", ",
        fmt::format("{} {}", name_of(v),
                    ids.size() <= most_named ? fmt::format("{}", fmt::join(ids, " ")) : std::to_string(ids.size())));
  return text.empty() ? "all PASS" : text;
}

std::string total_line(const result& r) {
  std::map<std::string, double> missing;  // reason -> points
  for (const item_result& item : r.items) {
    if (!is_assessed(item.verdict)) missing["not assessed here: " + item.message] += item.max_points;
    if (item.verdict == verdict::inconclusive) missing["inconclusive; run again"] += item.max_points;
  }
  std::string text = score_text(r);
  for (const auto& [reason, points] : missing) text += fmt::format(" ({} {})", points_text(points), reason);
  return text;
}

std::string lab_heading(const std::string& lab, const std::string& title, const std::string& submission,
                        const terminal_style& style) {
  return heading(fmt::format("Lab {} - {} - {}", lab.substr(0, 2), title, submission), style);
}

std::string item_row(const item_result& item, const terminal_style& style, const result* before) {
  constexpr int verdict_width = 12, points_width = 10, usual_figure = 21, most_figure = 27;
  const std::string figure = figure_column(item) + was(item_of(before, item.id), item);
  const int figure_width = std::clamp(static_cast<int>(figure.size()), usual_figure, most_figure);
  const int title_width = style.width - verdict_width - figure_width - points_width - 5;
  return fmt::format("  {} {} {} {}\n", fitted(item.title, title_width),
                     coloured(fitted(name_of(item.verdict), verdict_width), ansi_colour_of(item.verdict), style),
                     fitted(figure, figure_width), points_column(item));
}

std::string after_items(const result& r, const terminal_style& style) {
  std::string out = complaints(r, style);
  if (!r.printed.empty()) out += "\noutput of the submission:\n" + wrapped(r.printed.substr(0, 2000), 4, style.width);
  return out + "\n" + coloured(wrapped(total_line(r), 0, style.width), "1", style);
}

std::string laid_out(const result& r, const terminal_style& style, const result* before) {
  std::string out = lab_heading(r.lab, r.lab_title, r.submission, style);
  for (const item_result& item : r.items) out += item_row(item, style, before);
  return out + after_items(r, style);
}

std::string changed_item(const result& before, const item_result& now, const terminal_style& style) {
  const int id_width = std::min(style.width / 3, 28);
  const item_result* then = item_of(&before, now.id);
  if (!then) return {};
  const double gained = now.points - then->points;
  const std::string cases = was(then, now);
  if (then->verdict == now.verdict && std::abs(gained) < 0.005 && cases.empty()) return {};
  std::string row =
      fmt::format("  {} {} {}", coloured(fitted(name_of(now.verdict), 12), ansi_colour_of(now.verdict), style),
                  fitted(now.id, id_width), fitted(fmt::format("{:+.4g} points", gained), 13));
  if (then->verdict != now.verdict) row += " was " + name_of(then->verdict);
  if (!cases.empty() && now.verdict != verdict::pass) row += "  " + figure_column(now) + cases;
  row.erase(row.find_last_not_of(' ') + 1);
  return row + "\n";
}

std::string changed_items(const result& before, const result& after, const terminal_style& style) {
  std::string out;
  for (const item_result& now : after.items) out += changed_item(before, now, style);
  return out.empty() ? "  nothing changed\n" : out;
}

std::string one_item(const item_result& item, const terminal_style& style) {
  const std::string figure = figure_column(item);
  std::string out =
      fmt::format("{}  {}, {} of {} points\n{}", coloured(name_of(item.verdict), ansi_colour_of(item.verdict), style),
                  item.id, item.earned_text(), points_text(item.max_points),
                  wrapped(item.title + (figure.empty() ? "" : ": " + figure), 4, style.width));
  if (!item.message.empty()) out += wrapped(item.message, 4, style.width);
  return out + wrong_predictions(item, style) + advice_of(item, style);
}

std::string summary_table(const std::vector<summary_row>& rows, const terminal_style& style) {
  const int points_width = 13, expected_width = 8, seconds_width = 6;
  const int rest = style.width - points_width - expected_width - seconds_width - 6;
  const int name_width = std::min(rest * 2 / 5, 36), verdicts_width = rest - name_width;
  const auto line = [&](const std::string& name, const std::string& verdicts, const std::string& points,
                        const std::string& expected, const std::string& seconds) {
    return fmt::format("  {} {} {} {} {}\n", fitted(name, name_width), fitted(verdicts, verdicts_width),
                       right(points, points_width), fitted(expected, expected_width), right(seconds, seconds_width));
  };
  std::string out, surprises;
  std::string header = line("submission", "verdicts", "points", "expected", "s");
  header.pop_back();
  out += heading(header, style);
  for (const summary_row& row : rows) {
    const result& r = row.graded;
    const bool as_expected = row.surprises.empty();
    std::string text =
        line(r.lab.substr(0, 2) + " " + r.submission, verdict_summary(r),
             points_text(r.score()) + (r.most_score() > r.score() ? "+" : "") + " of " + points_text(r.out_of()),
             as_expected ? "yes" : "NO", fmt::format("{:.1f}", r.seconds));
    if (!as_expected) {
      text.pop_back();
      text = coloured(text, "31", style) + "\n";
      surprises += '\n';
      surprises += wrapped(fmt::format("{} {} did not get the expected result:", r.lab, r.submission), 0, style.width);
      surprises += wrapped(row.surprises, 4, style.width);
    }
    out += text;
  }
  return out + surprises;
}

}  // namespace grading
