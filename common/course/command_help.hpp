// Shared by the programs that ./course runs: the usage of a command line, for every version of CLI11, and the message
// if it cannot be parsed.
#pragma once

#include <CLI/CLI.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace course {

/// "usage: ./course lab [OPTIONS] NN"
class command_formatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string line = "usage: " + name;
    if (!app->get_options([](const CLI::Option* o) { return o->nonpositional(); }).empty()) line += " [OPTIONS]";
    for (const CLI::Option* o : app->get_options([](const CLI::Option* option) { return option->get_positional(); }))
      line += " " + make_option_usage(o);
    if (app->get_allow_extras()) line += " FILE...";
    if (app->get_allow_extras() || app->get_prefix_command()) line += " [-- ARGUMENTS]";
    if (!app->get_subcommands([](const CLI::App*) { return true; }).empty()) line += " COMMAND";
    return line + "\n";
  }
};

/// How many letters must be inserted, removed or replaced to turn one word into the other.
inline std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j)
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])}));
  }
  return row.back();
}

/// "there is no option --jbos; did you mean --jobs?": with the nearest name, if one is close.
inline std::string no_such(const std::string& what, const std::string& word, const std::vector<std::string>& names) {
  std::string text = "there is no " + what + " " + word;
  const auto nearest = std::min_element(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return distance(word, a) < distance(word, b);
  });
  if (nearest != names.end() && distance(word, *nearest) <= 1 + word.size() / 4)
    text += "; did you mean " + *nearest + "?";
  return text;
}

/// The long options of a command.
inline std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// Says what is wrong with the command line, and the usage of the command that it names.
inline std::string explained(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  const CLI::App& command = parsed.empty() ? app : *parsed.back();
  const std::string name = parsed.empty() ? app.get_name() : app.get_name() + " " + command.get_name();
  std::string text = error.what();
  const std::vector<std::string> unknown = app.remaining(true);
  if (!unknown.empty() && !command.get_allow_extras()) {
    const std::string word = unknown[0].substr(0, unknown[0].find('='));
    if (word.starts_with("-")) {
      std::vector<std::string> names = options_of(command);
      if (!parsed.empty() && command.get_fallthrough())
        for (const std::string& option : options_of(app)) names.push_back(option);
      text = no_such("option", word, names);
    } else if (parsed.empty()) {
      std::vector<std::string> names;
      for (const CLI::App* other : app.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(other->get_name());
      text = no_such("command", word, names);
    } else {
      text = name + " does not expect '" + word + "'";
    }
  }
  return text + "\n" + command_formatter().make_usage(&command, name) + "More: " + name + " --help\n";
}

}  // namespace course
