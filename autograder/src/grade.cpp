// Grading one submission from sources to result.
#include "grade.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <random>

#include "box_builder.hpp"
#include "crash_place.hpp"
#include "handout.hpp"
#include "hints.hpp"
#include "process_executor.hpp"
#include "toml_file.hpp"
#include "turn.hpp"

namespace grading {
namespace {

std::string staff_of(const lab_folder& lab) { return fmt::format("lab{}.staff", lab.number); }

std::filesystem::path program_of(const lab_folder& lab, const submission& who, const std::string& backend,
                                 const builder& make) {
  return make.program(fmt::format("lab{}.{}.{}.runner", lab.number, who.id, backend));
}

std::filesystem::path recipe_of(const lab_folder& lab, const std::string& backend, const builder& make) {
  return make.dir() / "recipes" / fmt::format("{}.{}.json", lab.name, backend);
}

/// "" if there is a GPU and a build for it.
std::string cuda_obstacle(const lab_folder& lab, const builder& make) {
  if (!this_machine().contains("gpu")) return "no GPU on this machine";
  if (!std::filesystem::exists(recipe_of(lab, "cuda", make)))
    return "this build was made without CUDA; install nvcc and configure again";
  return {};
}

/// Builds as official grading does, but without its sandbox, so that it refuses the same code with the same messages.
box_builder builder_of(const lab_folder& lab, const std::string& backend, const builder& make) {
  return {recipe_of(lab, backend, make), make.dir() / "official" / "objects", wall::none, true, {}};
}

std::vector<std::string> backends_of(const lab_folder& lab, const builder& make) {
  return cuda_obstacle(lab, make).empty() ? std::vector<std::string>{"sim", "cuda"} : std::vector<std::string>{"sim"};
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

/// The items of `like` that would have the same result for `who`, by id.
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

bool names(const std::string& text, const std::string& word) {
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if ((at == 0 || !in_word(text[at - 1])) && (at + word.size() == text.size() || !in_word(text[at + word.size()])))
      return true;
  return false;
}

std::string fingerprint_of(const lab_folder& lab, const submission& who, const builder& make) try {
  std::string parts = hash_of(text_of("/proc/self/exe"));
  for (const char* key : {"cpu", "cores", "compiler", "gpu", "driver"})  // not its clocks and temperature
    if (const auto found = this_machine().find(key); found != this_machine().end()) parts += found->second + "\n";
  const auto add = [&](const std::filesystem::path& file) {
    parts += std::filesystem::exists(file) ? hash_of(text_of(file)) : "none";
  };
  add(lab.judge() / "rubric.toml");
  add(lab.judge() / "answers.toml");
  add(lab.judge() / "hints.toml");
  add(lab.path.parent_path() / "hints.toml");
  for (const std::string& file : read_rubric(lab).handin) add(who.file(file));
  for (const std::string& backend : backends_of(lab, make)) parts += builder_of(lab, backend, make).fingerprint();
  return hash_of(parts);
} catch (const input_error&) {
  return {};  // the staff's part is not built
}

void build_staff(const lab_folder& lab, builder& make) {
  if (!make.has_target(staff_of(lab)))
    throw input_error(fmt::format("no build target {}; configure again: cmake {}", staff_of(lab), make.dir().string()));
  if (const build_outcome built = make.build(staff_of(lab)); !built.ok) throw std::runtime_error(built.message);
}

std::vector<lab::test_case> all_cases_of(const std::string& lab, std::uint64_t seed) {
  std::vector<lab::test_case> cases = lab::cases_of(lab);
  for (lab::test_case& drawn : lab::drawn_cases_of(lab, seed)) {
    const bool known = std::any_of(cases.begin(), cases.end(), [&](const auto& c) { return c.id == drawn.id; });
    if (!known) cases.push_back(std::move(drawn));
  }
  return cases;
}

rubric read_rubric(const lab_folder& lab, const std::vector<lab::test_case>& cases) {
  return parse_rubric(text_of(lab.judge() / "rubric.toml"), "rubric.toml", cases, lab.path);
}

rubric read_rubric(const lab_folder& lab) { return read_rubric(lab, lab::cases_of(lab.name)); }

result grade(const lab_folder& lab, const submission& who, builder& make, const grade_options& options) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<lab::test_case> cases =
      options.drawn ? all_cases_of(lab.name, options.seed) : lab::cases_of(lab.name);
  const rubric rules = read_rubric(lab, cases);
  if (who.path == lab.handin()) expect_handin_as_listed(lab.path, rules.handin);
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
  on.device = read_modelled_device(lab.path.parent_path().parent_path());
  on.predictions = who.file("predictions.toml");
  on.locked = options.locked;
  const auto handed_in = [&] {
    std::string texts;
    for (const std::string& name : rules.handin)
      if (std::filesystem::exists(who.file(name))) texts += text_of(who.file(name)) + '\0';
    return texts;
  };
  const std::string before = handed_in();
  out.graded_from = fingerprint_of(lab, who, make);
  std::map<std::string, hand_in> sources;
  // Reports name a student's files where they are edited. What others share with the solution is compiled once.
  for (const std::string& name : rules.handin)
    if (!name.ends_with(".toml"))
      sources[name] = {text_of(who.file(name)), who.path == lab.handin() ? lab.handin() : std::filesystem::path{}};
  std::string build_failure;
  const auto started = [&](const std::string& backend, std::uint64_t seed) {
    const std::chrono::seconds limit = backend == "sim" ? options.sim_limit : options.cuda_limit;
    const auto program = program_of(lab, who, backend, make);
    auto made = std::make_unique<subject>(backend, std::make_unique<process_executor>(program, limits{limit}), seed);
    made->use_names(rules.names);
    made->on_crash = [&rules, program, reporter = make.program("crash_reporter"),
                      limit](const std::function<void(executor&)>& call_again) {
      process_executor again(program, limits{limit});
      return place_of_crash(again, program, reporter, rules.handin, call_again);
    };
    return made;
  };
  const auto add = [&](const std::string& backend) {
    const build_outcome built = builder_of(lab, backend, make).build(sources, program_of(lab, who, backend, make));
    if (!built.ok) build_failure += (build_failure.empty() ? "" : "\n") + built.message;
    on.subjects.push_back(started(backend, options.seed));
  };
  on.without_cuda = cuda_obstacle(lab, make);
  {
    options.progress(fmt::format("{} {}: building", lab.number, who.id));
    const turn mine(make.dir(), turn::to::work);
    add("sim");
    if (on.without_cuda.empty()) add("cuda");
  }
  if (handed_in() != before) return grade(lab, who, make, options);  // saved while it was compiled

  on.staff = std::make_unique<process_executor>(make.program("staff_runner"),
                                                limits{options.sim_limit, std::size_t{6} << 30, true});
  std::map<std::string, item_result> known;
  if (options.like && build_failure.empty()) known = taken_over(rules, who, *options.like, *options.like_whose);
  for (const item& i : rules.items) {
    if (!options.items.empty() && !options.items.contains(i.id)) continue;
    options.progress(fmt::format("{} {}: {}", lab.number, who.id, i.id));
    if (const auto found = known.find(i.id); found != known.end()) {
      out.items.push_back(found->second);
    } else {
      // A GPU's counters see everything that runs on it.
      const bool alone =
          i.kind == item_kind::throughput || (on.on("cuda") != nullptr && i.kind != item_kind::correctness);
      const turn mine(make.dir(), alone ? turn::to::measure : turn::to::work);
      out.items.push_back(build_failure.empty() ? assess(i, on) : not_built(i, build_failure));
    }
  }
  bool fresh = false, all_right = build_failure.empty();
  for (const item_result& i : out.items)
    if (i.kind == name_of(item_kind::correctness)) {
      fresh = fresh || !known.contains(i.id);
      all_right = all_right && i.verdict == verdict::pass;
    }
  if (options.second_seed && options.items.empty() && fresh && all_right) {
    options.progress(fmt::format("{} {}: with a second seed", lab.number, who.id));
    const turn mine(make.dir(), turn::to::work);
    const std::uint64_t seed = std::random_device{}() % 999'999 + 2;
    const std::vector<lab::test_case> other_cases = all_cases_of(lab.name, seed);
    const rubric other = read_rubric(lab, other_cases);
    bench again;
    again.rules = &other;
    for (const auto& s : on.subjects) again.subjects.push_back(started(s->backend(), seed));
    for (std::size_t k = 0; k < other.items.size(); ++k) {
      if (other.items[k].kind != item_kind::correctness) continue;
      item_result got = assess(other.items[k], again);
      if (got.verdict == verdict::pass) continue;
      got.message = fmt::format(
          "correct for the usual sizes and inputs, but not for others: {} (reproduce: ./course lab {} --seed {})",
          got.message, lab.number, seed);
      out.items[k] = std::move(got);
    }
    out.notes.push_back(fmt::format("correctness was also checked with a second seed, {}", seed));
  }
  // Files are named from where the course lies, not from the root of this machine.
  const std::string here = lab.path.parent_path().parent_path().string() + "/";
  for (item_result& i : out.items)
    for (std::size_t at = 0; (at = i.message.find(here, at)) != std::string::npos;) i.message.erase(at, here.size());
  if (!known.empty())
    out.notes.push_back(fmt::format("{} of {} items reuse the result of {}: their files are the same", known.size(),
                                    rules.items.size(), options.like_whose->id));
  options.progress("");
  if (!build_failure.empty()) out.outcome = "build_failed";
  if (!build_failure.empty() || handed_in() != before) out.graded_from.clear();
  if (!on.without_cuda.empty()) out.notes.push_back(on.without_cuda);
  add_hints(out.items, read_hints(lab.path));
  out.profiles = profiles_of(on, cases);
  for (const auto& s : on.subjects) out.printed += s->output();
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace grading
