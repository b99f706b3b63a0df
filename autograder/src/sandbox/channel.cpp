// Messages over a socket, buffers in shared memory.
#include "sandbox/channel.hpp"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace grading {
namespace {

/// The rest of the last page and one more page lie between two buffers.
std::size_t end_of(std::size_t start, std::size_t bytes) {
  return start + (bytes + page_bytes - 1) / page_bytes * page_bytes + page_bytes;
}

bool receive_all(int socket, char* data, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = recv(socket, data, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    data += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

void set_and_wake(std::atomic<std::uint32_t>& flag) {
  flag.store(1);
  syscall(SYS_futex, &flag, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value,
                 std::optional<std::chrono::nanoseconds> at_most) {
  const auto nanoseconds = at_most.value_or(std::chrono::nanoseconds{}).count();
  const timespec wait{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, at_most ? &wait : nullptr, nullptr, 0);
}

layout layout_of(const lab::request& what) {
  layout result;
  result.bytes = page_bytes;
  for (const lab::buffer_spec& spec : what.input_specs) {
    result.inputs.push_back(result.bytes);
    result.bytes = end_of(result.bytes, spec.bytes());
  }
  for (const lab::buffer_spec& spec : what.output_specs) {
    result.outputs.push_back(result.bytes);
    result.bytes = end_of(result.bytes, spec.bytes());
  }
  return result;
}

void place(lab::request& what, const layout& where, std::span<std::byte> memory) {
  what.inputs.clear();
  what.outputs.clear();
  for (std::size_t i = 0; i < what.input_specs.size(); ++i)
    what.inputs.push_back(memory.subspan(where.inputs[i], what.input_specs[i].bytes()));
  for (std::size_t i = 0; i < what.output_specs.size(); ++i)
    what.outputs.push_back(memory.subspan(where.outputs[i], what.output_specs[i].bytes()));
}

std::span<std::byte> private_memory::first(std::size_t bytes) {
  if (bytes > pages_.size()) {
    release();
    void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (start == MAP_FAILED) throw std::runtime_error("not enough memory for the buffers of this case");
    pages_ = {static_cast<std::byte*>(start), bytes};
  }
  return pages_.first(bytes);
}

void private_memory::release() {
  if (!pages_.empty()) munmap(pages_.data(), pages_.size());
  pages_ = {};
}

bool send_message(int socket, const std::string& text) {
  const auto length = static_cast<std::uint32_t>(text.size());
  std::string message(reinterpret_cast<const char*>(&length), sizeof length);  // both sides run on one machine
  message += text;
  for (std::size_t sent = 0; sent < message.size();) {
    const ssize_t n = send(socket, message.data() + sent, message.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

bool send_descriptor(int socket, int descriptor) {
  char byte = 0;
  iovec content{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof descriptor)] = {};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

int receive_descriptor(int socket) {
  char byte = 0;
  iovec content{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (!header || header->cmsg_type != SCM_RIGHTS) return -1;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return descriptor;
}

bool receive_message(int socket, std::string& text) {
  std::uint32_t length = 0;
  if (!receive_all(socket, reinterpret_cast<char*>(&length), sizeof length) || length > longest_message) return false;
  text.resize(length);
  return receive_all(socket, text.data(), length);
}

}  // namespace grading
