#include "report/page.hpp"

#include <kainjow/mustache.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/text.hpp"

namespace grading {
namespace {

namespace mustache = kainjow::mustache;

const std::map<std::string, std::string> templates = {
#include "pages.inc"  // made by CMake from the files
};

mustache::data data_of(const nlohmann::ordered_json& value) {
  if (value.is_object()) {
    mustache::data object;
    for (const auto& [key, member] : value.items()) object.set(key, data_of(member));
    return object;
  }
  if (value.is_array()) {
    mustache::data list(mustache::data::type::list);
    for (const auto& element : value) list.push_back(data_of(element));
    return list;
  }
  if (value.is_null() || value == "") return false;
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_float() ? figure_text(value.get<double>()) : value.dump();
}

}  // namespace

std::string page(const std::string& name, const nlohmann::ordered_json& values) {
  const auto found = templates.find(name);
  if (found == templates.end()) throw std::logic_error("there is no template " + name);
  mustache::mustache form(found->second);
  form.set_custom_escape(escaped);
  mustache::data data = data_of(values);
  data.set("head", mustache::partial([] {
             return templates.at("head.html") + "<style>\n" + templates.at("style.css") + "</style>\n";
           }));
  std::string text = form.render(data);
  if (!form.is_valid()) throw std::logic_error(name + ": " + form.error_message());
  return text;
}

}  // namespace grading
