// The judge against runners that crash, hang, lie, shout and scribble: always a verdict, never a hang.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include "process_executor.hpp"
#include "subject.hpp"

namespace {

using namespace grading;
using namespace std::chrono_literals;

std::unique_ptr<process_executor> runner(std::chrono::milliseconds limit = 10s) {
  return std::make_unique<process_executor>(FAKE_RUNNER, limits{limit});
}

lab::request request(std::string entry, std::int64_t parameter = 0) {
  lab::request what;
  what.entry = std::move(entry);
  what.parameters = {parameter};
  return what;
}

lab::test_case doubling(const std::string& entry, std::int64_t n) {
  lab::test_case c;
  c.id = entry + "/" + std::to_string(n);
  c.entry = entry;
  c.parameters = {n};
  c.outputs = {{lab::dtype::f32, n}};
  c.inputs = [n](std::uint64_t seed) {
    return std::vector{lab::buffer::of(lab::random_floats(static_cast<std::size_t>(n), seed))};
  };
  c.check = [](std::span<const lab::buffer> before, std::span<const lab::buffer> outputs) {
    const auto in = before[0].as<float>(), out = outputs[0].as<float>();
    for (std::size_t i = 0; i < in.size(); ++i)
      if (!(out[i] == 2.0f * in[i])) return std::string("not twice the input");
    return std::string();
  };
  return c;
}

trial tried(const std::string& entry, std::int64_t n = 1000) {
  subject s("sim", runner(500ms), 1);
  return s.run(doubling(entry, n));
}

TEST(Executor, AnswersAndStaysUp) {
  const auto e = runner();
  for (int i = 0; i < 3; ++i) {
    const answer got = e->run(request("nothing"));
    EXPECT_EQ(got.end, answer::ending::answered);
    EXPECT_EQ(got.response.error, "");
  }
}

TEST(Executor, NamesTheSignal) {
  const auto e = runner();
  const answer got = e->run(request("segfault"));
  EXPECT_EQ(got.end, answer::ending::crashed);
  EXPECT_EQ(got.what, "the program was ended by SIGSEGV (Segmentation fault)");
  EXPECT_EQ(e->run(request("abort")).what, "the program was ended by SIGABRT (Aborted)");
  EXPECT_EQ(e->run(request("nothing")).end, answer::ending::answered) << "it starts again";
}

TEST(Executor, AnEarlyExitIsACrash) {
  const answer got = runner()->run(request("exit"));
  EXPECT_EQ(got.end, answer::ending::crashed);
  EXPECT_EQ(got.what, "the program ended before it answered (exit code 7)");
}

TEST(Executor, AnErrorIsNotTheNextCallsToo) {
  const auto e = runner();
  EXPECT_EQ(e->run(request("fails")).response.error, "cudaErrorMisalignedAddress");
  EXPECT_EQ(e->run(request("nothing")).response.error, "");
}

TEST(Executor, KillsWhatHangs) {
  const auto start = std::chrono::steady_clock::now();
  const answer got = runner(200ms)->run(request("hang"));
  EXPECT_EQ(got.end, answer::ending::timed_out);
  EXPECT_EQ(got.what, "no answer after 0.2 s");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
}

TEST(Executor, WaitingForACoreIsNotTheRunnersFault) {
  const auto e = runner(600ms);
  std::atomic<bool> over{false};
  std::vector<std::jthread> others;
  for (unsigned i = 0; i < 4 * std::thread::hardware_concurrency(); ++i)
    others.emplace_back([&] {
      while (!over) {
      }
    });
  const auto start = std::chrono::steady_clock::now();
  const answer got = e->run(request("compute", 300));
  const auto took = std::chrono::steady_clock::now() - start;
  over = true;
  EXPECT_EQ(got.end, answer::ending::answered) << got.what;
  EXPECT_GT(took, 600ms) << "the machine was not busy enough to show anything";
}

TEST(Executor, ATimedCallSharesTheJudgesCore) {
  const auto e = runner();
  const std::string all = e->run(request("cores")).response.error;
  int core = -1;
  const std::string timed = e->run(request("cores"), [&] { core = sched_getcpu(); }).response.error;
  EXPECT_EQ(timed, std::to_string(core) + " ");
  EXPECT_EQ(e->run(request("cores")).response.error, all) << "afterwards it may use them all again";
  e->run(request("exit"), [] {});
  EXPECT_EQ(e->run(request("cores")).response.error, all) << "after a crash too";
}

TEST(Executor, KillsTheChildrenToo) {
  const auto e = runner();
  EXPECT_EQ(e->run(request("fork")).end, answer::ending::answered);
  while (e->output().find('\n') == std::string::npos) e->run(request("nothing"));
  const int child = std::stoi(e->output().substr(4));
  EXPECT_EQ(kill(child, 0), 0);
  EXPECT_EQ(e->run(request("abort")).end, answer::ending::crashed);
  // Killed; who reaps it is the system's business, so it may stay a zombie for a while.
  std::string state;
  for (int i = 0; i < 100; ++i) {
    std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
    std::string number, name;
    if (!(stat >> number >> name >> state)) state = "gone";
    if (state == "gone" || state == "Z" || state == "X") break;
    usleep(10'000);
  }
  EXPECT_TRUE(state == "gone" || state == "Z" || state == "X") << state;
}

TEST(Executor, LiesAboutTheLengthAreCrashes) {
  for (const char* lie : {"huge_length", "too_short", "too_long", "garbage"})
    EXPECT_EQ(runner(2s)->run(request(lie)).end, answer::ending::crashed) << lie;
  EXPECT_EQ(runner(200ms)->run(request("close")).end, answer::ending::crashed);
}

TEST(Executor, KeepsTheFirst64KiBOfWhatIsPrinted) {
  const auto e = runner(60s);
  EXPECT_EQ(e->run(request("print")).end, answer::ending::answered);
  EXPECT_EQ(e->run(request("shout", 20)).end, answer::ending::answered);  // 20 MiB
  e->run(request("nothing"));
  const std::string printed = e->output();
  EXPECT_EQ(printed.substr(0, 6), "hello\n");
  EXPECT_LT(printed.size(), (64u << 10) + 100);
  EXPECT_NE(printed.find("more bytes were printed and are not kept"), std::string::npos);
}

TEST(Executor, PrintingInATimedCallWaitsForNobody) {
  const auto e = runner(5s);
  const answer got = e->run(request("shout", 200), [] {});
  EXPECT_EQ(got.end, answer::ending::answered) << got.what;
}

TEST(Executor, SurvivesARunnerThatClosesItsOutput) {
  const auto e = runner();
  EXPECT_EQ(e->run(request("silence")).end, answer::ending::answered);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(e->run(request("nothing")).end, answer::ending::answered);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
}

TEST(Executor, GivesTheRunnerNoOtherFiles) {
  const int leaked = dup(0);  // without close-on-exec
  EXPECT_EQ(runner()->run(request("files")).response.error, "0 1 2 3 4 ");
  close(leaked);
}

TEST(Executor, AMissingProgramIsAnErrorOfTheGrader) {
  process_executor e("/no/such/runner", {});
  EXPECT_THROW(e.run(request("nothing")), std::runtime_error);
}

TEST(Subject, PassesWhatIsRight) {
  EXPECT_EQ(tried("right").message, "");
  EXPECT_TRUE(tried("right", 1).ok());
  EXPECT_TRUE(tried("right", 1024).ok());  // ends on a page
  EXPECT_TRUE(tried("right", 1'000'000).ok());
}

TEST(Subject, SeesWhatIsWrong) {
  EXPECT_EQ(tried("off_by_one").message, "off_by_one/1000: not twice the input");
  EXPECT_EQ(tried("nothing").message, "nothing/1000: wrote nothing to its output 0");
  EXPECT_EQ(tried("overrun").message, "overrun/1000: wrote out of bounds, 0 bytes into the memory behind output 0");
  EXPECT_EQ(tried("underrun").verdict, verdict::wrong);
  EXPECT_EQ(tried("scribble").message, "scribble/1000: changed its input 0, which it may only read");
  EXPECT_EQ(tried("fails").message, "fails/1000: cudaErrorMisalignedAddress");
  EXPECT_EQ(tried("reports").message, "reports/1000: a.cu:3: race; a.cu:4: race; a.cu:5: race; and 1 more");
  EXPECT_EQ(tried("segfault").verdict, verdict::crash);
  EXPECT_EQ(tried("hang").verdict, verdict::timeout);
}

TEST(Subject, CallsAFallenEntryNoMore) {
  subject s("sim", runner(300ms), 1);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(s.run(doubling("hang", 1)).message, "hang/1: no answer after 0.3 s");
  for (int n = 2; n < 50; ++n) {
    const trial t = s.run(doubling("hang", n));
    EXPECT_EQ(t.verdict, verdict::timeout);
    EXPECT_EQ(t.message, "not called again after hang/1: no answer after 0.3 s");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
  EXPECT_TRUE(s.run(doubling("right", 8)).ok()) << "other entries go on";
}

TEST(Subject, EveryCaseHasItsOwnInputs) {
  subject s("sim", runner(), 1);
  const auto a = s.prepare(doubling("right", 64)), b = s.prepare(doubling("other", 64));
  EXPECT_FALSE(std::equal(a.before[0].bytes().begin(), a.before[0].bytes().end(), b.before[0].bytes().begin()));
}

}  // namespace
