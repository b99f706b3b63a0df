// The decks: code and figures that they quote, and tables of measured results for their plots.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "coursedocs.hpp"

namespace docs {
namespace {

/// The text between the two lines "//! [marker]", without common indentation.
std::string marked_code(const fs::path& file, const std::string& marker) {
  const std::string mark = "//! [" + marker + "]";
  std::vector<std::string> code;
  int marks = 0;
  for (const std::string& line : lines_of(text_of(file))) {
    if (line.find(mark) != std::string::npos)
      ++marks;
    else if (marks == 1 && line.find("//! [") == std::string::npos &&
             !(line.empty() && (code.empty() || code.back().empty())))
      code.push_back(line);  // drops other pieces' markers and the empty lines they leave
  }
  if (marks != 2)
    throw std::runtime_error(fmt::format("{}: the marker [{}] occurs {} times, but must occur twice: around the code",
                                         file.string(), marker, marks));
  std::size_t indent = std::string::npos;  // ignores #pragma, which clang-format puts at the margin
  for (const std::string& line : code)
    if (!line.starts_with("#")) indent = std::min(indent, line.find_first_not_of(' '));
  std::string out;
  for (const std::string& line : code)
    out += (line.starts_with("#") ? line : line.substr(std::min(indent, line.size()))) + "\n";
  return out;
}

std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t at = 0; (at = text.find(separator, from)) != std::string::npos; from = at + separator.size())
    parts.push_back(text.substr(from, at - from));
  parts.push_back(text.substr(from));
  return parts;
}

std::string trimmed(const std::string& text) {
  const std::size_t from = text.find_first_not_of(' ');
  return from == std::string::npos ? "" : text.substr(from, text.find_last_not_of(' ') + 1 - from);
}

/// The cell in this column of the only table that has it, in the only row that contains `row`.
std::string cell_of(const fs::path& file, const std::string& row, const std::string& column) {
  std::vector<std::string> found;
  std::size_t at = 0;  // index of the column in the table around this line; 0 outside a table
  for (const std::string& line : lines_of(text_of(file))) {
    std::vector<std::string> cells;      // the first precedes the first |
    if (trimmed(line).starts_with("|"))  // tables in a list are indented
      for (const std::string& cell : split(line, "|")) cells.push_back(trimmed(cell));
    const auto has = [&](const std::string& text) { return std::find(cells.begin(), cells.end(), text); };
    if (cells.empty())
      at = 0;
    else if (has(column) != cells.end())
      at = static_cast<std::size_t>(has(column) - cells.begin());
    else if (at > 0 && at < cells.size() && has(row) != cells.end())
      found.push_back(cells[at]);
  }
  if (found.size() != 1)
    throw std::runtime_error(fmt::format("{}: {} tables have a row with \"{}\" and a column \"{}\", and one must",
                                         file.string(), found.size(), row, column));
  return found[0];
}

/// The number at this path, which names an array element by its "case" or its index from 0.
double number_in(const fs::path& file, const std::vector<std::string>& names) {
  using nlohmann::json;
  const json document = json::parse(text_of(file));
  const json* at = &document;
  for (const std::string& name : names) {
    const json* next = nullptr;
    if (at->is_object() && at->contains(name)) next = &at->at(name);
    if (at->is_array())
      for (const json& element : *at)
        if (element.is_object() && element.value("case", std::to_string(&element - &at->front())) == name)
          next = &element;
    if (next == nullptr) throw std::runtime_error(fmt::format("{}: there is no \"{}\"", file.string(), name));
    at = next;
  }
  if (!at->is_number())
    throw std::runtime_error(fmt::format("{}: \"{}\" is not a number", file.string(), names.back()));
  return at->get<double>();
}

/// The text between {{ and }}: "FILE.md > row > column", or "FILE.json > name > ... > name * 1e6 : .1f"; ",.0f"
/// groups digits.
std::string quoted_figure(const fs::path& source, const std::string& quote) {
  const std::vector<std::string> form = split(quote, " : ");
  const std::vector<std::string> factors = split(form[0], " * ");
  std::vector<std::string> names = split(factors[0], " > ");
  const fs::path file = source / names[0];
  names.erase(names.begin());
  if (file.extension() == ".md" && names.size() == 2) return cell_of(file, names[0], names[1]);
  if (file.extension() != ".json" || names.empty() || form.size() != 2)
    throw std::runtime_error("{{" + quote + "}}: wanted FILE.md > row > column, or FILE.json > name > ... : .1f");
  double number = number_in(file, names);
  for (std::size_t i = 1; i < factors.size(); ++i) number *= std::stod(factors[i]);
  const bool grouped = form[1].starts_with(",");
  std::string figure = fmt::format(fmt::runtime("{:" + form[1].substr(grouped ? 1 : 0) + "}"), number);
  if (grouped)
    for (std::size_t at = std::min(figure.find('.'), figure.size()); at > 3 && figure[at - 4] != '-';)
      figure.insert(at -= 3, ",");
  return figure;
}

