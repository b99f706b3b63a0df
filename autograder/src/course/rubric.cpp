// Reads rubric.toml. Every error names its line and says what to do.
#include "course/rubric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <sstream>
#include <utility>

#include "sim/counters.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"
#include "support/toml.hpp"

namespace grading {
namespace {

constexpr double most_points = 25;

struct context {
  const std::vector<lab::test_case>& cases;
  const contract& names;
  std::map<std::string, double> answers;
  std::set<std::string> ids, keys;  ///< seen so far
  bool has_causes = false;
};

/// The result's word with this name, which is the value of `key` or in a list there.
template <class Word>
Word word_at(const toml_reader& in, const char* key, const std::string& name) try {
  return named<Word>(name);
} catch (const std::invalid_argument& error) {
  in.fail_at(in.line_of(key), error.what());
}

const lab::test_case* case_of(const toml_reader& in, const context& known) {
  const std::string id = in.text("case");
  for (const lab::test_case& c : known.cases)
    if (c.id == id) return &c;
  in.fail_at(in.line_of("case"), fmt::format("no case '{}' in cases.cpp; add it there or correct the name", id));
}

/// "entry/*" means all cases of the entry except those for timing; anything else is the id of one case.
std::vector<const lab::test_case*> matching(const toml_reader& in, const context& known) {
  std::vector<const lab::test_case*> result;
  for (const std::string& pattern : in.texts("cases")) {
    const std::size_t before = result.size();
    const bool whole_entry = pattern.size() > 2 && pattern.ends_with("/*");
    const std::string entry = whole_entry ? pattern.substr(0, pattern.size() - 2) : std::string{};
    for (const lab::test_case& c : known.cases)
      if (whole_entry ? c.entry == entry && !c.timed : c.id == pattern) result.push_back(&c);
    if (result.size() == before)
      in.fail_at(in.line_of("cases"),
                 fmt::format("'{}' matches no case in cases.cpp; write 'entry/*' or the id of a case", pattern));
  }
  return result;
}

/// The edit distance between two names: insertions, deletions and changes.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t corner = std::exchange(row[0], i + 1);
    for (std::size_t k = 0; k < b.size(); ++k)
      corner = std::exchange(row[k + 1], std::min({row[k + 1] + 1, row[k] + 1, corner + (a[i] != b[k])}));
  }
  return row.back();
}

bool is_output(std::string_view name) {
  return name.starts_with("output[") && name.ends_with("]") && name.size() > 8 &&
         name.find_first_not_of("0123456789", 7) == name.size() - 1;
}

/// "A" or "A / B"
metric metric_from(const std::string& text) {
  const std::size_t slash = text.find(" / ");
  return {text.substr(0, slash), slash == std::string::npos ? std::string{} : text.substr(slash + 3), {}};
}

/// The metric of a host case: one or two of its outputs.
metric outputs_of(const toml_reader& in) {
  const std::string text = in.text("metric");
  const metric result = metric_from(text);
  const bool quotient = text.find(" / ") != std::string::npos;
  const std::string& wrong = is_output(result.numerator) ? result.denominator : result.numerator;
  if (!is_output(result.numerator) || (quotient && !is_output(result.denominator)))
    in.fail_at(
        in.line_of("metric"),
        fmt::format("a host case has no '{}'; use its outputs, \"output[0]\" or \"output[0] / output[1]\"", wrong));
  return result;
}

/// The metric of a host case whose system calls the judge counts.
metric system_calls_of(const toml_reader& in, const lab::test_case& about) {
  const std::string label = in.text("counter"), one = "calls of ";
  if (!about.counts_calls)
    in.fail_at(in.line_of("counter"),
               fmt::format("the system calls of {} are not counted; set counts_calls", about.id));
  if (label == "system calls") return {all_calls};
  if (label == "page faults") return {page_faults};
  if (label.starts_with(one)) return {calls_of + label.substr(one.size())};
  in.fail_at(in.line_of("counter"),
             fmt::format("a host case has no counter '{}'; use \"system calls\", \"calls of read\" or \"page faults\"",
                         label));
}

