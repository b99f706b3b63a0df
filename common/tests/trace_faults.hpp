// What chrome://tracing and Perfetto's importer require of a JSON trace.
#pragma once

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lab {

/// One sentence each; empty if the trace is valid and complete.
inline std::vector<std::string> trace_faults(const nlohmann::json& trace) {
  using nlohmann::json;
  std::vector<std::string> faults;
  if (!trace.is_object() || !trace.contains("traceEvents") || !trace["traceEvents"].is_array())
    return {"no array traceEvents"};
  using track = std::pair<std::int64_t, std::int64_t>;
  std::map<track, std::vector<std::pair<double, double>>> tracks;
  std::set<track> named;
  const auto number = [](const json& e, const char* key) { return e.contains(key) && e[key].is_number(); };
  const auto text = [](const json& e, const char* key) { return e.contains(key) && e[key].is_string(); };
  for (const json& e : trace["traceEvents"]) {
    const auto fault = [&](const char* what) { faults.push_back(what + std::string(": ") + e.dump()); };
    if (!text(e, "ph") || !text(e, "name") || !number(e, "pid") || !number(e, "tid")) {
      fault("no phase, name, process or thread");
      continue;
    }
    const std::string phase = e["ph"];
    const track where{e["pid"], e["tid"]};
    if (phase == "M") {
      if (!e.contains("args") || !text(e["args"], "name")) fault("a name without its text");
      if (e["name"] == "thread_name") named.insert(where);
    } else if (phase == "X") {
      if (!number(e, "ts") || !number(e, "dur") || e["ts"] < 0 || e["dur"] < 0)
        fault("no time, or one before the beginning");
      else
        tracks[where].emplace_back(e["ts"].get<double>(), e["ts"].get<double>() + e["dur"].get<double>());
    } else if (phase == "s" || phase == "f") {
      if (!number(e, "ts") || !number(e, "id")) fault("an arrow without time or number");
    } else {
      fault("a phase that we do not write");
    }
  }
  if (tracks.empty()) faults.emplace_back("no events");
  for (auto& [where, events] : tracks) {
    const std::string name = std::to_string(where.first) + "/" + std::to_string(where.second);
    if (!named.contains(where)) faults.push_back("track " + name + " has no name");
    std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    constexpr double rounding = 2e-3;  // in microseconds: the rounding of nanoseconds in a double
    std::vector<double> open;
    for (const auto& [begin, end] : events) {
      while (!open.empty() && open.back() <= begin + rounding) open.pop_back();
      if (!open.empty() && end > open.back() + rounding)
        faults.push_back("track " + name + ": at " + std::to_string(begin) +
                         " us an event overlaps another, and neither holds the other");
      open.push_back(end);
    }
  }
  return faults;
}

}  // namespace lab
