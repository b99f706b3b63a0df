// Files that outlive a version of the course: the course reads an example of each from every version, in formats/
// (results.json with fewer profiles and line breaks). It refuses a file in a newer format, says what to do, and leaves
// the file unchanged.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <regex>

#include "class/class_report.hpp"
#include "class/store.hpp"
#include "student/attempts.hpp"
#include "student/progress.hpp"
#include "support/command.hpp"
#include "support/files.hpp"

namespace {

using namespace grading;
namespace fs = std::filesystem;

std::vector<fs::path> versions() {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(FORMATS)) found.push_back(entry.path());
  return found;
}

struct Formats : testing::Test {
  temporary_folder place{"formats"};
  const fs::path& folder = place.path();

  /// `read` must refuse the file because it is newer, and leave it unchanged.
  template <class Read>
  void refused_as_newer(const fs::path& file, Read read) {
    const std::string before = text_of(file);
    try {
      read();
      ADD_FAILURE() << file << " was read";
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what())
                    .find(": written by a newer version of the course: its format is 2, and "
                          "this version, " +
                          course_version() + ", reads up to 1. Run ./course update"),
                std::string::npos)
          << error.what();
    }
    EXPECT_EQ(text_of(file), before);
  }
};

TEST_F(Formats, OfEveryVersionAreRead) {
  ASSERT_FALSE(versions().empty());
  for (const fs::path& version : versions()) {
    SCOPED_TRACE(version);
    const lab_progress p = read_progress(version / "progress.toml").at("02_benchmarking");
    EXPECT_EQ(p.graded, 1);
    EXPECT_GT(p.points, 0);
    EXPECT_EQ(p.locked.date.size(), 20u);
    EXPECT_FALSE(p.locked.values.empty());
    EXPECT_FALSE(p.items.empty());
    EXPECT_EQ(p.hints.size(), 1u);

    const std::string name = version.filename().string();
    fs::copy_file(version / "results.json", folder / (name + ".json"));
    const std::vector<result> stored = result_store{folder / name}.load();
    ASSERT_EQ(stored.size(), 1u);
    EXPECT_EQ(stored[0].score(), p.points);
    EXPECT_EQ(stored[0].counted.size(), 2u);

    const attempts tries = read_attempts(version / "attempts.jsonl");
    ASSERT_EQ(tries.all.size(), 1u);
    EXPECT_EQ(tries.unreadable, 0);
    EXPECT_EQ(tries.all[0].items.size(), p.items.size());
    EXPECT_EQ(stored[0].course_version, version.filename());

    fs::copy_file(version / "grades.sqlite", folder / "grades.sqlite", fs::copy_options::overwrite_existing);
    const std::vector<result> history = grade_book(folder / "grades.sqlite").history();
    ASSERT_EQ(history.size(), 1u);
    EXPECT_EQ(history[0].submission, "ann");
    EXPECT_TRUE(history[0].official);
    EXPECT_EQ(first_complete(history).at("ann").values, p.locked.values);
    EXPECT_TRUE(grade_book(folder / "grades.sqlite").add(stored[0], "")) << "an older book accepts new results";
  }
}

TEST_F(Formats, ANewerProgressFileIsNotTouched) {
  const fs::path file = folder / "progress.toml";
  replace_file(file, "format = 2\n[everything]\nelse = 1\n");
  refused_as_newer(file, [&] { read_progress(file); });
}

TEST_F(Formats, NewerResultsAreNotOverwritten) {
  const result_store store{folder / "results"};
  result one;
  one.lab = "03_coalescing";
  one.submission = "student";
  store.merge({one});
  const fs::path file = fs::directory_iterator(store.folder / one.lab)->path(), old = folder / "results.json";
  for (const fs::path& newer : {file, old}) {
    replace_file(newer, R"({"schema": "roofline-labs/results/v2", "results": [{"new": 1}]})");
    refused_as_newer(newer, [&] { store.load(); });
    refused_as_newer(newer, [&] { store.merge({one}); });
  }
  const std::string newer = std::regex_replace(to_json(result{}), std::regex("result/v1"), "result/v2");
  replace_file(folder / "result.json", newer);
  refused_as_newer(folder / "result.json", [&] { result_from_json(newer); });
}

TEST_F(Formats, ANewerGradeBookIsNotOpened) {
  const fs::path file = folder / "grades.sqlite";
  { const grade_book made(file); }
  // The header's bytes 60 to 63 are SQLite's user_version.
  std::string bytes = text_of(file);
  ASSERT_EQ(bytes.substr(60, 4), std::string("\0\0\0\1", 4));
  bytes[63] = 2;
  replace_file(file, bytes);
  refused_as_newer(file, [&] { const grade_book opened(file); });
}

