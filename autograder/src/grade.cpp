// Grading one submission from sources to result.
#include "grade.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "hints.hpp"
#include "process_executor.hpp"
#include "toml_file.hpp"
#include "turn.hpp"

namespace grading {
namespace {

std::string target_of(const lab_folder& lab, const submission& who, const std::string& backend) {
  return fmt::format("lab{}.{}.{}.runner", lab.number, who.id, backend);
}

/// "" where there is a GPU and a build for it.
std::string cuda_obstacle(const std::string& target, builder& make) {
  if (!this_machine().contains("gpu")) return "no GPU on this machine";
  if (!make.has_target(target)) return "this build has no CUDA; install nvcc and configure again";
  return {};
}

/// What the counters saw, one entry a case, as far as any item asked.
std::vector<profiled_case> profiles_of(const bench& on, const std::vector<lab::test_case>& cases) {
  std::vector<profiled_case> result;
  subject* sim = on.on("sim");
  if (!sim) return result;
  for (const lab::test_case& c : cases)
    if (const trial* t = sim->profiled(c); t && t->ok()) result.push_back({c.id, "sim", c.work, t->response.launches});
  return result;
}

bool names(const std::string& text, const std::string& word) {
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if ((at == 0 || !in_word(text[at - 1])) && (at + word.size() == text.size() || !in_word(text[at + word.size()])))
      return true;
  return false;
}

/// The items of `like` that come to the same for `who`, by id.
std::map<std::string, item_result> taken_over(const rubric& rules, const submission& who, const result& like,
                                              const submission& like_whose) {
  std::string same, different;
  bool other_predictions = false;
  for (const std::string& name : rules.handin) {
    const std::string mine = text_of(who.file(name)), theirs = text_of(like_whose.file(name));
    if (name == "predictions.toml")
      other_predictions = mine != theirs;
    else
      (mine == theirs ? same : different).append(mine).append("\n").append(theirs).append("\n");
  }
  std::map<std::string, item_result> result;
  for (std::size_t k = 0; k < rules.items.size() && k < like.items.size(); ++k) {
    const item& i = rules.items[k];
    std::vector<const lab::test_case*> about = i.cases;
    for (const prediction& p : i.predict) about.push_back(p.about);
    const bool untouched = std::all_of(about.begin(), about.end(), [&](const lab::test_case* c) {
      return c && names(same, c->entry) && !names(different, c->entry);
    });
    if (untouched && !(other_predictions && i.kind == item_kind::predictions) && like.items[k].id == i.id &&
        like.items[k].verdict != verdict::inconclusive)
      result.emplace(i.id, like.items[k]);
  }
  return result;
}

}  // namespace

std::vector<std::string> runners_of(const lab_folder& lab, const std::vector<submission>& all, builder& make) {
  std::vector<std::string> targets;
  for (const submission& who : all)
    for (const char* backend : {"sim", "cuda"}) {
      const std::string target = target_of(lab, who, backend);
      if (backend == std::string("cuda") ? cuda_obstacle(target, make).empty() : make.has_target(target))
        targets.push_back(target);
    }
  return targets;
}

std::string fingerprint_of(const lab_folder& lab, const submission& who, builder& make) {
  std::string parts = hash_of(text_of("/proc/self/exe"));
  for (const char* key : {"cpu", "cores", "compiler", "gpu", "driver"})  // not its clocks and temperature
    if (const auto found = this_machine().find(key); found != this_machine().end()) parts += found->second + "\n";
  const auto add = [&](const std::filesystem::path& file) {
    parts += std::filesystem::exists(file) ? hash_of(text_of(file)) : "none";
  };
  add(lab.path / "rubric.toml");
  add(lab.path / "hints.toml");
  for (const std::string& file : read_rubric(lab).handin) add(who.file(file));
  for (const std::string& target : runners_of(lab, {who}, make)) {
    if (!std::filesystem::exists(make.program(target))) return {};
    add(make.program(target));
  }
  return hash_of(parts);
}

rubric read_rubric(const lab_folder& lab) {
  return parse_rubric(text_of(lab.path / "rubric.toml"), "rubric.toml", lab::cases_of(lab.name), lab.path);
}

result grade(const lab_folder& lab, const submission& who, builder& make, const grade_options& options) {
  const auto start = std::chrono::steady_clock::now();
  const rubric rules = read_rubric(lab);
  result out;
  out.lab = lab.name;
  out.lab_title = rules.title;
  out.lab_version = rules.version;
  out.submission = who.id;
  out.path = who.path.string();
  out.machine = this_machine();
  out.date = now_rfc3339();
  out.outcome = "graded";

  bench on;
  on.rules = &rules;
  on.predictions = who.file("predictions.toml");
  const auto handed_in = [&] {
    std::map<std::filesystem::path, std::string> texts;
    for (const std::string& name : rules.handin)
      if (std::filesystem::exists(who.file(name))) texts[who.file(name)] = text_of(who.file(name));
    return texts;
  };
  const auto before = handed_in();
  std::string build_failure;
  const auto add = [&](const std::string& backend, std::chrono::seconds limit) {
    const std::string target = target_of(lab, who, backend);
    const build_outcome built = make.build(target);
    if (!built.ok) build_failure += (build_failure.empty() ? "" : "\n") + built.message;
    on.subjects.push_back(std::make_unique<subject>(
        backend, std::make_unique<process_executor>(make.program(target), limits{limit}), options.seed));
  };
  if (!make.has_target(target_of(lab, who, "sim")))
    throw input_error(
        fmt::format("no build target {}; configure again: cmake {}", target_of(lab, who, "sim"), make.dir().string()));
  add("sim", options.sim_limit);
  on.without_cuda = cuda_obstacle(target_of(lab, who, "cuda"), make);
  if (on.without_cuda.empty()) add("cuda", options.cuda_limit);
  bool saved_again = false;
  // A file that was saved while it was compiled is older than its object, which would never be made again.
  for (const auto& [file, text] : handed_in())
    if (const auto then = before.find(file); then == before.end() || then->second != text) {
      std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now());
      saved_again = true;
    }
  if (saved_again) return grade(lab, who, make, options);

