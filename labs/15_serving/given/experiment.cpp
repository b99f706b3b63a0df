// Your scheduler on the simulated clock, compared with static batching. Writes a timeline for ui.perfetto.dev: a row
// per slot, and above them how many requests wait and how many pages are free.
// usage: experiment [trace | day [PAGES]]     the twelve requests of the predictions, or 400 requests [4096 pages]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "engine.hpp"
#include "serving.hpp"
#include "static_batching.hpp"
#include "trace.hpp"

namespace {

using namespace lab15;

void print_figures(const char* name, const account& seen) {
  const std::vector<double> latencies = seen.latencies();
  std::printf("%-11s %6d %11d %13lld %8.2f %8.2f\n", name, seen.steps(), seen.idle_slots(),
              static_cast<long long>(seen.tokens_again()), percentile(latencies, 0.5), percentile(latencies, 0.99));
}

/// Replays a schedule and writes it in the trace event format; times are in microseconds.
class timeline {
 public:
  timeline(std::FILE* to, const workload& of) : to_(to), seen_(of), slots_(static_cast<std::size_t>(of.slots)) {
    std::fprintf(to_, "{\"traceEvents\": [\n");
    for (std::size_t s = 0; s < slots_.size(); ++s)
      std::fprintf(to_,
                   R"({"ph": "M", "pid": 0, "tid": %zu, "name": "thread_name", "args": {"name": "slot %zu"}},)"
                   "\n",
                   s, s);
  }
  void enter(const engine_call& c) {
    const double before = now();
    const auto request = static_cast<int>(c.request);
    const int tokens = c.what == engine_call::preempt ? seen_.tokens(request) : 0;
    if (!seen_.enter(c).empty()) return;
    if (c.what == engine_call::admit) {
      const std::size_t s = slot_of(-1);
      slots_[s] = {request, before};
      if (now() > before) write(s, "prompt", before);
    }
    if (c.what == engine_call::preempt) leave(slot_of(request), "preempted", tokens);
    if (c.what == engine_call::step)
      for (std::size_t s = 0; s < slots_.size(); ++s)
        if (slots_[s].request >= 0 && seen_.finished(slots_[s].request))
          leave(s, "finished", seen_.tokens(slots_[s].request));
    count("requests that wait", waiting());
    count("free pages", seen_.free_pages());
  }
  void end() {
    std::fprintf(to_, R"({"ph": "M", "pid": 0, "tid": 0, "name": "process_name", "args": {"name": "server"}}]})"
                      "\n");
  }

 private:
  struct slot {
    int request = -1;
    double since = 0;
  };

  double now() const { return 1e6 * seen_.now(); }
  int waiting() const {
    int all = 0;
    for (int r = 0; r < seen_.arrived(); ++r) all += seen_.waiting(r) ? 1 : 0;
    return all;
  }
  std::size_t slot_of(int request) const {
    std::size_t s = 0;
    while (slots_[s].request != request) ++s;
    return s;
  }
  void leave(std::size_t s, const char* how, int tokens) {
    char name[64];
    std::snprintf(name, sizeof name, "request %d", slots_[s].request);
    std::fprintf(to_, R"({"ph": "X", "pid": 0, "tid": %zu, "name": "%s", "ts": %.3f, "dur": %.3f, )", s, name,
                 slots_[s].since, now() - slots_[s].since);
    std::fprintf(to_,
                 R"("args": {"ends": "%s", "tokens": %d}},)"
                 "\n",
                 how, tokens);
    slots_[s].request = -1;
  }
  void write(std::size_t s, const char* name, double since) {
    std::fprintf(to_,
                 R"({"ph": "X", "pid": 0, "tid": %zu, "name": "%s", "ts": %.3f, "dur": %.3f},)"
                 "\n",
                 s, name, since, now() - since);
  }
  void count(const char* name, int value) {
    std::fprintf(to_,
                 R"({"ph": "C", "pid": 0, "tid": 0, "name": "%s", "ts": %.3f, "args": {"%s": %d}},)"
                 "\n",
                 name, now(), name, value);
  }

  std::FILE* to_;
  account seen_;
  std::vector<slot> slots_;
};

int run(const workload& of, const std::string& into) {
  std::printf("%-11s %6s %11s %13s %8s %8s\n", "", "steps", "idle slots", "tokens again", "p50 (s)", "p99 (s)");
  try {
    simulated_engine by_batches(of);
    serve_in_batches(by_batches);
    print_figures("static", by_batches.seen());
  } catch (const misuse&) {
    std::puts("static      cannot: it needs pages for all texts of a batch");
  }
  simulated_engine yours(of);
  const char* wrong = nullptr;
  std::string why;
  try {
    serve(yours);
  } catch (const misuse& e) {
    why = e.what();
    wrong = why.c_str();
  }
  print_figures("yours", yours.seen());
  if (wrong) std::printf("yours makes an invalid call, the last one of the timeline: %s\n", wrong);
  std::FILE* const to = std::fopen(into.c_str(), "w");
  if (!to) return std::perror(into.c_str()), 1;
  timeline drawn(to, of);
  for (const engine_call& c : yours.calls()) drawn.enter(c);
  drawn.end();
  if (std::fclose(to) != 0) return std::perror(into.c_str()), 1;
  std::printf("the timeline of yours, for ui.perfetto.dev: %s\n", into.c_str());
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const bool is_day = count > 1 && std::strcmp(words[1], "day") == 0;
  const bool is_trace = count == 1 || (count == 2 && std::strcmp(words[1], "trace") == 0);
  const long pages = is_day && count == 3 ? std::strtol(words[2], nullptr, 10) : 4096;
  if ((!is_day && !is_trace) || count > 3 || pages < 1 || pages > 1'000'000) {
    std::fputs("usage: experiment [trace | day [PAGES]]; PAGES is at least the pages of the longest text\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = std::filesystem::path(words[0]).parent_path().parent_path();  // build/bin
  return run(is_day ? lab15::day(static_cast<int>(pages)) : lab15::trace(), folder / "serving.json");
}