std::string with_figures(const fs::path& source, std::string line) {
  for (std::size_t begin = 0; (begin = line.find("{{", begin)) != std::string::npos;) {
    const std::size_t end = line.find("}}", begin);
    if (end == std::string::npos) throw std::runtime_error("{{ without }}");
    const std::string figure = quoted_figure(source, line.substr(begin + 2, end - begin - 2));
    line.replace(begin, end + 2 - begin, figure);
    begin += figure.size();
  }
  return line;
}

/// An SVG's own description, for readers who cannot see it.
std::string description_of(const fs::path& drawing) {
  const std::string svg = text_of(drawing);
  const std::size_t end = svg.find("</desc>"), begin = svg.find('>', svg.find("<desc ")) + 1;
  if (end == std::string::npos || begin > end)
    throw std::runtime_error(drawing.string() + ": the drawing has no <desc>");
  std::string words;
  for (const char c : svg.substr(begin, end - begin)) {
    if (std::string_view("\\`*_[]$").find(c) != std::string_view::npos) words += '\\';
    words += c;
  }
  return words;
}

/// A picture with its description as alternative text. A handout's drawing keeps only its file name, because the build
/// puts drawings and deck into one folder. Plots have no description, so the deck must supply one.
std::string with_picture(const fs::path& file, const fs::path& steps, std::string line) {
  for (const link& l : links_in(line)) {
    if (!l.image) continue;
    const fs::path target = l.target;
    const bool handout = l.target.find("/drawings/") != std::string::npos, step = l.target.starts_with("steps/");
    const std::string described = handout ? description_of(file.parent_path() / target)
                                  : step  ? description_of(steps / target.filename())
                                          : "";
    if (described.empty() && l.text.find(' ') == std::string::npos)
      throw std::runtime_error(l.target + ": say in words what the picture shows: ![w:980 WORDS](" + l.target + ")");
    return line.replace(l.begin, l.end - l.begin,
                        fmt::format("![{}{}{}]({})", l.text, described.empty() ? "" : " ", described,
                                    handout ? target.filename().string() : l.target));
  }
  return line;
}

/// The theme fits this many characters in a line at full size; a longer line would shrink all code on its slide.
constexpr std::size_t widest = 96;

/// The position of the body after for (...), if (...) or while (...); 0 if the line has none.
std::size_t body_in(const std::string& line, std::size_t indent) {
  for (const std::string_view word : {"for (", "if (", "while ("})
    if (line.compare(indent, word.size(), word) == 0) {
      std::size_t body = indent + word.size();
      for (int depth = 1; body < line.size() && depth > 0; ++body)
        depth += line[body] == '(' ? 1 : line[body] == ')' ? -1 : 0;
      return body < line.size() && line.compare(body, 2, " {") != 0 ? body : 0;
    }
  return 0;
}

/// The last place to break that fits, inside the fewest brackets: after a comma, && or ||, before ? or :, or else at
/// any blank; 0 if there is none.
std::size_t break_in(const std::string& line, std::size_t indent) {
  std::size_t best = 0;
  int depth = 0, least = 0;
  for (std::size_t i = indent; i < line.size() && i <= widest; ++i) {
    const auto one_of = [&](std::string_view these, std::size_t at) {
      return these.find(line[at]) != std::string_view::npos;
    };
    depth += one_of("([{", i) - one_of(")]}", i);
    if (line[i] != ' ' || i + 1 >= line.size()) continue;
    const bool outer = one_of(",;", i - 1) || one_of("?:", i + 1);
    const int cost = 2 * depth + (outer ? 0 : one_of("&|", i - 1) ? 1 : 100);
    if (best == 0 || cost <= least) best = i, least = cost;
  }
  return best;
}

/// The code, with lines broken to fit a slide.
std::string within_a_slide(const std::string& code) {
  std::vector<std::string> left = lines_of(code);
  std::reverse(left.begin(), left.end());
  std::string out;
  while (!left.empty()) {
    const std::string line = left.back();
    left.pop_back();
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t comment = line.find("//");
    if (line.size() <= widest) {
      out += line + "\n";
    } else if (const std::size_t at = line.rfind(' ', widest); comment == indent && at > line.find(' ', indent)) {
      const std::string mark =
          line.substr(0, line.find(' ', indent) + 1);  // its last words move to the comment's next line
      std::string rest = mark + line.substr(at + 1);
      if (!left.empty() && left.back().starts_with(mark)) {
        rest += " " + left.back().substr(mark.size());
        left.pop_back();
      }
      left.push_back(rest);
      out += line.substr(0, at) + "\n";
    } else if (line.ends_with(",") && !left.empty() && left.back().starts_with(std::string(indent + 1, ' '))) {
      const std::size_t words = left.back().find_first_not_of(' ');
      left.back() = line + " " + left.back().substr(words);         // to be broken together
    } else if (comment != std::string::npos && comment > indent) {  // moved to its own line, before the code
      left.push_back(line.substr(0, line.find_last_not_of(' ', comment - 1) + 1));
      left.push_back(std::string(indent, ' ') + line.substr(comment));
    } else if (const std::size_t body = body_in(line, indent); body > 0) {
      left.push_back(std::string(indent + 1, ' ') + line.substr(body));
      left.push_back(line.substr(0, body));
    } else if (const std::size_t fits = break_in(line, indent); fits > 0) {
      left.push_back(std::string(indent + 3, ' ') + line.substr(fits));
      left.push_back(line.substr(0, fits));
    } else {
      out += line + "\n";
    }
  }
  return out;
}

}  // namespace

