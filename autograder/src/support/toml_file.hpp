// Reading TOML so that every complaint says which file, which line, and what to do about it.
#pragma once

#include <toml++/toml.h>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace grading {

/// What is wrong in a file that people write: "rubric.toml:12: ...".
struct input_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws input_error where the text is not TOML. `name` is what messages call it.
toml::table toml_from(std::string_view text, const std::string& name);

/// The text of a file; throws input_error where it cannot be read.
std::string text_of(const std::filesystem::path& file);

/// "fnv1a:..." of any text; it distinguishes versions, and is no protection against forgery.
std::string hash_of(std::string_view text);

/// Writes a temporary file next to it and renames that, so that no reader sees half of it and a full disk loses
/// nothing. Makes the folder. Throws std::runtime_error where it cannot write.
void replace_file(const std::filesystem::path& file, std::string_view text);

/// One table of a file, asked for its keys by type; every answer that is not there is an input_error.
class toml_reader {
 public:
  toml_reader(const toml::table& table, std::string file_name) : table_(table), name_(std::move(file_name)) {}

  int line() const { return static_cast<int>(table_.source().begin.line); }
  [[noreturn]] void fail(const std::string& what) const { fail_at(line(), what); }
  [[noreturn]] void fail_at(int line, const std::string& what) const;
  int line_of(std::string_view key) const;

  /// Complains about any key that is not in the list.
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
