#include "student/attempts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "report/page.hpp"
#include "report/report.hpp"
#include "support/text.hpp"

namespace grading {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t most_squares = 60;  // in a row of the page

attempt attempt_from(const json& line) {
  attempt a{line.at("lab"), line.at("lab_title"), line.at("date"), line.at("points"), line.at("out_of"), {}};
  for (const json& one : line.at("items")) {
    attempted_item i{one.at("id"),         one.at("title"),      named<verdict>(one.at("verdict").get<std::string>()),
                     one.at("points"),     one.at("max_points"), {},
                     one.value("what", "")};
    if (one.contains("figure") && one["figure"].is_number()) i.figure = one["figure"].get<double>();
    a.items.push_back(std::move(i));
  }
  return a;
}

const attempted_item* item_of(const attempt& a, const std::string& id) {
  const auto found = std::find_if(a.items.begin(), a.items.end(), [&](const auto& i) { return i.id == id; });
  return found == a.items.end() ? nullptr : &*found;
}

std::string day_and_time(const std::string& date) { return replaced(date.substr(0, 16), "T", " "); }

/// "sectors per load request: 32 to 4"; "" without a figure.
std::string change(const std::vector<const attempt*>& tries, const std::string& id) {
  std::optional<double> first, last;
  std::string what;
  for (const attempt* a : tries)
    if (const attempted_item* i = item_of(*a, id); i && i->figure) {
      if (!first) first = i->figure;
      last = i->figure;
      what = i->what;
    }
  if (!last) return {};
  const std::string from = figure_text(*first), to = figure_text(*last);
  return from == to ? fmt::format("{} {}", to, what) : fmt::format("{} to {} {}", from, to, what);
}

/// "3 WRONG, then 5 PASS": describes the row of squares.
std::string in_words(const std::vector<const attempt*>& tries, const std::string& id) {
  std::string words, before;
  int same = 0;
  const auto tell = [&] {
    if (same > 0) add_to_list(words, ", then ", fmt::format("{} {}", same, before));
  };
  for (const attempt* a : tries) {
    const attempted_item* i = item_of(*a, id);
    const std::string now = i ? name_of(i->verdict) : "not built";
    if (now != before) {
      tell();
      same = 0;
      before = now;
    }
    ++same;
  }
  tell();
  return words;
}

/// Draws points against attempts as steps; the scale ends at the lab's available points.
std::string curve_of(const std::vector<const attempt*>& tries) {
  constexpr double width = 640, height = 120, left = 42, top = 14, bottom = 20;
  double most = 1;
  for (const attempt* a : tries) most = std::max(most, a->out_of);
  const double step = (width - left - 8) / static_cast<double>(tries.size());
  const auto y = [&](double points) { return top + (height - top - bottom) * (1 - points / most); };
  std::string path, marks;
  for (std::size_t i = 0; i < tries.size(); ++i) {
    const double from = left + step * static_cast<double>(i);
    path += fmt::format("{}{:.1f} {:.1f} H{:.1f} ", i == 0 ? "M" : "L", from, y(tries[i]->points), from + step);
    marks += fmt::format(
        R"svg(<rect x="{:.1f}" y="{}" width="{:.1f}" height="{}" fill="transparent"><title>{}: {} of {}</title></rect>)svg",
        from, top, step, height - top - bottom, escaped(day_and_time(tries[i]->date)), points_text(tries[i]->points),
        points_text(tries[i]->out_of));
  }
  const auto text = [](double x, double at, const char* anchor, const std::string& says) {
    return fmt::format(R"svg(<text x="{:.1f}" y="{:.1f}" text-anchor="{}" fill="var(--soft)">{}</text>)svg", x, at,
                       anchor, says);
  };
  std::string lines;
  for (const double at : {0.0, most / 2, most}) {
    lines += fmt::format(R"svg(<path d="M{} {:.1f} H{}" stroke="var(--line)"/>)svg", left, y(at), width - 8);
    if (at != most / 2) lines += text(left - 6, y(at) + 4, "end", points_text(at));
  }
  lines += text(left, height - 4, "start", "grading 1");
  if (tries.size() > 1) lines += text(width - 8, height - 4, "end", fmt::format("grading {}", tries.size()));
  return fmt::format(R"svg(<svg viewBox="0 0 {} {}" role="img" aria-label="points: first {}, now {}, at most {}">{})svg"
                     R"svg(<path d="{}" fill="none" stroke="var(--good)" stroke-width="2"/>{}</svg>)svg",
                     width, height, points_text(tries.front()->points), points_text(tries.back()->points),
                     points_text(most), lines, path, marks);
}

json predictions_of(const result& r) {
  json rows = json::array();
  const auto text = [](const std::optional<double>& value) { return value ? figure_text(*value) : std::string("-"); };
  for (const item_result& i : r.items)
    for (const prediction_result& p : i.predictions)
      if (p.first)
        rows.push_back({{"key", p.key},
                        {"first", text(p.first)},
                        {"now", text(p.predicted)},
                        {"right", text(p.right)},
                        {"became", name_of(p.state)}});
  return rows;
}

json lab_of(const std::vector<const attempt*>& tries, const result* latest) {
  const attempt& last = *tries.back();
  json lab{{"number", last.lab.substr(0, 2)},
           {"title", last.lab_title},
           {"gradings", tries.size() == 1 ? "1 grading" : fmt::format("{} gradings", tries.size())},
           {"from", day_and_time(tries.front()->date)},
           {"to", tries.size() == 1 ? "" : day_and_time(last.date)},
           {"points", points_text(last.points)},
           {"out_of", points_text(last.out_of)},
           {"svg", curve_of(tries)}};
  const std::size_t left_out = tries.size() - std::min(tries.size(), most_squares);
  lab["left_out"] = left_out > 0 ? fmt::format("the squares show the last {}", most_squares) : "";
  lab["items"] = json::array();
  const attempt* built = nullptr;  // the last one that was built
  for (const attempt* a : tries)
    if (!a->items.empty()) built = a;
  for (std::size_t n = 0; built && n < built->items.size(); ++n) {
    const attempted_item& i = built->items[n];
    json squares = json::array();
    for (std::size_t t = left_out; t < tries.size(); ++t) {
      const attempted_item* then = item_of(*tries[t], i.id);
      squares.push_back(
          {{"colour", then ? colour_of(then->verdict) : "none"},
           {"says", fmt::format("{}: {}", day_and_time(tries[t]->date),
                                then ? fmt::format("{}, {} of {}", name_of(then->verdict), points_text(then->points),
                                                   points_text(then->max_points))
                                     : "nothing was built")}});
    }
    lab["items"].push_back({{"id", i.id},
                            {"title", i.title},
                            {"words", in_words(tries, i.id)},
                            {"squares", squares},
                            {"change", change(tries, i.id)},
                            {"points", is_assessed(i.verdict) ? points_text(i.points) : "-"},
                            {"max_points", points_text(i.max_points)}});
  }
  const json predictions = latest ? predictions_of(*latest) : json::array();
  lab["predictions"] = predictions.empty() ? json() : json{{"rows", predictions}};
  return lab;
}

}  // namespace

