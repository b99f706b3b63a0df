// Runs a crashed program with the sizes drawn from the student's name, and compares the simulated device's reports with
// findings.toml. The program is the staff's, so it needs no sandbox.
#include "judge/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <sstream>

#include "sim/tokens.hpp"
#include "support/command.hpp"
#include "support/text.hpp"
#include "support/toml.hpp"

namespace grading {
namespace {

constexpr const char* findings_file = "findings.toml";
constexpr std::size_t longest_name = 64;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string without_blanks_around(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\n") + 1 - first);
}

/// 6 for (6,0,0), which is how reports write the coordinates of a block or thread.
std::string in_one_dimension(std::string coordinates) {
  if (coordinates.starts_with('(') && coordinates.ends_with(')'))
    coordinates = coordinates.substr(1, coordinates.size() - 2);
  return coordinates.ends_with(",0,0") ? coordinates.substr(0, coordinates.size() - 4) : coordinates;
}

/// One answer as text; none if it is blank. Throws input_error unless it is a single value.
std::optional<std::string> answer_at(const toml::table& of, const std::string& program, const std::string& field) {
  const toml::node* node = of.get(field);
  if (!node) return {};
  std::string text;
  if (const auto number = node->value_exact<std::int64_t>())
    text = std::to_string(*number);
  else if (const auto word = node->value_exact<std::string>())
    text = without_blanks_around(*word);
  else
    throw input_error(fmt::format("{}:{}: {}.{} must be a single answer: a whole number or a word in quotes",
                                  findings_file, node->source().begin.line, program, field));
  if (lower(text) == "none") text = "none";
  if (field == "block" || field == "thread") text = in_one_dimension(text);
  return text.empty() ? std::nullopt : std::optional(text);
}

std::string student_in(const toml::table& document) {
  const std::string name = without_blanks_around(document["student"].value_or(std::string{}));
  if (name.size() > longest_name || std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < ' '; }))
    throw input_error(
        fmt::format("{}: `student` must be a name of at most {} characters", findings_file, longest_name));
  return name;
}

/// Compares without regard to case.
double position_of(const std::string& cause, const std::vector<std::string>& all) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const std::string& c) { return lower(c) == lower(cause); });
  return found == all.end() ? -1 : static_cast<double>(found - all.begin());
}

struct statement {
  std::string text;
  std::size_t tokens = 0;
  /// Commas, conditional expressions and macros pack many statements into one.
  std::size_t weight() const {
    constexpr std::size_t a_long_one = 48;
    return 1 + tokens / a_long_one;
  }
};

/// For each token: whether it is a brace around text with a semicolon, unlike the braces of std::size_t{1}.
std::vector<bool> braces_of_blocks(const std::string& source, const std::vector<sim::token>& tokens) {
  std::vector<bool> result(tokens.size());
  std::vector<std::pair<std::size_t, bool>> open;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const char c = tokens[i].kind == 'p' ? source[tokens[i].begin] : ' ';
    if (c == '{') open.emplace_back(i, false);
    if (c == ';' && !open.empty()) open.back().second = true;
    if (c != '}' || open.empty()) continue;
    const auto [begin, block] = open.back();
    open.pop_back();
    result[begin] = result[i] = block;
    if (block && !open.empty()) open.back().second = true;
  }
  return result;
}

/// The pieces between `;` and the braces of blocks; each line of the preprocessor begins a new piece.
std::vector<statement> statements_of(const std::string& source) {
  std::vector<statement> result(1);
  int directive = 0;
  const std::vector<sim::token> tokens = sim::tokens_of(source);
  const std::vector<bool> braces = braces_of_blocks(source, tokens);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const sim::token& t = tokens[i];
    const std::string text = source.substr(t.begin, t.end - t.begin);
    const bool separates = text == ";" || braces[i];
    if (separates || t.directive != directive) result.emplace_back();
    directive = t.directive;
    if (separates) continue;
    result.back().text += text + ' ';
    ++result.back().tokens;
  }
  std::erase_if(result, [](const statement& s) { return s.tokens == 0; });
  return result;
}

constexpr const char* no_name = "write your name at the top of findings.toml: the programs draw their sizes from it";