std::string deck(const fs::path& source, const fs::path& file, const fs::path& steps) {
  std::string out;
  int number = 0;
  for (const std::string& line : lines_of(text_of(file))) {
    ++number;
    constexpr std::string_view mark = "<!-- code: ";
    try {
      if (!line.starts_with(mark)) {
        out += with_figures(source, with_picture(file, steps, line)) + "\n";
        continue;
      }
      std::istringstream words(line.substr(mark.size()));
      std::string from, marker;
      words >> from >> marker;
      const std::string code = within_a_slide(marked_code(source / from, marker));
      const auto lines = std::count(code.begin(), code.end(), '\n');
      if (lines > 24)
        throw std::runtime_error(
            fmt::format("{}: {} lines of code at [{}]; more than 24 are too small to read: mark two pieces",
                        (source / from).string(), lines, marker));
      if (lines > 16) out += "<!-- _class: long -->\n";  // the theme shows it in smaller print
      out += "```cpp\n" + code + "```\n";
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("{}:{}: {}", file.string(), number, error.what()));
    }
  }
  return out;
}

int write_data(const fs::path& results, const fs::path& out) {
  using nlohmann::json;
  fs::create_directories(out);
  std::ofstream throughput(out / "throughput.tsv"), counters(out / "counters.tsv"), ceilings(out / "ceilings.tsv"),
      blocks(out / "blocks.tsv"), staircase(out / "staircase.tsv"), tokens(out / "tokens.tsv");
  throughput << "lab\tcase\tbytes\tflops\tseconds\tceiling_seconds\n";
  counters << "lab\tcase\tloads\tload_sectors\tstores\tstore_sectors\tshared_load_conflicts\tshared_loads\n";
  ceilings << "bytes\twhat\tbytes_per_second\n";
  blocks << "shape\tpass\tblock\tmicroseconds\n";
  staircase << "tile\tn\tseconds\tmodelled\n";
  tokens << "program\tversion\tposition\tmilliseconds\n";
  int rows = 0;
  std::set<fs::path> files;  // in a fixed order
  for (const auto& entry : fs::directory_iterator(results)) files.insert(entry.path());
  for (const fs::path& file : files) {
    const std::string name = file.stem().string();
    if (file.extension() != ".json") continue;
    const json document = json::parse(text_of(file));
    if (name == "ceilings") {
      for (const auto& [size, whats] : document.items()) {
        if (std::isdigit(static_cast<unsigned char>(size[0])) == 0) continue;
        for (const auto& [what, figure] : whats.items())
          ceilings << fmt::format("{}\t{}\t{}\n", size, what, figure.at("median").get<double>());
      }
    }
    if (name == "gpt2")
      for (const auto& [shape, passes] : document.at("blocks").items())
        for (const auto& [pass, of] : passes.items())
          for (const auto& [block, microseconds] : of.items())
            blocks << fmt::format("{}\t{}\t{}\t{}\n", shape, pass, block, microseconds.get<double>());
    if (name == "decode10")
      tokens << fmt::format("sum of as many bytes\tas the weights\t0\t{}\n",
                            document.at("ms to sum as many bytes").get<double>());
    if (name.starts_with("decode10"))
      for (const json& row : document.at("rows")) {
        const char* program = row.contains("PyTorch") ? "PyTorch" : "decode.cu";
        tokens << fmt::format("{}\t{}\t{}\t{}\n", program, row.at(program).get<std::string>(),
                              row.at("position").get<int>(), row.at("ms per token").get<double>());
      }
    if (document.contains("staircase"))
      for (const auto& [tile, steps] : document.at("staircase").items())
        for (const json& step : steps)
          staircase << fmt::format("{}\t{}\t{}\t{}\n", tile, step.at("n").get<int>(), step.at("seconds").get<double>(),
                                   step.at("modelled").get<double>());
    if (!name.starts_with("lab")) continue;
    const std::string lab = name.substr(3);
    for (const json& t : document.at("throughput")) {
      throughput << fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", lab, t.at("case").get<std::string>(),
                                t.at("bytes").get<double>(), t.at("flops").get<double>(),
                                t.at("call_seconds").at("median").get<double>(),
                                t.at("ceiling_seconds").at("median").get<double>());
      ++rows;
    }
    for (const json& c : document.at("counters")) {
      counters << lab << '\t' << c.at("case").get<std::string>();
      for (const char* metric :
           {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
            "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "smsp__inst_executed_op_shared_ld.sum"})
        counters << fmt::format("\t{:.0f}", c.at("metrics").value(metric, 0.0));
      counters << '\n';
      ++rows;
    }
  }
  if (rows == 0) throw std::runtime_error("no results in " + results.string());
  return 0;
}

}  // namespace docs