/// The metric that a counter's label means, for a device case.
metric counter_of(const toml_reader& in) {
  const std::string label = in.text("counter");
  const auto far = [&](const sim::counter& one) {
    return one.label.empty() ? std::string::npos : distance(one.label, label);
  };
  const sim::counter& nearest = *std::min_element(std::begin(sim::counters), std::end(sim::counters),
                                                  [&](const auto& a, const auto& b) { return far(a) < far(b); });
  if (nearest.label != label)
    in.fail_at(in.line_of("counter"), fmt::format("there is no counter '{}'; the closest is '{}', and all are in "
                                                  "common/sim/interface/sim/counters.hpp, where you can add one",
                                                  label, nearest.label));
  if (nearest.formula.empty() || nearest.formula.find(" * ") != std::string_view::npos)
    return {std::string(nearest.name)};
  metric result = metric_from(std::string(nearest.formula));
  result.nsight = nearest.name;
  return result;
}

/// How many times larger the item's bar is at `there`: it is proportional to the parameters in `grows`.
double growth(const toml_reader& in, const context& known, const lab::test_case& here, const lab::test_case& there) {
  double times = 1;
  if (!in.has("grows")) return times;
  const auto found = known.names.find(here.entry);
  const std::vector<std::string> sizes = found == known.names.end() ? std::vector<std::string>{} : found->second.sizes;
  std::istringstream names(in.text("grows"));
  for (std::string name; names >> name;) {
    const auto at = std::find(sizes.begin(), sizes.end(), name) - sizes.begin();
    const std::size_t i = here.own_sizes + static_cast<std::size_t>(at);
    if (at == std::ssize(sizes) || i >= here.parameters.size())
      in.fail_at(in.line_of("grows"), fmt::format("{} has no parameter '{}'", here.entry, name));
    times *= static_cast<double>(there.parameters[i]) / static_cast<double>(here.parameters[i]);
  }
  return times;
}

/// A host case may also have conditions on its outputs.
condition condition_of(const toml_reader& in, const context& known, const lab::test_case& of_item) {
  const lab::test_case& about = in.has("case") ? *case_of(in, known) : of_item;
  const bool host = about.where == lab::part::host, on_output = host && in.has("metric");
  if (on_output)
    in.allow({"label", "metric", "case", "grows", "note", "min", "max", "needed", "work"});
  else
    in.allow({"counter", "case", "grows", "note", "min", "max", "needed", "work"});
  condition result{in.text(on_output ? "label" : "counter"),
                   on_output ? outputs_of(in)
                   : host    ? system_calls_of(in, about)
                             : counter_of(in),
                   in.maybe_number("min"), in.maybe_number("max")};
  if (in.has("note")) result.note = in.text("note");
  result.needed = in.raw()["needed"].value_or(false);
  result.work = in.raw()["work"].value_or(false);
  if (&about != &of_item) result.elsewhere = &about;
  if (result.work && (result.max || !result.min)) in.fail("a condition with 'work' is a minimum: give 'min' alone");
  if (!result.min && !result.max) in.fail("a condition needs 'min', 'max' or both");
  if (result.min && result.max && *result.min > *result.max) in.fail("'min' is larger than 'max'; swap them");
  return result;
}

/// Adds the condition and, if it is about the item's own case, the same for each drawn case like it.
void add_conditions(const toml_reader& in, const context& known, const lab::test_case& of_item,
                    std::vector<condition>& all) {
  const condition own = all.emplace_back(condition_of(in, known, of_item));
  growth(in, known, of_item, of_item);  // reports a wrong name even if no case has drawn sizes
  if (own.elsewhere) return;
  for (const lab::test_case& c : known.cases) {
    if (c.like != of_item.id) continue;
    const double times = growth(in, known, of_item, c);
    condition drawn = own;
    drawn.elsewhere = &c;
    if (times != 1) drawn.note.clear();  // the note is about the item's own sizes
    if (drawn.min) *drawn.min *= times;
    if (drawn.max) *drawn.max *= times;
    all.push_back(std::move(drawn));
  }
}

prediction prediction_of(const toml_reader& in, context& known) {
  in.allow({"key", "case", "counter", "metric", "tolerance", "factor", "measured"});
  prediction result;
  result.key = in.text("key");
  result.about = case_of(in, known);
  const bool host = result.about->where == lab::part::host;
  const bool calls = host && result.about->counts_calls && in.has("counter");
  result.metric = calls ? system_calls_of(in, *result.about) : host ? outputs_of(in) : counter_of(in);
  if (const char* other = host ? "counter" : "metric"; !calls && in.has(other))
    in.fail_at(in.line_of(other), fmt::format("a {} case is compared by its '{}'; remove '{}'",
                                              host ? "host" : "device", host ? "metric" : "counter", other));
  result.tolerance = in.maybe_number("tolerance").value_or(result.tolerance);
  result.factor = in.maybe_number("factor").value_or(result.factor);
  result.measured = in.raw()["measured"].value_or(false);
  if (const auto found = known.answers.find(result.key); found != known.answers.end() && !result.measured)
    result.right = found->second;
  if (result.tolerance < 0) in.fail_at(in.line_of("tolerance"), "'tolerance' must not be negative");
  if (in.has("factor") && result.factor <= 1) in.fail_at(in.line_of("factor"), "'factor' must be more than 1");
  if (in.has("factor") && in.has("tolerance"))
    in.fail_at(in.line_of("factor"), "give 'tolerance' or 'factor', not both");
  if (!known.keys.insert(result.key).second)
    in.fail_at(in.line_of("key"), fmt::format("'{}' appears twice; rename one of them", result.key));
  return result;
}

