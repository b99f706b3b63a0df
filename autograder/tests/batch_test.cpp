// The grade book and the batch under kills, full disks, damage and concurrent use.
#include "class/batch.hpp"
#include "support/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>
#include <set>

namespace {

using namespace grading;
namespace fs = std::filesystem;

result graded(const std::string& submission, double points, const std::string& taken = "t") {
  result r;
  r.lab = "03_coalescing";
  r.lab_version = "v";
  r.submission = submission;
  r.digest = taken;
  r.outcome = outcome::graded;
  r.official = true;
  item_result item;
  item.id = item.title = "x";
  item.verdict = verdict::pass;
  item.points = points;
  item.max_points = 100;
  r.items.push_back(item);
  return r;
}

batch_job job(const std::string& id) { return {id, "/nowhere", {"03_coalescing", id, "t", "v", ""}}; }

struct Book : testing::Test {
  fs::path folder = fs::temp_directory_path() / ("book_" + std::to_string(getpid()));
  fs::path file = folder / "grades.sqlite";
  void SetUp() override {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  /// A worker that takes a few milliseconds and writes a result as a grader does.
  batch_options quick(int jobs) {
    replace_file(folder / "worker.sh",
                 "sleep 0.00$(($$ % 10))\n"
                 "sed \"s/WHO/$1/\" \"$3\" > \"$2.$$\" && mv \"$2.$$\" \"$2\"\n");
    replace_file(folder / "answer.json", to_json(graded("WHO", 50)));
    batch_options options;
    options.book = file;
    options.jobs = jobs;
    options.worker = [this](const batch_job& j, const fs::path& result) {
      return std::vector<std::string>{"/bin/sh", (folder / "worker.sh").string(), j.id, result.string(),
                                      (folder / "answer.json").string()};
    };
    return options;
  }
  std::vector<std::string> all_results() const {
    std::vector<std::string> ids;
    for (const result& r : grade_book(file).history()) ids.push_back(r.submission);
    std::sort(ids.begin(), ids.end());
    return ids;
  }
};

TEST_F(Book, KeepsEachResultOnceAndForEver) {
  grade_book book(file);
  EXPECT_TRUE(book.add(graded("ann", 50), ""));
  EXPECT_FALSE(book.add(graded("ann", 60), "")) << "the same files were graded already";
  EXPECT_TRUE(book.add(graded("ann", 40, "other files"), ""));
  EXPECT_TRUE(book.add(graded("bob", 10), ""));
  EXPECT_EQ(book.history().size(), 3u);
  EXPECT_NE(system(("sqlite3 " + file.string() + " 'update results set score = 100' 2>/dev/null").c_str()), 0);
  EXPECT_EQ(grade_book(file).history().size(), 3u);
}

TEST_F(Book, TheBestCountsUntilTheDeadlineRoundDecides) {
  grade_book book(file);
  book.add(graded("ann", 50, "1"), "");
  book.add(graded("ann", 80, "2"), "");
  book.add(graded("ann", 70, "3"), "");
  ASSERT_EQ(book.that_count().size(), 1u);
  EXPECT_EQ(book.that_count()[0].score(), 80);
  EXPECT_TRUE(book.add(graded("ann", 78, "2"), "deadline"));
  EXPECT_EQ(book.that_count()[0].score(), 78);
}

TEST_F(Book, WhatWasAssessedInFullCountsBeforeWhatWasNot) {
  grade_book book(file);
  result partly = graded("ann", 82, "1");
  partly.items.front().max_points = 85;
  book.add(partly, "");
  book.add(graded("ann", 80, "2"), "");
  ASSERT_EQ(book.that_count().size(), 1u);
  EXPECT_EQ(book.that_count()[0].score(), 80);
}

TEST_F(Book, AnInfraErrorIsNotedAndDecidesNothing) {
  grade_book book(file);
  result r = graded("ann", 0);
  r.outcome = outcome::infra_error;
  const grade_book::key key{r.lab, r.submission, r.digest, r.lab_version, ""};
  book.add(r, "");
  book.add(r, "");
  EXPECT_FALSE(book.has(key));
  EXPECT_EQ(book.history().size(), 2u);
  ASSERT_EQ(book.that_count().size(), 1u);
  EXPECT_EQ(book.that_count()[0].outcome, outcome::infra_error)
      << "exports and reports must know that a student is missing";
  book.add(graded("ann", 30), "");
  EXPECT_TRUE(book.has(key));
  ASSERT_EQ(book.that_count().size(), 1u);
  EXPECT_EQ(book.that_count()[0].outcome, outcome::graded);
}

TEST_F(Book, SaysThatItIsDamaged) {
  {
    grade_book book(file);
    for (int i = 0; i < 50; ++i) book.add(graded("s" + std::to_string(i), 1), "");
  }
  {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(5000);
    out << std::string(20'000, 'x');
  }
  try {
    grade_book book(file);
    FAIL() << "a damaged book was opened";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("is damaged"), std::string::npos) << error.what();
  }
  std::ofstream(file) << "this is no database at all, but long enough to be taken for one";
  EXPECT_THROW(grade_book{file}, std::runtime_error);
}

TEST_F(Book, AFullDiskLosesNothing) {
  {
    grade_book book(file);
    book.add(graded("before", 1), "");
  }
  const pid_t child = fork();
  if (child == 0) {  // limits this process to files only slightly larger than the book
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit most{fs::file_size(file) + 4096, fs::file_size(file) + 4096};
    setrlimit(RLIMIT_FSIZE, &most);
    int code = 1;
    try {
      grade_book book(file);
      for (int i = 0; i < 100; ++i) book.add(graded("during" + std::to_string(i), 1), "");
    } catch (const std::runtime_error& error) {
      code = std::string(error.what()).find("is the disk full?") != std::string::npos ? 42 : 2;
    }
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 42);
  grade_book book(file);
  EXPECT_FALSE(book.history().empty());
  EXPECT_EQ(book.history()[0].submission, "before");
  EXPECT_TRUE(book.add(graded("after", 1), ""));
}

TEST_F(Book, KillsAtAnyMomentLoseAndDoubleNothing) {
  std::vector<batch_job> jobs;
  for (int i = 0; i < 1500; ++i) jobs.push_back(job(fmt::format("s{:04}", i)));
  std::mt19937 random(7);
  int killed = 0, finished = 0;
  std::size_t before = 0;
  while (killed < 200 && finished < 3) {
    const pid_t batch = fork();
    if (batch == 0) {
      setpgid(0, 0);
      run_batch(jobs, quick(2));
      _exit(0);
    }
    setpgid(batch, batch);
    usleep(5'000 + random() % 30'000);
    // Kills the batch alone, which leaves its workers running, or all processes.
    if (waitpid(batch, nullptr, WNOHANG) == batch) {
      ++finished;
      continue;
    }
    kill(killed % 3 ? batch : -batch, SIGKILL);
    waitpid(batch, nullptr, 0);
    ++killed;
    const auto now = all_results();
    EXPECT_GE(now.size(), before);
    before = now.size();
  }
  const batch_summary last = run_batch(jobs, quick(2));
  EXPECT_TRUE(last.failed.empty());
  const auto ids = all_results();
  EXPECT_EQ(ids.size(), jobs.size());
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), jobs.size());
  EXPECT_EQ(killed, 200);
}

