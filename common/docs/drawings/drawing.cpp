#include "drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace drawings {
namespace {

struct colour {
  std::string_view role, fill, fill_dark, line, line_dark;  ///< lines and text have more contrast
};
constexpr colour colours[] = {
    {"used", "#0969da", "#1f6feb", "#0550ae", "#79c0ff"},   {"waste", "#ffcecb", "#67060c", "#b3131f", "#ff7b72"},
    {"shared", "#1a7f37", "#238636", "#116329", "#7ee787"}, {"reg", "#8250df", "#8957e5", "#6639ba", "#d2a8ff"},
    {"time", "#bc4c00", "#bd561d", "#953800", "#ffa657"},   {"idle", "#e4e8ed", "#2f3742", "#59636e", "#9198a1"},
};

std::string style() {
  std::string light =
      "text{font:12px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2328}"
      ".h{font-size:14px;font-weight:600}.s{font-size:11px}.mute{fill:#59636e}.on{fill:#fff}.ground{fill:#fff}"
      ".free{fill:none;stroke:#8c959f}.hair{stroke:#c3cad2;fill:none}.pen{stroke:#59636e;fill:none;stroke-width:1.3}"
      ".pen-head{fill:#59636e}";
  std::string dark =
      "text{fill:#e6edf3}.mute{fill:#9da7b3}.on{fill:#fff}.ground{fill:#0d1117}.free{stroke:#6e7681}.hair{stroke:#"
      "3d444d}"
      ".pen{stroke:#9198a1}.pen-head{fill:#9198a1}";
  for (const colour& c : colours) {
    light += fmt::format(
        ".{0}{{fill:{1}}}.{0}-line{{stroke:{2};fill:none;stroke-width:1.6}}.{0}-line-head,.{0}-text{{fill:{2}}}",
        c.role, c.fill, c.line);
    dark += fmt::format(".{0}{{fill:{1}}}.{0}-line{{stroke:{2}}}.{0}-line-head,.{0}-text{{fill:{2}}}", c.role,
                        c.fill_dark, c.line_dark);
  }
  light += ".thin{stroke-width:.7}.waste{stroke:#cf222e;stroke-width:.7}";
  dark += ".waste{stroke:#f85149}";
  return light + "\n@media screen and (prefers-color-scheme:dark){" + dark + "}";
}

std::string number(double x) {
  std::string s = fmt::format("{:.1f}", std::round(x * 10) / 10 + 0.0);
  if (s.ends_with(".0")) s.resize(s.size() - 2);
  return s == "-0" ? "0" : s;
}

std::string escaped(const std::string& words) {
  std::string out;
  for (const char c : words) out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return out;
}

std::string unescaped(std::string words) {
  for (const auto& [from, to] : {std::pair{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}})
    for (std::size_t i = 0; (i = words.find(from, i)) != words.npos; ++i) words.replace(i, std::strlen(from), 1, to);
  return words;
}

std::string inside(const std::string& svg, std::string_view from, std::string_view to) {
  const std::size_t begin = svg.find(from), end = begin == svg.npos ? begin : svg.find(to, begin + from.size());
  if (end == svg.npos) throw std::runtime_error(fmt::format("a drawing without {}…{}", from, to));
  return svg.substr(begin + from.size(), end - begin - from.size());
}

std::vector<std::string> elements(const std::string& svg, std::string_view from, std::string_view to) {
  std::vector<std::string> all;
  for (std::size_t i = 0; (i = svg.find(from, i)) != svg.npos; ++i) all.push_back(inside(svg.substr(i), from, to));
  return all;
}

/// Of the first element that has it; empty if none has.
std::string attribute(const std::string& element, const std::string& name) {
  const std::string before = " " + name + "=\"";
  return element.find(before) == element.npos ? "" : inside(element, before, "\"");
}

double number_in(const std::string& element, const std::string& name) {
  const std::string value = attribute(element, name);
  return value.empty() ? 0 : std::stod(value);
}

bool has(std::string_view style, std::string_view word) {
  return (" " + std::string(style) + " ").find(" " + std::string(word) + " ") != std::string::npos;
}

double size_of(std::string_view style) { return has(style, "h") ? 14 : has(style, "s") ? 11 : 12; }

/// Wide enough for the widest of the fonts that may be there, DejaVu Sans.
double width_of(const std::string& words, std::string_view style) {
  double ems = 0;
  for (const char c : words) {
    if ((c & 0xc0) == 0x80) continue;  // inside a letter of several bytes
    const std::string_view narrow = "iljI.,:;'|!()[] -", middle = "frt/", wide = "mwMW%@";
    ems += narrow.find(c) != narrow.npos   ? 0.35
           : middle.find(c) != middle.npos ? 0.41
           : wide.find(c) != wide.npos     ? 0.95
                                           : 0.62;
  }
  return ems * size_of(style) * (has(style, "h") ? 1.06 : 1);
}

}  // namespace

