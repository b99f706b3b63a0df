// Runs everything that a lab's rubric asks of a submission, in one process on one backend, and writes the results as
// JSON, the source of the reference results' tables. Official grades come from the judge.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "in_process/in_process_executor.hpp"
#include "judge/assess.hpp"
#include "lab/environment.hpp"
#include "sim/counters.hpp"
#include "support/files.hpp"

namespace {

using namespace grading;
using nlohmann::json;

/// The rubric's metrics, and those with which the tables explain results.
std::set<std::string> with_measured(std::set<std::string> metrics) {
  for (const sim::counter& c : sim::counters)
    if (c.uses & sim::counter::measured) metrics.emplace(c.name);
  return metrics;
}

bool on_device(const lab::test_case& c) { return c.where == lab::part::device; }

std::string sizes_of(const lab::test_case& c) { return c.id.substr(c.id.find('/')); }

/// Whether this backend has one of the case's counters: a GPU lacks the simulated device's own.
bool has_a_counter_here(const lab::test_case& c, const rubric& rules) {
  const std::set<std::string> metrics = rules.metrics_of(c);
  return std::any_of(metrics.begin(), metrics.end(),
                     [](const std::string& name) { return this_backend() == backend::sim || is_of_gpu(name); });
}

/// Whether to count the case: every function is counted at the rubric's sizes, so that a ladder's rungs are comparable.
bool is_counted(const lab::test_case& c, const rubric& rules) {
  if (!on_device(c) || c.timed) return false;
  return std::any_of(lab::cases_of(rules.id).begin(), lab::cases_of(rules.id).end(), [&](const lab::test_case& other) {
    return on_device(other) && sizes_of(other) == sizes_of(c) && has_a_counter_here(other, rules);
  });
}

/// The rubric's throughput item for this case, or for another size of its function; null if there is none.
const item* throughput_item(const lab::test_case& c, const rubric& rules) {
  const item* found = nullptr;
  for (const item& i : rules.items) {
    if (i.kind != item_kind::throughput) continue;
    if (i.cases.front() == &c) return &i;
    if (i.cases.front()->entry == c.entry) found = &i;
  }
  return found;
}

json spread(const std::vector<double>& samples) {
  if (samples.empty()) return nullptr;
  return {{"median", lab::median(samples)},
          {"p10", lab::quantile(samples, 0.1)},
          {"p90", lab::quantile(samples, 0.9)},
          {"samples", samples.size()}};
}

json counters(const lab::test_case& c, const rubric& rules, subject& s) {
  const trial& counted = s.count(c, with_measured(rules.metrics_of(c)));
  json asked = json::object();
  const auto add = [&](const std::string& what, const metric& m) {
    const std::optional<double> value = m.of(counted.response.metrics);
    asked[what] = value ? json(*value) : json();
  };
  for (const item& i : rules.items) {
    for (const condition& r : i.require)
      if ((r.elsewhere ? r.elsewhere : i.cases.front()) == &c) add(r.text(), r.metric);
    for (const prediction& p : i.predict)
      if (p.about == &c) add(p.key, p.metric);
  }
  return {{"case", c.id},
          {"wrong", counted.message},
          {"metrics", counted.response.metrics},
          {"rubric", std::move(asked)},
          {"notes", counted.response.notes}};
}

json throughput(const lab::test_case& c, const rubric& rules, grading_session& session, int pairs) {
  const item* graded = throughput_item(c, rules);
  const lab::ceiling& ceiling = graded ? *graded->ceiling : *lab::find_ceiling(on_device(c) ? "copy" : "read");
  std::vector<double> calls, ceilings, ratios;
  std::string wrong;
  if (on_device(c)) {
    const trial timed = session.subjects.front()->time(c, pairs, ceiling.name);
    wrong = timed.message;
    calls = timed.response.call_seconds;
    ceilings = timed.response.ceiling_seconds;
  } else {
    item ask;
    ask.cases = {&c};
    ask.ceiling = &ceiling;
    ask.points = 1;
    ask.rungs = graded ? graded->rungs : std::vector<rung>{{1e-3, 0.0}, {10.0, 1.0}};
    item_result result;
    assess_throughput(ask, session, result);
    if (!result.figure) wrong = result.message;
    for (const timed_pair& p : result.samples) {
      calls.push_back(p.call_seconds);
      ceilings.push_back(p.ceiling_seconds);
    }
  }
  for (std::size_t i = 0; i < std::min(calls.size(), ceilings.size()); ++i) ratios.push_back(ceilings[i] / calls[i]);
  return {{"case", c.id},
          {"wrong", wrong},
          {"bytes", c.work.bytes},
          {"flops", c.work.flops},
          {std::string("ratio_to_") + ceiling.name, spread(ratios)},
          {"call_seconds", spread(calls)},
          {"ceiling_seconds", spread(ceilings)},
          {"pairs", {{"call_seconds", calls}, {"ceiling_seconds", ceilings}}}};
}

/// A short table for people; the JSON file has everything.
void print_table(const json& report) {
  for (const json& c : report["counters"]) {
    const auto id = c["case"].get<std::string>();
    for (const auto& [what, value] : c["rubric"].items()) fmt::print("{:32} {:44} {}\n", id, what, value.dump());
    for (const json& note : c["notes"]) fmt::print("{:32} note: {}\n", id, note.get<std::string>());
  }
  for (const json& t : report["throughput"]) {
    if (t["call_seconds"].is_null()) continue;
    const double seconds = t["call_seconds"]["median"];
    fmt::print("{:32} {:8.1f} GB/s {:9.1f} GFLOP/s", t["case"].get<std::string>(),
               1e-9 * t["bytes"].get<double>() / seconds, 1e-9 * t["flops"].get<double>() / seconds);
    for (const auto& [key, value] : t.items())
      if (key.starts_with("ratio_to_"))
        fmt::print(", {:.4f} of {} (p10 {:.4f}, p90 {:.4f})", value["median"].get<double>(), key.substr(9),
                   value["p10"].get<double>(), value["p90"].get<double>());
    fmt::print("\n");
  }
}

/// JSON with one line for each entry of a list, and one for each other member.
std::string in_lines(const json& report) {
  std::string text;
  for (const auto& [key, value] : report.items()) {
    std::string entries;
    if (value.is_array())
      for (const json& entry : value) entries += (entries.empty() ? "\n" : ",\n") + entry.dump();
    text += (text.empty() ? "{" : ",\n") + json(key).dump() + ": " +
            (value.is_array() ? "[" + entries + "]" : value.dump());
  }
  return text + "}\n";
}

int measure(int argc, char** argv) {
  CLI::App app{"Measures a lab's hand-in on this machine and writes the numbers as JSON."};
  std::string output = "-", only;
  int pairs = 40;
  bool correctness_only = false, counted_only = false, count_timed = false, list_metrics = false;
  std::uint64_t seed = 20'240'229;
  app.add_option("--output,-o", output, "JSON file to write; - for standard output");
  app.add_option("--only", only, "only cases whose id contains this");
  app.add_option("--pairs", pairs, "timed pairs for a device case; a host case gets as many as in grading")
      ->check(CLI::PositiveNumber);
  app.add_flag("--correctness-only", correctness_only,
               "check correctness only: no counters, no timing, no large cases");
  app.add_flag("--counted-only", counted_only, "run only the counted cases, once each: for use under another profiler");
  app.add_flag("--count-timed", count_timed, "count the timed cases too; each runs and is checked once more");
  app.add_flag("--list-metrics", list_metrics,
               "only print the counters that are read, on one line, separated by commas");
  app.add_option("--seed", seed, "seed of the random inputs");
  CLI11_PARSE(app, argc, argv);

  const std::filesystem::path folder = lab_dir;
  const std::vector<lab::test_case>& cases = lab::cases_of(lab_name);
  const rubric rules = parse_rubric(text_of(folder / "judge" / "rubric.toml"), "rubric.toml", cases, folder);
  if (list_metrics) {
    std::set<std::string> names = with_measured({});
    for (const lab::test_case& c : cases)
      if (on_device(c)) names.merge(rules.metrics_of(c));
    std::erase_if(names, [](const std::string& name) { return !is_of_gpu(name); });
    fmt::print("{}\n", fmt::join(names, ","));
    return 0;
  }
  grading_session session;
  session.rules = &rules;
  session.subjects.push_back(std::make_unique<subject>(this_backend(), std::make_unique<in_process_executor>(), seed));
  subject& s = *session.subjects.front();
  const bool simulated = this_backend() == backend::sim;
  json report = {{"lab", rules.id},
                 {"backend", lab::backend_name()},
                 {"environment", lab::environment()},
                 {"seed", seed},
                 {"correctness", json::array()},
                 {"counters", json::array()},
                 {"throughput", json::array()}};
  int wrong = 0;
  const auto add = [&](const char* section, json result) {
    const std::string fault = result["wrong"];
    if (!fault.empty()) ++wrong, std::cerr << result["case"].get<std::string>() << ": " << fault << '\n';
    report[section].push_back(std::move(result));
  };
  for (const lab::test_case& c : cases) {
    if (c.id.find(only) == std::string::npos || (counted_only && !is_counted(c, rules))) continue;
    if (c.on_sim && !simulated) {
      fmt::print(stderr, "{}: not run: it needs the simulated device\n", c.id);
      continue;
    }
    if (c.timed) {
      if (correctness_only || (simulated && on_device(c))) continue;
      if (count_timed && on_device(c)) add("counters", counters(c, rules, s));
      add("throughput", throughput(c, rules, session, pairs));
      continue;
    }
    const trial ran = s.run(c);
    json result = {{"case", c.id}, {"wrong", ran.message}, {"reports", ran.response.reports}};
    if (!on_device(c) && !ran.response.metrics.empty()) result["metrics"] = ran.response.metrics;
    add("correctness", std::move(result));
    if (!correctness_only && !counted_only && is_counted(c, rules)) add("counters", counters(c, rules, s));
  }
  report["environment_after"] = lab::environment();
  const std::string text = in_lines(report);
  if (output == "-") {
    std::cout << text;
  } else {
    std::ofstream file(output);
    file << text;
    if (!file.flush()) throw std::runtime_error("cannot write " + output);
    print_table(report);
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return measure(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "measure: " << e.what() << '\n';
    return 2;
  }
}
