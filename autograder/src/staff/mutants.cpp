// Finds mutants in the text with comments and strings blanked out. Our code is formatted, so an operator with a blank
// on either side is binary, not a template's bracket. Mutants that do not compile do not count.
#include "staff/mutants.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "course/rubric.hpp"
#include "sim/tokens.hpp"
#include "support/files.hpp"
#include "support/toml.hpp"

namespace grading {
namespace fs = std::filesystem;

namespace {

/// The source with comments, strings and preprocessor lines blanked out, and everything from a main function on: that
/// is a program for trying things out, which no grading runs.
std::string blanked(const std::string& source) {
  std::string text(source.size(), ' ');
  for (std::size_t i = 0; i < source.size(); ++i)
    if (source[i] == '\n') text[i] = '\n';
  const std::size_t main = source.find(" int main(");
  for (const sim::token& t : sim::tokens_of(source))
    if (t.directive == 0 && t.kind != 's' && t.begin < main)
      std::copy_n(source.begin() + t.begin, t.end - t.begin, text.begin() + t.begin);
  return text;
}

const std::map<std::string, std::vector<std::string>>& binary_operators() {
  static const std::map<std::string, std::vector<std::string>> all{
      {"<", {"<=", ">"}}, {"<=", {"<"}},       {">", {">=", "<"}}, {">=", {">"}},  {"==", {"!="}}, {"!=", {"=="}},
      {"+", {"-"}},       {"-", {"+"}},        {"*", {"/", "+"}},  {"/", {"*"}},   {"%", {"/"}},   {"&&", {"||"}},
      {"||", {"&&"}},     {"+=", {"-=", "="}}, {"-=", {"+="}},     {"*=", {"/="}}, {"/=", {"*="}}, {"&", {"|"}},
      {"|", {"&"}},       {"<<", {">>"}},      {">>", {"<<"}},     {"^", {"|"}}};
  return all;
}

const std::map<std::string, std::string>& words() {
  static const std::map<std::string, std::string> all{
      {"double", "float"}, {"int64_t", "int32_t"},    {"min", "max"},    {"max", "min"},    {"fminf", "fmaxf"},
      {"fmaxf", "fminf"},  {"stream", "nullptr"},     {"true", "false"}, {"false", "true"}, {"floor", "ceil"},
      {"ceil", "floor"},   {"threadIdx", "blockIdx"}, {"x", "y"}};
  return all;
}

class maker {
 public:
  maker(const std::string& file, const std::string& source, const std::set<std::string>& sizes)
      : file_(file), source_(source), text_(blanked(source)), sizes_(sizes) {}

  std::vector<mutant> run() {
    std::size_t begin = 0;
    for (line_ = 1; begin < text_.size(); ++line_) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      one_line(begin, text_.substr(begin, end - begin));
      begin = end + 1;
    }
    return std::move(made_);
  }

 private:
  void add(std::size_t at, std::size_t length, std::string text, std::string what, bool lazy = false) {
    if (source_.compare(at, length, text) == 0) return;
    const std::size_t begin = at == 0 ? 0 : source_.rfind('\n', at - 1) + 1, end = source_.find('\n', at);
    std::string line = source_.substr(begin, end - begin);
    line.erase(0, line.find_first_not_of(' '));
    made_.push_back({file_, at, length, std::move(text), line_, line, std::move(what), lazy});
  }

  void for_each_match(const std::string& line, const char* pattern, const std::function<void(const std::smatch&)>& f) {
    static std::map<std::string, std::regex> compiled;
    const auto& re = compiled.try_emplace(pattern, pattern).first->second;
    for (std::sregex_iterator match(line.begin(), line.end(), re), end; match != end; ++match) f(*match);
  }

