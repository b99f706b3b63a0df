// The judge against runners that crash, hang, lie, shout and scribble: always a verdict, never a hang.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <thread>

#include "judge/subject.hpp"
#include "sandbox/crash_place.hpp"
#include "sandbox/gpu.hpp"
#include "sandbox/process_executor.hpp"

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
  subject s(backend::sim, runner(500ms), 1);
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

/// Answers each number with the sum of all numbers so far.
class adding : public lab::oracle {
 public:
  void answer(std::span<std::byte> question) override {
    double number = 0;
    std::memcpy(&number, question.data(), sizeof number);
    sum_ += number;
    std::memcpy(question.data(), &sum_, sizeof sum_);
  }
  lab::buffer account() const override { return lab::buffer::of(std::vector{sum_}); }

 private:
  double sum_ = 0;
};

lab::test_case asking(std::string entry, std::int64_t questions) {
  lab::test_case c;
  c.id = entry + "/" + std::to_string(questions);
  c.entry = std::move(entry);
  c.where = lab::part::host;
  c.parameters = {questions};
  c.outputs = {{lab::dtype::f64, 1}, {lab::dtype::f64, 1}};
  c.inputs = [](std::uint64_t) { return std::vector<lab::buffer>(); };
  c.oracle = [](std::uint64_t) { return std::make_unique<adding>(); };
  c.check = [](std::span<const lab::buffer>, std::span<const lab::buffer> outputs) {
    const double said = outputs[0].as<double>()[0], known = outputs[2].as<double>()[0];
    return said == known ? "" : "says " + std::to_string(said) + ", the judge knows " + std::to_string(known);
  };
  return c;
}

TEST(Executor, ASubmissionAsksAndTheJudgeAnswers) {
  subject s(backend::sim, runner(), 1);
  const trial t = s.run(asking("asks", 1000));
  EXPECT_TRUE(t.ok()) << t.message;
  EXPECT_EQ(t.response.metrics.at("output[0]"), 500500);
  EXPECT_TRUE(s.run(asking("asks", 3)).ok()) << "each call has its own oracle";
}

TEST(Executor, TheMailboxIsNoResult) {
  subject s(backend::sim, runner(), 1);
  EXPECT_EQ(s.run(asking("nothing", 0)).message, "nothing/0: left its output 0 unchanged");
}

TEST(Executor, WithoutAnOracleAQuestionWaitsForEver) {
  lab::test_case mute = asking("asks", 1);
  mute.oracle = {};
  subject s(backend::sim, runner(300ms), 1);
  EXPECT_EQ(s.run(mute).verdict, verdict::timeout);
}

TEST(Executor, ANanHasNoSign) {
  lab::test_case told = asking("", 0);
  told.outputs = {};
  told.check = [](auto, auto) { return std::string("[0] is -nan, should be 1"); };
  subject s(backend::sim, runner(), 1);
  EXPECT_EQ(s.run(told).message, "/0: [0] is nan, should be 1") << "hints search for ` is nan`";
}

TEST(Executor, WhereNothingIsCalledTheOracleTellsTheFigures) {
  lab::test_case told = asking("", 0);
  told.outputs = {};
  told.check = [](auto, auto) { return std::string(); };
  subject s(backend::sim, runner(), 1);
  EXPECT_EQ(s.run(told).response.metrics.at("output[0]"), 0);
}

TEST(Executor, NamesTheSignal) {
  const auto e = runner();
  const answer got = e->run(request("segfault"));
  EXPECT_EQ(got.end, answer::ending::crashed);
  EXPECT_EQ(got.what, "the program was killed by SIGSEGV (Segmentation fault)");
  EXPECT_EQ(e->run(request("abort")).what, "the program was killed by SIGABRT (Aborted)");
  EXPECT_EQ(e->run(request("nothing")).end, answer::ending::answered) << "the runner starts again";
}

