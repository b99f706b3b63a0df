#include "commands/command_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "command_help.hpp"
#include "lab/case.hpp"
#include "report/report.hpp"
#include "support/status_line.hpp"

namespace grading {

local_options settings::local() const {
  local_options options;
  options.seed = seed.value_or(1);
  options.drawn = seed.has_value();
  options.sim_limit = std::chrono::seconds(timeout);
  if (isatty(STDERR_FILENO) == 1)
    options.progress = [line = std::make_shared<status_line>()](const std::string& what) { line->show(what); };
  return options;
}

official_options settings::official() const {
  official_options options;
  options.build = build;
  options.call_limit = std::chrono::seconds(timeout);
  options.progress = local().progress;
  return options;
}

std::vector<lab_folder> settings::labs(const std::vector<std::string>& numbers) const {
  if (numbers.empty()) return labs_in(source);
  std::vector<lab_folder> found;
  found.reserve(numbers.size());
  for (const std::string& number : numbers) found.push_back(find_lab(source, number));
  return found;
}

void settings::show_report() const {
  fmt::print("report: {}\n", write_report(store(), source, report_folder()).string());
}

command_line::command_line(const std::filesystem::path& source, const std::filesystem::path& build)
    : app_("Grades labs: what the code computes, what it moves, how fast it runs.") {
  common.source = source;
  common.build = build;
  app_.formatter(std::make_shared<course::command_formatter>());
  app_.require_subcommand(1);
  app_.fallthrough();
  app_.set_version_flag("--version", "Roofline Labs " + course_version());
  app_.add_option("--source", common.source, "source tree")->check(CLI::ExistingDirectory)->capture_default_str();
  app_.add_option("--build", common.build, "build directory")->check(CLI::ExistingDirectory)->capture_default_str();
  app_.add_option("--report", common.report,
                  "folder for results and the report's pages [report/ in the build directory]");
  app_.add_option("--seed", common.seed,
                  "seed for all inputs; also adds random sizes to the usual ones [seed 1, usual sizes only]");
  app_.add_option("--timeout", common.timeout,
                  "time limit in seconds for one call, on the host or on the simulated device")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
}

CLI::App& command_line::add(const std::string& name, const std::string& help, std::function<int()> run) {
  CLI::App* command = app_.add_subcommand(name, help);
  command->callback([this, run = std::move(run)] { chosen_ = run; });
  return *command;
}

int command_line::run(int argc, char** argv) {
  try {
    app_.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app_.exit(error);
    fmt::print(stderr, "{}", course::explained(app_, error));
    return cannot;
  }
  lab::load_cases_from(common.build / "cases");
  return chosen_();
}

void add_lab(CLI::App& command, std::string& number) {
  command.add_option("NN", number, "lab number, such as 03")->required();
}

}  // namespace grading