std::vector<rung> rungs_of(const toml_reader& in) {
  std::vector<rung> result;
  for (const toml::node& element : in.array("rungs")) {
    const int line = static_cast<int>(element.source().begin.line);
    const toml::array* pair = element.as_array();
    const auto ratio = pair && pair->size() == 2 ? (*pair)[0].value<double>() : std::nullopt;
    const auto share = ratio ? (*pair)[1].value<double>() : std::nullopt;
    if (!share) in.fail_at(line, "write each rung as [ratio, share]");
    if (!(*ratio > 0 && *ratio <= 10) || !(*share >= 0 && *share <= 1))
      in.fail_at(line, "a rung's ratio must be in (0, 10] and its share in [0, 1]");
    if (!result.empty() && (*ratio <= result.back().ratio || *share <= result.back().share))
      in.fail_at(line, "rungs must increase in both ratio and share; sort them");
    result.push_back({*ratio, *share});
  }
  if (result.size() < 2) in.fail_at(in.line_of("rungs"), "give at least two rungs");
  if (result.front().share > 0.2)
    in.fail_at(in.line_of("rungs"), "the first rung is too steep; its share must be at most 0.2");
  if (result.back().share != 1.0) in.fail_at(in.line_of("rungs"), "the last rung must have share 1.0");
  return result;
}

void read_throughput(const toml_reader& in, const context& known, item& out) {
  in.allow({"id", "title", "kind", "points", "case", "ceiling", "rungs", "most"});
  out.cases = {case_of(in, known)};
  const auto drawn = std::find_if(known.cases.begin(), known.cases.end(),
                                  [&](const auto& c) { return c.timed && c.like == out.cases[0]->id; });
  if (drawn != known.cases.end()) out.cases = {&*drawn};
  const std::string name = in.text("ceiling");
  const lab::part where = out.cases[0]->where;
  out.ceiling = lab::find_ceiling(name);
  if (!out.ceiling || out.ceiling->where != where) {
    std::string all;
    for (const lab::ceiling& c : lab::ceilings)
      if (c.where == where) add_to_list(all, ", ", c.name);
    in.fail_at(in.line_of("ceiling"), fmt::format("a {} case has no ceiling '{}'; use one of: {}",
                                                  where == lab::part::host ? "host" : "device", name, all));
  }
  out.rungs = rungs_of(in);
  out.most = in.maybe_number("most").value_or(out.most);
  if (out.most <= out.rungs.back().ratio)
    in.fail_at(in.line_of(in.has("most") ? "most" : "rungs"),
               "the last rung is above 'most', the ratio above which a measurement counts as wrong");
}

/// The answers by key; see answers_text.
std::map<std::string, double> answers_in(const std::string& text) {
  std::map<std::string, double> result;
  for (const auto& [key, value] : toml_from(text, "answers.toml"))
    if (const auto bits = value.value<std::int64_t>())
      result[std::string(key.str())] = std::bit_cast<double>(*bits);
    else
      throw input_error(
          fmt::format("answers.toml:{}: this is not the bit pattern of a double; run grader check --write",
                      value.source().begin.line));
  return result;
}

