// The course in one picture: what a student does in each lab, and which lab builds on which. Titles, needs and hours
// are the rubrics'.
#include <fmt/format.h>

#include <toml++/toml.h>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <map>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include "drawing.hpp"

namespace drawings {
namespace {

struct lab_entry {
  std::string title, hours;
  std::set<int> needs;
};

std::map<int, lab_entry> labs_by_number() {
  std::map<int, lab_entry> labs;
  for (const auto& folder : std::filesystem::directory_iterator(LABS_DIR)) {
    const auto file = folder.path() / "judge" / "rubric.toml";
    if (!std::filesystem::exists(file)) continue;
    const toml::table document = toml::parse_file(file.string());
    const auto text = [&](const char* key) { return document["lab"][key].value<std::string>().value(); };
    lab_entry& lab = labs[std::stoi(text("id"))];
    lab.title = text("title").substr(0, text("title").find_first_of(":,"));
    lab.hours = text("hours");
    if (const auto at = lab.hours.find(" to "); at != std::string::npos) lab.hours.replace(at, 4, "–");
    const std::string needs = text("needs");
    for (std::size_t i = 0; i + 1 < needs.size(); ++i)
      if (std::isdigit(static_cast<unsigned char>(needs[i])) && std::isdigit(static_cast<unsigned char>(needs[i + 1])))
        lab.needs.insert(std::stoi(needs.substr(i, 2)));
  }
  return labs;
}

}  // namespace

void course(drawing_list& to) {
  const std::map<int, lab_entry> labs = labs_by_number();
  std::string who;
  for (const auto& [number, lab] : labs) {
    std::string on;
    for (const int need : lab.needs) on += fmt::format("{}{:02}", on.empty() ? "" : " and ", need);
    if (!on.empty()) who += fmt::format("{}{:02} on {}", who.empty() ? "" : ", ", number, on);
  }
  drawing d(
      ".", "course", "The course in one picture",
      fmt::format("In each lab you predict, write CUDA, count and measure, and compare with your prediction. The {} "
                  "labs, with hours; arcs lead from a lab to those that build on it: {}.",
                  labs.size(), who));
  const double w = 70, gap = (inner - 4 * w) / 3, top = 38;
  double x = margin;
  for (const auto& [words, role] :
       {std::pair{"predict", "reg"}, {"write", "used"}, {"count", "shared"}, {"measure", "time"}}) {
    d.label(x, top, w, 28, role, words);
    if (x > margin) d.arrow(x - gap + 2, top + 14, x - 2, top + 14);
    x += w + gap;
  }
  d.line(width - margin - w / 2, top + 28, width - margin - w / 2, top + 42, "pen");
  d.line(width - margin - w / 2, top + 42, margin + w / 2, top + 42, "pen");
  d.arrow(margin + w / 2, top + 42, margin + w / 2, top + 29);
  d.text(width / 2, top + 56, "compare with what you predicted", "mute", at::middle);
  const double first = top + 88, row = 25, arcs = 276;
  const auto y = [&](int number) { return first + (number - labs.begin()->first) * row; };
  for (const auto& [number, lab] : labs) {
    d.label(margin, y(number) - 9, 24, 18, "used", fmt::format("{:02}", number));
    d.text(margin + 32, y(number) + 4, lab.title);
    d.text(arcs - 6, y(number) + 4, lab.hours + " h", "s mute", at::end);
    d.dot(arcs + 4, y(number), 2.5, "used");
    for (const int need : lab.needs) {
      const double middle = (y(need) + y(number)) / 2, half = (y(number) - y(need)) / 2;
      std::vector<std::pair<double, double>> arc;
      for (int i = 0; i <= 24; ++i) {
        const double a = std::numbers::pi * (i / 24.0 - 0.5);
        arc.emplace_back(arcs + 4 + std::min(64.0, half * 0.66) * std::cos(a), middle + half * std::sin(a));
      }
      d.curve(arc, "time-line");
    }
  }
  d.text(arcs + 4, first - 14, "builds on", "s time-text");
  to.push_back(std::move(d));
}

}  // namespace drawings
