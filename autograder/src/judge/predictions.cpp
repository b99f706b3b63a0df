// Compares predictions, locked and current, with what a correct solution does.
#include "judge/predictions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "judge/assess.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/toml.hpp"

namespace grading {
namespace {

/// The number at "a.b.c"; none if it is missing or nan.
std::optional<double> number_at(const toml::table& answers, const std::string& key) {
  const toml::node* node = &answers;
  for (std::size_t from = 0; node;) {
    const std::size_t dot = key.find('.', from);
    const toml::table* table = node->as_table();
    node = table ? table->get(key.substr(from, dot == std::string::npos ? dot : dot - from)) : nullptr;
    if (dot == std::string::npos) break;
    from = dot + 1;
  }
  if (!node) return std::nullopt;
  const auto value = node->is_number() ? node->value<double>() : std::nullopt;
  if (!value || std::isinf(*value))
    throw input_error(
        fmt::format("predictions.toml:{}: {} is not a finite number; write digits without quotes, such "
                    "as 12, 0.5 or 1e6",
                    node->source().begin.line, key));
  return std::isnan(*value) ? std::nullopt : value;
}

template <class Visit>
void for_each_prediction(const rubric& rules, int sitting, const Visit& visit) {
  for (const item& i : rules.items)
    for (const prediction& p : i.predict)
      if (i.sitting == sitting) visit(p);
}

std::optional<double> value_in(const prediction_set& all, const std::string& key) {
  const auto found = all.find(key);
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

/// "a, b, c and 3 more"
std::string listed(const std::vector<std::string>& names) { return shortened_list(names, 3, ", ", " "); }

/// What the counters say about the student's own code. The simulated device decides whether that code is right.
bool look(const prediction& p, grading_session& session, prediction_result& out) {
  bool right = false;
  for (const auto& s : session.subjects) {
    const trial& t = s->count(*p.about, session.rules->metrics_of(*p.about));
    (s->backend() == backend::sim ? out.seen : out.seen_on_gpu) = p.metric.of(t.response.metrics);
    if (s->backend() == backend::sim) right = t.ok();
  }
  return right;
}

prediction_result compared(const prediction& p, const prediction_set& now, const prediction_set& first,
                           grading_session& session) {
  prediction_result out;
  out.key = p.key;
  out.predicted = value_in(now, p.key);
  out.first = value_in(first, p.key);
  const bool code_is_right = look(p, session, out);
  if (p.own && !code_is_right) {
    out.state = prediction_state::pending;
    out.waits_for = p.about->entry;
    out.seen = out.seen_on_gpu = {};
    return out;
  }
  out.right = p.measured ? out.seen : p.right;
  if (!out.right) return out;
  const auto fits = [&](const std::optional<double>& made) { return made && p.allows(*made, *out.right); };
  out.state = fits(out.first)       ? prediction_state::first_try
              : fits(out.predicted) ? prediction_state::corrected
                                    : prediction_state::wrong;
  return out;
}

}  // namespace

prediction_set read_predictions(const std::filesystem::path& file, const rubric& rules) {
  prediction_set result;
  if (!std::filesystem::exists(file)) return result;
  const toml::table document = toml_from(text_of(file), "predictions.toml");
  for (const item& i : rules.items)
    for (const prediction& p : i.predict)
      if (const auto made = number_at(document, p.key)) result[p.key] = *made;
  return result;
}

prediction_set both(prediction_set first, const prediction_set& second) {
  first.insert(second.begin(), second.end());
  return first;
}

bool is_complete(const prediction_set& made, const rubric& rules, int sitting) {
  bool complete = true;
  for_each_prediction(rules, sitting, [&](const prediction& p) { complete = complete && made.contains(p.key); });
  return complete;
}

prediction_set complete_sittings(const prediction_set& made, const rubric& rules) {
  prediction_set result;
  for (const item& i : rules.items)
    for (const prediction& p : i.predict)
      if (is_complete(made, rules, i.sitting)) result[p.key] = made.at(p.key);
  return result;
}

std::vector<prediction_result> not_compared(const item& what, const prediction_set& made) {
  std::vector<prediction_result> result(what.predict.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i].key = what.predict[i].key;
    result[i].predicted = value_in(made, result[i].key);
  }
  return result;
}

std::map<std::string, locked_predictions> first_complete(const std::vector<result>& history) {
  std::map<std::string, locked_predictions> first;
  for (const result& r : history) {
    prediction_set all, compared;
    bool complete = true;
    for (const item_result& i : r.items)
      for (const prediction_result& p : i.predictions) {
        complete = complete && p.predicted;
        if (p.predicted) all[p.key] = *p.predicted;
        if (p.predicted && p.state != prediction_state::not_compared) compared[p.key] = *p.predicted;
      }
    const prediction_set& made = complete ? all : compared;
    if (made.empty()) continue;
    locked_predictions& kept = first.try_emplace(r.submission, locked_predictions{r.date, {}}).first->second;
    kept.values = both(kept.values, made);
  }
  return first;
}

void add_to(toml::table& table, const locked_predictions& locked) {
  if (locked.date.empty()) return;
  toml::table values;
  for (const auto& [key, value] : locked.values) values.insert(key, value);
  table.insert("locked", locked.date);
  table.insert("predicted", std::move(values));
}

locked_predictions locked_in(const toml::table& table) {
  locked_predictions locked{table["locked"].value_or(std::string{}), {}};
  if (const toml::table* values = table["predicted"].as_table())
    for (const auto& [key, value] : *values)
      if (const auto number = value.value<double>()) locked.values[std::string(key.str())] = *number;
  return locked;
}

void assess_predictions(const item& what, grading_session& session, item_result& out) {
  out.backends = {backend::sim};
  out.what = "first try";
  out.threshold = static_cast<double>(what.predict.size());
  prediction_set now;
  try {
    now = read_predictions(session.predictions, *session.rules);
  } catch (const input_error& error) {
    out.verdict = verdict::wrong;
    out.message = error.what();
    return;
  }
  // Rubrics change: a set that was locked before a key was added stays locked, and does not answer that key.
  const prediction_set first_set = both(session.locked.values, now);
  if (!is_complete(first_set, *session.rules, what.sitting)) {
    std::vector<std::string> missing;
    std::size_t all = 0;
    for_each_prediction(*session.rules, what.sitting, [&](const prediction& p) {
      ++all;
      if (!first_set.contains(p.key)) missing.push_back(p.key);
    });
    out.predictions = not_compared(what, now);
    out.verdict = verdict::not_answered;
    out.message =
        missing.size() == all
            ? fmt::format(
                  "none of {} predictions is filled in; write them in predictions.toml before you run anything. "
                  "Nothing is compared until all are filled in",
                  all)
            : fmt::format("{} of {} predictions are not filled in yet ({}); nothing is compared until they are",
                          missing.size(), all, listed(missing));
    return;
  }
  int first = 0, corrected = 0, wrong = 0;
  std::string unknown;
  std::vector<std::string> waits_for;
  for (const prediction& p : what.predict) {
    const prediction_result& r = out.predictions.emplace_back(compared(p, now, first_set, session));
    first += r.state == prediction_state::first_try;
    corrected += r.state == prediction_state::corrected;
    wrong += r.state == prediction_state::wrong;
    if (r.state == prediction_state::not_compared) unknown = r.key;
    if (r.state == prediction_state::pending &&
        std::find(waits_for.begin(), waits_for.end(), r.waits_for) == waits_for.end())
      waits_for.push_back(r.waits_for);
  }
  if (!unknown.empty()) {
    out.message = fmt::format("'{}' has no answer to compare with: run grader check --write", unknown);
    return;
  }
  const int all = static_cast<int>(what.predict.size()), pending = all - first - corrected - wrong;
  out.figure = first;
  out.points = what.points * (first + 0.5 * corrected) / all;
  out.verdict = wrong > 0 ? verdict::wrong : pending > 0 ? verdict::pending : verdict::pass;
  if (first == all) return;
  out.message = fmt::format("first try {} of {}", first, all);
  if (corrected > 0) out.message += fmt::format(", {} corrected (half the points)", corrected);
  if (wrong > 0) out.message += fmt::format(", {} wrong", wrong);
  if (pending > 0)
    out.message += fmt::format("; {} pending: {} {} not pass yet", pending, listed(waits_for),
                               waits_for.size() == 1 ? "does" : "do");
  if (!session.locked.date.empty()) out.message += fmt::format(" (locked {})", session.locked.date.substr(0, 10));
}

}  // namespace grading
