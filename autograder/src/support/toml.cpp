// TOML with line numbers.
#include "support/toml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace grading {

namespace {

/// Each dot in a key nests another table, and tables are freed recursively: a key of a hundred thousand parts would
/// overflow the judge's stack.
void expect_flat(std::string_view text, const std::string& name) {
  constexpr int most = 64;
  int line = 1, points = 0;
  for (const char c : text) {
    if (c == '\n') {
      ++line;
      points = 0;
    } else if (c == '.' && ++points > most) {
      throw input_error(fmt::format("{}:{}: more than {} dots in one line; split the line", name, line, most));
    }
  }
}

}  // namespace

toml::table toml_from(std::string_view text, const std::string& name) {
  expect_flat(text, name);
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    throw input_error(fmt::format("{}:{}: {}", name, error.source().begin.line, error.description()));
  }
}

void toml_reader::fail_at(int line, const std::string& what) const {
  throw input_error(fmt::format("{}:{}: {}", name_, line, what));
}

int toml_reader::line_of(std::string_view key) const {
  const toml::node* found = table_.get(key);
  return found ? static_cast<int>(found->source().begin.line) : line();
}

void toml_reader::allow(std::initializer_list<std::string_view> keys) const {
  for (const auto& [key, value] : table_) {
    if (std::find(keys.begin(), keys.end(), key.str()) != keys.end()) continue;
    fail_at(static_cast<int>(value.source().begin.line),
            fmt::format("unknown key '{}'; remove it or use one of: {}", key.str(), fmt::join(keys, ", ")));
  }
}

const toml::node& toml_reader::node(std::string_view key) const {
  const toml::node* found = table_.get(key);
  if (!found) fail(fmt::format("'{}' is missing; add it to this table", key));
  return *found;
}

std::string toml_reader::text(std::string_view key) const {
  const auto value = node(key).value_exact<std::string>();
  if (!value || value->empty()) fail_at(line_of(key), fmt::format("'{}' must be a non-empty string in quotes", key));
  return *value;
}

double toml_reader::number(std::string_view key) const {
  const auto value = node(key).is_number() ? node(key).value<double>() : std::nullopt;
  if (!value || !std::isfinite(*value)) fail_at(line_of(key), fmt::format("'{}' must be a finite number", key));
  return *value;
}

std::optional<double> toml_reader::maybe_number(std::string_view key) const {
  return has(key) ? std::optional(number(key)) : std::nullopt;
}

const toml::array& toml_reader::array(std::string_view key) const {
  const toml::array* found = node(key).as_array();
  if (!found || found->empty()) fail_at(line_of(key), fmt::format("'{}' must be a non-empty list", key));
  return *found;
}

std::vector<std::string> toml_reader::texts(std::string_view key) const {
  std::vector<std::string> result;
  for (const toml::node& element : array(key)) {
    const auto value = element.value_exact<std::string>();
    if (!value || value->empty())
      fail_at(static_cast<int>(element.source().begin.line),
              fmt::format("'{}' must be a list of strings in quotes", key));
    result.push_back(*value);
  }
  return result;
}

std::vector<toml_reader> toml_reader::tables(std::string_view key) const {
  std::vector<toml_reader> result;
  for (const toml::node& element : array(key)) {
    if (!element.is_table())
      fail_at(static_cast<int>(element.source().begin.line), fmt::format("'{}' must be a list of tables", key));
    result.emplace_back(*element.as_table(), name_);
  }
  return result;
}

toml_reader toml_reader::table(std::string_view key) const {
  const toml::table* found = node(key).as_table();
  if (!found) fail_at(line_of(key), fmt::format("'{}' must be a table", key));
  return {*found, name_};
}

}  // namespace grading
