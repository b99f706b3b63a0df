// Correctness and counters.
#include "judge/assess.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "judge/failures.hpp"
#include "judge/findings.hpp"
#include "sim/counters.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

namespace grading {
namespace {

bool runs_on(const lab::test_case& c, const grading_session& session, const subject& s) {
  return c.where == lab::part::device || &s == session.subjects.front().get();
}

std::string prefix(const grading_session& session, const subject& s) {
  return session.subjects.size() > 1 ? "on " + name_of(s.backend()) + ", " : "";
}

std::vector<backend> backends_of(const item& what, const grading_session& session) {
  if (what.cases.front()->where == lab::part::host) return {backend::host};
  std::vector<backend> all;
  for (const auto& s : session.subjects) all.push_back(s->backend());
  return all;
}

condition_result measured(const condition& c, const trial& t, const subject& s) {
  const std::optional<double> value = c.metric.of(t.response.metrics);
  return {c.text(), c.metric.nsight_name(), s.backend(), value, c.min, c.max, value && c.holds(*value)};
}

/// Whether all predictions of the sitting are made. Until then no message says what a right solution would count.
bool has_predicted(const grading_session& session, int sitting) {
  try {
    return is_complete(both(session.locked.values, read_predictions(session.predictions, *session.rules)),
                       *session.rules, sitting);
  } catch (const input_error&) {
    return false;
  }
}

/// Whether a prediction that is still to be made is about what this host function returns: a message that says
/// what it should return would then give the answer away.
bool is_to_be_predicted(const lab::test_case& c, const grading_session& session) {
  return c.where == lab::part::host &&
         std::any_of(session.rules->items.begin(), session.rules->items.end(), [&](const item& i) {
           return std::any_of(i.predict.begin(), i.predict.end(),
                              [&](const prediction& p) { return p.about->id == c.id; }) &&
                  !has_predicted(session, i.sitting);
         });
}

/// "16 sectors per store request, at most 4 (x.cu:12: ...)", or without the bar: "16 sectors per store request, too
/// many"
std::string complaint(const condition& c, const condition_result& got, const std::string& worst_line, bool with_bar) {
  std::string noun = c.label, note = c.note, unit;  // a share's label ends with its unit
  if (noun.ends_with(", %")) noun.erase(noun.size() - 3), unit = " %";
  if (!got.value) return noun + ": no such access was made";
  const double value = *got.value;
  const bool above = c.max && value > *c.max;
  const double bound = above ? *c.max : *c.min;
  const bool exact = c.min && c.max && *c.min == *c.max;
  const std::string shown =
      unit.empty() ? figure_text(value) + " " + noun : fmt::format("{}: {}{}", noun, figure_text(value), unit);
  if (!with_bar) return fmt::format("{}, too {}", shown, above ? "many" : "few");
  const char* side = exact ? "must be" : above ? "at most" : "at least";
  if (above && bound > 0 && value >= 1.5 * bound && value >= 1e4)
    note = fmt::format("{} times as many{}{}", figure_text(std::round(10 * value / bound) / 10),
                       note.empty() ? "" : "; ", note);
  if (!worst_line.empty()) add_to_list(note, "; ", worst_line);
  return fmt::format("{}, {} {}{}{}", shown, side, figure_text(bound), unit, note.empty() ? "" : " (" + note + ")");
}

/// "500 sched_yield, 2 mmap": the most frequent system calls; "" if they were not counted.
std::string calls_by_name(const trial& t) {
  constexpr std::size_t most = 6;
  std::vector<std::pair<double, std::string>> calls;
  for (const auto& [name, count] : t.response.metrics)
    if (name.starts_with(calls_of) && count > 0) calls.emplace_back(-count, name.substr(calls_of.size()));
  std::sort(calls.begin(), calls.end());
  std::vector<std::string> texts;
  for (const auto& [count, name] : calls) texts.push_back(fmt::format("{} {}", figure_text(-count), name));
  return shortened_list(texts, most, ", ", ", ");
}

/// Adds advice from the counters of a call: once per case, and no message twice.
void advise(const item& what, const lab::test_case& c, const trial& t, grading_session& session, item_result& out) {
  if (!t.ok() || !session.advised.insert(c.id).second) return;
  for (advice& one : advice_on(t.response.launches, c.work, session.rules->handin, session.device)) {
    const bool said = !one.place.empty() && out.message.find(one.place + ":") != std::string::npos;
    if (!said && !what.by_design.contains(one.about)) out.advice.push_back(std::move(one.text));
  }
}

/// A right result with more changes than a fix needs, or without the file's assertions, gets half of the points.
void count_changes(const item& what, const grading_session& session, item_result& out) {
  const auto fixed = session.handed_in.find(what.changed_file);
  if (what.changed_file.empty() || fixed == session.handed_in.end()) return;
  const std::string original = text_of(session.originals / what.changed_file);
  const std::size_t changed = changed_statements(original, fixed->second);
  const bool keeps_checks = !names(original, "assert") || session.asserting.contains(what.changed_file);
  if (changed <= what.changes && keeps_checks) return;
  out.verdict = verdict::wasteful;
  out.points /= 2;
  if (!keeps_checks)
    out.message = fmt::format("right, but {} has fewer assertions that can fail than before; a fix keeps them",
                              what.changed_file);
  else
    out.message = fmt::format("right, but {} statements of {} changed; a fix for this bug changes at most {}", changed,
                              what.changed_file, what.changes);
}

}  // namespace

subject* grading_session::subject_on(backend which) const {
  for (const auto& s : subjects)
    if (s->backend() == which) return s.get();
  return nullptr;
}

item_result assess(const item& what, grading_session& session) {
  if (const auto found = session.checked.find(what.id); found != session.checked.end()) return found->second;
  item_result out;
  out.id = what.id;
  out.title = what.title;
  out.kind = what.kind;
  out.max_points = what.points;
  switch (what.kind) {
    case item_kind::correctness:
      assess_correctness(what, session, out);
      session.checked[what.id] = out;
      break;
    case item_kind::counters: assess_counters(what, session, out); break;
    case item_kind::predictions: assess_predictions(what, session, out); break;
    case item_kind::throughput: assess_throughput(what, session, out); break;
    case item_kind::findings: assess_findings(what, session, out); break;
  }
  return out;
}

item_result not_built(const item& what, const std::string& why) {
  item_result out;
  out.id = what.id;
  out.title = what.title;
  out.kind = what.kind;
  out.max_points = what.points;
  out.verdict = verdict::build_error;
  out.message = why;
  return out;
}

void assess_correctness(const item& what, grading_session& session, item_result& out) {
  out.backends = backends_of(what, session);
  out.what = "cases";
  struct failure {
    const lab::test_case* about;
    trial t;
    std::string where;
  };
  std::vector<failure> failures;
  std::vector<const lab::test_case*> passed, failed;
  const lab::test_case* largest = nullptr;  // the largest case on the simulated device, and its outcome
  trial of_largest;
  int run = 0;
  for (const auto& s : session.subjects) {
    for (const lab::test_case* c : what.cases) {
      if (!runs_on(*c, session, *s)) continue;
      ++run;
      // If an item asks about a call's counters or figures, one call is enough. System calls are counted in another.
      const std::set<std::string> metrics = session.rules->metrics_of(*c);
      const bool counts = !metrics.empty() && s->backend() == backend::sim && !c->counts_calls && c->memory == 0;
      trial t = counts ? s->count(*c, metrics) : s->run(*c);
      if (t.verdict == verdict::build_error) {
        out = not_built(what, t.message);
        return;
      }
      if (s == session.subjects.front()) (t.ok() ? passed : failed).push_back(c);
      if (!t.ok()) {
        session.wrong.try_emplace(c->entry, t.verdict, c->id);
        failures.push_back({c, std::move(t), prefix(session, *s)});
      } else if (c->where == lab::part::device && s->backend() == backend::sim && t.bytes > of_largest.bytes) {
        largest = c;
        of_largest = std::move(t);
      }
    }
  }
  const int kept = run - static_cast<int>(failures.size());
  out.figure = kept;
  out.threshold = run;
  out.verdict = verdict::pass;
  if (failures.empty()) {
    out.points = what.points;
    count_changes(what, session, out);
    const bool counted_elsewhere =
        std::any_of(session.rules->items.begin(), session.rules->items.end(), [&](const item& i) {
          return i.kind == item_kind::counters && largest && i.cases.front()->entry == largest->entry;
        });
    if (largest && !counted_elsewhere) advise(what, *largest, of_largest, session, out);
    return;
  }
  // The smallest failure is the most useful. Choose among those with the first one's verdict: it decided which other
  // cases were called.
  const auto hidden = [&](const failure& f) {
    return f.t.verdict == verdict::wrong && is_to_be_predicted(*f.about, session);
  };
  const failure* shown = &failures.front();
  for (const failure& f : failures) {
    if (f.t.verdict != shown->t.verdict || (hidden(f) && !hidden(*shown))) continue;
    if ((hidden(*shown) && !hidden(f)) || (f.t.bytes > 0 && (shown->t.bytes == 0 || f.t.bytes < shown->t.bytes)))
      shown = &f;
  }
  out.verdict = shown->t.verdict;
  std::string why =
      hidden(*shown) ? "wrong; what is right is shown once all of your predictions are made" : shown->t.message;
  if (why.starts_with(shown->about->id + ": ")) why.erase(0, shown->about->id.size() + 2);
  const std::string sizes = sizes_text(*shown->about, session.rules->names),
                    pattern = pattern_of(failed, passed, session.rules->names);
  out.message = fmt::format("{} of {} cases fail{}{}{}{}: {}{}", failures.size(), run,
                            failures.size() == 1 ? "s: " : "; the smallest: ", shown->where, shown->about->id,
                            sizes.empty() ? "" : " (" + sizes + ")", why, pattern.empty() ? "" : "\n" + pattern);
}

/// If a GPU lacks a counter that the simulated device has, the simulated device alone decides.
bool can_count(const metric& what, const trial& t, const subject& s) {
  const auto has = [&](const std::string& name) { return name.empty() || t.response.metrics.contains(name); };
  return s.backend() == backend::sim || (has(what.numerator) && has(what.denominator));
}

/// For a condition in another case: the condition on the same counter in the item's own case.
const condition& counts_as(const condition& r, const item& what) {
  if (!r.elsewhere) return r;
  const auto own = std::find_if(what.require.begin(), what.require.end(),
                                [&](const condition& one) { return !one.elsewhere && one.label == r.label; });
  return own == what.require.end() ? r : *own;
}

/// Why the counters of a right call say nothing: the counted instructions did not produce its result. "" if they did.
std::string not_counted(const item& what, const trial& t) {
  if (t.for_show)
    return "the result does not come from the tensor cores: the judge made them misread some factors, and the "
           "result stayed the same";
  std::set<std::string> asked;
  for (const condition& r : what.require) asked.insert({r.metric.numerator, r.metric.denominator});
  if (std::any_of(asked.begin(), asked.end(), sim::counts_copies)) return {};
  double past = 0;
  for (const auto& [operation, counter] :
       {std::pair{"_op_ld", sim::bytes_past_loads}, {"_op_st", sim::bytes_past_stores}})
    if (const auto found = t.response.metrics.find(counter);
        found != t.response.metrics.end() &&
        std::any_of(asked.begin(), asked.end(),
                    [name = operation](const std::string& one) { return one.find(name) != one.npos; }))
      past += found->second;
  constexpr double share = 1.0 / 64;  // of the call's buffers: tolerates, for example, the remainder of a division
  if (past <= share * static_cast<double>(t.bytes)) return {};
  return fmt::format(
      "{} bytes of its inputs and outputs were moved by cudaMemcpy and similar calls, bulk copies or atomics, "
      "which this item does not count; move them with a kernel's loads and stores",
      figure_text(past));
}

void assess_counters(const item& what, grading_session& session, item_result& out) {
  const lab::test_case& c = *what.cases.front();
  std::map<const condition*, bool> holds;  // the same counter in another case shares the item's own entry
  for (const condition& r : what.require)
    if (!r.work) holds[&counts_as(r, what)] = true;
  bool has_needed = true;
  const lab::test_case* blamed = nullptr;  // the one in the message so far
  std::string by_name;                     // the case with too many system calls
  const bool predicted = has_predicted(session, what.sitting);
  for (const auto& s : session.subjects) {
    if (!runs_on(c, session, *s)) continue;
    const trial& t = s->count(c, session.rules->metrics_of(c));
    if (!t.ok()) {
      out.verdict = t.verdict;
      out.message = prefix(session, *s) + t.message;
      out.conditions.clear();
      return;
    }
    if (const std::string why = not_counted(what, t); !why.empty()) {
      out.verdict = verdict::wasteful;
      out.message = prefix(session, *s) + c.id + ": " + why;
      out.conditions.clear();
      return;
    }
    // Counters that this user may not read, or system calls that are not counted here.
    const bool uncounted = c.where == lab::part::host
                               ? std::any_of(what.require.begin(), what.require.end(),
                                             [&](const condition& r) { return !r.metric.of(t.response.metrics); })
                               : s->backend() != backend::sim && t.response.metrics.empty();
    if (uncounted && !t.response.notes.empty()) {
      out.message = t.response.notes.front();
      continue;
    }
    out.backends.push_back(c.where == lab::part::host ? backend::host : s->backend());
    for (const condition& r : what.require) {
      const lab::test_case& about = r.elsewhere ? *r.elsewhere : c;
      const trial& counted = r.elsewhere ? s->count(about, session.rules->metrics_of(about)) : t;
      // Sizes that fail cost the points of correctness; they say nothing about those that pass.
      if (!counted.ok() || !can_count(r.metric, counted, *s)) continue;
      out.conditions.push_back(measured(r, counted, *s));
      if (out.conditions.back().ok) continue;
      if (r.work || std::exchange(holds[&counts_as(r, what)], false)) {
        const std::string whose = std::exchange(blamed, &about) == &about ? "" : about.id + ": ";
        add_to_list(out.message, "; ",
                    whose + prefix(session, *s) +
                        complaint(r, out.conditions.back(), worst_line(counted.response.launches, r), predicted));
      }
      has_needed = has_needed && !r.needed && !r.work;
      if (r.metric.numerator == all_calls) by_name = calls_by_name(counted);
    }
  }
  if (out.conditions.empty()) return;  // not assessed; the note says why
  const auto kept =
      has_needed ? std::count_if(holds.begin(), holds.end(), [](const auto& one) { return one.second; }) : 0;
  out.verdict = has_needed && kept == std::ssize(holds) ? verdict::pass : verdict::wasteful;
  out.points = what.points * static_cast<double>(kept) / static_cast<double>(holds.size());
  if (!by_name.empty()) out.message += "; by name: " + by_name;
  if (subject* sim = session.subject_on(backend::sim)) advise(what, c, sim->count(c, {}), session, out);
  if (!predicted) {
    if (out.verdict == verdict::wasteful) out.message += "; the bar is shown once all of your predictions are made";
    out.conditions.clear();
    return;
  }
  // Show the figure of the first condition that fails, or else of the first condition.
  const auto fails = std::find_if(out.conditions.begin(), out.conditions.end(), [](const auto& r) { return !r.ok; });
  const condition_result& shown = fails == out.conditions.end() ? out.conditions.front() : *fails;
  out.what = shown.what;
  out.figure = shown.value;
  const bool below = shown.min && shown.value && *shown.value < *shown.min;
  out.threshold = below || !shown.max ? shown.min : shown.max;
}

}  // namespace grading
