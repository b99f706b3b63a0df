// The loop: checks the hand-in files five times a second, grades each save, prints what changed; on a terminal, reacts
// to keys.
#include "student/watch.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fstream>
#include <utility>
#include <vector>

#include "course/hints.hpp"
#include "report/report.hpp"
#include "report/terminal.hpp"
#include "student/attempts.hpp"
#include "student/progress.hpp"
#include "support/command.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

namespace grading {
namespace {

namespace fs = std::filesystem;
using texts = std::map<std::string, std::string>;  // contents of the hand-in files, by name

volatile std::sig_atomic_t told_to_stop = 0;

/// Reads single keys without echo; restores the terminal at the end of its lifetime.
class keys {
 public:
  keys() : terminal_(isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1) {
    struct sigaction action {};
    action.sa_handler = [](int) { told_to_stop = 1; };
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    if (!terminal_) return;
    tcgetattr(STDIN_FILENO, &before_);
    set(true);
  }
  ~keys() { set(false); }
  keys(const keys&) = delete;  // there is only one terminal
  keys& operator=(const keys&) = delete;

  bool are_there() const { return terminal_; }
  void set(bool single) {
    if (!terminal_) return;
    termios mode = before_;
    if (single) mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &mode);
  }
  /// The key that was pressed within that time; 0 if none was.
  char within(std::chrono::milliseconds time) {
    pollfd in{STDIN_FILENO, POLLIN, 0};
    if (poll(&in, terminal_ ? 1 : 0, static_cast<int>(time.count())) <= 0) return 0;
    char key = 0;
    if (read(STDIN_FILENO, &key, 1) == 1) return key;
    terminal_ = false;  // the terminal was closed
    told_to_stop = 1;
    return 0;
  }

 private:
  bool terminal_;
  termios before_{};
};

struct saved_again {};  // aborts a grading that is out of date

class watcher {
 public:
  watcher(const lab_folder& lab, builder& make, watch_settings s)
      : lab_(lab), make_(make), s_(std::move(s)), rules_(read_rubric(lab)), style_(style_of_stdout()) {}

  bool run() {
    graded_texts_ = read();
    if (s_.first) {
      last_ = s_.first;
      last_texts_ = graded_texts_;
      fmt::print("{}\n{}", total_line(*last_), wrapped(after_the_lock(*last_, lab_.path), 0, style_.width));
      show_next();
    } else {
      grade_now("");
    }
    while (told_to_stop == 0) {
      if (const texts now = read(); (interrupted_ || now != graded_texts_) && settled(now))
        grade_now(changed_names(now));
      const char key = keys_.within(std::chrono::milliseconds(200));
      if (key == 'q') break;
      if (key != 0) press(key);
    }
    return last_ && passed(*last_);
  }

 private:
  texts read() const {
    texts now;
    for (const std::string& name : rules_.handin) {
      std::error_code gone;  // editors replace a file in two steps
      if (const fs::path file = student_of(lab_).file(name); fs::exists(file, gone)) now[name] = text_of(file);
    }
    return now;
  }

