// Weights by three system calls, and a token loop without any.
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "host.hpp"

namespace lab12 {
namespace {

constexpr std::size_t most_gap = 256, most_pieces = 2 * 500;  // a tensor and the gap after it; the kernel takes 1024

//! [pieces]
/// What preadv fills, in the order of the file: tensors, and between them what belongs nowhere.
struct pieces {
  std::array<iovec, most_pieces> list;
  std::size_t count = 0, first = 0;
  std::int64_t end = 0;  ///< of the file, as far as it is read
  std::byte unwanted[most_gap];

  void add(std::byte* to, std::int64_t bytes) {
    if (bytes > 0) list[count++] = {to, static_cast<std::size_t>(bytes)};
    end += bytes;
  }
  /// The first `bytes` bytes have been read.
  void drop(std::size_t bytes) {
    for (; first < count && bytes >= list[first].iov_len; ++first) bytes -= list[first].iov_len;
    if (first == count) return;
    list[first].iov_base = static_cast<std::byte*>(list[first].iov_base) + bytes;
    list[first].iov_len -= bytes;
  }
};
//! [pieces]

/// All of them, in one call if nothing interrupts it.
bool fill(int file, std::int64_t offset, pieces& all) {
  while (all.first < all.count) {
    const ssize_t got =
        preadv(file, &all.list[all.first], static_cast<int>(all.count - all.first), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    offset += got;
    all.drop(static_cast<std::size_t>(got));
  }
  return true;
}

}  // namespace

//! [load]
bool load(const char* path, const tensor* tensors, std::size_t count) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  pieces all;
  all.end = tensors[0].offset;
  for (std::size_t i = 0; i < count; ++i) {
    all.add(all.unwanted, tensors[i].offset - all.end);
    all.add(tensors[i].to, tensors[i].bytes);
  }
  const bool whole = fill(file, tensors[0].offset, all);
  close(file);
  return whole;
}
//! [load]

void generate(int* tokens, char* text, std::int64_t* workspace, const std::int32_t* embedding, const std::int32_t* head,
              int vocabulary, int width, int first, int count) {
  const auto w = static_cast<std::size_t>(width);
  std::int64_t* const state = workspace;
  std::fill_n(state, w, 0);
  int last = first;
  for (int t = 0; t < count; ++t) {
    const std::int32_t* row = embedding + static_cast<std::size_t>(last) * w;
    for (std::size_t i = 0; i < w; ++i) state[i] = state[i] / 2 + row[i];
    std::int64_t best = 0;
    row = head;
    for (int token = 0; token < vocabulary; ++token, row += w) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < w; ++i) sum += state[i] * row[i];
      if (token > 0 && sum <= best) continue;
      best = sum;
      last = token;
    }
    tokens[t] = last;
    text = std::to_chars(text, text + 11, last).ptr;
    *text++ = '\n';
  }
  *text = '\0';
}

}  // namespace lab12
