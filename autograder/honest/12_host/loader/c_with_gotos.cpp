/* C: one array on the stack, goto out. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "host.hpp"

#define PUSH(base, len)              \
  do {                               \
    if ((len) > 0) {                 \
      v[n].iov_base = (void*)(base); \
      v[n].iov_len = (size_t)(len);  \
      n++;                           \
    }                                \
  } while (0)

bool lab12::load(const char* path, const tensor* tensors, size_t count) {
  struct iovec v[1000];
  char junk[256];
  int n = 0, ok = 0, fd = open64(path, O_RDONLY);
  ssize_t got;
  off_t at = tensors[0].offset;
  size_t i;
  if (fd == -1) return false;
  for (i = 0; i < count; i++) {
    PUSH(junk, tensors[i].offset - at);
    PUSH(tensors[i].to, tensors[i].bytes);
    at = tensors[i].offset + tensors[i].bytes;
  }
  struct iovec* w = v;
  at = tensors[0].offset;
more:
  if (n == 0) {
    ok = 1;
    goto out;
  }
  got = preadv(fd, w, n, at);
  if (got <= 0) goto out;
  at += got;
  while (n > 0 && (size_t)got >= w->iov_len) {
    got -= w->iov_len;
    w++;
    n--;
  }
  if (n > 0) {
    w->iov_base = (char*)w->iov_base + got;
    w->iov_len -= got;
  }
  goto more;
out:
  close(fd);
  return ok;
}

void lab12::generate(int* tokens, char* text, int64_t* workspace, const int32_t* embedding, const int32_t* head, int vocabulary, int width, int first, int count) {
  memset(workspace, 0, sizeof *workspace * (size_t)width);
  for (int t = 0; t < count; t++) {
    int64_t *s = workspace, *scores = workspace + width;
    for (int i = 0; i < width; i++) s[i] = s[i] / 2 + embedding[(size_t)first * width + i];
    for (int k = 0; k < vocabulary; k++) {
      scores[k] = 0;
      for (int i = 0; i < width; i++) scores[k] += s[i] * head[(size_t)k * width + i];
    }
    first = 0;
    for (int k = 1; k < vocabulary; k++)
      if (scores[k] > scores[first]) first = k;
    tokens[t] = first;
    text += sprintf(text, "%d\n", first);
  }
  *text = 0;
}
