// Predictions: what the student wrote down, against what the counters then said about their own code.
#include <fmt/format.h>

#include <cmath>

#include "assess.hpp"
#include "toml_file.hpp"

namespace grading {
namespace {

/// The number at "a.b.c"; none where it is missing, no number, or nan.
std::optional<double> answer_at(const toml::table& answers, const std::string& key) {
  const toml::node* node = &answers;
  for (std::size_t from = 0; node;) {
    const std::size_t dot = key.find('.', from);
    const toml::table* table = node->as_table();
    node = table ? table->get(key.substr(from, dot == std::string::npos ? dot : dot - from)) : nullptr;
    if (dot == std::string::npos) break;
    from = dot + 1;
  }
  const auto value = node && node->is_number() ? node->value<double>() : std::nullopt;
  return value && !std::isnan(*value) ? value : std::nullopt;
}

prediction_result graded(const prediction& p, const toml::table& answers, bench& on, std::string& trouble) {
  prediction_result result;
  result.key = p.key;
  result.predicted = answer_at(answers, p.key);
  for (const auto& s : on.subjects) {
    const trial& t = s->profile(*p.about, on.rules->metrics_of(*p.about));
    const std::optional<double> seen = p.metric.of(t.response.metrics);
    if (!result.predicted) continue;  // what was not predicted is not given away
    (s->backend() == "sim" ? result.seen : result.seen_on_gpu) = seen;
    if (s->backend() == "sim" && !seen && trouble.empty())
      trouble = t.ok() ? p.about->id + ": no such access was made" : t.message;
  }
  result.ok = result.predicted && result.seen && p.allows(*result.predicted, *result.seen);
  return result;
}

}  // namespace

void assess_predictions(const item& what, bench& on, item_result& out) {
  out.backend = "sim";
  out.what = "right";
  out.threshold = static_cast<double>(what.predict.size());
  if (!on.on("sim")) {
    out.message = on.without_sim;
    return;
  }
  toml::table answers;
  try {
    if (std::filesystem::exists(on.predictions)) answers = toml_from(text_of(on.predictions), "predictions.toml");
  } catch (const input_error& error) {
    out.verdict = verdict::wrong;
    out.message = error.what();
    out.figure = 0;
    return;
  }
  int answered = 0, right = 0;
  std::string trouble;
  for (const prediction& p : what.predict) {
    out.predictions.push_back(graded(p, answers, on, trouble));
    answered += out.predictions.back().predicted.has_value();
    right += out.predictions.back().ok;
  }
  const int all = static_cast<int>(what.predict.size());
  out.figure = right;
  out.points = what.points * right / all;
  out.verdict = right == all ? verdict::pass : answered == 0 ? verdict::not_answered : verdict::wrong;
  if (answered == 0)
    out.message = fmt::format("none of {} predictions is made; write them in predictions.toml before you run", all);
  else if (right < all)
    out.message = fmt::format("{} of {} predictions right, {} not made", right, all, all - answered);
  if (!trouble.empty()) out.message += (out.message.empty() ? "" : "; ") + trouble;
}

}  // namespace grading
