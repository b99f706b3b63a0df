// Requests and responses as JSON. They do not contain the buffers, which both sides share in memory.
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "lab/execute.hpp"

namespace lab {
namespace {

using nlohmann::json;

constexpr const char* dtype_names[] = {"f32", "f64", "i32", "i64", "u8", "bf16"};
constexpr const char* action_names[] = {"run", "profile", "time"};

template <class Enum, std::size_t N>
Enum by_name(const char* const (&names)[N], const std::string& name) {
  for (std::size_t i = 0; i < N; ++i)
    if (name == names[i]) return static_cast<Enum>(i);
  throw std::runtime_error("'" + name + "' is unknown to the protocol");
}

json specs_to_json(const std::vector<buffer_spec>& specs) {
  json result = json::array();
  for (const buffer_spec& spec : specs) result.push_back({dtype_names[static_cast<std::size_t>(spec.type)], spec.size});
  return result;
}

std::vector<buffer_spec> specs_from_json(const json& array) {
  std::vector<buffer_spec> result;
  for (const json& spec : array) {
    result.push_back({by_name<dtype>(dtype_names, spec.at(0).get<std::string>()), spec.at(1).get<std::int64_t>()});
    const std::int64_t size = result.back().size;
    if (size < 0 || size > (std::int64_t{1} << 40)) throw std::runtime_error("a buffer has an impossible size");
  }
  return result;
}

/// JSON has no NaN or infinity, so the writer writes null.
double number(const json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

std::map<std::string, double> numbers(const json& object) {
  std::map<std::string, double> result;
  for (const auto& [key, value] : object.items()) result[key] = number(value);
  return result;
}

std::vector<double> seconds(const json& array) {
  std::vector<double> result;
  for (const json& value : array) result.push_back(number(value));
  return result;
}

json lines_to_json(const std::vector<line_counters>& lines) {
  json result = json::array();
  for (const line_counters& line : lines)
    result.push_back({{"file", line.file},
                      {"line", line.line},
                      {"operation", line.operation},
                      {"requests", line.requests},
                      {"sectors", line.sectors},
                      {"wavefronts", line.wavefronts},
                      {"ideal", line.ideal}});
  return result;
}

json launch_to_json(const launch_record& launch) {
  return {{"kernel", launch.kernel},
          {"grid", launch.grid},
          {"block", launch.block},
          {"dynamic_shared_bytes", launch.dynamic_shared_bytes},
          {"modelled_seconds", launch.modelled_seconds},
          {"metrics", launch.metrics},
          {"lines", lines_to_json(launch.lines)}};
}

launch_record launch_from_json(const json& object) {
  launch_record launch;
  launch.kernel = object.at("kernel").get<std::string>();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    launch.grid[axis] = object.at("grid").at(axis).get<std::uint32_t>();
    launch.block[axis] = object.at("block").at(axis).get<std::uint32_t>();
  }
  launch.dynamic_shared_bytes = object.at("dynamic_shared_bytes").get<std::uint64_t>();
  launch.modelled_seconds = number(object.at("modelled_seconds"));
  launch.metrics = numbers(object.at("metrics"));
  for (const json& from : object.at("lines")) {
    line_counters line;
    line.file = from.at("file").get<std::string>();
    line.line = from.at("line").get<int>();
    line.operation = from.at("operation").get<std::string>();
    line.requests = from.at("requests").get<std::uint64_t>();
    line.sectors = from.at("sectors").get<std::uint64_t>();
    line.wavefronts = from.at("wavefronts").get<std::uint64_t>();
    line.ideal = from.at("ideal").get<std::uint64_t>();
    launch.lines.push_back(std::move(line));
  }
  return launch;
}

/// A submission's text may contain any bytes; replaces invalid UTF-8.
std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

template <class Build>
auto parsed(const char* what, const std::string& text, Build build) {
  try {
    return build(json::parse(text));
  } catch (const std::exception& error) {
    throw std::runtime_error(std::string("not a ") + what + ": " + error.what());
  }
}

}  // namespace

std::string to_json(const request& what) {
  return text_of({{"entry", what.entry},
                  {"action", action_names[static_cast<std::size_t>(what.what)]},
                  {"parameters", what.parameters},
                  {"inputs", specs_to_json(what.input_specs)},
                  {"outputs", specs_to_json(what.output_specs)},
                  {"metrics", what.metrics},
                  {"misread", what.misread},
                  {"pairs", what.pairs},
                  {"ceiling", what.ceiling},
                  {"copy_bytes", what.copy_bytes},
                  {"again", what.again},
                  {"resident", what.resident}});
}

request request_from_json(const std::string& text) {
  return parsed("request", text, [](const json& object) {
    request result;
    result.entry = object.at("entry").get<std::string>();
    result.what = by_name<action>(action_names, object.at("action").get<std::string>());
    result.parameters = object.at("parameters").get<std::vector<std::int64_t>>();
    result.input_specs = specs_from_json(object.at("inputs"));
    result.output_specs = specs_from_json(object.at("outputs"));
    result.metrics = object.at("metrics").get<std::vector<std::string>>();
    result.misread = object.at("misread").get<unsigned>();
    result.pairs = object.at("pairs").get<int>();
    result.ceiling = object.at("ceiling").get<std::string>();
    result.copy_bytes = object.at("copy_bytes").get<double>();
    result.again = object.at("again").get<bool>();
    result.resident = object.at("resident").get<bool>();
    return result;
  });
}

std::string to_json(const response& what) {
  json launches = json::array();
  for (const launch_record& launch : what.launches) launches.push_back(launch_to_json(launch));
  return text_of({{"error", what.error},
                  {"reports", what.reports},
                  {"launches", launches},
                  {"metrics", what.metrics},
                  {"notes", what.notes},
                  {"call_seconds", what.call_seconds},
                  {"ceiling_seconds", what.ceiling_seconds}});
}

response response_from_json(const std::string& text) {
  return parsed("response", text, [](const json& object) {
    response result;
    result.error = object.at("error").get<std::string>();
    result.reports = object.at("reports").get<std::vector<std::string>>();
    for (const json& launch : object.at("launches")) result.launches.push_back(launch_from_json(launch));
    result.metrics = numbers(object.at("metrics"));
    result.notes = object.at("notes").get<std::vector<std::string>>();
    result.call_seconds = seconds(object.at("call_seconds"));
    result.ceiling_seconds = seconds(object.at("ceiling_seconds"));
    return result;
  });
}

}  // namespace lab
