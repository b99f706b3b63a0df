// Runs everything that a lab's rubric asks of a hand-in, in one process and on one backend, and writes what came out
// as JSON: the numbers behind the tables of reference results. Official grades come from the judge, not from here.
#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/case.hpp"
#include "lab/environment.hpp"
#include "lab/execute.hpp"
#include "lab/statistics.hpp"

namespace {

using nlohmann::json;

/// Counted besides what the rubric names, so that the tables can say why.
const std::vector<std::string> always_counted = {
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "gpu__time_duration.sum",
};

struct wish {
  std::string what, metric;  ///< metric: a name, or "A / B"
};

/// Which metrics the rubric wants of which case.
std::map<std::string, std::vector<wish>> wishes(const toml::table& rubric) {
  std::map<std::string, std::vector<wish>> result;
  const auto text = [](const toml::node_view<const toml::node>& node) { return node.value_or(std::string{}); };
  if (const toml::array* items = rubric["item"].as_array()) {
    for (const toml::node& node : *items) {
      const toml::table& item = *node.as_table();
      if (const toml::array* conditions = item["require"].as_array())
        for (const toml::node& c : *conditions)
          result[text(item["case"])].push_back({text((*c.as_table())["what"]), text((*c.as_table())["metric"])});
      if (const toml::array* predictions = item["predict"].as_array())
        for (const toml::node& p : *predictions)
          result[text((*p.as_table())["case"])].push_back(
              {text((*p.as_table())["key"]), text((*p.as_table())["metric"])});
    }
  }
  return result;
}

/// What the rubric holds against a timed case.
std::string ceiling_of(const toml::table& rubric, const std::string& id) {
  if (const toml::array* items = rubric["item"].as_array())
    for (const toml::node& node : *items) {
      const toml::table& item = *node.as_table();
      if (item["case"].value_or(std::string{}) == id && item["ceiling"].is_string())
        return item["ceiling"].value_or(std::string{});
    }
  return "copy";
}

/// The value of "A" or "A / B"; null where a part was not counted or B is zero.
json value_of(const std::string& metric, const std::map<std::string, double>& counted) {
  const std::size_t slash = metric.find(" / ");
  const auto above = counted.find(metric.substr(0, slash));
  if (above == counted.end()) return nullptr;
  if (slash == std::string::npos) return above->second;
  const auto below = counted.find(metric.substr(slash + 3));
  if (below == counted.end() || below->second == 0.0) return nullptr;
  return above->second / below->second;
}

json spread(const std::vector<double>& samples) {
  if (samples.empty()) return nullptr;
  return {{"median", lab::median(samples)},
          {"p10", lab::quantile(samples, 0.1)},
          {"p90", lab::quantile(samples, 0.9)},
          {"samples", samples.size()}};
}

/// One case's buffers, made once and used by every action.
struct problem {
  explicit problem(const lab::test_case& which, std::uint64_t seed) : test(which), inputs(which.inputs(seed)) {
    for (const lab::buffer_spec& spec : which.outputs) outputs.emplace_back(spec);
    ask.entry = which.entry;
    ask.parameters = which.parameters;
    ask.output_specs = which.outputs;
    for (lab::buffer& input : inputs) {
      ask.input_specs.push_back(input.spec());
      ask.inputs.push_back(input.bytes());
    }
    for (lab::buffer& output : outputs) ask.outputs.push_back(output.bytes());
  }

  lab::response run(lab::action what) {
    ask.what = what;
    for (lab::buffer& output : outputs) std::ranges::fill(output.bytes(), std::byte{0xFF});
    return lab::execute(ask);
  }

  /// "" where the last run was right.
  std::string verdict(const lab::response& answer) const {
    return answer.error.empty() ? test.check(inputs, outputs) : answer.error;
  }

