// The key of a cached grading: it changes with everything that can change the result, and with nothing else.
#include "course/fingerprint.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "support/files.hpp"
#include "support/kept.hpp"

namespace {

namespace fs = std::filesystem;
using namespace grading;

class Fingerprint : public testing::Test {
 protected:
  Fingerprint() {
    for (const char* file :
         {"CMakeLists.txt", "common/sim/include/cuda_runtime.h", "common/sim/src/hooks.cpp", "common/sim/README.md",
          "common/sim/tests/order_test.cu", "common/docs/INSTRUCTOR.md", "autograder/src/judge/assess.cpp",
          "autograder/src/report/terminal.cpp", "autograder/src/course/rubric.cpp", "common/sim/see/view.js",
          "autograder/tests/assess_test.cpp", "labs/03_coalescing/judge/rubric.toml",
          "labs/03_coalescing/judge/cases.cpp", "labs/03_coalescing/given/patterns.cu",
          "labs/03_coalescing/coalescing.hpp", "labs/03_coalescing/README.md", "labs/03_coalescing/handin/transpose.cu",
          "labs/04_fusion/judge/cases.cpp", "solutions/03_coalescing/WORKLOG.md"})
      write(file, "as it was");
  }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((place.path() / file).parent_path());
    std::ofstream(place.path() / file) << text;
  }
  std::string now() const { return staff_fingerprint(find_lab(place.path(), "03")); }

  temporary_folder place{"fingerprint_test"};
};

TEST_F(Fingerprint, ChangesWithWhatDecidesAGrading) {
  std::string last = now();
  for (const char* file :
       {"CMakeLists.txt", "common/sim/include/cuda_runtime.h", "common/sim/src/hooks.cpp",
        "autograder/src/judge/assess.cpp", "autograder/src/course/rubric.cpp", "labs/03_coalescing/judge/rubric.toml",
        "labs/03_coalescing/judge/cases.cpp", "labs/03_coalescing/given/patterns.cu",
        "labs/03_coalescing/coalescing.hpp", "labs/03_coalescing/CMakeLists.txt", "common/sim/src/new.cpp"}) {
    write(file, "changed");
    EXPECT_NE(now(), last) << file;
    last = now();
  }
  fs::remove(place.path() / "common/sim/src/new.cpp");
  EXPECT_NE(now(), last);
}

TEST_F(Fingerprint, DoesNotChangeWithTextsTestsAndOtherLabs) {
  const std::string before = now();
  for (const char* file : {"common/sim/README.md", "common/sim/tests/order_test.cu", "common/docs/INSTRUCTOR.md",
                           "autograder/src/report/terminal.cpp", "autograder/src/student/new.cpp",
                           "common/sim/see/view.js", "autograder/tests/assess_test.cpp", "labs/03_coalescing/README.md",
                           "labs/03_coalescing/handin/transpose.cu", "labs/04_fusion/judge/cases.cpp",
                           "labs/42_new/CMakeLists.txt", "common/course/main.cpp", "autograder/src/demo/commands.cpp",
                           "autograder/src/staff/commands.cpp", "solutions/03_coalescing/WORKLOG.md"}) {
    write(file, "changed");
    EXPECT_EQ(now(), before) << file;
  }
}

TEST_F(Fingerprint, IsTheSameInEachCheckout) {
  const std::string here = now();
  const temporary_folder other("fingerprint_other");
  fs::copy(place.path(), other.path() / "copy", fs::copy_options::recursive);
  EXPECT_EQ(staff_fingerprint(find_lab(other.path() / "copy", "03")), here);
}

TEST_F(Fingerprint, KeepsAnOutcomeUntilTheCacheIsOff) {
  const std::string before = std::getenv("LABS_CACHE") ? std::getenv("LABS_CACHE") : "";
  setenv("LABS_CACHE", (place.path() / "cache").c_str(), 1);
  EXPECT_FALSE(kept_outcome("0a"));
  keep_outcome("0a", "fine");
  EXPECT_EQ(kept_outcome("0a"), "fine");
  EXPECT_FALSE(kept_outcome("0b"));
  setenv("LABS_CACHE", "off", 1);
  EXPECT_FALSE(kept_outcome("0a"));
  keep_outcome("0b", "fine");
  setenv("LABS_CACHE", (place.path() / "cache").c_str(), 1);
  EXPECT_FALSE(kept_outcome("0b"));
  setenv("LABS_CACHE", "/proc/nowhere", 1);  // an unwritable cache costs only time
  keep_outcome("0c", "fine");
  EXPECT_FALSE(kept_outcome("0c"));
  before.empty() ? unsetenv("LABS_CACHE") : setenv("LABS_CACHE", before.c_str(), 1);
}

TEST(Kept, WhatIsNotGradedInTimeIsLeftToTheNextRun) {
  unsetenv("TESTS_END");
  EXPECT_FALSE(time_is_up());
  setenv("TESTS_END", "1", 1);
  EXPECT_TRUE(time_is_up());
  setenv("TESTS_END", "99999999999", 1);
  EXPECT_FALSE(time_is_up());
  unsetenv("TESTS_END");
}

}  // namespace