TEST_F(Book, KilledWorkersAreStartedAgain) {
  batch_options options = quick(3);
  replace_file(folder / "worker.sh",
               "if [ ! -e \"$2.once\" ]; then touch \"$2.once\"; kill -9 $$; fi\n"
               "sed \"s/WHO/$1/\" \"$3\" > \"$2.$$\" && mv \"$2.$$\" \"$2\"\n");
  EXPECT_EQ(run_batch({job("a"), job("b"), job("c")}, options).graded, 3);
  replace_file(folder / "worker.sh", "echo no disk; exit 2\n");
  const batch_summary bad = run_batch({job("d")}, options);
  EXPECT_EQ(bad.failed, std::vector<std::string>{"d: exit code 2: no disk (3 times)"});
}

TEST_F(Book, TwoGradersShareABook) {
  std::vector<batch_job> jobs;
  for (int i = 0; i < 60; ++i) jobs.push_back(job(fmt::format("s{:03}", i)));
  std::vector<pid_t> graders;
  for (int g = 0; g < 2; ++g) {
    graders.push_back(fork());
    if (graders.back() == 0) {
      int code = 1;
      try {
        code = run_batch(jobs, quick(2)).failed.empty() ? 0 : 2;
      } catch (const std::exception& error) {
        fmt::print("{}\n", error.what());
      }
      std::fflush(stdout);
      _exit(code);
    }
  }
  for (const pid_t g : graders) {
    int status = 0;
    waitpid(g, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  EXPECT_EQ(all_results().size(), jobs.size());
}

struct Class : Book {
  fs::path of = folder / "class";
  submissions_found found() const { return submissions_at({of}, {"a.cpp"}); }
  std::string error(const std::vector<fs::path>& paths) const {
    try {
      submissions_at(paths, {"a.cpp"});
    } catch (const input_error& why) {
      return why.what();
    }
    return "";
  }
  static std::vector<std::string> ids(const submissions_found& all) {
    std::vector<std::string> names;
    for (const batch_job& j : all.jobs) names.push_back(j.id);
    return names;
  }
};

TEST_F(Class, IsItsFoldersAndArchives) {
  for (const char* name : {"ann/a.cpp", "bob.zip", "cat.tar.gz", "dan.TGZ", "eve.rar", "f.lee/a.cpp", "\xE9/a.cpp"})
    replace_file(of / name, "x");
  fs::create_directory(of / "gus");  // handed in nothing
  EXPECT_EQ(ids(found()), (std::vector<std::string>{"\\xE9", "ann", "bob", "cat", "dan", "eve", "f.lee", "gus"}));
  EXPECT_TRUE(found().skipped.empty());
}

TEST_F(Class, NamesWhatItSkips) {
  for (const char* name : {"ann/a.cpp", "README.md", "roster.csv", ".git/config", ".DS_Store", "__MACOSX/x",
                           "grades.sqlite", "grades.sqlite.spool/round-/x.json"})
    replace_file(of / name, "x");
  fs::create_directory_symlink(of / "ann", of / "zoe");
  EXPECT_EQ(ids(found()), std::vector<std::string>{"ann"});
  EXPECT_EQ(found().skipped,
            (std::vector<std::string>{
                ".DS_Store: its name begins with a dot", ".git: its name begins with a dot",
                "README.md: is neither a folder nor an archive", "__MACOSX: metadata that macOS adds to archives",
                "grades.sqlite.spool: belongs to the grade book", "grades.sqlite: is neither a folder nor an archive",
                "roster.csv: is neither a folder nor an archive",
                "zoe: is a symbolic link; replace it with the submission itself"}));
}

TEST_F(Class, GivesOneIdToOneSubmission) {
  replace_file(of / "ann" / "a.cpp", "x");
  replace_file(of / "bob.zip", "x");
  // The name is the same however the path is written.
  for (const fs::path& path : {of / "ann", of / "ann/", of / "ann/.", of / "../class/ann"})
    EXPECT_EQ(ids(submissions_at({path}, {"a.cpp"})), std::vector<std::string>{"ann"}) << path;
  EXPECT_EQ(ids(submissions_at({of / "bob.zip"}, {"a.cpp"})), std::vector<std::string>{"bob"});
  replace_file(of / "ann.zip", "x");
  const std::string both = fmt::format("'ann' has two submissions, {0}/ann and {0}/ann.zip; keep one", of.string());
  EXPECT_EQ(error({of}), both);
  EXPECT_EQ(error({of / "ann", of / "ann.zip"}), both);
  fs::remove(of / "ann.zip");
  replace_file(folder / "late" / "ann" / "a.cpp", "x");
  EXPECT_EQ(error({of, folder / "late"}),
            fmt::format("'ann' has two submissions, {0}/class/ann and {0}/late/ann; keep one", folder.string()));
}

TEST_F(Class, TakesTheFolderThatStudentsEdit) {
  replace_file(of / "ann" / "handin" / "a.cpp", "x");
  replace_file(of / "bob" / "a.cpp", "x");
  EXPECT_EQ(ids(found()), (std::vector<std::string>{"ann", "bob"}));
  EXPECT_EQ(ids(submissions_at({of / "ann"}, {"a.cpp"})), std::vector<std::string>{"ann"});
}

TEST_F(Class, IsNotTakenForOneSubmission) {
  replace_file(of / "ann" / "a.cpp", "x");
  replace_file(of / "a.cpp", "a stray file");
  EXPECT_NE(
      error({of}).find("contains hand-in files, so it looks like one submission, but ann inside it could be another"),
      std::string::npos)
      << error({of});
}

TEST(Rounds, CannotLeaveTheSpool) {
  EXPECT_EQ(spool_of("g.sqlite", "deadline-2"), "g.sqlite.spool/round-deadline-2");
  EXPECT_EQ(spool_of("g.sqlite", ""), "g.sqlite.spool/round-");
  for (const char* round : {"../../x", "..", "a/b", "Deadline", "a b", "\n", "\xE9"}) {
    try {
      spool_of("g.sqlite", round);
      ADD_FAILURE() << round;
    } catch (const input_error& error) {
      EXPECT_NE(std::string(error.what()).find("at most 40 lower-case letters, digits, - and _"), std::string::npos);
    }
  }
}

}  // namespace
