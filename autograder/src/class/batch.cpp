// Workers write results next to the grade book, by rename; the batch collects these files. So a result exists whole or
// not at all, no worker waits for the book, and on a cluster only this process locks it.
#include "class/batch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <stdexcept>
#include <tuple>

#include "build/intake.hpp"
#include "support/command.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/names.hpp"

namespace grading {
namespace fs = std::filesystem;

namespace {

using clock = std::chrono::steady_clock;

std::string key_text(const grade_book::key& k) {
  return sha256(fmt::format("{}\n{}\n{}\n{}\n{}", k.lab, k.submission, k.digest, k.lab_version, k.round)).substr(0, 32);
}

std::string minutes(double seconds) {
  const int s = static_cast<int>(seconds + 0.5);
  return s < 100 ? fmt::format("{} s", s) : fmt::format("{} min {} s", s / 60, s % 60);
}

/// The remaining jobs, and how many times each was tried.
class queue {
 public:
  queue(const std::vector<batch_job>& jobs, const batch_options& options)
      : options_(options), spool_(spool_of(options.book, options.round)) {
    grade_book book(options.book);
    collect(book, spool_, options.round);
    for (const batch_job& job : jobs) {
      if (book.has(job.key))
        ++summary_.known;
      else
        waiting_.push_back(job);
    }
    total_ = waiting_.size();
  }

  fs::path result_of(const batch_job& job) const { return spool_ / (key_text(job.key) + ".json"); }
  std::deque<batch_job>& waiting() { return waiting_; }
  batch_summary& summary() { return summary_; }

  /// After a worker has ended: moves its result to the book, or its job back to the queue.
  void settle(const batch_job& job, const std::string& how) {
    grade_book book(options_.book);
    collect(book, spool_, options_.round);
    if (book.has(job.key)) {
      ++summary_.graded;
    } else if (++tries_[job.id] < options_.attempts) {
      waiting_.push_back(job);
    } else {
      summary_.failed.push_back(fmt::format("{}: {} ({} times)", job.id, how, options_.attempts));
    }
  }

  void show(std::size_t running) const {
    const double spent = std::chrono::duration<double>(clock::now() - start_).count();
    const auto done = static_cast<double>(summary_.graded);
    const double left = done > 0 ? spent / done * (static_cast<double>(total_) - done) : 0;
    options_.progress(fmt::format("{} of {} graded, {} running, {} failed{}{}", summary_.graded, total_, running,
                                  summary_.failed.size(),
                                  summary_.known ? fmt::format(", {} known", summary_.known) : "",
                                  done > 0 ? ", about " + minutes(left) + " left" : ""));
  }
  double seconds() const { return std::chrono::duration<double>(clock::now() - start_).count(); }

 private:
  const batch_options& options_;
  fs::path spool_;
  std::deque<batch_job> waiting_;
  std::map<std::string, int> tries_;
  batch_summary summary_;
  std::size_t total_ = 0;
  clock::time_point start_ = clock::now();
};

/// Starts a command, with its output in the log. Returns its process.
int started(const std::vector<std::string>& words, const fs::path& log) {
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) throw std::runtime_error(fmt::format("cannot write {}: {}", log.string(), std::strerror(errno)));
  const int process = spawn(words, {{file, STDOUT_FILENO}}, process_group::ours);
  close(file);
  return process;
}

std::string how_it_ended(int status, const fs::path& log) {
  if (WIFSIGNALED(status)) return fmt::format("signal {} killed the grader", WTERMSIG(status));
  std::string text;
  try {
    text = text_of(log);
  } catch (const input_error&) {  // another grader of this class has removed it
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return fmt::format("exit code {}: {}", WEXITSTATUS(status), text.substr(text.rfind('\n') + 1));
}

void run_locally(queue& q, const batch_options& options) {
  std::map<int, batch_job> running;
  const auto log_of = [&](const batch_job& job) { return fs::path(q.result_of(job).string() + ".log"); };
  while (!q.waiting().empty() || !running.empty()) {
    while (!q.waiting().empty() && running.size() < static_cast<std::size_t>(options.jobs)) {
      const batch_job job = q.waiting().front();
      q.waiting().pop_front();
      running.emplace(started(options.worker(job, q.result_of(job)), log_of(job)), job);
    }
    q.show(running.size());
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    const auto found = running.find(ended);
    if (found == running.end()) {
      if (ended < 0 && errno != EINTR) throw std::runtime_error("cannot wait for the workers: they no longer exist");
      continue;
    }
    const batch_job job = found->second;
    running.erase(found);
    q.settle(job, how_it_ended(status, log_of(job)));
    std::error_code ignored;
    fs::remove(log_of(job), ignored);
  }
}

/// Submits a job array: each task grades one submission and writes its result; this process waits and collects.
/// Resubmits jobs that end without a result, for whatever reason.
void run_on_slurm(queue& q, const batch_options& options) {
  const fs::path folder = spool_of(options.book, options.round) / fmt::format("slurm-{}", getpid());
  fs::create_directories(folder);
  for (int round = 0; !q.waiting().empty(); ++round) {
    const std::vector<batch_job> jobs(q.waiting().begin(), q.waiting().end());
    q.waiting().clear();
    std::string tasks = "#!/bin/sh\ncase $SLURM_ARRAY_TASK_ID in\n";
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      tasks += fmt::format("{})", i);
      for (const std::string& word : options.worker(jobs[i], q.result_of(jobs[i]))) tasks += " " + shell_word(word);
      tasks += " ;;\n";
    }
    const fs::path script = folder / fmt::format("array-{}.sh", round);
    replace_file(script, tasks + "esac\n");
    const std::string command =
        fmt::format("sbatch --wait --parsable --array=0-{}%{} --requeue --chdir={} --output={}/%a.log {} {}",
                    jobs.size() - 1, options.jobs, shell_word(folder.string()), shell_word(folder.string()),
                    options.slurm_options, shell_word(script.string()));
    const int waiter = started({"sh", "-c", command}, folder / "sbatch.log");
    int status = 0;
    while (waitpid(waiter, &status, WNOHANG) == 0) {
      const auto done =
          std::count_if(jobs.begin(), jobs.end(), [&](const batch_job& j) { return fs::exists(q.result_of(j)); });
      options.progress(fmt::format("{} of {} graded on the cluster", done, jobs.size()));
      usleep(500'000);
    }
    const std::string said = text_of(folder / "sbatch.log");
    if (said.empty() || said.find_first_of("0123456789") != 0)
      throw std::runtime_error("sbatch rejected the job: " + said +
                               "; test with sbatch --test-only, or use --executor local");
    for (std::size_t i = 0; i < jobs.size(); ++i)
      q.settle(jobs[i], fmt::format("the task wrote no result; its log is {}/{}.log", folder.string(), i));
  }
  if (q.summary().failed.empty()) fs::remove_all(folder);
}

/// Why an entry of a class's folder is not a submission; "" if it is one.
std::string why_skipped(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  if (name.starts_with(".")) return "its name begins with a dot";
  if (name == "__MACOSX") return "metadata that macOS adds to archives";
  if (entry.is_symlink()) return "is a symbolic link; replace it with the submission itself";
  if (entry.is_directory()) {
    const fs::path book = entry.path().parent_path() / entry.path().stem();
    return entry.path().extension() == ".spool" && fs::exists(book) ? "belongs to the grade book" : "";
  }
  return entry.is_regular_file() && stem_of_archive(name) ? "" : "is neither a folder nor an archive";
}

/// Throws if a folder with hand-in files may be a class with stray files instead of one submission.
void expect_no_class(const fs::path& folder, const std::function<bool(const fs::path&)>& has_handin) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(".") && name != "handin" &&
        (entry.is_directory() ? has_handin(entry.path()) : stem_of_archive(name).has_value()))
      throw input_error(
          fmt::format("{} contains hand-in files, so it looks like one submission, but {} inside it could be another. "
                      "If it is a class, remove the files; if it is one submission, name its parent folder",
                      as_text(folder.string()), as_text(name)));
  }
}

}  // namespace