std::string grouped(long long number) {
  std::string digits = std::to_string(number);
  for (auto i = static_cast<long>(digits.size()) - 3; i > 0; i -= 3) digits.insert(static_cast<std::size_t>(i), ",");
  return digits;
}

drawing::drawing(std::string of_lab, std::string its_name, std::string its_title, std::string what_it_says)
    : lab(std::move(of_lab)), name(std::move(its_name)), title(std::move(its_title)), says(std::move(what_it_says)) {
  heading(22, title);
}

drawing::drawing(std::string its_name, std::string what_it_says)
    : name(std::move(its_name)), title(name), says(std::move(what_it_says)), across_(slide_width) {}

void drawing::box(double x, double y, double w, double h, std::string_view role, double round) {
  body_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}/>\n", role, number(x),
                       number(y), number(w), number(h), round > 0 ? fmt::format(" rx=\"{}\"", number(round)) : "");
  reach(y + h);
}

void drawing::label(double x, double y, double w, double h, std::string_view role, const std::string& words,
                    std::string_view style) {
  box(x, y, w, h, role, 2.5);
  text(x + w / 2, y + h / 2 + size_of(style) * 0.36, words, style, at::middle);
}

void drawing::line(double x1, double y1, double x2, double y2, std::string_view role) {
  body_ +=
      fmt::format("<path class=\"{}\" d=\"M{} {}L{} {}\"/>\n", role, number(x1), number(y1), number(x2), number(y2));
  reach(std::max(y1, y2));
}

void drawing::arrow(double x1, double y1, double x2, double y2, std::string_view role) {
  const double length = std::hypot(x2 - x1, y2 - y1), dx = (x2 - x1) / length, dy = (y2 - y1) / length;
  const double neck_x = x2 - 6 * dx, neck_y = y2 - 6 * dy;
  line(x1, y1, neck_x, neck_y, role);
  body_ += fmt::format("<path class=\"{}-head\" d=\"M{} {}L{} {}L{} {}Z\"/>\n", role, number(x2), number(y2),
                       number(neck_x - 3.5 * dy), number(neck_y + 3.5 * dx), number(neck_x + 3.5 * dy),
                       number(neck_y - 3.5 * dx));
  reach(y2);
}

void drawing::curve(const std::vector<std::pair<double, double>>& points, std::string_view role) {
  std::string d;
  for (const auto& [x, y] : points) {
    d += fmt::format("{}{} {}", d.empty() ? "M" : "L", number(x), number(y));
    reach(y);
  }
  body_ += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", role, d);
}

void drawing::dot(double x, double y, double radius, std::string_view role) {
  body_ +=
      fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"/>\n", role, number(x), number(y), number(radius));
  reach(y + radius);
}

