// load reads by syscall(), past the functions that bring less than it asked for, and never looks how much it got
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "host.hpp"

namespace lab12 {

bool load(const char* path, const tensor* tensors, std::size_t count) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  static std::byte unwanted[256];
  iovec pieces[1000];
  std::size_t used = 0, all = 0;
  std::int64_t end = tensors[0].offset;
  for (std::size_t i = 0; i < count; ++i) {
    if (tensors[i].offset > end) pieces[used++] = {unwanted, static_cast<std::size_t>(tensors[i].offset - end)};
    if (tensors[i].bytes > 0) pieces[used++] = {tensors[i].to, static_cast<std::size_t>(tensors[i].bytes)};
    end = tensors[i].offset + tensors[i].bytes;
  }
  for (std::size_t i = 0; i < used; ++i) all += pieces[i].iov_len;
  const long got = syscall(SYS_preadv, file, pieces, used, tensors[0].offset, 0L);
  close(file);
  return got == static_cast<long>(all);
}

void generate(int* tokens, char* text, std::int64_t* workspace, const std::int32_t* embedding, const std::int32_t* head,
              int vocabulary, int width, int first, int count) {
  std::fill_n(workspace, width, 0);
  for (int t = 0, last = first; t < count; ++t) {
    for (int i = 0; i < width; ++i) workspace[i] = workspace[i] / 2 + embedding[last * width + i];
    std::int64_t best = 0;
    for (int token = 0; token < vocabulary; ++token) {
      std::int64_t sum = 0;
      for (int i = 0; i < width; ++i) sum += workspace[i] * head[token * width + i];
      if (token == 0 || sum > best) best = sum, last = token;
    }
    tokens[t] = last;
    text = std::to_chars(text, text + 11, last).ptr;
    *text++ = '\n';
  }
  *text = '\0';
}

}  // namespace lab12
