// Three ways to load the same file, and three things that a loop may do a thousand times: how many system calls does
// each make?
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "host.hpp"

namespace lab12 {

/// In pieces of 4096 bytes, until a read returns 0 at the end of the file.
inline void read_in_pieces(const char* path, std::byte* to) {
  const int file = open(path, O_RDONLY);
  for (ssize_t got; (got = read(file, to, 4096)) > 0;) to += got;
  close(file);
}

/// All at once; fstat tells the size.
inline void read_at_once(const char* path, std::byte* to) {
  const int file = open(path, O_RDONLY);
  struct stat status;
  fstat(file, &status);
  for (ssize_t got, rest = status.st_size; rest > 0 && (got = read(file, to, static_cast<std::size_t>(rest))) > 0;)
    to += got, rest -= got;
  close(file);
}

/// Maps the file, then copies it.
inline void map_and_copy(const char* path, std::byte* to) {
  const int file = open(path, O_RDONLY);
  struct stat status;
  fstat(file, &status);
  const auto bytes = static_cast<std::size_t>(status.st_size);
  void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  std::memcpy(to, mapped, bytes);
  munmap(mapped, bytes);
}

/// An array of 64 MiB for each token; only its first byte is used.
inline void allocate_often(std::byte* to, int times) {
  for (int i = 0; i < times; ++i) {
    auto* const array = static_cast<volatile std::byte*>(std::malloc(64u << 20));
    if (!array) return;
    array[0] = std::byte{1};
    *to = array[0];
    std::free(const_cast<std::byte*>(array));
  }
}

/// Asks for the time.
inline void ask_the_clock(std::int64_t* last, int times) {
  for (int i = 0; i < times; ++i) *last = std::chrono::steady_clock::now().time_since_epoch().count();
}

/// A lock that no other thread wants.
inline void lock_and_unlock(std::int64_t* sum, int times) {
  std::mutex one;
  for (int i = 0; i < times; ++i) {
    const std::lock_guard lock(one);
    ++*sum;
  }
}

}  // namespace lab12