item item_of(const toml_reader& in, context& known) {
  item out;
  out.id = in.text("id");
  if (!known.ids.insert(out.id).second)
    in.fail_at(in.line_of("id"), fmt::format("two items are called '{}'; rename one of them", out.id));
  if (out.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos)
    in.fail_at(in.line_of("id"), fmt::format("'{}' may contain only lower-case letters, digits and _", out.id));
  out.title = in.text("title");
  out.kind = word_at<item_kind>(in, "kind", in.text("kind"));
  out.points = in.number("points");
  if (!(out.points > 0 && out.points <= most_points))
    in.fail_at(in.line_of("points"),
               fmt::format("{} points; an item must have more than 0 and at most {} points: split it", out.points,
                           most_points));
  if (in.has("sitting")) out.sitting = static_cast<int>(in.number("sitting"));
  switch (out.kind) {
    case item_kind::correctness:
      in.allow({"id", "title", "kind", "points", "cases", "file", "changes", "follows"});
      out.cases = matching(in, known);
      if (in.has("file") != in.has("changes")) in.fail("give both 'file' and 'changes', or neither");
      if (in.has("file")) {
        out.changed_file = in.text("file");
        out.changes = static_cast<std::size_t>(in.number("changes"));
      }
      break;
    case item_kind::counters:
      in.allow({"id", "title", "kind", "points", "case", "require", "by_design", "follows", "sitting"});
      if (in.has("by_design"))
        for (const std::string& name : in.texts("by_design"))
          out.by_design.insert(word_at<waste>(in, "by_design", name));
      out.cases = {case_of(in, known)};
      for (const toml_reader& c : in.tables("require")) add_conditions(c, known, *out.cases[0], out.require);
      break;
    case item_kind::predictions:
      in.allow({"id", "title", "kind", "points", "predict", "sitting"});
      for (const toml_reader& p : in.tables("predict")) out.predict.push_back(prediction_of(p, known));
      break;
    case item_kind::throughput: read_throughput(in, known, out); break;
    case item_kind::findings:
      in.allow({"id", "title", "kind", "points", "program"});
      out.program = in.text("program");
      if (!known.has_causes) in.fail("findings name a cause; list them as 'causes' of [lab]");
      if (const auto found = known.answers.find(out.program + ".cause"); found != known.answers.end())
        out.cause = found->second;
      break;
  }
  return out;
}

}  // namespace

std::optional<double> metric::of(const std::map<std::string, double>& counted) const {
  const auto find = [&](const std::string& name) {
    const auto found = counted.find(name);
    return found != counted.end() && std::isfinite(found->second) ? std::optional(found->second) : std::nullopt;
  };
  const std::optional<double> top = find(numerator);
  if (!top || denominator.empty()) return top;
  const std::optional<double> bottom = find(denominator);
  if (!bottom || *bottom == 0.0) return {};
  return *top / *bottom;
}

bool prediction::allows(double predicted, double truth) const {
  if (factor == 0) return std::abs(predicted - truth) <= tolerance;
  return predicted <= factor * truth && truth <= factor * predicted;
}

std::string condition::text() const {
  std::string all = label;
  if (elsewhere) all += " in " + elsewhere->id;
  if (!note.empty()) all += "; " + note;
  return all;
}

bool condition::holds(double value) const {
  constexpr double slack = 1e-9;
  if (!std::isfinite(value)) return false;
  return (!min || value >= *min - slack * std::abs(*min)) && (!max || value <= *max + slack * std::abs(*max));
}

const item* rubric::find(const std::string& item_id) const {
  const auto found = std::find_if(items.begin(), items.end(), [&](const item& i) { return i.id == item_id; });
  return found == items.end() ? nullptr : &*found;
}

std::set<std::string> rubric::metrics_of(const lab::test_case& about) const {
  std::set<std::string> metrics;
  const auto add = [&](const metric& m) {
    metrics.insert(m.numerator);
    if (!m.denominator.empty()) metrics.insert(m.denominator);
  };
  for (const item& i : items) {
    for (const condition& c : i.require)
      if ((c.elsewhere ? c.elsewhere : i.cases[0]) == &about) add(c.metric);
    for (const prediction& p : i.predict)
      if (p.about == &about) add(p.metric);
  }
  return metrics;
}

std::string answers_text(const std::map<std::string, double>& answers) {
  std::string text =
      "# The right predictions of this lab, computed from its solution by `grader check --write`. They are not meant\n"
      "# to be read: each is the bit pattern of a double. A student who decodes them learns what `./course lab` says\n"
      "# anyway, once all predictions are made.\n\n";
  for (const auto& [key, value] : answers)
    text += fmt::format("\"{}\" = 0x{:016x}\n", key, std::bit_cast<std::uint64_t>(value));
  return text;
}

