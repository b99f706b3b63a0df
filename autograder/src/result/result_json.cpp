// A result as JSON and back.
#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "result/result.hpp"
#include "support/text.hpp"

namespace grading {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* schema = "roofline-labs/result/v";
constexpr int known_format = 1;

json maybe(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

std::optional<double> maybe(const json& value) {
  return value.is_number() ? std::optional<double>(value.get<double>()) : std::nullopt;
}

/// "sim, cuda"
std::string names_of(const std::vector<backend>& backends) {
  std::string text;
  for (const backend b : backends) add_to_list(text, ", ", name_of(b));
  return text;
}

std::vector<backend> backends_in(const std::string& text) {
  std::vector<backend> backends;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(", ", at), text.size());
    backends.push_back(named<backend>(text.substr(at, end - at)));
    at = end + 2;
  }
  return backends;
}

json of(const condition_result& c) {
  return {{"what", c.what},
          {"metric", c.metric},
          {"backend", name_of(c.backend)},
          {"value", maybe(c.value)},
          {"min", maybe(c.min)},
          {"max", maybe(c.max)},
          {"ok", c.ok}};
}

json of(const prediction_result& p) {
  return {{"key", p.key},
          {"predicted", maybe(p.predicted)},
          {"first", maybe(p.first)},
          {"right", maybe(p.right)},
          {"seen", maybe(p.seen)},
          {"seen_on_gpu", maybe(p.seen_on_gpu)},
          {"state", name_of(p.state)},
          {"waits_for", p.waits_for}};
}

json of(const item_result& item) {
  json out = {{"id", item.id},
              {"title", item.title},
              {"kind", name_of(item.kind)},
              {"verdict", name_of(item.verdict)},
              {"points", item.points},
              {"most_points", maybe(item.most_points)},
              {"max_points", item.max_points},
              {"figure", maybe(item.figure)},
              {"threshold", maybe(item.threshold)},
              {"margin", maybe(item.margin())},
              {"what", item.what},
              {"message", item.message},
              {"backend", names_of(item.backends)}};
  if (!item.hint.empty()) out["hint"] = item.hint;
  if (!item.advice.empty()) out["advice"] = item.advice;
  for (const condition_result& c : item.conditions) out["conditions"].push_back(of(c));
  for (const prediction_result& p : item.predictions) out["predictions"].push_back(of(p));
  for (const timed_pair& pair : item.samples)
    out["samples"].push_back({{"call_seconds", pair.call_seconds}, {"ceiling_seconds", pair.ceiling_seconds}});
  if (item.ci95) out["ci95"] = {item.ci95->low, item.ci95->high};
  if (item.noise) out["noise"] = *item.noise;
  if (item.work.bytes > 0) {
    out["work"] = {{"flops", item.work.flops}, {"bytes", item.work.bytes}};
    out["ceiling_work"] = {{"flops", item.ceiling_work.flops}, {"bytes", item.ceiling_work.bytes}};
  }
  return out;
}

/// Launches are as in the protocol.
json of(const counted_case& p) {
  lab::response carrier;
  carrier.launches = p.launches;
  return {{"case", p.case_id},
          {"backend", name_of(p.backend)},
          {"work", {{"flops", p.work.flops}, {"bytes", p.work.bytes}}},
          {"launches", json::parse(lab::to_json(carrier)).at("launches")}};
}

/// Also reads results from before first sets existed.
prediction_result prediction_from(const json& in) {
  prediction_result p;
  p.key = in.at("key").get<std::string>();
  p.predicted = maybe(in.at("predicted"));
  p.first = maybe(in.value("first", json()));
  p.right = maybe(in.value("right", json()));
  p.seen = maybe(in.at("seen"));
  p.seen_on_gpu = maybe(in.at("seen_on_gpu"));
  if (in.contains("state")) p.state = named<prediction_state>(in["state"].get<std::string>());
  p.waits_for = in.value("waits_for", std::string{});
  return p;
}

