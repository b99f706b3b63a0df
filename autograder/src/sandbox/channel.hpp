// The protocol between judge and runner: length-prefixed messages, and the position of each buffer in shared memory.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/execute.hpp"

namespace grading {

constexpr int runner_socket = 3;  ///< file descriptors that a runner inherits
constexpr int runner_memory = 4;
constexpr int runner_device_memory = 5;            ///< only if the judge shares GPU memory
constexpr const char* runner_host_only = "host";   ///< runner argument: calls of the host part only, one thread
constexpr const char* runner_counted = "counted";  ///< the judge counts its system calls; only with runner_host_only
constexpr const char* runner_threads = "threads";  ///< it may start threads; only with runner_host_only
/// Argument of a runner without isolation: it also runs where the system cannot limit its system calls.
constexpr const char* runner_without_wall = "without-wall";
/// Thrown by the substitute for a function whose file was not built.
constexpr const char* file_not_built = "this function is in a file that was not built";
constexpr std::size_t page_bytes = 4096;  ///< every buffer starts on a page
constexpr std::uint32_t longest_message = 64u << 20;

/// The first page of the shared memory; the buffers follow it. No verdict depends on it: a submission that sets
/// `done` too early is stopped at once, with the output so far.
struct control {
  static constexpr std::uint32_t taken = ~std::uint32_t{0};
  std::atomic<std::uint32_t> ready;  ///< runner: how many times this request has reached lab::call_gate::begin
  std::atomic<std::uint32_t> go;  ///< judge: how many of these the runner may pass; `taken`: the judge has the outputs
  std::atomic<std::uint32_t> done;      ///< runner: the outputs are ready
  std::atomic<std::uint32_t> news;      ///< runner: done, or the last output holds a question; the judge resets it
  std::atomic<std::uint32_t> answered;  ///< judge: the answer is ready
  std::uint64_t device_bytes;           ///< judge: size of the device memory
};
static_assert(sizeof(control) <= page_bytes && std::atomic<std::uint32_t>::is_always_lock_free);

/// Sets `flag` to 1 and wakes the process that sleeps on it.
void set_and_wake(std::atomic<std::uint32_t>& flag);
/// Sleeps while the word, in memory shared with another process, has this value, but only until the time is up. May
/// wake early.
void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value,
                 std::optional<std::chrono::nanoseconds> at_most = {});

/// Offsets of the buffers of a request. Each buffer has at least a page of guard zone before and after it.
struct layout {
  std::vector<std::size_t> inputs, outputs;
  std::size_t bytes = 0;
};
layout layout_of(const lab::request& what);

/// Points the request's spans into `memory`, which holds at least layout_of(what).bytes.
void place(lab::request& what, const layout& where, std::span<std::byte> memory);

/// Memory for buffers of this process alone: starts at a page, grows as needed, and then loses its contents.
class private_memory {
 public:
  private_memory() = default;
  private_memory(const private_memory&) = delete;  // owns pages
  private_memory& operator=(const private_memory&) = delete;
  ~private_memory() { release(); }
  /// Throws std::runtime_error if there is not enough.
  std::span<std::byte> first(std::size_t bytes);

 private:
  void release();
  std::span<std::byte> pages_;
};

/// Length, then text. False if the other side is gone.
bool send_message(int socket, const std::string& text);

/// Passes one descriptor; the other side receives its own for the same file, or -1 if none came.
bool send_descriptor(int socket, int descriptor);
int receive_descriptor(int socket);

/// Waits for one message; false if the other side is gone or sends something else.
bool receive_message(int socket, std::string& text);

}  // namespace grading