/// The place in a crashed program's first report, with this student's sizes.
place_of_fault place_in(const std::filesystem::path& programs, const rubric& rules, const std::string& name,
                        const std::string& student) {
  const std::filesystem::path program = programs / ("lab" + rules.id.substr(0, 2) + "." + name);
  const std::string account = output_of(fmt::format("SIM_REPORT=1 SIM_DEVICE=h200 timeout 60 {} {} 2>&1",
                                                    shell_word(program.string()), shell_word(student)));
  if (const auto found = first_report(account)) return *found;
  throw std::runtime_error(fmt::format("{} {} printed no report:\n{}", program.string(), student, account));
}

}  // namespace

std::optional<place_of_fault> first_report(const std::string& account) {
  // FILE:LINE: KERNEL: block (X,0,0) thread (X,0,0): WHAT, or FILE:LINE: launch of KERNEL failed with WHAT
  static const std::regex of_thread(R"(^error: (.*?):(\d+): (.*?): block \((.*?)\) thread \((.*?)\): (.*)$)");
  static const std::regex of_launch(R"(^error: (.*?):(\d+): launch of (.*?) failed with .*$)");
  static const std::regex allocation(R"(\ballocation (\d+)\b)");
  std::istringstream lines(account);
  for (std::string line; std::getline(lines, line);) {
    std::smatch parts, number;
    if (std::regex_match(line, parts, of_thread)) {
      const std::string what = parts[6];
      return place_of_fault{parts[3], in_one_dimension(parts[4]), in_one_dimension(parts[5]), parts[2],
                            std::regex_search(what, number, allocation) ? number[1].str() : "none"};
    }
    if (std::regex_match(line, parts, of_launch)) return place_of_fault{parts[3], "none", "none", parts[2], "none"};
  }
  return {};
}

std::size_t changed_statements(const std::string& original, const std::string& fixed) {
  const std::vector<statement> a = statements_of(original), b = statements_of(fixed);
  const auto all = [](const std::vector<statement>& of) {
    std::size_t sum = 0;
    for (const statement& s : of) sum += s.weight();
    return sum;
  };
  std::vector<std::size_t> common(b.size() + 1);  // the longest common subsequence with the first statements of b
  for (const statement& s : a) {
    std::size_t corner = 0;
    for (std::size_t k = 0; k < b.size(); ++k) {
      const std::size_t above = common[k + 1];
      common[k + 1] = s.text == b[k].text ? corner + s.weight() : std::max(above, common[k]);
      corner = above;
    }
  }
  return std::max(all(a), all(b)) - common.back();
}

std::string student_of_findings(const std::string& findings) { return student_in(toml_from(findings, findings_file)); }

std::string with_places(const std::string& findings, const rubric& rules, const std::filesystem::path& programs) {
  static const std::regex heading(R"re(^\[(\w+)\].*)re"), empty(R"re(^(\w+)(\s*=\s*)""(.*)$)re");
  const std::string student = student_of_findings(findings);
  if (student.empty()) throw input_error(no_name);
  std::istringstream lines(findings);
  std::string result;
  std::optional<place_of_fault> place;
  for (std::string line; std::getline(lines, line); result += line + '\n') {
    std::smatch parts;
    if (std::regex_match(line, parts, heading)) {
      const bool known = std::any_of(rules.items.begin(), rules.items.end(),
                                     [&](const item& i) { return !i.program.empty() && i.program == parts[1]; });
      place = known ? std::optional(place_in(programs, rules, parts[1], student)) : std::nullopt;
    }
    if (!place || !std::regex_match(line, parts, empty) || parts[1] == "line") continue;
    const auto field = std::find(finding_fields.begin(), finding_fields.end(), parts[1].str());
    if (field == finding_fields.end()) continue;
    const std::string& value = (*place)[static_cast<std::size_t>(field - finding_fields.begin())];
    const bool number = value.find_first_not_of("0123456789") == std::string::npos;
    line = fmt::format("{}{}{}{}", parts[1].str(), parts[2].str(), number ? value : '"' + value + '"', parts[3].str());
  }
  return result;
}

