// Shared by the programs' main functions: sizes drawn from a name, and a check that ends the program.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace lab13 {

inline std::vector<void*> allocated;

/// Numbers drawn from a name: the same name draws the same numbers on every machine. Its destructor
/// frees what `allocate` allocated.
class drawn {
 public:
  drawn(int argc, char** argv) {
    if (argc != 2 || *argv[1] == '\0') {
      std::fprintf(stderr, "which student? Give the name in findings.toml: %s NAME\n", argv[0]);
      std::exit(2);
    }
    for (const char c : std::string_view(argv[1])) state_ = (state_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }

  drawn(const drawn&) = delete;
  drawn& operator=(const drawn&) = delete;
  ~drawn() {
    for (void* memory : allocated) cudaFree(memory);
    allocated.clear();  // ./course profile runs the program twice
  }

  /// From `least` to `most`, inclusive.
  int operator()(int least, int most) {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;  // splitmix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return least + static_cast<int>((z ^ (z >> 31)) % static_cast<std::uint64_t>(most - least + 1));
  }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325u;
};

/// Ends the program if the call failed.
inline void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

/// Device memory that is not written yet.
template <class T>
T* allocate(std::size_t count) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, count * sizeof(T)));
  allocated.push_back(memory);
  return static_cast<T*>(memory);
}

/// Device memory with these values.
template <class T>
T* uploaded(const std::vector<T>& values) {
  T* memory = allocate<T>(values.size());
  check(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return memory;
}

template <class T>
std::vector<T> downloaded(const T* memory, std::size_t count) {
  std::vector<T> values(count);
  check(cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

}  // namespace lab13
