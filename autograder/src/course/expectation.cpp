#include "course/expectation.hpp"

#include <algorithm>
#include <optional>

#include "support/files.hpp"

namespace grading {
namespace {

expected_item item_of(const toml_reader& in) {
  in.allow({"verdict", "points"});
  expected_item result;
  const toml::node* wanted = in.raw().get("verdict");
  try {
    if (wanted && wanted->is_array()) {
      for (const toml::node& one : *wanted->as_array())
        result.verdicts.push_back(named<verdict>(one.value<std::string>().value_or("")));
      if (result.verdicts.empty()) in.fail_at(in.line_of("verdict"), "name at least one verdict");
    } else {
      result.verdicts = {named<verdict>(in.text("verdict"))};
    }
  } catch (const std::invalid_argument& error) {
    in.fail_at(in.line_of("verdict"), error.what());
  }
  const toml::node* points = in.raw().get("points");
  if (points && points->is_array()) {
    const toml::array& range = *points->as_array();
    const auto low = range.size() == 2 ? range[0].value<double>() : std::nullopt;
    const auto high = range.size() == 2 ? range[1].value<double>() : std::nullopt;
    if (!low || !high || *low > *high) in.fail_at(in.line_of("points"), "'points' is a number or [least, most]");
    result.least = *low;
    result.most = *high;
  } else {
    result.least = result.most = in.number("points");
  }
  return result;
}

std::string name_of(const std::filesystem::path& patch) {
  return (patch.parent_path().filename() / patch.filename()).string();
}

}  // namespace

toml::table head_of(const std::filesystem::path& patch) {
  const std::string text = text_of(patch);
  return toml_from(text.substr(0, std::min(text.find("\n--- "), text.find("\ndiff "))), name_of(patch));
}

std::map<std::string, expected_item> expected_items(const toml_reader& items) {
  std::map<std::string, expected_item> result;
  for (const auto& [key, value] : items.raw()) result[std::string(key.str())] = item_of(items.table(key.str()));
  if (result.empty()) items.fail("'items' is empty; name each item that must lose points");
  return result;
}

expectation read_expectation(const std::filesystem::path& patch) {
  const toml::table document = head_of(patch);
  const toml_reader in(document, name_of(patch));
  in.allow({"story", "base", "demo", "items"});
  expectation result;
  result.story = in.text("story");
  if (in.has("base")) result.base = in.text("base");
  if (in.has("demo")) {
    const std::optional<bool> demo = in.raw().get("demo")->value<bool>();
    if (!demo) in.fail_at(in.line_of("demo"), "'demo' is true or false");
    result.demo = *demo;
  }
  if (in.has("items")) result.items = expected_items(in.table("items"));
  return result;
}

}  // namespace grading