item_result item_from(const json& in) {
  item_result item;
  item.id = in.at("id").get<std::string>();
  item.title = in.at("title").get<std::string>();
  item.kind = named<item_kind>(in.at("kind").get<std::string>());
  item.verdict = named<verdict>(in.at("verdict").get<std::string>());
  item.points = in.at("points").get<double>();
  item.most_points = maybe(in.value("most_points", json()));
  item.max_points = in.at("max_points").get<double>();
  item.figure = maybe(in.at("figure"));
  item.threshold = maybe(in.at("threshold"));
  item.what = in.at("what").get<std::string>();
  item.message = in.at("message").get<std::string>();
  item.backends = backends_in(in.at("backend").get<std::string>());
  item.hint = in.value("hint", std::vector<std::string>{});
  item.advice = in.value("advice", std::vector<std::string>{});
  for (const json& c : in.value("conditions", json::array()))
    item.conditions.push_back({c.at("what").get<std::string>(), c.at("metric").get<std::string>(),
                               named<backend>(c.at("backend").get<std::string>()), maybe(c.at("value")),
                               maybe(c.at("min")), maybe(c.at("max")), c.at("ok").get<bool>()});
  for (const json& p : in.value("predictions", json::array())) item.predictions.push_back(prediction_from(p));
  for (const json& s : in.value("samples", json::array()))
    item.samples.push_back({s.at("call_seconds").get<double>(), s.at("ceiling_seconds").get<double>()});
  if (in.contains("ci95")) item.ci95 = lab::interval{in["ci95"].at(0).get<double>(), in["ci95"].at(1).get<double>()};
  if (in.contains("noise")) item.noise = maybe(in["noise"]);
  for (const auto& [name, to] : {std::pair{"work", &item.work}, {"ceiling_work", &item.ceiling_work}})
    if (in.contains(name)) *to = {in[name].at("flops").get<double>(), in[name].at("bytes").get<double>()};
  return item;
}

counted_case profile_from(const json& in) {
  lab::response carrier;
  json response = json::parse(lab::to_json(carrier));
  response["launches"] = in.at("launches");
  return {in.at("case").get<std::string>(),
          named<backend>(in.at("backend").get<std::string>()),
          {in.at("work").at("flops").get<double>(), in.at("work").at("bytes").get<double>()},
          lab::response_from_json(response.dump()).launches};
}

}  // namespace

std::string to_json(const result& r) {
  json items = json::array(), profiles = json::array();
  for (const item_result& item : r.items) items.push_back(of(item));
  for (const counted_case& p : r.counted) profiles.push_back(of(p));
  const json document = {
      {"schema", schema + std::to_string(known_format)},
      {"course_version", r.course_version},
      {"lab", r.lab},
      {"lab_title", r.lab_title},
      {"lab_version", r.lab_version},
      {"submission", {{"id", r.submission}, {"path", r.path}}},
      {"machine", r.machine},
      {"date", r.date},
      {"outcome", name_of(r.outcome)},
      {"graded_from", r.graded_from},
      {"official", r.official},
      {"sandboxed", r.sandboxed},
      {"taken", r.digest},
      {"seed", r.seed},
      {"flags", r.flags},
      {"seconds", r.seconds},
      {"score", r.score()},
      {"most_score", r.most_score()},
      {"out_of", r.out_of()},
      {"max_score", 100},
      {"notes", r.notes},
      {"items", items},
      {"profiles", profiles},
      {"printed", r.printed},
  };
  return document.dump(1, ' ', false, json::error_handler_t::replace);
}

result result_from_json(const std::string& text) {
  try {
    const json in = json::parse(text);
    const int format = format_in(in.at("schema").get<std::string>(), schema);
    if (format > known_format) throw std::runtime_error(newer_text("the result", format, known_format));
    if (format != known_format) throw std::runtime_error("another schema");
    result r;
    r.course_version = in.value("course_version", "");
    r.lab = in.at("lab").get<std::string>();
    r.lab_title = in.at("lab_title").get<std::string>();
    r.lab_version = in.at("lab_version").get<std::string>();
    r.submission = in.at("submission").at("id").get<std::string>();
    r.path = in.at("submission").at("path").get<std::string>();
    r.machine = in.at("machine").get<std::map<std::string, std::string>>();
    r.date = in.at("date").get<std::string>();
    r.outcome = named<outcome>(in.at("outcome").get<std::string>());
    r.graded_from = in.at("graded_from").get<std::string>();
    r.seconds = in.at("seconds").get<double>();
    r.official = in.value("official", false);
    r.sandboxed = in.value("sandboxed", false);
    r.digest = in.value("taken", "");
    r.seed = in.value("seed", std::uint64_t{0});
    r.flags = in.value("flags", std::vector<std::string>{});
    r.notes = in.at("notes").get<std::vector<std::string>>();
    for (const json& item : in.at("items")) r.items.push_back(item_from(item));
    for (const json& p : in.at("profiles")) r.counted.push_back(profile_from(p));
    r.printed = in.at("printed").get<std::string>();
    return r;
  } catch (const std::exception& error) {
    throw not_a_result(fmt::format("not a result: {}", error.what()));
  }
}

}  // namespace grading