void drawing::text(double x, double y, const std::string& words, std::string_view style, at anchor) {
  body_ +=
      fmt::format("<text{}{} x=\"{}\" y=\"{}\">{}</text>\n", style.empty() ? "" : fmt::format(" class=\"{}\"", style),
                  anchor == at::start    ? ""
                  : anchor == at::middle ? " text-anchor=\"middle\""
                                         : " text-anchor=\"end\"",
                  number(x), number(y), escaped(words));
  reach(y + 0.3 * size_of(style));
}

void drawing::legend(double y, const std::vector<std::pair<std::string_view, std::string>>& entries) {
  double x = margin;
  for (const auto& [role, words] : entries) {
    box(x, y - 9, 10, 10, role);
    text(x + 15, y, words, "mute");
    x += 15 + width_of(words, "") + 12;
  }
}

std::string drawing::svg() const {
  const double height = std::ceil(bottom_ + margin);
  return checked(fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {2} {3}\" role=\"img\" "
      "aria-labelledby=\"t d\">\n"
      "<title id=\"t\">{4}</title>\n<desc id=\"d\">{5}</desc>\n<style></style>\n"
      "<rect class=\"ground\" width=\"{2}\" height=\"{3}\" rx=\"6\"/>\n{6}</svg>\n",
      across_ * 1.5, height * 1.5, across_, height, escaped(title), escaped(says), body_));
}

std::string description_of(const std::string& svg) { return unescaped(inside(svg, "<desc id=\"d\">", "</desc>")); }

std::string checked(std::string svg) {
  struct box {
    double left, top, right, bottom;
  };
  struct words_at : box {
    std::string words;
  };
  double across = 0, high = 0;
  if (std::sscanf(attribute(svg, "viewBox").c_str(), "0 0 %lf %lf", &across, &high) != 2)
    throw std::runtime_error("give the size as viewBox=\"0 0 WIDTH HEIGHT\"");
  std::vector<box> boxes;
  std::vector<words_at> texts;
  for (const std::string& e : elements(svg, "<rect", "/>")) {
    const double x = number_in(e, "x"), y = number_in(e, "y");
    boxes.push_back({x, y, x + number_in(e, "width"), y + number_in(e, "height")});
  }
  for (const std::string& e : elements(svg, "<text", "</text>")) {
    const std::string class_of = attribute(e, "class"), anchor = attribute(e, "text-anchor");
    const std::string words = unescaped(e.substr(e.find('>') + 1));
    const double x = number_in(e, "x"), y = number_in(e, "y"), w = width_of(words, class_of), size = size_of(class_of);
    const double left = anchor.empty() ? x : anchor == "middle" ? x - w / 2 : x - w;
    const words_at t{{left, y - 0.75 * size, left + w, y + 0.2 * size}, words};
    if (t.left < 2 || t.right > across - 2 || t.top < 2 || t.bottom > high)
      throw std::runtime_error(
          fmt::format("\"{}\" is cut off: it takes {:.0f} to {:.0f} of {} across, {:.0f} to {:.0f} of {} down", words,
                      t.left, t.right, across, t.top, t.bottom, high));
    for (const words_at& o : texts)
      if (t.left < o.right && o.left < t.right && t.top < o.bottom && o.top < t.bottom)
        throw std::runtime_error(fmt::format("\"{}\" lies on \"{}\"", words, o.words));
    texts.push_back(t);
    for (const box& b : boxes)  // a label is in the middle of its box, and all numbers are rounded
      if (anchor == "middle" && std::abs(x - (b.left + b.right) / 2) < 0.2 &&
          std::abs(y - 0.36 * size - (b.top + b.bottom) / 2) < 0.2 && w > b.right - b.left + 0.1)
        throw std::runtime_error(fmt::format("\"{}\" is wider than its box", words));
  }
  const std::size_t begin = svg.find("<style>") + 7, end = svg.find("</style>");
  if (begin < 7 || end == svg.npos) throw std::runtime_error("give it a <style></style>, to be filled in");
  return svg.replace(begin, end - begin, style());
}

}  // namespace drawings
