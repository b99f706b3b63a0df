// Helpers that every part of the grader uses.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <regex>

#include "support/command.hpp"
#include "support/files.hpp"
#include "support/status_line.hpp"
#include "support/text.hpp"

using namespace grading;
namespace fs = std::filesystem;

TEST(TemporaryFolder, IsNewOpenToOtherUsersByNameAndGoneAfterwards) {
  fs::path first;
  {
    const temporary_folder one("house"), other("house");
    first = one.path();
    EXPECT_NE(one.path(), other.path());
    EXPECT_TRUE(first.filename().string().starts_with("house-")) << first;
    EXPECT_EQ(fs::status(first).permissions(), fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
    replace_file(first / "in" / "file", "text");
  }
  EXPECT_FALSE(fs::exists(first));
}

TEST(Spawn, GivesAnEmptyInputTheNamedDescriptorsAndNoOthers) {
  const temporary_folder place("spawn");
  const int file = open((place.path() / "said").c_str(), O_RDWR | O_CREAT, 0600), stays = dup(file);
  const std::string script = "cat; echo out; echo error >&2; echo seven >&7; ls /proc/self/fd | grep -c .; exit 3";
  const int process = spawn({"sh", "-c", script}, {{file, STDOUT_FILENO}, {file, 7}}, process_group::own);
  EXPECT_EQ(getpgid(process), process);
  EXPECT_EQ(wait_for_end(process), 3);
  close(file);
  close(stays);
  // Descriptors 0, 1, 2 and 7, and the folder that ls reads.
  EXPECT_EQ(text_of(place.path() / "said"), "out\nerror\nseven\n5\n");
  EXPECT_THROW(spawn({"/no/such/program"}, {}, process_group::ours), std::runtime_error);
}

TEST(RunCommand, PassesOnWhatIsPrintedAndHowItEnded) {
  std::string said;
  EXPECT_EQ(run_command("echo one; echo two; exit 5", [&](std::string_view piece) { said += piece; }), 5);
  EXPECT_EQ(said, "one\ntwo\n");
  EXPECT_EQ(run_command("kill -9 $$", [](std::string_view) {}), 128 + 9);
  EXPECT_EQ(output_of("printf %s " + shell_word("it's")), "it's");
}

TEST(Lists, NameSoManyAndCountTheRest) {
  EXPECT_EQ(shortened_list({"a", "b"}, 2, ", ", " "), "a, b");
  EXPECT_EQ(shortened_list({"a", "b", "c", "d"}, 2, ", ", " "), "a, b and 2 more");
  EXPECT_EQ(shortened_list({}, 2, ", ", " "), "");
  std::string list;
  for (const char* word : {"a", "b", "c"}) add_to_list(list, "; ", word);
  EXPECT_EQ(list, "a; b; c");
}

TEST(StatusLine, SaysEachSecondHowLongItTakesInOneLineOfATerminal) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_TRUE(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
  const int program = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  const winsize narrow{24, 20, 0, 0};
  ASSERT_EQ(ioctl(program, TIOCSWINSZ, &narrow), 0);
  std::string said;
  const auto hear = [&] {
    char more[400] = {};
    ASSERT_GT(read(terminal, more, sizeof more - 1), 0);
    said += more;
  };
  {
    status_line line(program);
    line.show("tiled", "(3 of 14)");
    while (said.find(" s") == said.npos) hear();
    line.show("a name longer than the line");
  }
  while (!said.ends_with("\r\033[K")) hear();
  // On a busy machine, seconds may pass anywhere.
  EXPECT_TRUE(
      std::regex_match(said, std::regex("\r\033\\[Ktiled \\(3 of 14\\)(\r\033\\[Ktiled \\(3 of 14\\) [0-9]+ s)+"
                                        "\r\033\\[Ka name longer than (\r\033\\[Ka name [a-z ]* [0-9]+ s)*\r\033\\[K")))
      << said;
  close(program);
  close(terminal);
}

TEST(StatusLine, SaysNothingElsewhereUnlessAskedNowAndThen) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  char said[400] = {};
  {
    status_line quiet(ends[1]), line(ends[1], 1);
    quiet.show("grading");
    line.show("building", "[1/9]");
    EXPECT_LT(read(ends[0], said, sizeof said - 1), 0);
    while (read(ends[0], said, sizeof said - 1) < 0) usleep(50'000);
  }
  EXPECT_TRUE(std::regex_match(said, std::regex("building \\[1/9\\] [0-9]+ s\n"))) << said;
  close(ends[0]);
  close(ends[1]);
}