std::vector<std::string> handin_in(const std::filesystem::path& lab_dir) {
  const std::string folder = (lab_dir.filename() / "handin").string();
  std::vector<std::string> names;
  if (std::filesystem::is_directory(lab_dir / "handin"))
    for (const auto& entry : std::filesystem::directory_iterator(lab_dir / "handin")) {
      const std::string name = entry.path().filename().string(), kind = entry.path().extension().string();
      if (!name.starts_with(".") && (kind == ".cu" || kind == ".cpp" || kind == ".toml")) names.push_back(name);
    }
  if (names.empty()) throw input_error(fmt::format("labs/{}: there are no hand-in files here", folder));
  std::sort(names.begin(), names.end());
  for (const std::string& name : names)
    if (std::filesystem::exists(lab_dir / name))
      throw input_error(fmt::format("labs/{0}/{1}: hand-in files now belong in labs/{2}; move {1} there, or delete it",
                                    lab_dir.filename().string(), name, folder));
  return names;
}

rubric parse_rubric(const std::string& text, const std::string& name, const std::vector<lab::test_case>& cases,
                    const std::filesystem::path& lab_dir) {
  const toml::table document = toml_from(text, name);
  const toml_reader in(document, name);
  in.allow({"lab", "item"});
  const toml_reader lab = in.table("lab");
  lab.allow({"id", "title", "question", "learn", "needs", "hours", "causes"});
  rubric result;
  result.id = lab.text("id");
  if (const std::string folder = lab_dir.filename().string(); result.id != folder)
    lab.fail_at(lab.line_of("id"), fmt::format("id is '{}', but this is the folder of lab {}; write id = \"{}\"",
                                               result.id, folder, folder));
  result.title = lab.text("title");
  result.question = lab.text("question");
  result.learn = lab.text("learn");
  result.needs = lab.text("needs");
  result.hours = lab.text("hours");
  if (lab.has("causes")) result.causes = lab.texts("causes");
  result.handin = handin_in(lab_dir);
  if (std::filesystem::is_directory(lab_dir)) result.names = contract_in(lab_dir);
  const std::filesystem::path known_answers = lab_dir / "judge" / "answers.toml";
  const std::string answers = std::filesystem::exists(known_answers) ? text_of(known_answers) : "";
  context known{cases, result.names, answers_in(answers), {}, {}, lab.has("causes")};
  double sum = 0;
  const std::vector<toml_reader> tables = in.tables("item");
  for (const toml_reader& i : tables) {
    item next = item_of(i, known);
    if (i.has("follows")) {
      next.follows = i.text("follows");
      const item* finding = result.find(next.follows);
      if (!finding || finding->kind != item_kind::findings)
        i.fail_at(i.line_of("follows"),
                  fmt::format("'{}' is not a findings item above this one; write the id of one", next.follows));
    }
    result.items.push_back(std::move(next));
    sum += result.items.back().points;
  }
  for (std::size_t k = 0; k < tables.size(); ++k) {
    const auto asks = [&, sitting = result.items[k].sitting](const item& i) {
      return i.sitting == sitting && !i.predict.empty();
    };
    if (tables[k].has("sitting") && std::none_of(result.items.begin(), result.items.end(), asks))
      tables[k].fail_at(
          tables[k].line_of("sitting"),
          fmt::format("no item has predictions in sitting {}; name a sitting that has some", result.items[k].sitting));
  }
  result.version = hash_of(text + answers);
  std::set<std::string> written;  // entries that the student writes: some item checks them for correctness
  for (const item& i : result.items)
    if (i.kind == item_kind::correctness)
      for (const lab::test_case* c : i.cases) written.insert(c->entry);
  for (item& i : result.items)
    for (prediction& p : i.predict) p.own = written.contains(p.about->entry);
  if (std::abs(sum - 100.0) > 1e-9)
    lab.fail(fmt::format("the items' points add up to {}; they must add up to 100", sum));
  return result;
}

std::string title_of(const lab_folder& lab) {
  const toml::table document = toml_from(text_of(lab.judge() / "rubric.toml"), "rubric.toml");
  return toml_reader(document, "rubric.toml").table("lab").text("title");
}

std::vector<lab::test_case> all_cases_of(const std::string& lab, std::uint64_t seed) {
  std::vector<lab::test_case> cases = lab::cases_of(lab);
  for (lab::test_case& drawn : lab::drawn_cases_of(lab, seed)) {
    const bool known = std::any_of(cases.begin(), cases.end(), [&](const auto& c) { return c.id == drawn.id; });
    if (!known) cases.push_back(std::move(drawn));
  }
  return cases;
}

rubric read_rubric(const lab_folder& lab, const std::vector<lab::test_case>& cases) {
  return parse_rubric(text_of(lab.judge() / "rubric.toml"), "rubric.toml", cases, lab.path);
}

rubric read_rubric(const lab_folder& lab) { return read_rubric(lab, lab::cases_of(lab.name)); }

}  // namespace grading