  void one_line(std::size_t begin, const std::string& line) {
    // The course's error checks: no test has such errors.
    if (line.find("LAB_CUDA_CHECK(cudaGetLastError())") != std::string::npos) {
      last_ = {std::string::npos, {}};
      return;
    }
    const auto position = [&](const std::smatch& m, int group) {
      return begin + static_cast<std::size_t>(m.position(group));
    };
    for_each_match(line, R"( ([-+*/%<>=!&|^]+) )", [&](const std::smatch& m) {
      const auto found = binary_operators().find(m[1]);
      if (found == binary_operators().end()) return;
      for (const std::string& other : found->second)
        add(position(m, 1), m.length(1), other, fmt::format("'{}' -> '{}'", m.str(1), other));
      if (std::string("+-*/").find(m.str(1)) == std::string::npos) return;
      // The operand ends where its brackets do, or at the next operator.
      std::size_t end = static_cast<std::size_t>(m.position(0) + m.length(0));
      for (int open = 0; end < line.size(); ++end) {
        const char c = line[end];
        if (open == 0 && (std::string(",;)]}?:").find(c) != std::string::npos || (c == ' ' && line[end - 1] != ',')))
          break;
        open += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
      }
      add(position(m, 0), end - static_cast<std::size_t>(m.position(0)), "",
          fmt::format("term dropped: '{}'", line.substr(static_cast<std::size_t>(m.position(0)),
                                                        end - static_cast<std::size_t>(m.position(0)))));
    });
    for_each_match(line, R"((?:^|[^\w.'])(\d[\w.']*))", [&](const std::smatch& m) {
      // A launch's dynamic shared memory: more than necessary changes nothing.
      const std::size_t end = static_cast<std::size_t>(m.position(1) + m.length(1));
      if (m[1] != "0" || line.compare(end, 2, ", ") != 0 || line.find(">>>(", end) == std::string::npos)
        constant(position(m, 1), m[1]);
    });
    for_each_match(line, R"((?:^|[^\w])([A-Za-z_]\w*)\b)", [&](const std::smatch& m) {
      const auto found = words().find(m[1]);
      if (found != words().end()) word(begin, line, m, found->second);
    });
    for_each_match(line, R"(\b(?:if|while) (\(.*\)))", [&](const std::smatch& m) {
      // Ends at the bracket that closes the first.
      int open = 0;
      std::size_t length = 0;
      for (const char c : m.str(1)) {
        ++length;
        open += (c == '(') - (c == ')');
        if (open == 0) break;
      }
      const std::string condition = m.str(1).substr(0, length);
      add(position(m, 1), length, "(false)", fmt::format("{} -> (false)", condition));
      if (line[static_cast<std::size_t>(m.position(0))] == 'i')
        add(position(m, 1), length, "(true)", fmt::format("{} -> (true)", condition));
    });
    lazy(begin, line);
    if (is_statement(line)) {
      const std::size_t first = line.find_first_not_of(' ');
      static const std::regex waits(R"(\b(__sync(threads|warp)|__pipeline_wait_prior|cudaStreamWaitEvent|wait)\()");
      add(begin + first, line.size() - first, ";", "statement dropped", std::regex_search(line, waits));
      if (last_.first != std::string::npos && last_.second.find_first_not_of(' ') == first)
        add(last_.first, begin + line.size() - last_.first, line + "\n" + last_.second,
            "swapped with the next statement");
      last_ = {begin, line};
    } else {
      last_ = {std::string::npos, {}};
    }
  }

  /// Whether a bound depends on a size chosen by the caller: other loops end at the file's own constants.
  bool is_a_callers(const std::string& bound) const {
    static const std::regex name(R"([A-Za-z_]\w*)");
    return sizes_.empty() || std::any_of(std::sregex_iterator(bound.begin(), bound.end(), name), std::sregex_iterator(),
                                         [&](const std::smatch& m) { return sizes_.contains(m.str()); });
  }