  const lab::test_case& test;
  std::vector<lab::buffer> inputs, outputs;
  lab::request ask;
};

json counters(problem& p, const std::vector<wish>& wanted) {
  p.ask.metrics = always_counted;
  for (const wish& w : wanted) p.ask.metrics.push_back(w.metric);
  const lab::response answer = p.run(lab::action::profile);
  json rubric = json::object();
  for (const wish& w : wanted) rubric[w.what] = value_of(w.metric, answer.metrics);
  return {{"case", p.test.id},
          {"wrong", p.verdict(answer)},
          {"metrics", answer.metrics},
          {"rubric", std::move(rubric)},
          {"notes", answer.notes}};
}

json device_throughput(problem& p, int pairs, const std::string& ceiling) {
  p.ask.pairs = pairs;
  p.ask.ceiling = ceiling;
  p.ask.copy_bytes = p.test.work.bytes / 2;  // each byte is read once and written once
  const lab::response answer = p.run(lab::action::time);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(answer.call_seconds.size(), answer.ceiling_seconds.size()); ++i)
    ratios.push_back(answer.ceiling_seconds[i] / answer.call_seconds[i]);
  return {{"case", p.test.id},
          {"wrong", p.verdict(answer)},
          {"bytes", p.test.work.bytes},
          {"ratio_to_" + ceiling, spread(ratios)},
          {"call_seconds", spread(answer.call_seconds)},
          {"ceiling_seconds", spread(answer.ceiling_seconds)},
          {"pairs", {{"call_seconds", answer.call_seconds}, {"ceiling_seconds", answer.ceiling_seconds}}}};
}

json host_throughput(problem& p, int repetitions) {
  std::vector<double> seconds;
  lab::response answer = p.run(lab::action::run);
  for (int i = 0; i < repetitions; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    answer = p.run(lab::action::run);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return {{"case", p.test.id},
          {"wrong", p.verdict(answer)},
          {"bytes", p.test.work.bytes},
          {"call_seconds", spread(seconds)}};
}

/// A short table for people; the JSON has everything.
void print_table(const json& report) {
  for (const json& c : report["counters"])
    for (const auto& [what, value] : c["rubric"].items())
      std::printf("%-32s %-44s %s\n", c["case"].get<std::string>().c_str(), what.c_str(), value.dump().c_str());
  for (const json& c : report["counters"])
    for (const json& note : c["notes"])
      std::printf("%-32s note: %s\n", c["case"].get<std::string>().c_str(), note.get<std::string>().c_str());
  for (const json& t : report["throughput"]) {
    if (t["call_seconds"].is_null()) continue;
    std::printf("%-32s %7.1f GB/s", t["case"].get<std::string>().c_str(),
                1e-9 * t["bytes"].get<double>() / t["call_seconds"]["median"].get<double>());
    if (const json ratio = t.value("ratio_to_copy", json()); ratio.is_object())
      std::printf(", of a copy %.4f (p10 %.4f, p90 %.4f)", ratio["median"].get<double>(), ratio["p10"].get<double>(),
                  ratio["p90"].get<double>());
    std::printf("\n");
  }
}

int measure(int argc, char** argv) {
  CLI::App app{"Measures a lab's hand-in on this machine and writes the numbers as JSON."};
  std::string rubric_file = LAB_DIR "/rubric.toml", output = "-", only;
  int pairs = 40;
  bool correctness_only = false;
  std::uint64_t seed = 20'240'229;
  app.add_option("rubric", rubric_file, "another rubric.toml than the lab's")->check(CLI::ExistingFile);
  app.add_option("--output,-o", output, "JSON file to write; - for standard output");
  app.add_option("--only", only, "only cases whose id contains this");
  app.add_option("--pairs", pairs, "timed pairs a case")->check(CLI::PositiveNumber);
  app.add_flag("--correctness-only", correctness_only, "neither count nor time, and leave the large cases out");
  app.add_option("--seed", seed, "of the random inputs");
  CLI11_PARSE(app, argc, argv);

  const toml::table rubric = toml::parse_file(rubric_file);
  const std::string id = rubric["lab"]["id"].value_or(std::string{});
  const auto wanted = wishes(rubric);
  const bool simulated = lab::backend_name() == "sim";
  json report = {{"lab", id},
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
  for (const lab::test_case& test : lab::cases_of(id)) {
    const bool device = test.where == lab::part::device;
    if (test.id.find(only) == std::string::npos || (test.timed && (correctness_only || (simulated && device))))
      continue;
    problem p(test, seed);
    const lab::response answer = p.run(lab::action::run);
    add("correctness", {{"case", test.id}, {"wrong", p.verdict(answer)}, {"reports", answer.reports}});
    if (correctness_only) continue;
    const auto found = wanted.find(test.id);
    // The ladder's middle size is counted whole, whether or not the rubric asks: the handout's table shows it.
    const bool rung = test.id.starts_with("transpose") && test.id.ends_with("/1024x1024");
    if (device && (found != wanted.end() || rung || test.timed))
      add("counters", counters(p, found == wanted.end() ? std::vector<wish>{} : found->second));
    if (test.timed)
      add("throughput", device ? device_throughput(p, pairs, ceiling_of(rubric, test.id)) : host_throughput(p, pairs));
  }
  report["environment_after"] = lab::environment();
  const std::string text = report.dump(1) + "\n";
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
