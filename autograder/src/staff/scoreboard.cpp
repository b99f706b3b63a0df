#include "staff/scoreboard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "course/rubric.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/toml.hpp"

namespace grading {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct bar {
  std::string lab, what, ceiling;  ///< ceiling: "" if the rival is other cases or nothing
  std::string pass;                ///< a pass of GPT-2; the ceiling is then another program
  std::string pointer;             ///< a JSON pointer into the lab's tables
  std::vector<std::string> cases, rivals, metrics;
  std::optional<double> bound, moonshot;
  bool at_least = true;

  bool met(double figure, double by) const { return at_least ? figure >= by : figure <= by; }
};

/// A text, or a list of texts.
std::vector<std::string> one_or_more(const toml_reader& in, std::string_view key) {
  if (!in.has(key)) return {};
  return in.raw()[key].is_array() ? in.texts(key) : std::vector{in.text(key)};
}

bar bar_of(const toml_reader& in, const fs::path& source) {
  in.allow({"lab", "what", "case", "of", "metric", "pass", "figure", "least", "most", "moonshot"});
  bar result;
  const lab_folder lab = find_lab(source, in.text("lab"));
  result.lab = lab.number;
  result.what = in.text("what");
  result.cases = one_or_more(in, "case");
  if (in.has("of") && in.raw()["of"].is_array())
    result.rivals = in.texts("of");
  else if (in.has("of"))
    result.ceiling = in.text("of");
  result.metrics = one_or_more(in, "metric");
  if (in.has("pass")) result.pass = in.text("pass");
  result.moonshot = in.maybe_number("moonshot");
  const bool aim_alone = in.has("pass") && !in.has("of") && result.moonshot && !in.has("least");
  if (in.has("least") == in.has("most") && !aim_alone) in.fail("a bar has either 'least' or 'most'");
  result.at_least = in.has("least");
  result.bound = in.maybe_number(result.at_least ? "least" : "most");
  if (!result.pass.empty()) {
    if (in.has("case") || in.has("metric") || !result.rivals.empty())
      in.fail("a 'pass' is a time: remove 'case' and 'metric', and name at most one other program with 'of'");
    return result;
  }
  if (in.has("figure")) {
    result.pointer = in.text("figure");
    if (in.has("case") || in.has("metric") || in.has("of"))
      in.fail("a 'figure' comes from a table: remove 'case', 'metric' and 'of'");
    if (!result.pointer.starts_with('/'))
      in.fail_at(in.line_of("figure"), "'figure' is a JSON pointer, so it must begin with '/'");
    return result;
  }
  if (result.cases.empty() || (!result.ceiling.empty() && (result.cases.size() != 1 || !result.metrics.empty())))
    in.fail_at(in.line_of("case"), "a ceiling is timed with one case; name that case");
  if (result.metrics.empty() && result.ceiling.empty() && result.rivals.empty())
    in.fail("a time alone means nothing: name a rival with 'of', or a 'metric'");
  for (const auto* names : {&result.cases, &result.rivals})
    for (const std::string& id : *names) {
      const auto& all = lab::cases_of(lab.name);
      if (std::none_of(all.begin(), all.end(), [&](const lab::test_case& c) { return c.id == id; }))
        in.fail(fmt::format("no case '{}' in lab {}'s cases.cpp", id, lab.number));
    }
  return result;
}

/// The entry of a case in a section of a result; null if there is none.
const json* entry_of(const json& result, const char* section, const std::string& id) {
  for (const json& e : result.at(section))
    if (e.at("case") == id) return &e;
  return nullptr;
}

/// The sum of these cases' times or metrics; no value if one was not measured or was wrong.
std::optional<double> sum_of(const json& result, const bar& b, const std::vector<std::string>& ids) {
  double sum = 0;
  for (const std::string& id : ids) {
    if (b.metrics.empty()) {
      const json* e = entry_of(result, "throughput", id);
      if (!e || e->at("wrong") != "" || e->at("call_seconds").is_null()) return {};
      sum += e->at("call_seconds").at("median").get<double>();
    }
    for (const std::string& metric : b.metrics) {
      const json* e = entry_of(result, "counters", id);
      if (!e) e = entry_of(result, "correctness", id);
      if (!e || e->at("wrong") != "" || !e->contains("metrics") || !e->at("metrics").contains(metric)) return {};
      sum += e->at("metrics").at(metric).get<double>();
    }
  }
  return sum;
}

std::string seconds_text(double s) {
  return s < 1e-3 ? fmt::format("{:.1f} µs", 1e6 * s) : fmt::format("{:.3f} ms", 1e3 * s);
}

struct figure {
  double value = 0;
  std::string text, rival;
};

std::string three_digits(double v) { return fmt::format("{:#.4g}", v); }

/// The figure relative to a ceiling timed in pairs.
std::optional<figure> against_ceiling(const json& result, const bar& b) {
  const json* e = entry_of(result, "throughput", b.cases.front());
  if (!e || e->at("wrong") != "") return {};
  const auto ratio = e->find("ratio_to_" + b.ceiling);
  if (ratio == e->end() || ratio->is_null()) return {};
  const double median = ratio->at("median"), seconds = e->at("ceiling_seconds").at("median");
  std::string rival = fmt::format("{}: {}", b.ceiling, seconds_text(seconds));
  const lab::ceiling* known = lab::find_ceiling(b.ceiling);
  if (known && known->moves != lab::ceiling::work::input_bytes) {  // show the rate for the case's own bytes or FLOPs
    const bool computes = known->moves == lab::ceiling::work::flops;
    const double work = e->at(computes ? "flops" : "bytes");
    if (work > 0) rival += fmt::format(", {:.4g} {}/s", work / seconds * 1e-9, computes ? "GFLOP" : "GB");
  }
  return figure{median,
                fmt::format("{} ({} to {})", three_digits(median), three_digits(ratio->at("p10").get<double>()),
                            three_digits(ratio->at("p90").get<double>())),
                rival};
}

/// The figure relative to the chip's peak: 128 lanes per multiprocessor (compute capability 8.6 and later, except 8.7),
/// one multiply-add per lane and clock.
std::optional<figure> against_peak(const json& result, const json& ceilings, const bar& b) {
  const json* e = entry_of(result, "throughput", b.cases.front());
  const std::optional<double> seconds = sum_of(result, b, b.cases);
  const std::string clock = result.at("environment").value("max_sm_clock", "");
  if (!e || !seconds || clock.empty() || !ceilings.contains("device")) return {};
  const double multiprocessors = ceilings.at("device").at("multiprocessors"), mhz = std::stod(clock);
  const double peak = multiprocessors * 128 * 2 * mhz * 1e6;
  const double rate = e->at("flops").get<double>() / *seconds;
  return figure{rate / peak, three_digits(rate / peak),
                fmt::format("{:.4g} TFLOP/s: {} × 128 lanes × 2 × {}", peak * 1e-12, multiprocessors, clock)};
}

/// The figure of a whole GPT-2 forward pass, relative to another program's in the same run, or in ms.
std::optional<figure> of_pass(const json& gpt2, const bar& b) {
  if (gpt2.is_null() || !gpt2.at("times").contains(b.pass)) return {};
  const json& times = gpt2.at("times").at(b.pass);
  if (!times.contains("ours, graph")) return {};
  const auto ours = [&](const char* which) { return times.at("ours, graph").at(which).get<double>(); };
  const double median = ours("median_ms"), p10 = ours("p10_ms"), p90 = ours("p90_ms");
  if (b.ceiling.empty())
    return figure{median, fmt::format("{} ms ({} to {})", three_digits(median), three_digits(p10), three_digits(p90)),
                  ""};
  if (!times.contains(b.ceiling)) return {};
  const double other = times.at(b.ceiling).at("median_ms");
  return figure{
      other / median,
      fmt::format("{} ({} to {})", three_digits(other / median), three_digits(other / p90), three_digits(other / p10)),
      fmt::format("{}: {}", b.ceiling, seconds_text(1e-3 * other))};
}

std::optional<figure> of_tables(const json& tables, const bar& b) {
  const json::json_pointer at(b.pointer);
  if (!tables.contains(at)) return {};
  const double value = tables.at(at);
  return figure{value, three_digits(value), ""};
}

std::optional<figure> figure_of(const json& result, const json& ceilings, const bar& b) {
  if (b.ceiling == "fp32_peak") return against_peak(result, ceilings, b);
  if (!b.ceiling.empty()) return against_ceiling(result, b);
  const std::optional<double> own = sum_of(result, b, b.cases);
  if (!own) return {};
  if (b.rivals.empty()) return figure{*own, three_digits(*own), ""};
  const std::optional<double> other = sum_of(result, b, b.rivals);
  if (!other || *own == 0 || *other == 0) return {};
  if (!b.metrics.empty()) return figure{*own / *other, three_digits(*own / *other), three_digits(*other)};
  return figure{*other / *own, three_digits(*other / *own), seconds_text(*other)};
}

std::string bound_text(const bar& b, std::optional<double> by, const std::optional<figure>& got) {
  if (!by) return {};
  const std::string text = fmt::format("{} {}", b.at_least ? "≥" : "≤", *by);
  return !got ? text : text + (b.met(got->value, *by) ? ": met" : ": **not met**");
}

/// "118 of 118": right cases, plus conditions on the rubric's counters that hold.
std::string cases_right(const json& result) {
  std::size_t right = 0, all = 0;
  for (const char* section : {"correctness", "throughput"})
    for (const json& e : result.at(section)) ++all, right += e.at("wrong") == "";
  return fmt::format("{} of {}", right, all);
}

std::string conditions_met(const json& result, const rubric& rules) {
  std::size_t met = 0, all = 0;
  for (const item& i : rules.items)
    for (const condition& c : i.require) {
      const json* e = entry_of(result, "counters", (c.elsewhere ? c.elsewhere : i.cases.front())->id);
      const auto counted = e ? e->at("metrics").get<std::map<std::string, double>>() : std::map<std::string, double>();
      const auto lacks = [&](const std::string& name) { return !name.empty() && !counted.contains(name); };
      if (!e && c.elsewhere) continue;  // measured before the rubric required it
      // The GPU lacks this counter, or the case was not counted there.
      if ((e || !is_of_gpu(c.metric.numerator)) && (lacks(c.metric.numerator) || lacks(c.metric.denominator))) continue;
      ++all;
      const std::optional<double> value = c.metric.of(counted);
      met += value && c.holds(*value);
    }
  return all == 0 ? "none" : fmt::format("{} of {}", met, all);
}

std::string board_of(const fs::path& folder, const fs::path& source, const std::vector<bar>& bars) {
  const auto read = [&](const std::string& name) {
    const fs::path file = folder / name;
    if (!fs::exists(file)) return json();
    json result = json::parse(text_of(file), nullptr, false);
    if (result.is_discarded()) throw input_error(file.string() + ": not JSON; measure again or delete the file");
    return result;
  };
  const json ceilings = read("ceilings.json"), gpt2 = read("gpt2.json");
  std::string runs, board;
  const auto lab_results = [&] {
    std::map<std::string, json> all;
    for (const lab_folder& lab : labs_in(source)) {
      json result = read("lab" + lab.number + ".json");
      if (result.is_null()) continue;
      const json &before = result.at("environment"), &after = result.at("environment_after");
      const std::string gpu = before.contains("gpu")
                                  ? fmt::format("{}, driver {}, {} (highest {}), memory {}", before.value("gpu", ""),
                                                before.value("driver", ""), after.value("sm_clock", ""),
                                                before.value("max_sm_clock", ""), after.value("memory_clock", ""))
                                  : "none";
      runs += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", lab.number, before.value("date", "").substr(0, 16),
                          gpu, before.value("cpu", ""), before.value("compiler", ""), cases_right(result),
                          conditions_met(result, read_rubric(lab)));
      all.emplace(lab.number, std::move(result));
    }
    return all;
  }();
  for (const bar& b : bars) {
    const auto result = lab_results.find(b.lab);
    const std::optional<figure> got = !b.pass.empty()               ? of_pass(gpt2, b)
                                      : !b.pointer.empty()          ? of_tables(read("tables" + b.lab + ".json"), b)
                                      : result == lab_results.end() ? std::nullopt
                                                                    : figure_of(result->second, ceilings, b);
    board += fmt::format("| {} | {} | {} | {} | {} | {} |\n", b.lab, b.what, got ? got->text : "not measured",
                         got ? got->rival : "", bound_text(b, b.bound, got), bound_text(b, b.moonshot, got));
  }
  return fmt::format(
      "### {}\n\n| lab | bar | figure (10 to 90 %) | rival, same run | least or most | aim "
      "|\n|---|---|---|---|---|---|\n{}\n"
      "| lab | measured (UTC) | GPU, clocks | CPU | compiler | cases right | counters within the rubric |\n"
      "|---|---|---|---|---|---|---|\n{}",
      folder.filename().string(), board, runs);
}

}  // namespace

std::string scoreboard(const fs::path& source) {
  const fs::path solutions = source / "solutions";
  const toml::table document = toml_from(text_of(solutions / "bars.toml"), "bars.toml");
  const toml_reader in(document, "bars.toml");
  in.allow({"bar"});
  std::vector<bar> bars;
  for (const toml_reader& b : in.tables("bar")) bars.push_back(bar_of(b, source));
  std::vector<fs::path> folders;
  for (const fs::directory_entry& e : fs::directory_iterator(solutions / "results"))
    if (e.is_directory()) folders.push_back(e.path());
  std::sort(folders.begin(), folders.end());
  std::string text;
  for (const fs::path& folder : folders) {
    try {
      add_to_list(text, "\n", board_of(folder, source, bars));
    } catch (const json::exception& error) {
      throw input_error(
          fmt::format("{}: not written by measure.sh; measure again ({})", folder.string(), error.what()));
    }
  }
  return text;
}

}  // namespace grading