  void lazy(std::size_t begin, const std::string& line) {
    const auto position = [&](const std::smatch& m, int group) {
      return begin + static_cast<std::size_t>(m.position(group));
    };
    for_each_match(line, R"(\bfor \(.*; (\w+) < ((?!\d+;)[^;:]+)(); )", [&](const std::smatch& m) {
      if (is_a_callers(m[2]))
        add(position(m, 3), 0, fmt::format(" && {} < 1000", m.str(1)), fmt::format("{} ends at 1000", m.str(1)), true);
    });
    for_each_match(line, R"(^ *(\w[\w:<>, ]*<<<.*\);)$)", [&](const std::smatch& m) {
      add(position(m, 1), m.length(1), m.str(1) + " " + m.str(1), "launched twice", true);
    });
    for_each_match(line, R"(([=!]= )?(-INFINITY|-std::numeric_limits<\w+>::infinity\(\)))", [&](const std::smatch& m) {
      if (!m[1].matched) add(position(m, 2), m.length(2), "-500.0f", m.str(2) + " -> -500.0f", true);
    });
    for_each_match(line, R"(^ +(?:const )?(?:float|double) \w+ = ([^;{]*[^;{\d.f][^;{]*);$)",
                   [&](const std::smatch& m) {
                     const std::string value = m[1];
                     int open = 0;
                     for (const char c : value) {
                       open += (c == '(') - (c == ')');
                       if (c == ',' && open == 0) return;  // more than one variable
                     }
                     add(position(m, 1), value.size(),
                         fmt::format("static_cast<float>(static_cast<_Float16>({}))", value), "value in fp16", true);
                   });
    // The beginning of a host function.
    for_each_match(line, R"(^(?!.*__(?:global|device)__)(?: *)[\w:<>*& ]+ \*?[\w:]+\(.*\) (?:const )?\{()$)",
                   [&](const std::smatch& m) {
                     static const std::regex statement(R"(^ *(if|for|while|switch|else|return|do)\b)");
                     if (std::regex_search(line, statement)) return;
                     if (file_.ends_with(".cu"))
                       add(position(m, 1), 0,
                           " cudaStream_t left; cudaEvent_t also; cudaStreamCreate(&left); cudaEventCreate(&also);",
                           "stream and event left", true);
                     else
                       add(position(m, 1), 0, " static char* volatile left; left = new char[64];", "memory left", true);
                   });
  }

  void constant(std::size_t at, const std::string& number) {
    static const std::regex whole(R"(([0-9']+)(u|l|ul|ull|ll|U|L|UL|ULL)?)"), real(R"([0-9.']+(e[-+]?\d+)?[fF]?)");
    if (std::smatch m; std::regex_match(number, m, whole)) {
      std::string digits = m[1];
      std::erase(digits, '\'');
      const long long value = std::stoll(digits);
      for (const long long other : {value + 1, value - 1})
        if (other >= 0)
          add(at, number.size(), fmt::format("{}{}", other, m.str(2)), fmt::format("{} -> {}", number, other));
    } else if (std::regex_match(number, real)) {
      const bool zero = std::stod(number) == 0;
      const std::string other = zero ? "1.0f" : fmt::format("(1.01f * {})", number);
      add(at, number.size(), other, fmt::format("{} -> {}", number, other));
    }
  }

  void word(std::size_t begin, const std::string& line, const std::smatch& m, const std::string& other) {
    const std::size_t at = static_cast<std::size_t>(m.position(1)), end = at + static_cast<std::size_t>(m.length(1));
    const char before = at > 0 ? line[at - 1] : ' ', after = end < line.size() ? line[end] : ' ';
    const bool call = after == '(';
    const std::string is = m[1];
    if ((is == "min" || is == "max" || is == "floor" || is == "ceil" || is.starts_with("fm")) != call) return;
    if (is == "x" && before != '.') return;                                           // just the name of a dimension
    if (is == "stream" && (before != ' ' || (after != ')' && after != '>'))) return;  // an argument, not a parameter
    if (is == "stream" && at >= 13 && line.compare(at - 13, 12, "cudaStream_t") == 0) return;
    add(begin + at, end - at, other, fmt::format("{} -> {}", is, other));
  }

  /// Whether a line is a complete statement and not a declaration.
  static bool is_statement(const std::string& line) {
    static const std::regex statement(
        R"(^ +(?=\S)(?!return [^;]|const |static |auto |using |case |default|template |struct |extern |typedef |else |for |if |while |do |switch |)"
        R"([\w:]+(?:<[^;()]*>)?[ *&]+\w+(?:\[[^;]*\])*(?: =|;|\{|\()))"
        R"([\w(*+:-].*;$)");
    return std::regex_search(line, statement) &&
           std::count(line.begin(), line.end(), '(') == std::count(line.begin(), line.end(), ')');
  }

