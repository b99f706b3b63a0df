// Reads TOML so that every error names the file and line and says what to do.
#pragma once

#include <toml++/toml.h>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/files.hpp"

namespace grading {

/// Throws input_error if the text is not TOML. Messages call it `name`.
toml::table toml_from(std::string_view text, const std::string& name);

/// One table of a file; keys are read by type, and a missing or wrong value is an input_error.
class toml_reader {
 public:
  toml_reader(const toml::table& table, std::string file_name) : table_(table), name_(std::move(file_name)) {}

  int line() const { return static_cast<int>(table_.source().begin.line); }
  [[noreturn]] void fail(const std::string& what) const { fail_at(line(), what); }
  [[noreturn]] void fail_at(int line, const std::string& what) const;
  int line_of(std::string_view key) const;

  /// Reports any key that is not in the list.
  void allow(std::initializer_list<std::string_view> keys) const;
  bool has(std::string_view key) const { return table_.contains(key); }
  std::string text(std::string_view key) const;
  double number(std::string_view key) const;  ///< finite
  std::optional<double> maybe_number(std::string_view key) const;
  const toml::array& array(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  std::vector<toml_reader> tables(std::string_view key) const;
  toml_reader table(std::string_view key) const;
  const toml::table& raw() const { return table_; }

 private:
  const toml::node& node(std::string_view key) const;
  const toml::table& table_;
  std::string name_;
};

}  // namespace grading
