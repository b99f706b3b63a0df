// Maps each case to a function of the contract. Inputs and expected values are in cases.cpp.
#include <lab/call.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "engine.hpp"
#include "operations.hpp"
#include "serving.hpp"

namespace {

using namespace lab15;

/// Calls f(machine, model, the other arguments) for each row of arguments.
template <class F>
void for_rows(const lab::call& c, std::size_t others, F f) {
  const auto* in = c.input<double>(0);
  auto* out = c.output<double>(0);
  for (std::int64_t row = 0; row < c.parameters[0]; ++row, in += 6 + others)
    *out++ = static_cast<double>(f(machine{in[0], in[1], in[2]}, model{in[3], in[4], in[5]}, in + 6));
}

std::int64_t whole(double x) { return static_cast<std::int64_t>(x); }

/// Answers each operation as operations.hpp says. A sequence has a name there; the pager gives it a number.
void run_pages(const lab::call& c) {
  const int pages = c.parameter(0), size = c.parameter(1);
  pager* const p = make_pager(pages, size);
  pager* const others[] = {make_pager(2, size), make_pager(2, size + 1)};  // a server has a pager for each device
  // The sequences in `others` begin as the first one in `p` does.
  const auto* next = c.input<std::int32_t>(0);
  const auto* first = next;
  operation begins = operation::read(first);
  for (std::int64_t i = 1; begins.what != operation::admit && i < c.parameters[2]; ++i) begins = operation::read(first);
  constexpr int token = 1;
  bool counts[2];
  for (int i = 0; i < 2; ++i) {
    begins.count > 0 ? admit(others[i], begins.tokens, std::min(begins.count, size)) : admit(others[i], &token, 1);
    counts[i] = free_pages(others[i]) == 1;
  }
  std::vector<int> number(most_names, -1);
  auto* out = c.output<std::int32_t>(0);
  const auto width = static_cast<std::size_t>(width_of_answer(pages));
  for (std::int64_t i = 0; i < c.parameters[2]; ++i, out += width) {
    const operation now = operation::read(next);
    int &of = number[static_cast<std::size_t>(now.name)], &to = number[static_cast<std::size_t>(now.other)];
    std::fill_n(out, width, absent);
    page_copy copy;
    if (now.what == operation::admit && of < 0) out[0] = of = admit(p, now.tokens, now.count);
    if (now.what == operation::fork && of >= 0 && to < 0) out[0] = to = fork(p, of);
    if (now.what == operation::append && of >= 0) out[0] = append(p, of, now.tokens[0], &copy);
    if (now.what == operation::release && of >= 0) {
      release(p, of);
      out[0] = of = -1;
    }
    out[1] = copy.from, out[2] = copy.to;
    out[3] = free_pages(p);
    std::vector<int> table(static_cast<std::size_t>(pages), absent);
    const auto tell = [&](int name, int room, std::int32_t* to_answer) {
      if (const int one = number[static_cast<std::size_t>(name)]; one >= 0) {
        std::fill(table.begin(), table.end(), absent);
        to_answer[0] = table_of(p, one, table.data(), room);
        std::copy(table.begin(), table.end(), to_answer + 1);
      }
    };
    tell(now.what == operation::fork ? now.other : now.name, pages, out + 4);
    tell(now.witness, now.room, out + 5 + pages);
  }
  for (int i = 0; i < 2; ++i) {
    if (counts[i] && free_pages(others[i]) != 1)
      throw lab::broken_contract("another pager has changed, too: keep what a pager knows in the pager");
    free_pager(others[i]);
  }
  free_pager(p);
}

/// A simulated engine that only the interface of an engine shows.
class judged_engine final : public engine {
 public:
  explicit judged_engine(const double* workload) : inner_(workload_of(workload)) {}
  int slots() const override { return inner_.slots(); }
  int page_tokens() const override { return inner_.page_tokens(); }
  int free_pages() const override { return inner_.free_pages(); }
  int arrived() const override { return inner_.arrived(); }
  int requests() const override { return inner_.requests(); }
  int tokens(int request) const override { return inner_.tokens(request); }
  bool finished(int request) const override { return inner_.finished(request); }
  void admit(int request) override { inner_.admit(request); }
  void preempt(int request) override { inner_.preempt(request); }
  void step() override { inner_.step(); }
  void wait() override { inner_.wait(); }
  const std::vector<engine_call>& calls() const { return inner_.calls(); }

 private:
  simulated_engine inner_;
};

void run_serve(const lab::call& c) {
  judged_engine e(c.input<double>(0));
  try {
    serve(e);
  } catch (const misuse&) {  // the grader finds the same error
  }
  auto* out = c.output<std::int64_t>(0);
  *out++ = static_cast<std::int64_t>(e.calls().size());
  for (const engine_call& call : e.calls()) *out++ = call.what, *out++ = call.request;
}

constexpr lab::entry table[] = {
    {"step_seconds_of", lab::part::host,
     [](const lab::call& c) {
       for_rows(c, 2, [](const machine& on, const model& of, const double* in) {
         return step_seconds(on, of, whole(in[0]), whole(in[1]));
       });
     }},
    {"turning_point_of", lab::part::host,
     [](const lab::call& c) {
       for_rows(c, 1, [](const machine& on, const model& of, const double* in) {
         return turning_point(on, of, whole(in[0]));
       });
     }},
    {"advise_for", lab::part::host,
     [](const lab::call& c) {
       for_rows(c, 2, [](const machine& on, const model& of, const double* in) {
         return advise(on, of, whole(in[0]), in[1]);
       });
     }},
    {"pages", lab::part::host, run_pages},
    {"shared_pages", lab::part::host, run_pages},
    {"serve", lab::part::host, run_serve},
    {"serve_full", lab::part::host, run_serve},
    {"paged_attention", lab::part::device,
     [](const lab::call& c) {
       paged_attention(c.output<float>(0), c.input<float>(0), c.input<__nv_bfloat16>(1), c.input<__nv_bfloat16>(2),
                       c.input<int>(3), c.input<int>(4), c.parameter(0), c.parameter(1), c.parameter(2), c.parameter(3),
                       c.parameter(4), c.stream);
     }},
    {"batched_matvec", lab::part::host,
     [](const lab::call& c) {
       batched_matvec(c.output<float>(0), c.input<float>(1), c.input<float>(0),
                      static_cast<std::size_t>(c.parameters[0]), static_cast<std::size_t>(c.parameters[1]),
                      static_cast<std::size_t>(c.parameters[2]));
     }},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
