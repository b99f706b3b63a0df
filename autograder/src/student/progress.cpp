// The progress file, the next item, and hints one at a time.
#include "student/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "judge/findings.hpp"
#include "report/terminal.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/toml.hpp"

namespace grading {
namespace {

namespace fs = std::filesystem;

constexpr const char* does_not_build = "fix the build";
constexpr int known_format = 1;  // files without a number have format 1

}  // namespace

progress read_progress(const fs::path& file) {
  progress all;
  if (!fs::exists(file)) return all;
  const std::string name = file.filename().string();
  const toml::table document = toml_from(text_of(file), name);
  if (const int format = document["format"].value_or(known_format); format > known_format)
    throw input_error(newer_text(name, format, known_format));
  try {
    for (const auto& [key, node] : document) {
      if (key == "format" && node.is_integer()) continue;
      const toml::table* t = node.as_table();
      if (!t) throw input_error(fmt::format("{}: {} is not a table", name, std::string(key.str())));
      const std::string lab(key.str());
      const auto points = [&](const char* what) {
        const double value = (*t)[what].value_or(0.0);
        if (!(value >= 0 && value <= 1000))
          throw input_error(
              fmt::format("{}: '{}' of {} is {}, which is not a valid number of points", name, what, lab, value));
        return value;
      };
      lab_progress& p = all[lab];
      p.points = points("points");
      p.out_of = points("out_of");
      p.best = points("best");
      p.graded = (*t)["graded"].value_or(0);
      p.last = (*t)["last"].value_or(std::string{});
      p.passed = (*t)["passed"].value_or(std::string{});
      p.next = (*t)["next"].value_or(std::string{});
      if (const toml::table* items = (*t)["items"].as_table())
        for (const auto& [id, verdict] : *items) p.items[std::string(id.str())] = verdict.value_or(std::string{});
      p.locked = locked_in(*t);
      if (const toml::table* hints = (*t)["hints"].as_table())
        for (const auto& [id, level] : *hints) p.hints[std::string(id.str())] = std::clamp(level.value_or(0), 0, 3);
    }
  } catch (const input_error& error) {
    throw input_error(std::string(error.what()) + "; fix it, or delete it to start over");
  }
  return all;
}

void write_progress(const fs::path& file, const progress& all) {
  toml::table document{{"format", known_format}};
  for (const auto& [name, p] : all) {
    toml::table items, hints;
    for (const auto& [id, verdict] : p.items) items.insert(id, verdict);
    for (const auto& [id, level] : p.hints) hints.insert(id, level);
    toml::table lab{{"points", p.points}, {"out_of", p.out_of}, {"best", p.best},
                    {"graded", p.graded}, {"last", p.last},     {"passed", p.passed},
                    {"next", p.next},     {"items", items},     {"hints", hints}};
    add_to(lab, p.locked);
    document.insert(name, lab);
  }
  std::ostringstream text;
  text << "# Your progress, and the predictions that you made first. Written by ./course lab, watch and hint.\n\n"
       << document << "\n";
  replace_file(file, text.str());
}

namespace {

/// Locks each cause as soon as it is named, unlike predictions. Returns whether any cause is new.
bool lock_causes(locked_predictions& locked, const rubric& rules, const fs::path& findings) {
  if (rules.causes.empty() || !fs::exists(findings)) return false;
  const std::size_t before = locked.values.size();
  try {
    for (const auto& [program, cause] : causes_in(text_of(findings), rules))
      if (cause >= 0) locked.values.try_emplace(cause_key(program), cause);
  } catch (const input_error&) {  // the item's own verdict reports the error in the file
  }
  if (locked.values.size() == before) return false;
  if (locked.date.empty()) locked.date = now_rfc3339();
  return true;
}

}  // namespace

locked_predictions lock_predictions(const fs::path& progress_file, const std::string& lab, const rubric& rules,
                                    const fs::path& predictions) {
  progress all = read_progress(progress_file);
  locked_predictions& locked = all[lab].locked;
  if (lock_causes(locked, rules, predictions.parent_path() / "findings.toml")) write_progress(progress_file, all);
  prediction_set now;
  try {
    now = read_predictions(predictions, rules);
  } catch (const input_error&) {  // the item's own verdict reports the error in the file
  }
  // A later sitting, or an update, adds keys: locked answers stay, and the new ones are locked, too.
  now = both(locked.values, complete_sittings(both(locked.values, now), rules));
  if (now == locked.values) return locked;
  locked = {locked.date.empty() ? now_rfc3339() : locked.date, now};
  write_progress(progress_file, all);
  return locked;
}

locked_predictions locked_for(const std::filesystem::path& progress_file, const lab_folder& lab,
                              const submission& who) {
  if (who.id != "student") return {};
  return lock_predictions(progress_file, lab.name, read_rubric(lab), who.file("predictions.toml"));
}

bool is_open(const item_result& i) { return is_assessed(i.verdict) && i.verdict != verdict::pass; }

bool passed(const result& r) { return r.outcome == outcome::graded && r.out_of() > 0 && !next_item(r); }

void note(lab_progress& p, const result& r) {
  ++p.graded;
  p.last = r.date;
  if (r.outcome == outcome::build_failed) {  // keep the last grading's points
    p.next = does_not_build;
    return;
  }
  p.points = r.score();
  p.out_of = r.out_of();
  p.best = std::max(p.best, p.points);
  if (passed(r) && p.passed.empty()) p.passed = r.date;
  const item_result* next = next_item(r);
  p.next = !r.all_built() ? does_not_build : next ? next->id : "";
  p.items.clear();
  for (const item_result& i : r.items) {
    p.items[i.id] = name_of(i.verdict);
    if (is_assessed(i.verdict) && !is_open(i)) p.hints.erase(i.id);
  }
}

const item_result* next_item(const result& r) {
  const auto first = [&](auto which) {
    const auto found =
        std::find_if(r.items.begin(), r.items.end(), [&](const item_result& i) { return is_open(i) && which(i); });
    return found == r.items.end() ? nullptr : &*found;
  };
  // Once one sitting's predictions are compared, the next sitting's wait for their turn.
  const auto is_compared = [](const item_result& i) {
    return std::any_of(i.predictions.begin(), i.predictions.end(),
                       [](const prediction_result& p) { return p.state != prediction_state::not_compared; });
  };
  const bool begun = std::any_of(r.items.begin(), r.items.end(), is_compared);
  if (const item_result* found = first([](const item_result& i) { return i.verdict == verdict::build_error; }))
    return found;
  if (const item_result* found = first([&](const item_result& i) {
        return i.verdict == verdict::not_answered && (i.predictions.empty() || !begun);
      }))
    return found;
  const item_result* found = first([](const item_result& i) { return i.verdict != verdict::inconclusive; });
  return found ? found : first([](const item_result&) { return true; });
}

std::string after_the_lock(const result& r, const fs::path& lab) {
  bool compared = false;
  for (const item_result& i : r.items)
    for (const prediction_result& p : i.predictions) compared = compared || p.state != prediction_state::not_compared;
  if (!compared || !fs::exists(lab / "SEEN.md")) return {};
  return fmt::format("your predictions are locked; labs/{}/SEEN.md says what you should see, and why\n",
                     lab.filename().string());
}

std::string next_hint(lab_progress& p, const item_result& item) {
  if (item.verdict == verdict::pass) return item.id + " has passed";
  if (item.hint.empty()) return "there is no hint for " + item.id + "; the message above says what went wrong";
  const int levels = static_cast<int>(item.hint.size());
  if (levels == 1) return item.hint.front();  // what to do before hints are available
  int& shown = p.hints[item.id];
  const bool all_seen = shown >= levels;
  shown = std::clamp(shown + 1, 1, levels);
  return fmt::format("hint {} of {} for {}{}: {}", shown, levels, item.id, all_seen ? ", the last" : "",
                     item.hint[static_cast<std::size_t>(shown - 1)]);
}

std::string progress_table(const progress& all, const std::vector<lab_title>& labs, int width, bool colours) {
  constexpr int bar_width = 16;
  std::string out;
  for (const lab_title& lab : labs) {
    const auto found = all.find(lab.name);
    const lab_progress p = found == all.end() ? lab_progress{} : found->second;
    const int filled = p.out_of > 0 ? static_cast<int>(bar_width * std::min(p.points / p.out_of, 1.0) + 1e-9) : 0;
    const std::string bar = std::string(static_cast<std::size_t>(filled), '#') +
                            std::string(static_cast<std::size_t>(bar_width - filled), '.');
    const std::string state = p.graded == 0                         ? "not begun"
                              : !p.passed.empty() && p.next.empty() ? "passed " + p.passed.substr(0, 10)
                                                                    : "next: " + p.next;
    const std::string points =
        p.graded == 0 ? "" : fmt::format("{} of {}", points_text(p.points), points_text(p.out_of));
    const int title_width = std::max(width - bar_width - 13 - 28 - 7, 8);
    std::string line = fmt::format("{}  {} {} {} {}", lab.name.substr(0, 2), fitted(lab.title, title_width), bar,
                                   fitted(points, 13), fitted(state, 28));
    line.erase(line.find_last_not_of(' ') + 1);
    if (colours && !p.passed.empty()) line = fmt::format("\033[32m{}\033[0m", line);
    out += line + "\n";
  }
  return out;
}

std::vector<std::string> reset_files(const fs::path& handin, const std::map<std::string, std::string>& skeleton,
                                     const fs::path& backup) {
  if (skeleton.empty())
    throw input_error(
        fmt::format("the original files of {} are not known: is this checkout a git repository? If not, unpack the "
                    "course again elsewhere and copy them from there",
                    (handin.parent_path().filename() / handin.filename()).string()));
  std::vector<std::string> done;
  for (const auto& [name, want] : skeleton) {
    const fs::path file = handin / name;
    if (fs::exists(file) && text_of(file) == want) {
      done.push_back(name + ": unchanged since the start");
      continue;
    }
    if (fs::exists(file)) replace_file(backup / name, text_of(file));
    replace_file(file, want);
    done.push_back(name + ": reset");
  }
  return done;
}

}  // namespace grading