fs::path spool_of(const fs::path& book, const std::string& round) {
  // Lower case only: 'Deadline' would not be the deadline round, and some file systems ignore case.
  if (round.size() > 40 || round.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") != std::string::npos)
    throw input_error(
        fmt::format("--round '{}': a round's name has at most 40 lower-case letters, digits, - and _", as_text(round)));
  return fs::path(book.string() + ".spool") / ("round-" + round);
}

submissions_found submissions_at(const std::vector<fs::path>& paths, const std::vector<std::string>& handin) {
  submissions_found found;
  const auto has_handin = [&](const fs::path& folder) {
    return std::any_of(handin.begin(), handin.end(), [&](const auto& file) {
      return fs::exists(folder / file) || fs::exists(folder / "handin" / file);
    });
  };
  for (const fs::path& given : paths) {
    fs::path path = fs::absolute(given).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();  // "ann/"
    if (!fs::is_directory(path) || has_handin(path)) {
      if (fs::is_directory(path)) expect_no_class(path, has_handin);
      const std::string name = path.filename().string();
      found.jobs.push_back({as_text(stem_of_archive(name).value_or(name)), path, {}});
      continue;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
      const std::string name = entry.path().filename().string();
      const std::string why = why_skipped(entry);
      if (why.empty())
        found.jobs.push_back({as_text(entry.is_directory() ? name : *stem_of_archive(name)), entry.path(), {}});
      else
        found.skipped.push_back(as_text(name) + ": " + why);
    }
  }
  std::sort(found.skipped.begin(), found.skipped.end());
  std::sort(found.jobs.begin(), found.jobs.end(),
            [](const batch_job& a, const batch_job& b) { return std::tie(a.id, a.from) < std::tie(b.id, b.from); });
  for (std::size_t i = 1; i < found.jobs.size(); ++i)
    if (const batch_job& a = found.jobs[i - 1], &b = found.jobs[i]; a.id == b.id)
      throw input_error(fmt::format("'{}' has two submissions, {} and {}; keep one", a.id, as_text(a.from.string()),
                                    as_text(b.from.string())));
  return found;
}

int collect(grade_book& book, const fs::path& spool, const std::string& round) {
  int added = 0;
  if (!fs::exists(spool)) return 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(spool)) {
    if (entry.path().extension() != ".json") continue;
    try {
      added +=
          book.add(result_from_json(text_of(entry.path())), round);  // on a full disk this throws, and nothing is lost
    } catch (const input_error&) {
      continue;  // another grader collected it meanwhile
    } catch (const not_a_result&) {
      fs::rename(entry.path(), entry.path().string() + ".bad");  // kept for inspection; it will be graded again
      continue;
    }
    std::error_code gone;
    fs::remove(entry.path(), gone);
  }
  return added;
}

batch_summary run_batch(const std::vector<batch_job>& jobs, const batch_options& options) {
  fs::create_directories(spool_of(options.book, options.round));
  queue q(jobs, options);
  if (options.slurm)
    run_on_slurm(q, options);
  else
    run_locally(q, options);
  q.summary().seconds = q.seconds();
  return q.summary();
}

}  // namespace grading
