// Ranges, a monotonic buffer on the stack instead of the heap, std::format's predecessor by hand.
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory_resource>
#include <numeric>
#include <ranges>
#include <span>
#include <string_view>
#include <vector>

#include "host.hpp"

namespace lab12 {

struct closer {
  int file;
  ~closer() {
    if (file >= 0) close(file);
  }
};

bool load(const char* path, const tensor* first, std::size_t count) {
  const std::span tensors(first, count);
  std::array<std::byte, 1 << 16> store;
  std::pmr::monotonic_buffer_resource arena(store.data(), store.size(), std::pmr::null_memory_resource());
  std::pmr::vector<iovec> list(&arena);
  list.reserve(2 * count);
  std::byte lost[255];
  for (auto end = tensors.front().offset; const tensor& one : tensors) {
    list.push_back({lost, static_cast<std::size_t>(one.offset - end)});
    list.push_back({one.to, static_cast<std::size_t>(one.bytes)});
    end = one.offset + one.bytes;
  }
  const closer now{openat(AT_FDCWD, path, O_RDONLY | O_NOCTTY)};
  if (now.file < 0) return false;
  const auto end = tensors.back().offset + tensors.back().bytes;
  for (auto at = tensors.front().offset; at < end;) {
    const auto got = preadv(now.file, list.data(), static_cast<int>(list.size()), at);
    if (got <= 0) return false;
    at += got;
    // What is there needs no room any more.
    for (auto there = static_cast<std::size_t>(got); iovec & one : list) {
      const auto part = std::min(there, one.iov_len);
      one = {static_cast<std::byte*>(one.iov_base) + part, one.iov_len - part};
      there -= part;
    }
  }
  return true;
}

void generate(int* tokens, char* text, std::int64_t* workspace, const std::int32_t* embedding, const std::int32_t* head,
              int vocabulary, int width, int first, int count) {
  const std::span state(workspace, static_cast<std::size_t>(width));
  std::ranges::fill(state, 0);
  const auto row = [&](const std::int32_t* of, int which) {
    return std::span(of + static_cast<std::size_t>(which) * state.size(), state.size());
  };
  for (int& token : std::span(tokens, static_cast<std::size_t>(count))) {
    std::ranges::transform(state, row(embedding, first), state.begin(), [](auto s, auto e) { return s / 2 + e; });
    const auto score = [&](int which) {
      return std::transform_reduce(state.begin(), state.end(), row(head, which).begin(), std::int64_t{0});
    };
    token = first = *std::ranges::max_element(std::views::iota(0, vocabulary), {}, score);
    char digits[12], *end = digits + sizeof digits, *at = end;
    *--at = '\n';
    do *--at = static_cast<char>('0' + first % 10);
    while ((first /= 10) > 0);
    first = token;
    text = std::copy(at, end, text);
  }
  *text = '\0';
}

}  // namespace lab12