TEST(Executor, AnEarlyExitIsACrash) {
  const auto e = runner();
  EXPECT_EQ(e->run(request("complains")).what,
            "the program ended before it answered (exit code 1); it printed last: x.cu:7: an illegal memory access");
  const answer got = e->run(request("exit"));
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

/// Keeps every core busy with four threads while it lives; threads that other processes already run count, too.
class crowd {
 public:
  crowd() {
    double busy = 0;
    getloadavg(&busy, 1);
    for (double i = busy; i < 4.0 * std::thread::hardware_concurrency(); ++i)
      others_.emplace_back([](const std::stop_token& over) {
        while (!over.stop_requested()) {
        }
      });
  }

 private:
  std::vector<std::jthread> others_;
};

TEST(Executor, WaitingForACoreIsNotTheRunnersFault) {
  const auto e = runner(600ms);
  const crowd others;
  const auto start = std::chrono::steady_clock::now();
  const answer got = e->run(request("compute", 300));
  const auto took = std::chrono::steady_clock::now() - start;
  if (took >= 6 * 600ms) GTEST_SKIP() << "SKIPPED: the machine is too busy for this test";
  EXPECT_EQ(got.end, answer::ending::answered) << got.what;
  EXPECT_GT(took, 600ms) << "the machine was not busy enough to show anything";
}

TEST(Executor, NorIsTheJudgesOwnWaitingBeforeItAnswers) {
  subject s(backend::sim, runner(1000ms), 1);
  while (!s.run(asking("asks", 1)).ok()) {  // the runner has started
  }
  const crowd others;
  const auto start = std::chrono::steady_clock::now();
  const trial t = s.run(asking("asks", 3000));
  if (std::chrono::steady_clock::now() - start >= 6 * 1000ms)
    GTEST_SKIP() << "SKIPPED: the machine is too busy for this test";
  EXPECT_TRUE(t.ok()) << t.message;
}

TEST(Executor, ATimedCallSharesTheJudgesCore) {
  const auto e = runner();
  const std::string all = e->run(request("cores")).response.error;
  int core = -1;
  const std::string timed = e->run(request("cores"), {}, [&] { core = sched_getcpu(); }).response.error;
  EXPECT_EQ(timed, std::to_string(core) + " ");
  EXPECT_EQ(e->run(request("cores")).response.error, all) << "afterwards it may use all cores again";
  e->run(request("exit"), {}, [] {});
  EXPECT_EQ(e->run(request("cores")).response.error, all) << "after a crash, too";
}

std::set<std::string> buffer_files() {
  std::set<std::string> inodes;
  std::ifstream maps("/proc/self/maps");
  for (std::string range, rights, offset, device, inode, rest;
       maps >> range >> rights >> offset >> device >> inode && std::getline(maps, rest);)
    if (rest.find("memfd:buffers") != std::string::npos) inodes.insert(inode);
  return inodes;
}

TEST(Executor, OneThatStandsBesideAnotherHasItsPagesAndItsCore) {
  subject first(backend::sim, runner(), 1), second(backend::sim, runner(), 2);
  second.runs().stand_beside(&first.runs());
  for (const std::int64_t n : {1000, 3'000'000, 2000}) {  // the second needs more memory
    EXPECT_EQ(first.run(doubling("right", n)).message, "");
    EXPECT_EQ(buffer_files().size(), n == 3'000'000 ? 2 : 1) << "the second still has the earlier buffers";
    EXPECT_EQ(second.run(doubling("right", n)).message, "");
    EXPECT_EQ(buffer_files().size(), 1);
    EXPECT_EQ(first.run(doubling("right", n)).message, "");
  }
  second.runs().stand_beside(nullptr);
  EXPECT_EQ(second.run(doubling("right", 1000)).message, "");
  EXPECT_EQ(buffer_files().size(), 2);
}

constexpr const char* one_thread = "a submission runs on one core, in the thread that calls it";

TEST(Executor, RefusesNewThreadsAndProcesses) {
  const auto expect_refused = [](const answer& got, const std::string& door) {
    EXPECT_EQ(got.end, answer::ending::crashed) << door;
    EXPECT_EQ(got.what, std::string("starts a thread or a process; ") + one_thread) << door;
  };
  for (const char* door : {"thread", "thread_of_the_helper", "fork"})
    expect_refused(runner()->run(request(door)), door);
  for (const char* door : {"thread", "fork"}) expect_refused(runner()->run(request(door), {}, [] {}), door);
}

lab::request counted(std::string entry, std::int64_t parameter) {
  lab::request what = request(std::move(entry), parameter);
  what.count_calls = true;
  return what;
}

using call_counts = std::map<std::string, double>;

TEST(Executor, CountsSystemCallsByName) {
  const auto e = runner();
  for (const int times : {0, 1, 1000, 7}) {
    const answer got = e->run(counted("yields", times));
    ASSERT_EQ(got.end, answer::ending::answered) << got.what;
    EXPECT_TRUE(got.counted);
    EXPECT_EQ(got.calls, times > 0 ? call_counts({{"sched_yield", times}}) : call_counts{});
  }
  EXPECT_FALSE(e->run(request("yields", 3)).counted);
  EXPECT_EQ(e->run(counted("yields", 3)).calls, call_counts({{"sched_yield", 3}}));
}

TEST(Executor, RunsWhatItCannotCount) {
  char script[] = "/tmp/no-listener-XXXXXX";
  const int file = mkstemp(script);
  const std::string text =
      "#!/bin/sh\nfor word; do [ \"$word\" = counted ] && exit 1; done\nexec " FAKE_RUNNER " \"$@\"\n";
  ASSERT_EQ(write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  fchmod(file, 0700);
  close(file);
  {
    process_executor e(script, limits{10s});
    for (int i = 0; i < 2; ++i) {
      const answer got = e.run(counted("yields", 3));
      EXPECT_EQ(got.end, answer::ending::answered) << got.what;
      EXPECT_FALSE(got.counted);
    }
  }
  unlink(script);
}

TEST(Executor, CountsTheCallsOfThreadsThatACaseMayStart) {
  const auto e = runner();
  lab::request what = counted("yields_in_threads", 50);
  what.threads = 3;
  for (int i = 0; i < 3; ++i) {
    answer got = e->run(what);
    ASSERT_EQ(got.end, answer::ending::answered) << got.what;
    EXPECT_EQ(got.calls["clone"], 2);
    EXPECT_EQ(got.calls["sched_yield"], 100);
  }
  what.count_calls = false;
  EXPECT_EQ(e->run(what).end, answer::ending::answered);
  what.threads = 1;
  EXPECT_EQ(e->run(what).end, answer::ending::crashed) << "other cases may start no threads";
}

TEST(Executor, ThreadsThatACaseMayStartMustEndInTime) {
  lab::request what = request("thread_that_stays");
  what.threads = 3;
  const answer got = runner()->run(what);
  EXPECT_EQ(got.end, answer::ending::crashed);
  EXPECT_EQ(got.what, "left 1 thread running");
  what.threads = 1;
}

TEST(Executor, ACallAfterDoneIsTooLateToMatter) {
  const auto e = runner();
  lab::request what = counted("yields_after_done", 100);
  what.output_specs = {{lab::dtype::u8, 8}};
  const std::size_t at = layout_of(what).outputs[0];
  std::byte left{1};
  const answer got =
      e->run(what, {[&](auto memory) { memory[at] = std::byte{0}; }, [&](auto memory) { left = memory[at]; }});
  ASSERT_EQ(got.end, answer::ending::answered) << got.what;
  EXPECT_EQ(got.calls, call_counts{});
  EXPECT_EQ(left, std::byte{0}) << "what uncounted calls computed must not arrive";
}

/// A runner whose system calls are not limited, as on a GPU.
struct OpenRunner : testing::Test {
  OpenRunner() { setenv("FAKE_RUNNER_IS_OPEN", "1", 1); }
  ~OpenRunner() override { unsetenv("FAKE_RUNNER_IS_OPEN"); }
};

TEST_F(OpenRunner, RefusesThreadsThatItDidNotBeginWith) {
  const answer got = runner()->run(request("thread_that_stays"));
  EXPECT_EQ(got.end, answer::ending::crashed);
  EXPECT_EQ(got.what, std::string("has 3 threads but began with 2; ") + one_thread);
}

TEST_F(OpenRunner, MayHaveThreadsOfAGpusDriver) {
  limits allowed{10s};
  allowed.driver = true;
  process_executor e(FAKE_RUNNER, allowed);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(e.run(request("thread_that_stays")).end, answer::ending::answered);
}

/// A file in place of a GPU's memory.
struct device_without_gpu : gpu {
  struct memory_in_a_file : gpu_memory {
    std::size_t bytes() const override { return 4096; }
    int descriptor() const override { return fileno(file.get()); }
    void write(std::span<const std::byte>) override {}
    void read(std::span<std::byte>) override {}
    std::unique_ptr<FILE, int (*)(FILE*)> file{std::tmpfile(), std::fclose};
  };
  void add_to(box&) override {}
  std::unique_ptr<gpu_memory> share(std::size_t) override {
    auto made = std::make_unique<memory_in_a_file>();
    EXPECT_EQ(ftruncate(made->descriptor(), 4096), 0);
    return made;
  }
};

TEST_F(OpenRunner, CannotStopTheClockWhileItsKernelsRun) {
  device_without_gpu device;
  limits allowed{10s};
  EXPECT_EQ(process_executor(FAKE_RUNNER, allowed).run(request("says_done")).end, answer::ending::answered)
      << "otherwise the rest of this test proves nothing";
  allowed.device = &device;
  allowed.driver = true;
  process_executor e(FAKE_RUNNER, allowed);
  EXPECT_EQ(e.run(request("nothing")).end, answer::ending::answered);
  EXPECT_EQ(e.run(request("says_done")).what, "the program was killed by SIGSEGV (Segmentation fault)");
  EXPECT_EQ(e.run(request("nothing")).end, answer::ending::answered);
}

TEST_F(OpenRunner, FindsTheDoorsOpenThatOthersFindClosed) {
  EXPECT_NE(runner()->run(request("doors")).response.error, "") << "otherwise the test below proves nothing";
}

TEST(Executor, HasNoSystemCallsThatWorkBetweenCalls) {
  const auto e = runner();
  for (const answer& got : {e->run(request("doors")), e->run(request("doors"), {}, [] {})}) {
    EXPECT_EQ(got.end, answer::ending::answered) << got.what;
    EXPECT_EQ(got.response.error, "");
  }
}

TEST(Executor, WorkOnSeveralCoresTakesAsLongAsOnOne) {
  EXPECT_GT(runner()->run(request("compute_with_help", 100)).seconds, 0.19);
}

TEST(Executor, ATimedCallHasTheProcessForItself) {
  const auto e = runner();
  EXPECT_EQ(e->run(request("threads")).response.error, "2");
  EXPECT_EQ(e->run(request("threads"), {}, [] {}).response.error, "1");
  EXPECT_EQ(e->run(request("threads")).response.error, "2");
  lab::request on_host = request("threads");
  on_host.on_host = true;
  EXPECT_EQ(e->run(on_host).response.error, "1") << "a host function shares no process with the simulated device";
}

TEST(Executor, EndsWhenItsTimeIsUsedUp) {
  time_budget budget{1s};
  limits allowed;
  allowed.budget = &budget;
  process_executor e(FAKE_RUNNER, allowed);
  const crowd others;  // on a busy machine the limit is up to six times as long; ending the runner takes some time, too
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 2; ++i) {
    const answer got = e.run(request("hang"));
    EXPECT_EQ(got.end, answer::ending::timed_out);
    EXPECT_EQ(got.what, "the submission used up its 1 s; the remaining items were not run");
  }
  EXPECT_GT(std::chrono::steady_clock::now() - start, 1s);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 6 * 1s + 5s);
}