  const std::string& file_;
  const std::string& source_;
  std::string text_;
  const std::set<std::string>& sizes_;
  int line_ = 0;
  std::pair<std::size_t, std::string> last_{std::string::npos, {}};
  std::vector<mutant> made_;
};

}  // namespace

std::string mutated(const std::string& source, const mutant& m) {
  return source.substr(0, m.at) + m.text + source.substr(m.at + m.length);
}

std::string name_of(const mutant& m) { return fmt::format("{}  {}  |  {}", m.file, m.what, m.line_text); }

namespace {
/// The name that covers all mutants of this line.
std::string name_of_all(const mutant& m) { return fmt::format("{}  *  |  {}", m.file, m.line_text); }
}  // namespace

std::vector<mutant> mutants_of(const std::string& file, const std::string& source, const std::set<std::string>& sizes) {
  return maker(file, source, sizes).run();
}

namespace {
/// The names of integer parameters in the lab's headers.
std::set<std::string> sizes_of(const lab_folder& lab) {
  static const std::regex parameter(R"(\b(?:int|unsigned|std::size_t|std::int64_t|int64_t|size_t) (\w+)\s*[,)])");
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(lab.path))
    if (entry.path().extension() == ".hpp") {
      const std::string text = text_of(entry.path());
      for (std::sregex_iterator m(text.begin(), text.end(), parameter), end; m != end; ++m) names.insert((*m)[1]);
    }
  return names;
}
}  // namespace

std::vector<mutant> mutants_of_lab(const lab_folder& lab, const submission& solution) {
  std::vector<mutant> all;
  const std::set<std::string> sizes = sizes_of(lab);
  for (const std::string& name : read_rubric(lab).handin) {
    if (name.ends_with(".toml")) continue;
    const std::vector<mutant> own = mutants_of(name, text_of(solution.file(name)), sizes);
    all.insert(all.end(), own.begin(), own.end());
  }
  const fs::path listed = solution.path.parent_path() / "mutants.toml";
  if (!fs::exists(listed)) return all;
  const toml::table document = toml_from(text_of(listed), "mutants.toml");
  for (const toml_reader& one : toml_reader(document, "mutants.toml").tables("equivalent")) {
    one.allow({"because", "mutants"});
    one.text("because");
    for (const std::string& name : one.texts("mutants"))
      if (std::erase_if(all, [&](const mutant& m) { return name == name_of(m) || name == name_of_all(m); }) == 0)
        one.fail(fmt::format("there is no mutant '{}'; if the solution has changed, remove this line", name));
  }
  return all;
}

mutant_outcome try_mutant(const lab_folder& lab, const submission& solution, const mutant& m,
                          const std::vector<std::uint64_t>& seeds, official_options options) {
  const rubric rules = read_rubric(lab);
  const temporary_folder place("mutant");
  for (const std::string& name : rules.handin) fs::copy_file(solution.file(name), place.path() / name);
  replace_file(place.path() / m.file, mutated(text_of(solution.file(m.file)), m));
  std::set<std::string> items;
  for (const item& i : rules.items)
    if (i.kind == item_kind::correctness || i.kind == item_kind::counters) items.insert(i.id);
  options.until_lost = true;
  mutant_outcome out;
  for (const std::uint64_t seed : seeds) {
    options.seed = seed;
    const auto loses = [&](const std::set<std::string>& among) {
      options.items = among;
      const result r = grade_officially(lab, "mutant", place.path(), options);
      out.compiles = out.compiles && r.all_built();
      const auto lost = std::find_if(r.items.begin(), r.items.end(),
                                     [](const item_result& i) { return i.points < i.max_points - 1e-6; });
      if (lost != r.items.end()) out.lost = lost->id;
      return lost != r.items.end();
    };
    if (!out.lost.empty() && loses({out.lost}))
      continue;  // the item that detected it with an earlier seed detects it again
    if (!loses(items)) out.survived.push_back(seed);
    if (!out.compiles) break;
  }
  return out;
}

}  // namespace grading