  on.staff = std::make_unique<process_executor>(make.program("staff_runner"),
                                                limits{options.sim_limit, std::size_t{6} << 30, true});
  std::map<std::string, item_result> known;
  if (options.like && build_failure.empty()) known = taken_over(rules, who, *options.like, *options.like_whose);
  for (const item& i : rules.items) {
    options.progress(fmt::format("{} {}: {}", lab.number, who.id, i.id));
    if (const auto found = known.find(i.id); found != known.end()) {
      out.items.push_back(found->second);
    } else {
      // Counters of a GPU see whatever runs on it.
      const bool alone =
          i.kind == item_kind::throughput || (on.on("cuda") != nullptr && i.kind != item_kind::correctness);
      const turn mine(make.dir(), alone ? turn::to::measure : turn::to::work);
      out.items.push_back(build_failure.empty() ? assess(i, on) : not_built(i, build_failure));
    }
  }
  // Files are named from where the course lies, not from the root of this machine.
  const std::string here = lab.path.parent_path().parent_path().string() + "/";
  for (item_result& i : out.items)
    for (std::size_t at = 0; (at = i.message.find(here, at)) != std::string::npos;) i.message.erase(at, here.size());
  if (!known.empty())
    out.notes.push_back(fmt::format("{} of {} items are {}'s: their files are the same", known.size(),
                                    rules.items.size(), options.like_whose->id));
  options.progress("");
  if (build_failure.empty())
    out.graded_from = fingerprint_of(lab, who, make);
  else
    out.outcome = "build_failed";
  if (!on.without_cuda.empty()) out.notes.push_back(on.without_cuda);
  add_hints(out.items, read_hints(lab.path / "hints.toml"));
  out.profiles = profiles_of(on, lab::cases_of(lab.name));
  for (const auto& s : on.subjects) out.printed += s->output();
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace grading
