// Samples come out of a coroutine; valarrays hold them.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <coroutine>
#include <exception>
#include <iomanip>
#include <iostream>
#include <optional>
#include <sstream>
#include <utility>
#include <valarray>
#include <vector>
#include "benchmark.hpp"

template <class T>
struct generator {
  struct promise_type {
    std::optional<T> value;
    generator get_return_object() { return generator{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(T v) {
      value = std::move(v);
      return {};
    }
    void return_void() {}
    void unhandled_exception() { std::rethrow_exception(std::current_exception()); }
  };
  std::coroutine_handle<promise_type> handle;
  explicit generator(std::coroutine_handle<promise_type> h) : handle(h) {}
  generator(generator&& o) noexcept : handle(std::exchange(o.handle, nullptr)) {}
  ~generator() {
    if (handle) handle.destroy();
  }
  std::optional<T> next() {
    handle.resume();
    return handle.done() ? std::nullopt : std::exchange(handle.promise().value, std::nullopt);
  }
};

namespace lab02 {
namespace {

struct sample {
  double seconds;
  bool throttled;
};

bool calm(machine& m, double& best, double until) {
  const double share = m.clock_share();
  best = std::max(best, share);
  if (share >= best) return true;
  do m.rest(5e-3);
  while (m.clock_share() < best && m.steady_seconds() < until);
  return false;
}

double one(machine& m, bool cold, int calls) {
  m.prepare(calls);
  m.touch();
  if (cold) m.flush_caches();
  m.wait_for_device();
  const double t0 = m.steady_seconds();
  for (int i = 0; i < calls; ++i) {
    m.keep(m.run(i));
    m.wait_for_device();
  }
  return m.steady_seconds() - t0;
}

generator<double> differences(machine& m) {
  double pause = 1e-8;
  for (double last = m.steady_seconds();;) {
    double now = m.steady_seconds();
    for (int i = 0; now == last; ++i, now = m.steady_seconds())
      if (i > 200) m.rest(pause), pause *= 1.1;
    co_yield now - last;
    last = now;
  }
}

generator<sample> samples(machine& m, bool cold, int calls, double& best, double until) {
  for (;;) {
    const double s = one(m, cold, calls) / calls;
    const bool ok = calm(m, best, until);
    co_yield sample{s, !ok};
  }
}

double at(const std::valarray<double>& sorted, double q) {
  const double where = q * static_cast<double>(sorted.size() - 1);
  const auto i = static_cast<std::size_t>(where), j = std::min(i + 1, sorted.size() - 1);
  return sorted[i] + (where - static_cast<double>(i)) * (sorted[j] - sorted[i]);
}

std::valarray<double> sorted(const std::vector<double>& v) {
  std::valarray<double> a(v.data(), v.size());
  std::sort(std::begin(a), std::end(a));
  return a;
}

std::string show(const timing& t) {
  std::ostringstream text;
  text << std::scientific << std::setprecision(4) << t.median_seconds << " s [" << t.low_seconds << ", " << t.high_seconds
       << "], " << t.samples << " samples";
  return text.str();
}

}  // namespace

timing benchmark(machine& m, const options& how) {
  const double start = m.steady_seconds(), until = start + how.budget_seconds;
  double best = m.clock_share();

  double tick = HUGE_VAL;
  {
    auto d = differences(m);
    for (int i = 0; i < 12; ++i) tick = std::min(tick, d.next().value());
  }

  for (int i = 0; i < 9; ++i) {
    one(m, how.cold, 1);
    calm(m, best, until);
  }
  double took = one(m, how.cold, 1);
  calm(m, best, until);
  int calls = 1;
  while (!how.cold && took < 400 * tick && calls < 200000) {
    calls *= 4;
    took = one(m, false, calls);
    calm(m, best, until);
  }

  std::valarray<double> empty(7);
  for (double& e : empty) {
    m.wait_for_device();
    const double t0 = m.steady_seconds();
    for (int i = 0; i < std::max(calls, 64); ++i) m.run_nothing(), m.wait_for_device();
    e = (m.steady_seconds() - t0) / std::max(calls, 64);
  }
  std::sort(std::begin(empty), std::end(empty));

  timing t;
  t.overhead_seconds = empty[3];
  std::vector<double> good;
  auto source = samples(m, how.cold, calls, best, until);
  for (;;) {
    const sample s = source.next().value();
    if (s.throttled)
      ++t.dropped;
    else
      good.push_back(s.seconds - t.overhead_seconds);
    const bool broke = m.steady_seconds() + s.seconds * calls * 1.05 > until;
    if (good.empty()) {
      if (broke) return t;
      continue;
    }
    const auto a = sorted(good);
    const double half = 1.5 / std::sqrt(static_cast<double>(a.size()));
    const double error = (at(a, std::min(1.0, 0.5 + half)) - at(a, std::max(0.0, 0.5 - half))) / 6;
    const bool enough = static_cast<int>(a.size()) >= how.least_samples && error <= how.relative_error * at(a, 0.5);
    if (!enough && !(broke && static_cast<int>(a.size()) >= how.least_samples)) continue;
    t.median_seconds = at(a, 0.5);
    t.low_seconds = at(a, 0.1);
    t.high_seconds = at(a, 0.9);
    t.samples = static_cast<int>(a.size());
    const double q1 = at(a, 0.25), q3 = at(a, 0.75), fence = 3 * (q3 - q1) + t.median_seconds / 10;
    const std::valarray<bool> far = (a > q3 + fence) || (a < q1 - fence);
    t.outliers = static_cast<int>(std::count(std::begin(far), std::end(far), true));
    std::clog << show(t) << '\n';
    return t;
  }
}

}  // namespace lab02
