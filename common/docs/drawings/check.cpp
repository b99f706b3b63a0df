// The drawings of the handouts, labs/NN_topic/drawings/NAME.svg, and the steps of the decks, one sheet per deck:
// slides/steps/NN_topic.html. These files are the source, one element per line. Each numeral in them says where it
// comes from: a formula next to it, or the list of given numerals. INSTRUCTOR.md explains the attributes.
//   drawings check SOURCE      fails if a figure is not what its formula gives, a numeral has no source, text does not
//                              fit, the style is not style.css or no page shows a drawing
//   drawings style SOURCE      gives all drawings the style of style.css
//   drawings steps SOURCE OUT  cuts the sheets: each step is OUT/NAME.svg
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "formula.hpp"

namespace drawings {
namespace {

namespace fs = std::filesystem;

int failures = 0, figures_checked = 0;
void complain(const std::string& words) {
  ++failures;
  fmt::print("{}\n", words);
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string unescaped(std::string words) {
  for (const auto& [from, to] : {std::pair<std::string, char>{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}})
    for (std::size_t i = 0; (i = words.find(from, i)) != words.npos; ++i) words.replace(i, from.size(), 1, to);
  return words;
}

struct element {
  std::string tag, words;
  std::map<std::string, std::string> attributes;
  std::string get(const std::string& name) const {
    const auto found = attributes.find(name);
    return found == attributes.end() ? "" : found->second;
  }
  double number(const std::string& name) const { return get(name).empty() ? 0 : std::stod(get(name)); }
};

element parsed(const std::string& line) {
  element e;
  std::size_t at = 1;
  const auto fail = [&] { throw std::runtime_error("one element is one line: " + line); };
  if (line[0] != '<') fail();
  while (at < line.size() && (std::isalnum(static_cast<unsigned char>(line[at])) != 0)) e.tag += line[at++];
  while (at < line.size() && line[at] == ' ') {
    const std::size_t equals = line.find("=\"", at), end = equals == line.npos ? equals : line.find('"', equals + 2);
    if (end == line.npos) fail();
    e.attributes[line.substr(at + 1, equals - at - 1)] = unescaped(line.substr(equals + 2, end - equals - 2));
    at = end + 1;
  }
  const std::string rest = line.substr(std::min(at, line.size())), close = "</" + e.tag + ">";
  if (rest == "/>" || (e.tag == "svg" && rest == ">")) return e;
  if (rest[0] != '>' || !rest.ends_with(close) || rest.find('<', 1) != rest.size() - close.size()) fail();
  e.words = unescaped(rest.substr(1, rest.size() - close.size() - 1));
  return e;
}

// ---- figures -------------------------------------------------------------------------------------------------------

struct numeral {
  std::string shown;
  double number, half;  ///< half a unit of its last digit
};

/// The numerals in a text, except those in names: H200, q0, x2.
std::vector<numeral> numerals(std::string words) {
  for (std::size_t i; (i = words.find("−")) != words.npos;) words.replace(i, std::string("−").size(), "-");
  std::vector<numeral> all;
  const auto digit = [&](std::size_t i) {
    return i < words.size() && std::isdigit(static_cast<unsigned char>(words[i]));
  };
  for (std::size_t i = 0; i < words.size();) {
    if (!digit(i)) {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    std::string plain;
    while (digit(i) || (i < words.size() && (words[i] == ',' || words[i] == '\'') && digit(i + 1) && digit(i + 2) &&
                        digit(i + 3) && !digit(i + 4))) {
      if (digit(i)) plain += words[i];
      ++i;
    }
    int decimals = 0;
    if (i < words.size() && words[i] == '.' && digit(i + 1))
      for (plain += words[i++]; digit(i); ++decimals) plain += words[i++];
    const char before = begin == 0 ? ' ' : words[begin - 1];
    if (std::isalpha(static_cast<unsigned char>(before)) != 0 || before == '_') {
      while (i < words.size() && std::isalnum(static_cast<unsigned char>(words[i])) != 0) ++i;
      continue;
    }
    if (before == '-' && (begin == 1 || words[begin - 2] == ' ')) plain = "-" + plain;
    all.push_back({words.substr(begin, i - begin), std::stod(plain), 0.5 * std::pow(10, -decimals)});
  }
  return all;
}

/// The pieces of a path: boxes, dots, or the points of a line.
struct piece {
  double x, y, width = 0, height = 0;
};
std::vector<piece> pieces(const element& e) {
  if (e.tag == "rect" || e.tag == "text")
    return {{e.number("x"), e.number("y"), e.number("width"), e.number("height")}};
  if (e.tag == "circle") return {{e.number("cx"), e.number("cy")}};
  std::vector<piece> all;
  const std::string d = e.get("d");
  for (std::size_t i = 0; i < d.size();) {
    const char what = d[i++];
    double a = 0, b = 0;
    int length = 0;
    if (what == 'M' || what == 'L') {
      if (std::sscanf(d.c_str() + i, "%lf %lf%n", &a, &b, &length) != 2) throw std::runtime_error("a path is not read");
      all.push_back({a, b});
    } else if (what == 'h' || what == 'v') {
      if (std::sscanf(d.c_str() + i, "%lf%n", &a, &length) != 1) throw std::runtime_error("a path is not read");
      (what == 'h' ? all.back().width : all.back().height) = std::abs(a);
    } else if (what == 'a') {  // the first half of a circle; the second ends at its beginning
      double large = 0, sweep = 0, turn = 0, dx = 0, dy = 0;
      if (std::sscanf(d.c_str() + i, "%lf %lf %lf %lf %lf %lf %lf%n", &a, &b, &turn, &large, &sweep, &dx, &dy,
                      &length) != 7)
        throw std::runtime_error("a path is not read");
      if (dx > 0) all.back().x += a;
    }
    i += static_cast<std::size_t>(length);
  }
  return all;
}

void check_figures(const element& e, const names& known, const std::set<std::string>& given) {
  std::string words = e.words;
  if (const std::string name = e.get("data-says"); !name.empty()) {
    const std::string said = words_of(name);
    const std::size_t at = words.find(said);
    if (at == words.npos) throw std::runtime_error(fmt::format("\"{}\": {} is \"{}\"", words, name, said));
    words.erase(at, said.size());
    ++figures_checked;
  }
  const std::vector<numeral> shown = numerals(words);
  if (const std::string formulas = e.get("data-is"); !formulas.empty()) {
    value right;
    for (const std::string& f : parts(formulas, ';')) right.push_back(number_in(value_of(f, known)));
    if (right.size() != shown.size())
      throw std::runtime_error(
          fmt::format("\"{}\" has {} numerals, and {} formulas", e.words, shown.size(), right.size()));
    for (std::size_t i = 0; i < right.size(); ++i, ++figures_checked)
      if (std::abs(right[i] - shown[i].number) > shown[i].half * (1 + 1e-6) + 1e-12 * std::abs(right[i]))
        throw std::runtime_error(
            fmt::format("\"{}\" says {}, and {} is {}", e.words, shown[i].shown, parts(formulas, ';')[i], right[i]));
  } else {
    for (const numeral& n : shown)
      if (!given.contains(n.shown))
        throw std::runtime_error(fmt::format(
            "\"{}\": {} has no source: give it a formula, or name it in the drawing's data-given", e.words, n.shown));
  }
  const auto drawn = [&](const char* what, auto of) {
    const std::string formula = e.get(std::string("data-") + what);
    if (formula.empty()) return;
    const value right = value_of(formula, known);
    const std::vector<piece> all = pieces(e);
    if (right.size() != all.size())
      throw std::runtime_error(
          fmt::format("it has {} pieces, and {} is {} numbers", all.size(), formula, right.size()));
    for (std::size_t i = 0; i < all.size(); ++i, ++figures_checked)
      if (std::abs(of(all[i]) - right[i]) > 0.11)
        throw std::runtime_error(
            fmt::format("{} is {} (piece {}), and {} is {:.1f}", what, of(all[i]), i + 1, formula, right[i]));
  };
  drawn("x", [](const piece& p) { return p.x; });
  drawn("y", [](const piece& p) { return p.y; });
  drawn("width", [](const piece& p) { return p.width; });
  drawn("height", [](const piece& p) { return p.height; });
  if (const std::string formula = e.get("data-pieces"); !formula.empty() && ++figures_checked)
    if (const double right = number_in(value_of(formula, known)); static_cast<double>(pieces(e).size()) != right)
      throw std::runtime_error(fmt::format("it has {} pieces, and {} is {}", pieces(e).size(), formula, right));
}

const std::set<std::string> of_figures = {"data-is",    "data-says",   "data-x",     "data-y",
                                          "data-width", "data-height", "data-pieces"},
                            of_drawings = {"data-let", "data-given", "data-figures"};

// ---- how it looks --------------------------------------------------------------------------------------------------

bool has(const std::string& style, const std::string& word) {
  return (" " + style + " ").find(" " + word + " ") != style.npos;
}
double size_of(const std::string& style) { return has(style, "h") ? 14 : has(style, "s") ? 11 : 12; }

/// An upper bound: the width in DejaVu Sans, the widest font that may be used.
double width_of(const std::string& words, const std::string& style) {
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

struct drawing {
  std::string description;
  std::vector<std::pair<int, element>> elements;  ///< with their lines
};

void check_text(const drawing& d, const fs::path& file) {
  struct place {
    double left, top, right, bottom;
    std::string words;
  };
  double across = 0, high = 0;
  std::vector<place> texts;
  for (const auto& [line, e] : d.elements) {
    const auto fail = [&, at = line](const std::string& words) {
      complain(fmt::format("{}:{}: {}", file.string(), at, words));
    };
    if (e.tag == "svg" && std::sscanf(e.get("viewBox").c_str(), "0 0 %lf %lf", &across, &high) != 2)
      fail("give the size as viewBox=\"0 0 WIDTH HEIGHT\"");
    if (e.tag != "text") continue;
    const std::string style = e.get("class"), anchor = e.get("text-anchor");
    const double x = e.number("x"), y = e.number("y"), w = width_of(e.words, style), size = size_of(style);
    const double left = anchor.empty() ? x : anchor == "middle" ? x - w / 2 : x - w;
    const place t{left, y - 0.75 * size, left + w, y + 0.2 * size, e.words};
    if (t.left < 2 || t.right > across - 2 || t.top < 2 || t.bottom > high)
      fail(fmt::format("\"{}\" is cut off: it takes {:.0f} to {:.0f} of {} across, {:.0f} to {:.0f} of {} down",
                       e.words, t.left, t.right, across, t.top, t.bottom, high));
    for (const place& o : texts)
      if (t.left < o.right && o.left < t.right && t.top < o.bottom && o.top < t.bottom)
        fail(fmt::format("\"{}\" lies on \"{}\"", e.words, o.words));
    texts.push_back(t);
    for (const auto& [other, b] : d.elements)  // labels are in the middle of their boxes, and all numbers are rounded
      if (b.tag == "rect" && anchor == "middle" && std::abs(x - b.number("x") - b.number("width") / 2) < 0.2 &&
          std::abs(y - 0.36 * size - b.number("y") - b.number("height") / 2) < 0.2 && w > b.number("width") + 0.1)
        fail(fmt::format("\"{}\" is wider than its box", e.words));
  }
}

/// A drawing in its own file, or on a sheet, which has one style for all.
struct drawn {
  fs::path file;
  std::string name, svg;
  int line = 0;  ///< of the file, where it begins
};

std::vector<drawn> drawings_in(const fs::path& file) {
  const std::string text = text_of(file);
  if (file.extension() == ".svg") return {{file, file.stem().string(), text}};
  std::vector<drawn> all;
  for (std::size_t at = 0; (at = text.find("\n<svg ", at)) != text.npos;) {
    const std::size_t begin = at + 1, end = text.find("</svg>\n", begin), title = text.find("<title", begin);
    if (end == text.npos || title > end)
      throw std::runtime_error(file.string() + ": <svg, <title and </svg> begin lines");
    const std::size_t name = text.find('>', title) + 1;
    all.push_back(
        {file, text.substr(name, text.find('<', name) - name), text.substr(begin, end + 7 - begin),
         static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(begin), '\n'))});
    at = end;
  }
  return all;
}

drawing check_drawing(const drawn& source, const std::string& style) {
  drawing d;
  const fs::path& file = source.file;
  const std::string& svg = source.svg;
  const std::size_t begin = svg.find("<style>"), end = svg.find("</style>");
  if (const bool alone = file.extension() == ".svg"; alone != (begin != svg.npos))
    complain(fmt::format("{}: {}", file.string(), alone ? "give it a <style></style>" : "a sheet has its style once"));
  else if (alone && svg.substr(begin + 7, end - begin - 7) != style)
    complain(file.string() + ": its style is another: cmake --build build --target drawings.style");
  names known;
  std::set<std::string> given;
  int line = source.line, formulas = 0, wanted = 0;
  for (std::size_t at = 0; at < svg.size(); ++line) {
    const std::size_t stop = std::min(svg.find('\n', at), svg.size());
    const std::string words = svg.substr(at, stop - at);
    const bool skipped = (at >= begin && at < end) || words == "</svg>" || words.empty();
    at = stop + 1;
    if (skipped) continue;
    try {
      element e = parsed(words);
      for (const auto& [name, formula] : e.attributes)
        if (of_figures.contains(name))
          ++formulas;
        else if (name.starts_with("data-") && !of_drawings.contains(name))
          throw std::runtime_error("unknown attribute " + name);
      if (e.tag == "svg") wanted = static_cast<int>(e.number("data-figures"));
      for (const std::string& one : parts(e.get("data-given"), ' ')) given.insert(one);
      for (const std::string& one : parts(e.get("data-let"), ';')) {
        const std::size_t equals = one.find('=');
        if (equals == one.npos) throw std::runtime_error("data-let: NAME = FORMULA; …");
        std::string name = one.substr(0, equals);
        name.erase(name.find_last_not_of(' ') + 1);
        known[name] = value_of(one.substr(equals + 1), known);
      }
      if (e.tag == "desc") d.description = e.words;
      d.elements.emplace_back(line + 1, e);
      check_figures(e, known, given);
    } catch (const std::exception& error) {
      complain(fmt::format("{}:{}: {}", file.string(), line + 1, error.what()));
    }
  }
  if (formulas != wanted)  // a formula is missing or unexpected
    complain(fmt::format("{}:{}: it has {} formulas for figures, but data-figures is {}", file.string(),
                         source.line + 1, formulas, wanted));
  check_text(d, file);
  return d;
}

/// The text on one line: pages may break lines anywhere.
std::string one_line(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (std::isspace(static_cast<unsigned char>(c)) == 0)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  return out;
}

std::vector<fs::path> files_in(const fs::path& source) {
  std::vector<fs::path> found;
  for (const fs::path& folder : {source / "labs", source / "slides" / "steps"})
    if (fs::exists(folder))
      for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.path().extension() == ".svg" || entry.path().parent_path().filename() == "steps")
          found.push_back(entry.path().lexically_normal());
  return found;
}

int check(const fs::path& source, const std::string& style) {
  std::set<std::string> seen;
  std::vector<drawn> all;
  for (const fs::path& file : files_in(source))
    for (drawn& one : drawings_in(file)) all.push_back(std::move(one));
  for (const drawn& one : all) {
    const drawing d = check_drawing(one, style);
    if (one.file.extension() != ".svg") continue;  // docs.decks checks which decks show these
    const std::string& name = one.name;
    if (!seen.insert(name).second)
      complain(name + ": two drawings have this name, and the site has one folder for all");
    const auto must_show = [&](const fs::path& folder, const std::string& pages, const char* where) {
      const std::string shown = fmt::format("![{}]({}drawings/{}.svg)", d.description, where, name);
      const auto first = pages.find(shown);
      if (first == pages.npos || pages.find(shown, first + 1) != pages.npos)
        complain(fmt::format("a page in {} must show this drawing once, with its description:\n\n{}\n", folder.string(),
                             shown));
    };
    const fs::path folder = one.file.parent_path().parent_path();
    must_show(folder, one_line(text_of(folder / "README.md") + '\n' + text_of(folder / "SEEN.md")), "");
    if (folder.filename() == "labs") must_show(source, one_line(text_of(source / "README.md")), "labs/");  // here, too
  }
  fmt::print("{} drawings, {} figures, {} complaints\n", all.size(), figures_checked, failures);
  return failures == 0 && !all.empty() ? 0 : 1;
}

int restyle(const fs::path& source, const std::string& style) {
  for (const fs::path& file : files_in(source)) {
    if (file.extension() != ".svg") continue;
    std::string svg = text_of(file);
    const std::size_t begin = svg.find("<style>") + 7, end = svg.find("</style>");
    if (begin < 7 || end == svg.npos) throw std::runtime_error(file.string() + ": give it a <style></style>");
    std::ofstream(file, std::ios::binary) << svg.replace(begin, end - begin, style);
  }
  return 0;
}

int cut(const fs::path& source, const fs::path& out, const std::string& style) {
  fs::create_directories(out);
  for (const fs::path& file : files_in(source)) {
    if (file.extension() == ".svg") continue;
    for (drawn& one : drawings_in(file)) {
      one.svg.insert(one.svg.find("</desc>\n") + 8, "<style>" + style + "</style>\n");
      std::ofstream(out / (one.name + ".svg"), std::ios::binary) << one.svg;
    }
  }
  return 0;
}

}  // namespace
}  // namespace drawings

int main(int argc, char** argv) {
  try {
    std::string style = drawings::text_of(STYLE_FILE);
    style.erase(style.find_last_not_of('\n') + 1);
    const std::string what = argc == 3 || argc == 4 ? argv[1] : "";
    if (what == "check") return drawings::check(argv[2], style);
    if (what == "style") return drawings::restyle(argv[2], style);
    if (what == "steps" && argc == 4) return drawings::cut(argv[2], argv[3], style);
    fmt::print(stderr, "usage: drawings check|style SOURCE, steps SOURCE OUT\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  return 2;
}
