// The CUDA runtime with owning types and checked calls: device memory, streams, events. Plain C++, so that the same
// header serves a GPU and the simulated device.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sim {
[[gnu::weak]] void name_allocation(const void* pointer, const std::string& name);  // only the simulated device has it
}

namespace lab {

/// A failed CUDA call; `what()` names the call, its source line, and the error.
struct device_error : std::runtime_error {
  device_error(const std::string& text, cudaError_t status) : std::runtime_error(text), code(status) {}
  cudaError_t code;
};

/// "cudaErrorInvalidValue (invalid argument)"
inline std::string describe(cudaError_t status) {
  return std::string(cudaGetErrorName(status)) + " (" + cudaGetErrorString(status) + ")";
}

inline void check_cuda(cudaError_t status, const char* call, std::string_view file, int line) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // otherwise the next check would blame another call
  file.remove_prefix(file.rfind('/') + 1);
  throw device_error(
      std::string(file) + ":" + std::to_string(line) + ": " + std::string(call) + " failed: " + describe(status),
      status);
}

}  // namespace lab

/// Throws lab::device_error if a CUDA call does not return cudaSuccess.
#define LAB_CUDA_CHECK(call) ::lab::check_cuda((call), #call, __FILE__, __LINE__)

namespace lab {

/// Owns a stream. It is ordered with the default stream, so a timing includes every launch.
class stream {
 public:
  explicit stream(unsigned flags = cudaStreamDefault) { LAB_CUDA_CHECK(cudaStreamCreateWithFlags(&handle_, flags)); }
  ~stream() { (void)cudaStreamDestroy(handle_); }
  stream(const stream&) = delete;  // owns the handle
  stream& operator=(const stream&) = delete;
  cudaStream_t get() const { return handle_; }
  void synchronize() const { LAB_CUDA_CHECK(cudaStreamSynchronize(handle_)); }

 private:
  cudaStream_t handle_ = nullptr;
};

/// Owns an event: a point in a stream whose time can be read.
class event {
 public:
  event() { LAB_CUDA_CHECK(cudaEventCreate(&handle_)); }
  ~event() { (void)cudaEventDestroy(handle_); }
  event(const event&) = delete;  // owns the handle
  event& operator=(const event&) = delete;
  void record(const stream& where) { LAB_CUDA_CHECK(cudaEventRecord(handle_, where.get())); }
  /// Waits for this event and returns the seconds since `start`.
  double seconds_since(const event& start) const {
    float milliseconds = 0.0f;
    LAB_CUDA_CHECK(cudaEventSynchronize(handle_));
    LAB_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start.handle_, handle_));
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t handle_ = nullptr;
};

/// Owns `size` elements of device memory, all bytes 0xFF (NaN in floating point), between two red zones: memory that
/// must not be written, so that a write outside the buffer is detected. `data()` is 256-byte aligned.
template <class T>
class device_buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static constexpr std::size_t default_red_zone_bytes = 4096;

  /// Puts red zones of `red_zone_bytes`, rounded up to a multiple of 256, on either side; 0 for none. Throws
  /// lab::device_error if there is too little memory.
  explicit device_buffer(std::size_t size, std::size_t red_zone_bytes = default_red_zone_bytes)
      : size_(size), zone_bytes_((red_zone_bytes + 255) / 256 * 256) {
    static std::atomic<std::uint32_t> buffers{0};
    serial_ = ++buffers;
    LAB_CUDA_CHECK(cudaMalloc(&base_, std::max<std::size_t>(bytes() + 2 * zone_bytes_, 1)));
    try {
      poison();
      const std::vector<std::uint32_t> zone = zone_content();
      if (zone.empty()) return;
      LAB_CUDA_CHECK(cudaMemcpy(base_, zone.data(), zone_bytes_, cudaMemcpyHostToDevice));
      LAB_CUDA_CHECK(cudaMemcpy(back_zone(), zone.data(), zone_bytes_, cudaMemcpyHostToDevice));
    } catch (...) {
      (void)cudaFree(base_);
      throw;
    }
  }
  ~device_buffer() { (void)cudaFree(base_); }
  device_buffer(device_buffer&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        zone_bytes_(other.zone_bytes_),
        serial_(other.serial_) {}
  device_buffer& operator=(device_buffer&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(size_, other.size_);
    std::swap(zone_bytes_, other.zone_bytes_);
    std::swap(serial_, other.serial_);
    return *this;
  }
  device_buffer(const device_buffer&) = delete;  // copying gigabytes should be explicit
  device_buffer& operator=(const device_buffer&) = delete;

  T* data() const { return reinterpret_cast<T*>(static_cast<std::byte*>(base_) + zone_bytes_); }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }
  /// Names the buffer in the simulated device's messages and summary.
  void set_name(const std::string& name) {
    if (sim::name_allocation) sim::name_allocation(base_, name);
  }

  /// Fills the elements with 0xFF again; the form with a stream does not wait.
  void poison() { LAB_CUDA_CHECK(cudaMemset(data(), 0xFF, bytes())); }
  void poison(const stream& where) { LAB_CUDA_CHECK(cudaMemsetAsync(data(), 0xFF, bytes(), where.get())); }

  /// Whether the red zones are unchanged. Waits for work on the default stream.
  bool intact() const {
    const std::vector<std::uint32_t> want = zone_content();
    std::vector<std::uint32_t> got(want.size());
    for (const void* zone : {static_cast<const void*>(base_), static_cast<const void*>(back_zone())}) {
      if (want.empty()) break;
      LAB_CUDA_CHECK(cudaMemcpy(got.data(), zone, zone_bytes_, cudaMemcpyDeviceToHost));
      if (got != want) return false;
    }
    return true;
  }

 private:
  /// All NaNs differ, even between buffers, so that a copy from one red zone to another is detected.
  std::vector<std::uint32_t> zone_content() const {
    std::vector<std::uint32_t> words(zone_bytes_ / sizeof(std::uint32_t));
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = 0xFFC00000u | ((serial_ * 0x9E3779B1u + static_cast<std::uint32_t>(i)) & 0x3FFFFFu);
    return words;
  }
  void* back_zone() const { return reinterpret_cast<std::byte*>(data()) + bytes(); }

  void* base_ = nullptr;
  std::size_t size_ = 0, zone_bytes_ = 0;
  std::uint32_t serial_ = 0;
};

}  // namespace lab