attempt attempt_of(const result& r) {
  attempt a{r.lab, r.lab_title, r.date, r.score(), r.out_of(), {}};
  if (r.outcome == outcome::build_failed) return a;
  for (const item_result& i : r.items)
    a.items.push_back({i.id, i.title, i.verdict, i.points, i.max_points, i.figure, i.what});
  return a;
}

void keep_attempt(const std::filesystem::path& file, const attempt& a) {
  json items = json::array();
  for (const attempted_item& i : a.items) {
    json one{{"id", i.id},
             {"title", i.title},
             {"verdict", name_of(i.verdict)},
             {"points", i.points},
             {"max_points", i.max_points}};
    if (i.figure) one.update({{"figure", *i.figure}, {"what", i.what}});
    items.push_back(std::move(one));
  }
  const json line{{"lab", a.lab},       {"lab_title", a.lab_title}, {"date", a.date},
                  {"points", a.points}, {"out_of", a.out_of},       {"items", items}};
  // One write, so that lines of a watch and a simultaneous grading do not mix.
  const std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  const int to = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const bool written = to >= 0 && write(to, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int why = errno;
  if (to >= 0) close(to);
  if (!written) throw std::runtime_error(fmt::format("cannot add to {}: {}", file.string(), std::strerror(why)));
}

bool enter_grading(const std::filesystem::path& progress_file, const std::filesystem::path& attempts_file,
                   const result& r) {
  progress all = read_progress(progress_file);
  const bool before = !all[r.lab].passed.empty();
  note(all[r.lab], r);
  write_progress(progress_file, all);
  keep_attempt(attempts_file, attempt_of(r));
  return passed(r) && !before;
}

attempts read_attempts(const std::filesystem::path& file) {
  attempts made;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    try {
      made.all.push_back(attempt_from(json::parse(line)));
    } catch (const std::exception&) {
      ++made.unreadable;
    }
  }
  return made;
}

std::string attempts_page(const attempts& made, const std::vector<result>& latest) {
  std::map<std::string, std::vector<const attempt*>> by_lab;
  for (const attempt& a : made.all) by_lab[a.lab].push_back(&a);
  json labs = json::array();
  for (const auto& [lab, tries] : by_lab) labs.push_back(lab_of(tries, result_of(latest, lab, "student")));
  return page("attempts.html", {{"labs", labs}, {"unreadable", made.unreadable == 0 ? json() : json(made.unreadable)}});
}

}  // namespace grading