std::map<std::string, double> causes_in(const std::string& findings, const rubric& rules) {
  const toml::table document = toml_from(findings, findings_file);
  std::map<std::string, double> result;
  for (const item& i : rules.items)
    if (const toml::table* found = i.program.empty() ? nullptr : document[i.program].as_table())
      result[i.program] = position_of(answer_at(*found, i.program, "cause").value_or(""), rules.causes);
  return result;
}

std::set<std::string> programs_with_cause(const rubric& rules, const grading_session& session) {
  std::set<std::string> result;
  for (const item& i : rules.items)
    if (!i.program.empty() && session.locked.values.contains(cause_key(i.program))) result.insert(i.program);
  const auto findings = session.handed_in.find(findings_file);
  if (rules.causes.empty() || findings == session.handed_in.end()) return result;
  try {
    for (const auto& [program, cause] : causes_in(findings->second, rules))
      if (cause >= 0) result.insert(program);
  } catch (const input_error&) {  // the item's own verdict reports the error in the file
  }
  return result;
}

std::string cause_key(const std::string& program) { return program + ".cause"; }

void assess_findings(const item& what, grading_session& session, item_result& out) {
  out.backends = {backend::sim};
  out.what = "fields";
  out.threshold = finding_fields.size() + 1;
  if (session.crashed_programs.empty()) {
    out.message = "the grader compares findings: run ./course lab " + session.rules->id.substr(0, 2);
    return;
  }
  try {
    const toml::table document = toml_from(session.handed_in[findings_file], findings_file);
    const std::string student = student_in(document);
    const toml::table* found = document[what.program].as_table();
    std::array<std::optional<std::string>, finding_fields.size()> place;
    std::optional<std::string> cause;
    std::vector<std::string> missing, wrong;
    for (std::size_t f = 0; f < place.size(); ++f) {
      if (found) place[f] = answer_at(*found, what.program, finding_fields[f]);
      if (!place[f]) missing.emplace_back(finding_fields[f]);
    }
    if (found) cause = answer_at(*found, what.program, "cause");
    if (student.empty()) {
      out.verdict = verdict::not_answered;
      out.message = no_name;
      return;
    }
    if (!missing.empty()) {
      out.verdict = verdict::not_answered;
      out.message = fmt::format("{} has no answer for [{}]: {}. Run the program with the name '{}'", findings_file,
                                what.program, fmt::join(missing, ", "), student);
      return;
    }
    const place_of_fault right = place_in(session.crashed_programs, *session.rules, what.program, student);
    for (std::size_t f = 0; f < place.size(); ++f)
      if (*place[f] != right[f]) wrong.emplace_back(finding_fields[f]);
    const bool found_place = wrong.empty();
    const double position = cause ? position_of(*cause, session.rules->causes) : -1;
    if (position != what.cause) wrong.emplace_back("cause");
    // Only the first cause named counts; otherwise a student could try the whole list.
    const std::string key = cause_key(what.program);
    const auto first = session.locked.values.find(key);
    if (position >= 0) {
      out.predictions.emplace_back().key = key;
      out.predictions.back().predicted = position;
    }
    out.figure = *out.threshold - static_cast<double>(wrong.size());
    out.verdict = wrong.empty() ? verdict::pass : found_place && !cause ? verdict::pending : verdict::wrong;
    out.points = wrong.empty() ? what.points : found_place ? what.points / 2 : 0;
    if (wrong.empty() && first != session.locked.values.end() && first->second != position) {
      out.points *= 0.75;
      out.what = "fields, cause corrected";
    }
    if (out.verdict == verdict::pending) {
      out.message = "the place is right; now name the cause";
    } else if (!wrong.empty()) {
      out.message = fmt::format("wrong for '{}': {}", student, fmt::join(wrong, ", "));
      if (cause && position < 0) out.message += fmt::format(". '{}' is not one of the causes in the handout", *cause);
      if (!found_place)
        out.message += ". The place earns points only if all of it is right, and the cause only if the place is right";
    }
  } catch (const input_error& error) {
    out.verdict = verdict::wrong;
    out.message = error.what();
  }
}

}  // namespace grading
