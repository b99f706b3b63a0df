// Correctness and counters.
#include "assess.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace grading {
namespace {

bool runs_on(const lab::test_case& c, const bench& on, const subject& s) {
  return c.where == lab::part::device || &s == on.subjects.front().get();
}

std::string prefix(const bench& on, const subject& s) {
  return on.subjects.size() > 1 ? "on " + s.backend() + ", " : "";
}

std::string backends_of(const item& what, const bench& on) {
  if (what.cases.front()->where == lab::part::host) return "host";
  std::string names;
  for (const auto& s : on.subjects) names += (names.empty() ? "" : ", ") + s->backend();
  return names;
}

std::string bounds_text(const condition& c) {
  if (c.min && c.max && *c.min == *c.max) return fmt::format("must be {}", figure_text(*c.min));
  if (c.min && c.max) return fmt::format("must be {} to {}", figure_text(*c.min), figure_text(*c.max));
  return c.min ? fmt::format("must be at least {}", figure_text(*c.min))
               : fmt::format("must be at most {}", figure_text(*c.max));
}

condition_result measured(const condition& c, const trial& t, const subject& s) {
  const std::optional<double> value = c.metric.of(t.response.metrics);
  return {c.what, c.metric.text(), s.backend(), value, c.min, c.max, value && c.holds(*value)};
}

std::string complaint(const condition& c, const condition_result& got) {
  return got.value ? fmt::format("{}: {}, {}", c.what, figure_text(*got.value), bounds_text(c))
                   : fmt::format("{}: no such access was made", c.what);
}

}  // namespace

subject* bench::on(const std::string& backend) const {
  for (const auto& s : subjects)
    if (s->backend() == backend) return s.get();
  return nullptr;
}

item_result assess(const item& what, bench& on) {
  item_result out;
  out.id = what.id;
  out.title = what.title;
  out.kind = name_of(what.kind);
  out.max_points = what.points;
  switch (what.kind) {
    case item_kind::correctness: assess_correctness(what, on, out); break;
    case item_kind::counters: assess_counters(what, on, out); break;
    case item_kind::predictions: assess_predictions(what, on, out); break;
    case item_kind::throughput: assess_throughput(what, on, out); break;
  }
  return out;
}

item_result not_built(const item& what, const std::string& why) {
  item_result out;
  out.id = what.id;
  out.title = what.title;
  out.kind = name_of(what.kind);
  out.max_points = what.points;
  out.verdict = verdict::build_error;
  out.message = why;
  return out;
}

void assess_correctness(const item& what, bench& on, item_result& out) {
  out.backend = backends_of(what, on);
  out.what = "cases";
  int run = 0, failed = 0;
  out.verdict = verdict::pass;
  for (const auto& s : on.subjects) {
    for (const lab::test_case* c : what.cases) {
      if (!runs_on(*c, on, *s)) continue;
      ++run;
      const trial t = s->run(*c);
      if (t.ok()) continue;
      if (failed++ > 0) continue;
      out.verdict = t.verdict;
      out.message = prefix(on, *s) + t.message;
    }
  }
  if (failed > 0) out.message = fmt::format("{} of {} cases failed; first {}", failed, run, out.message);
  out.figure = run - failed;
  out.threshold = run;
  out.points = failed == 0 ? what.points : 0.0;
}

void assess_counters(const item& what, bench& on, item_result& out) {
  const lab::test_case& c = *what.cases.front();
  std::vector<bool> holds(what.require.size(), true);
  for (const auto& s : on.subjects) {
    const trial& t = s->profile(c, on.rules->metrics_of(c));
    if (!t.ok()) {
      out.verdict = t.verdict;
      out.message = prefix(on, *s) + t.message;
      out.conditions.clear();
      return;
    }
    if (t.response.metrics.empty() && !t.response.notes.empty()) {  // counters that this user may not read
      out.message = t.response.notes.front();
      continue;
    }
    out.backend += (out.backend.empty() ? "" : ", ") + s->backend();
    for (std::size_t i = 0; i < what.require.size(); ++i) {
      out.conditions.push_back(measured(what.require[i], t, *s));
      if (out.conditions.back().ok) continue;
      if (holds[i])
        out.message +=
            (out.message.empty() ? "" : "; ") + prefix(on, *s) + complaint(what.require[i], out.conditions.back());
      holds[i] = false;
    }
  }
  if (out.conditions.empty()) return;  // not assessed; the note says why
  const auto kept = std::count(holds.begin(), holds.end(), true);
  out.verdict = kept == std::ssize(holds) ? verdict::pass : verdict::wasteful;
  out.points = what.points * static_cast<double>(kept) / static_cast<double>(holds.size());
  if (out.verdict == verdict::wasteful) out.message = c.id + ": " + out.message;
  // The figure shown is that of the first condition that fails, or of the first.
  const auto fails = std::find_if(out.conditions.begin(), out.conditions.end(), [](const auto& r) { return !r.ok; });
  const condition_result& shown = fails == out.conditions.end() ? out.conditions.front() : *fails;
  out.what = shown.what;
  out.figure = shown.value;
  const bool below = shown.min && shown.value && *shown.value < *shown.min;
  out.threshold = below || !shown.max ? shown.min : shown.max;
}

}  // namespace grading
