// A class that closes the file, a vector of places, exceptions within.
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <charconv>
#include <numeric>
#include <span>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "host.hpp"

namespace {

class file {
 public:
  explicit file(const char* path) : number_(::openat(AT_FDCWD, path, O_RDONLY)) {
    if (number_ == -1) throw std::system_error(errno, std::generic_category(), path);
  }
  ~file() { ::close(number_); }
  file(const file&) = delete;
  file& operator=(const file&) = delete;
  void scatter(std::vector<iovec> places, off_t from) const {
    while (!places.empty()) {
      ssize_t got = ::preadv(number_, places.data(), static_cast<int>(places.size()), from);
      if (got < 1) throw std::runtime_error("too short");
      from += got;
      std::size_t whole = 0;
      while (whole < places.size() && got >= static_cast<ssize_t>(places[whole].iov_len)) got -= places[whole++].iov_len;
      places.erase(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(whole));
      if (places.empty()) break;
      places.front().iov_base = static_cast<char*>(places.front().iov_base) + got;
      places.front().iov_len -= got;
    }
  }

 private:
  int number_;
};

}  // namespace

bool lab12::load(const char* path, const tensor* tensors, std::size_t count) try {
  const file f(path);
  static char gap[256];
  std::vector<iovec> places;
  places.reserve(2 * count);
  std::int64_t at = tensors->offset;
  for (const tensor& t : std::span(tensors, count)) {
    if (t.offset > at) places.push_back({gap, static_cast<std::size_t>(t.offset - at)});
    if (t.bytes > 0) places.push_back({t.to, static_cast<std::size_t>(t.bytes)});
    at = t.offset + t.bytes;
  }
  f.scatter(std::move(places), tensors->offset);
  return true;
} catch (const std::exception&) {
  return false;
}

void lab12::generate(int* tokens, char* text, std::int64_t* workspace, const std::int32_t* embedding, const std::int32_t* head, int vocabulary, int width, int first, int count) {
  const std::span<std::int64_t> state(workspace, static_cast<std::size_t>(width));
  for (std::int64_t& s : state) s = 0;
  for (int last = first; count > 0; --count) {
    const std::int32_t* e = embedding + static_cast<std::ptrdiff_t>(last) * width;
    for (std::int64_t& s : state) s = s / 2 + *e++;
    const auto score = [&](int token) {
      return std::inner_product(state.begin(), state.end(), head + static_cast<std::ptrdiff_t>(token) * width,
                                std::int64_t{0});
    };
    last = 0;
    std::int64_t best = score(0);
    for (int token = 1; token < vocabulary; ++token)
      if (const std::int64_t one = score(token); one > best) best = one, last = token;
    *tokens++ = last;
    text = std::to_chars(text, text + 11, last).ptr;
    *text++ = '\n';
  }
  *text = 0;
}