  /// Whether writing has stopped and every file is present and not empty.
  bool settled(const texts& now) const {
    if (now.size() != rules_.handin.size()) return false;
    usleep(50'000);
    return read() == now;
  }

  std::string changed_names(const texts& now) const {
    std::string names;
    for (const auto& [name, text] : now)
      if (const auto before = graded_texts_.find(name); before == graded_texts_.end() || before->second != text)
        add_to_list(names, ", ", name);
    return names;
  }

  /// The files of last_ as a submission: items that no later change affects are reused from it.
  submission remembered() const {
    submission then{"before", s_.store.folder.parent_path() / "watch" / lab_.name};
    for (const auto& [name, text] : last_texts_) replace_file(then.path / name, text);
    return then;
  }

  void grade_now(const std::string& changed) {
    const auto start = std::chrono::steady_clock::now();
    local_options options = s_.options;
    options.locked = locked_for(s_.progress_file, lab_, student_of(lab_));
    submission then;
    if (last_ && last_->outcome == outcome::graded) {
      then = remembered();
      options.like = &*last_;
      options.like_whose = &then;
    }
    const texts now = read();
    const auto usual = options.progress;
    options.progress = [&](const std::string& what) {
      if (told_to_stop != 0 || read() != now) throw saved_again{};
      usual(what);
    };
    bool headed = false;
    const auto show = [&](const std::string& rows) {
      if (rows.empty()) return;
      usual("");
      fmt::print("{}{}", std::exchange(headed, true) ? "" : heading_of(changed), rows);
      std::fflush(stdout);
    };
    if (last_)
      options.on_item = [&](const item_result& item) {
        if (item.verdict != verdict::build_error) show(changed_item(*last_, item, style_));
      };
    options.on_build_error = [&](const std::string& message) {
      show(fmt::format("  {}\n{}", name_of(verdict::build_error), wrapped(message, 4, style_.width)));
    };
    result first;
    options.on_result = [&](const result& shown) { first = shown; };
    result r;
    try {
      build_staff(lab_, make_);
      if (staff_files() != staff_files_) start_again();
      r = grade_locally(lab_, student_of(lab_), make_, options);
    } catch (const saved_again&) {
      usual("");
      interrupted_ = true;  // the loop grades the current files, even if they were graded before
      return;
    }
    interrupted_ = false;
    graded_texts_ = now;
    const bool first_pass = enter(r);
    if (r.outcome == outcome::build_failed && last_) {
      // The next grading is still compared with the last graded result, and reuses its items.
      item_result all = *next_item(r);
      all.id = "no item can be graded until it builds";
      show(one_item(all, style_));
      show_report(r, options);
      return;
    }
    for (std::size_t k = 0; last_ && k < r.items.size(); ++k)  // the second seed's changes, and what did not build
      show(changed_item(r.items[k].verdict == verdict::build_error ? *last_ : first, r.items[k], style_));
    if (!headed) show(last_ ? "  nothing changed\n" : "\n");
    fmt::print("{}, graded in {:.1f} s\n", total_line(r),
               std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (!last_ || after_the_lock(*last_, lab_.path).empty())
      fmt::print("{}", wrapped(after_the_lock(r, lab_.path), 0, style_.width));
    focus_ = last_ ? first_changed(*last_, r) : "";
    last_ = std::move(r);
    last_texts_ = now;
    show_next();
    show_report(*last_, options);
    if (first_pass) open_worklog();
  }

  /// The student's current item: the first that changed and still loses points; "" if there is none.
  static std::string first_changed(const result& before, const result& after) {
    for (std::size_t k = 0; k < after.items.size() && k < before.items.size(); ++k) {
      const item_result &was = before.items[k], &now = after.items[k];
      const bool changed = was.verdict != now.verdict || was.points != now.points || was.message != now.message;
      if (changed && is_open(now)) return now.id;
    }
    return {};
  }

  /// When this program and the lab's cases, which it has loaded, were last built.
  std::array<fs::file_time_type, 2> staff_files() const {
    return {fs::last_write_time(make_.program("grader")), fs::last_write_time(lab::module_of(lab_.name))};
  }

  /// Runs the same command again in this process, with the new program and cases. Grades every item, because something
  /// that affects results has changed.
  void start_again() {
    fmt::print("the lab or the judge has changed: starting again\n");
    std::fflush(stdout);
    keys_.set(false);
    std::ifstream file("/proc/self/cmdline");
    std::vector<std::string> words;
    for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(make_.program("grader").c_str(), arguments.data());
    throw std::runtime_error("the judge was rebuilt but does not start: run ./course watch again");
  }

  static std::string heading_of(const std::string& changed) {
    const std::time_t clock = std::time(nullptr);
    char time[16];
    std::strftime(time, sizeof time, "%H:%M:%S", std::localtime(&clock));
    return fmt::format("\n{}  {}\n", time, changed.empty() ? "" : changed + " saved");
  }

  /// Whether the lab is passed for the first time.
  bool enter(const result& r) {
    const bool first_pass = enter_grading(s_.progress_file, s_.attempts_file, r);
    s_.store.merge({r});
    return first_pass;
  }

  /// Draws the warps of the graded files and writes the report, while the student reads the verdicts.
  void show_report(const result& r, const local_options& options) {
    std::fflush(stdout);
    const fs::path folder = s_.store.folder.parent_path();
    try {
      draw_for_report(r, lab_, student_of(lab_), make_, options, folder);
    } catch (const saved_again&) {
      s_.options.progress("");  // the loop notices the newer files
    }
    try {
      write_report(s_.store, s_.source, folder);
    } catch (const std::exception& error) {  // the result remains valid
      fmt::print("could not write the report page: {}\n", error.what());
    }
  }

  /// The item on which the keys act: the chosen one, or the first one to work on.
  const item_result* item() const {
    for (const item_result& i : last_->items)
      if (i.id == focus_) return &i;
    return next_item(*last_);
  }

  void show_next() {
    const item_result* i = item();
    if (!i) {
      fmt::print("lab {} is passed: no item lost points\n", lab_.number);
    } else {
      fmt::print("\nnext: {}", one_item(*i, style_));
    }
    if (keys_.are_there())
      fmt::print("[h] hint  [n] next item  [a] all items  [w] worklog  [g] grade again  [q] quit\n");
    std::fflush(stdout);
  }

  /// Moves to the next item that lost points, then starts over.
  void move_on() {
    const item_result* now = item();
    if (!now) return;
    const std::size_t count = last_->items.size();
    const auto at = static_cast<std::size_t>(now - last_->items.data());
    for (std::size_t k = 1; k <= count; ++k) {
      const item_result& i = last_->items[(at + k) % count];
      if (is_open(i)) {
        focus_ = i.id;
        return;
      }
    }
  }

  void open_worklog() {
    const fs::path file = s_.source / "solutions" / lab_.name / "WORKLOG.md";
    if (!fs::exists(file)) {
      fmt::print(
          "the worklog tells how the reference solution was found; this checkout has none, so ask your instructor\n");
    } else if (!last_ || !passed(*last_)) {
      fmt::print("the worklog opens once you have passed the lab\n");
    } else {
      fmt::print("how the reference solution was found: {} (press q to close it; nothing is graded until then)\n",
                 fs::relative(file, s_.source).string());
      std::fflush(stdout);
      if (!keys_.are_there()) return;
      keys_.set(false);
      run_command("${PAGER:-less} " + shell_word(file.string()));
      keys_.set(true);
    }
    std::fflush(stdout);
  }

  void press(char key) {
    switch (key) {
      case 'h':
        if (const item_result* i = item()) {
          progress all = read_progress(s_.progress_file);
          fmt::print("{}", wrapped(next_hint(all[lab_.name], *i), 0, style_.width));
          write_progress(s_.progress_file, all);
        }
        break;
      case 'n':
        move_on();
        show_next();
        break;
      case 'a': fmt::print("\n{}", laid_out(*last_, style_)); break;
      case 'w': open_worklog(); break;
      case 'g':
        last_.reset();  // grade everything again, reuse nothing
        grade_now("");
        break;
      default: break;
    }
    std::fflush(stdout);
  }

  lab_folder lab_;
  builder& make_;
  watch_settings s_;
  rubric rules_;
  terminal_style style_;
  const std::array<fs::file_time_type, 2> staff_files_ = staff_files();
  keys keys_;
  texts graded_texts_;  ///< whether or not they could be built
  bool interrupted_ = false;
  std::optional<result> last_;
  texts last_texts_;
  std::string focus_;
};

}  // namespace

void draw_for_report(const result& r, const lab_folder& lab, const submission& who, builder& make,
                     const local_options& options, const fs::path& report_folder) try {
  if (who.id != "student" || r.outcome == outcome::build_failed) return;
  draw_warps(lab, who, make, options, report_folder / warp_view_of(lab.name), &r);
} catch (const std::exception& error) {
  fmt::print("could not draw the warp view: {}\n", error.what());
}

bool watch(const lab_folder& lab, builder& make, watch_settings s) {
  if (!fs::exists(lab.judge() / "rubric.toml")) throw input_error("no lab in " + lab.path.string());
  return watcher(lab, make, std::move(s)).run();
}

}  // namespace grading