TEST_F(Formats, EachResultSaysWhichVersionGradedIt) {
  EXPECT_TRUE(std::regex_match(course_version(), std::regex(R"(\d+\.\d+\.\d+)"))) << course_version();
  EXPECT_EQ(text_of(fs::path(LAB_SOURCE_DIR) / "VERSION"), course_version() + "\n");
  EXPECT_NE(text_of(fs::path(LAB_SOURCE_DIR) / "CHANGELOG.md").find("\n## [" + course_version() + "] - "),
            std::string::npos)
      << "CHANGELOG.md has no entry for this version";
  result r;
  r.course_version = "1.2.3";
  EXPECT_EQ(result_from_json(to_json(r)).course_version, "1.2.3");
  EXPECT_EQ(result_from_json(std::regex_replace(to_json(r), std::regex(R"x("course_version": "1.2.3",)x"), ""))
                .course_version,
            "");
}

TEST_F(Formats, AClassNamesTheVersionThatGradesIt) {
  const fs::path book = folder / "grades.sqlite";
  EXPECT_EQ(pinned_version(book), "");
  replace_file(folder / "class.toml", "version = \"1.0.1\"\n");
  EXPECT_EQ(pinned_version(book), "1.0.1");
  std::vector<result> results(3);
  for (result& r : results) r.lab = "03_coalescing";
  results[0].submission = "ann", results[0].course_version = "1.0.0";
  results[1].submission = "bob", results[1].course_version = "1.0.1";
  results[2].submission = "cat";
  EXPECT_EQ(
      graded_by_others(results, "1.0.1"),
      (std::vector<std::string>{"ann: lab 03 graded by version 1.0.0, not by the pinned version 1.0.1",
                                "cat: lab 03 graded by a version before 1.0.0, not by the pinned version 1.0.1"}));
  EXPECT_TRUE(graded_by_others(results, "").empty());
  const std::string page = class_page(results, "1.0.1");
  EXPECT_NE(page.find("lab 03 graded by version 1.0.0, not by"), std::string::npos);
  EXPECT_NE(page.find("graded by a version before 1.0.0"), std::string::npos);
  EXPECT_EQ(class_page(results).find("pinned"), std::string::npos);
  for (const char* wrong : {"versoin = \"1.0.1\"", "version = 1", "version", "version = \"newest\"",
                            "version = \"30a26d93\"", "version = \"1.0.1+30a2\"", "version = \"1.0.1+$(id)abcdef\""}) {
    replace_file(folder / "class.toml", wrong);
    EXPECT_THROW(pinned_version(book), input_error) << wrong;
  }
}

// Between two releases, the course changes but its version number does not.
TEST_F(Formats, AClassMayBePinnedToACommit) {
  if (run_command("git --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no git here";
  const fs::path course = folder / "my course", rubric = course / "labs/03_coalescing/judge/rubric.toml";
  const fs::path handed_in = course / "labs/03_coalescing/handin/transpose.cu";
  const auto git = [&](const std::string& words) {
    return output_of("git -C " + shell_word(course.string()) +
                     " -c user.name=test -c user.email=test@localhost -c gc.auto=0 " + words + " 2>&1");
  };
  const auto commit = [&] {
    git("add -A");
    git("commit -qm change");
    return git("rev-parse HEAD").substr(0, 40);
  };
  for (const fs::path& file : {rubric, handed_in, course / "notes.txt"}) {
    fs::create_directories(file.parent_path());
    replace_file(file, "old\n");
  }
  git("init -q");
  const std::string first = course_version() + "+" + commit();
  ASSERT_EQ(first.size(), course_version().size() + 41) << first;
  replace_file(folder / "class.toml", "version = \"" + first + "\"\n");
  EXPECT_EQ(pinned_version(folder / "grades.sqlite"), first);
  EXPECT_EQ(unlike_the_pin("", course), "");
  EXPECT_EQ(unlike_the_pin(course_version(), course), "");
  EXPECT_EQ(unlike_the_pin("0.0.1", course), "this is " + course_version());
  EXPECT_EQ(unlike_the_pin("0.0.1" + first.substr(first.find('+')), course), "this is " + course_version());
  EXPECT_EQ(unlike_the_pin(course_version() + "+0123456789", course), "git knows no such commit here");
  EXPECT_EQ(unlike_the_pin(first, folder / "nowhere"), "git knows no such commit here");

  // The course stays the same after a hand-in, or a commit of files that grading does not use.
  replace_file(handed_in, "mine\n");
  EXPECT_EQ(unlike_the_pin(first, course), "");
  replace_file(course / "notes.txt", "new\n");
  replace_file(course / "labs/03_coalescing/README.md", "new\n");
  commit();
  EXPECT_EQ(unlike_the_pin(first.substr(0, course_version().size() + 8), course), "");
  // A changed rubric makes it a different course, committed or not.
  replace_file(rubric, "new\n");
  EXPECT_EQ(unlike_the_pin(first, course), "labs/03_coalescing/judge/rubric.toml differs from it");
  const std::string second = course_version() + "+" + commit();
  EXPECT_EQ(unlike_the_pin(first, course), "labs/03_coalescing/judge/rubric.toml differs from it");
  EXPECT_EQ(unlike_the_pin(second, course), "");

  result graded;
  graded.lab = "03_coalescing", graded.submission = "ann", graded.course_version = first;
  EXPECT_TRUE(graded_by_others({graded}, first).empty());
  EXPECT_EQ(graded_by_others({graded}, second).size(), 1U);
}

}  // namespace