TEST_F(OpenRunner, KillsTheChildrenToo) {
  const auto e = runner();
  EXPECT_EQ(e->run(request("fork")).end, answer::ending::answered);
  while (e->output().find('\n') == std::string::npos) e->run(request("nothing"));
  const int child = std::stoi(e->output().substr(4));
  EXPECT_EQ(kill(child, 0), 0);
  EXPECT_EQ(e->run(request("abort")).end, answer::ending::crashed);
  // It was killed, but may remain a zombie until the system reaps it.
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

TEST(Executor, TakesOneAnswerOfTheRunnersAndNoMoreThanItAskedFor) {
  for (const char* lie : {"answers_itself", "names_its_time"})
    EXPECT_EQ(runner(2s)->run(request(lie)).what, "the program sent something other than an answer") << lie;
  EXPECT_EQ(runner(2s)->run(request("counts_itself")).what, "") << "allowed on a device";
  EXPECT_EQ(runner(2s)->run(request("counts_itself"), {}, [] {}).what,
            "the program sent something other than an answer");
}

TEST(Executor, KeepsTheFirst64KiBOfWhatIsPrinted) {
  const auto e = runner(60s);
  EXPECT_EQ(e->run(request("print")).end, answer::ending::answered);
  EXPECT_EQ(e->run(request("shout", 20)).end, answer::ending::answered);  // 20 MiB
  e->run(request("nothing"));
  const std::string printed = e->output();
  EXPECT_EQ(printed.substr(0, 6), "hello\n");
  EXPECT_LT(printed.size(), (64u << 10) + 100);
  EXPECT_NE(printed.find("more bytes of output were discarded"), std::string::npos);
}

TEST(Executor, PrintingInATimedCallDoesNotBlock) {
  const auto e = runner(5s);
  const answer got = e->run(request("shout", 200), {}, [] {});
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
  EXPECT_EQ(runner()->run(request("files")).response.error, "0 1 2 3 ");
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
  EXPECT_EQ(tried("nothing").message, "nothing/1000: left its output 0 unchanged");
  EXPECT_EQ(tried("overrun").message, "overrun/1000: wrote out of bounds, 0 bytes into the memory after output 0");
  EXPECT_EQ(tried("adds_zero").message, "adds_zero/1000: wrote out of bounds, 2 bytes into the memory after output 0");
  EXPECT_EQ(tried("underrun").verdict, verdict::wrong);
  EXPECT_EQ(tried("scribble").message, "scribble/1000: changed its input 0, which is read-only");
  EXPECT_EQ(tried("fails").message, "fails/1000: cudaErrorMisalignedAddress");
  EXPECT_EQ(tried("reports").message, "reports/1000: a.cu:3: race; a.cu:4: race; a.cu:5: race; and 1 more");
  EXPECT_EQ(tried("segfault").verdict, verdict::crash);
  EXPECT_EQ(tried("hang").verdict, verdict::timeout);
}

lab::test_case thrifty(const std::string& entry, std::int64_t megabytes, std::size_t allowed) {
  lab::test_case c = doubling(entry, 1000);
  c.where = lab::part::host;
  c.parameters = {megabytes};
  c.memory = allowed << 20;
  return c;
}

TEST(Subject, SeesWhatMemoryACallTakes) {
  subject s(backend::sim, runner(), 1);
  EXPECT_EQ(s.run(thrifty("right", 0, 2)).message, "");
  EXPECT_EQ(s.run(thrifty("takes_memory", 4, 8)).message, "");
  EXPECT_EQ(s.run(thrifty("takes_memory", 4, 0)).message, "") << "0 sets no limit";
  const std::string said = s.run(thrifty("takes_memory", 40, 8)).message;
  EXPECT_TRUE(said.starts_with("takes_memory/1000: took 4")) << said;
  EXPECT_TRUE(said.ends_with(" MiB of memory in addition to its arguments; the limit is 8 MiB")) << said;
}

TEST(Subject, WhatEarlierCallsTookDoesNotCount) {
  subject s(backend::sim, runner(), 1);
  EXPECT_EQ(s.run(doubling("right", 3'000'000)).message, "");
  EXPECT_EQ(s.run(thrifty("takes_memory", 60, 0)).message, "");
  EXPECT_EQ(s.run(thrifty("takes_memory", 4, 8)).message, "");
}

TEST(Subject, MemoryThatAnEarlierCallKeptIsNotThere) {
  subject s(backend::sim, runner(), 1);
  EXPECT_EQ(s.run(thrifty("keeps_memory", 40, 0)).message, "");
  EXPECT_NE(s.run(thrifty("keeps_memory", 40, 8)).message, "");
}

TEST(Subject, NorHelpsMemoryThatWasThereBeforeTheFirstCall) {
  setenv("FAKE_RUNNER_BEGINS_WITH_MEMORY", "1", 1);  // 100 MiB
  subject s(backend::sim, runner(), 1);
  const std::string said = s.run(thrifty("right", 0, 8)).message;
  unsetenv("FAKE_RUNNER_BEGINS_WITH_MEMORY");
  EXPECT_NE(said, "");
}

/// The line of fake_runner.cpp that implements the entry.
std::string place_of(const std::string& entry) {
  std::ifstream in(LAB_SOURCE_DIR "/autograder/tests/fake_runner.cpp");
  int number = 0;
  for (std::string line; std::getline(in, line);)
    if (++number; line.find("does == \"" + entry + "\"") != std::string::npos) break;
  return " at fake_runner.cpp:" + std::to_string(number);
}

TEST(Subject, SaysWhereItCrashed) {
  const auto crashed = [](const std::string& entry, std::int64_t parameter) {
    subject s(backend::sim, runner(), 1);
    s.on_crash = [](const std::function<void(executor&)>& call_again) {
      return place_of_crash(*runner(), FAKE_RUNNER, CRASH_REPORTER, {"fake_runner.cpp"}, call_again);
    };
    lab::test_case c = doubling(entry, 8);
    c.parameters = {parameter};
    return s.run(c).message;
  };
  const std::string divided = crashed("divide", 0);
  EXPECT_TRUE(divided.starts_with("divide/8: the program was killed by SIGFPE")) << divided;
  EXPECT_TRUE(divided.ends_with(place_of("divide"))) << divided;
  EXPECT_TRUE(crashed("abort", 0).ends_with(place_of("abort"))) << crashed("abort", 0);
  EXPECT_EQ(crashed("exit", 0).find(" at "), std::string::npos) << "no signal, no line";
  EXPECT_EQ(std::getenv("LD_PRELOAD"), nullptr);
}

TEST(Subject, CallsBuffersByTheirNames) {
  const contract names = contract_of(
      "/// Doubles.\nvoid nothing(float* twice,    // (n)\n             const float* once, int n, cudaStream_t "
      "stream);\n"
      "void scribble(double* twice, const double* once, int n);\nvoid overrun(float* a, float* b, const float* in);\n");
  const auto said = [&](const std::string& entry) {
    subject s(backend::sim, runner(), 1);
    s.use_names(names);
    return s.run(doubling(entry, 8)).message;
  };
  EXPECT_EQ(said("nothing"), "nothing/8: left its output `twice` unchanged");
  EXPECT_EQ(said("scribble"), "scribble/8: changed its input `once`, which is read-only");
  EXPECT_EQ(said("overrun"), "overrun/8: wrote out of bounds, 0 bytes into the memory after output 0")
      << "the contract has a different number of outputs";
  EXPECT_EQ(names.at("nothing").sizes, std::vector<std::string>{"n"});
}

TEST(Subject, CallsAFallenEntryNoMore) {
  subject s(backend::sim, runner(300ms), 1);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(s.run(doubling("hang", 1)).message, "hang/1: no answer after 0.3 s");
  for (int n = 2; n < 50; ++n) {
    const trial t = s.run(doubling("hang", n));
    EXPECT_EQ(t.verdict, verdict::timeout);
    EXPECT_EQ(t.message, "not run, because hang/1 already failed: no answer after 0.3 s");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
  EXPECT_TRUE(s.run(doubling("right", 8)).ok()) << "other entries still run";
}

TEST(Subject, CallsAnEntryThatFellWithOneOracleOnOthers) {
  subject s(backend::sim, runner(300ms), 1);
  for (int n = 1; n <= 4; ++n)
    EXPECT_EQ(s.run(asking("hang", n)).message, "hang/" + std::to_string(n) + ": no answer after 0.3 s");
  EXPECT_EQ(s.run(asking("hang", 5)).message, "not run, because hang/4 already failed: no answer after 0.3 s");
}

TEST(Subject, EveryCaseHasItsOwnInputs) {
  subject s(backend::sim, runner(), 1);
  const auto a = s.prepare(doubling("right", 64)), b = s.prepare(doubling("other", 64));
  EXPECT_FALSE(std::equal(a.before[0].bytes().begin(), a.before[0].bytes().end(), b.before[0].bytes().begin()));
}

}  // namespace
