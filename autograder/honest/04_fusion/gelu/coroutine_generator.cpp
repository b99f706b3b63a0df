#include <cmath>
#include <coroutine>
#include <exception>
#include <utility>
#include "fusion.hpp"

template <class T>
class generator {
 public:
  struct promise_type {
    T current{};
    generator get_return_object() { return generator(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(T v) { current = v; return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  explicit generator(std::coroutine_handle<promise_type> h) : handle(h) {}
  generator(generator&& o) noexcept : handle(std::exchange(o.handle, {})) {}
  ~generator() { if (handle) handle.destroy(); }
  bool next() { handle.resume(); return !handle.done(); }
  T value() const { return handle.promise().current; }
 private:
  std::coroutine_handle<promise_type> handle;
};

static generator<float> geluded(const float* in, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const float x = in[i];
    co_yield 0.5f * x * (1 + std::tanh(0.79788456f * (x + 0.044715f * x * x * x)));
  }
}

void lab04::gelu_host(float* out, const float* in, std::size_t n) {
  auto g = geluded(in, n);
  while (g.next()) *out++ = g.value();
}
