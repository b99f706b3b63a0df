// A generator yields the pieces; exceptions say what went wrong; a lambda closes.
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <charconv>
#include <coroutine>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "host.hpp"

namespace {

struct pieces {
  struct promise_type {
    iovec now{};
    pieces get_return_object() { return pieces{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(iovec v) noexcept {
      now = v;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { throw; }
  };
  explicit pieces(std::coroutine_handle<promise_type> h) : handle(h) {}
  pieces(const pieces&) = delete;
  pieces& operator=(const pieces&) = delete;
  ~pieces() { handle.destroy(); }
  std::optional<iovec> next() {
    handle.resume();
    if (handle.done()) return std::nullopt;
    return handle.promise().now;
  }
  std::coroutine_handle<promise_type> handle;
};

pieces all_of(const lab12::tensor* t, std::size_t n, char* gap) {
  std::int64_t at = t->offset;
  for (const auto* end = t + n; t != end; ++t) {
    if (t->offset != at) co_yield iovec{gap, static_cast<std::size_t>(t->offset - at)};
    if (t->bytes != 0) co_yield iovec{t->to, static_cast<std::size_t>(t->bytes)};
    at = t->offset + t->bytes;
  }
}

void load_or_throw(const char* path, const lab12::tensor* tensors, std::size_t count) {
  int number = ::open(path, O_RDONLY);
  if (number < 0) throw std::system_error(errno, std::generic_category());
  const auto close_it = [](const int* n) { ::close(*n); };
  const std::unique_ptr<int, decltype(close_it)> file(&number, close_it);
  thread_local char gap[256];
  std::vector<iovec> list;
  auto source = all_of(tensors, count, gap);
  while (const auto piece = source.next()) list.push_back(*piece);
  auto at = tensors->offset;
  for (auto next = list.begin(); next != list.end();) {
    auto got = ::preadv64(number, &*next, static_cast<int>(list.end() - next), at);
    if (got < 1) throw std::runtime_error("short");
    for (at += got; next != list.end() && got >= static_cast<ssize_t>(next->iov_len); ++next) got -= static_cast<ssize_t>(next->iov_len);
    if (next != list.end()) *next = {static_cast<char*>(next->iov_base) + got, next->iov_len - static_cast<std::size_t>(got)};
  }
}

}  // namespace

bool lab12::load(const char* path, const tensor* tensors, std::size_t count) {
  try {
    load_or_throw(path, tensors, count);
  } catch (...) {
    return false;
  }
  return true;
}

void lab12::generate(int* tokens, char* text, std::int64_t* state, const std::int32_t* embedding, const std::int32_t* head, int vocabulary, int width, int first, int count) {
  struct model {
    const std::int32_t *embedding, *head;
    std::int64_t* state;
    int vocabulary, width;
    int operator()(int last) const {
      auto e = embedding + static_cast<std::ptrdiff_t>(last) * width;
      for (auto s = state; s != state + width;) *s = *s / 2 + *e++, ++s;
      int best = -1;
      std::int64_t most = 0;
      auto h = head;
      for (int token = 0; token != vocabulary; ++token) {
        std::int64_t sum = 0;
        for (int i = 0; i != width; ++i) sum += *h++ * state[i];
        if (best < 0 || most < sum) most = sum, best = token;
      }
      return best;
    }
  } const next{embedding, head, state, vocabulary, width};
  for (int i = 0; i < width; ++i) state[i] = 0;
  for (int t = 0; t < count; ++t) {
    tokens[t] = first = next(first);
    text = std::to_chars(text, text + 11, first).ptr;
    *text++ = '\n';
  }
  *text++ = 0;
}
