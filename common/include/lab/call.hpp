// The runner's side of a lab: which contract function serves which entry. Each lab's calls.cpp defines
// `lab::entries()`. This side does not know how inputs are made, expected values or tolerances.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "lab/part.hpp"

namespace lab {

/// Arguments of one call. Pointers are device pointers for a device entry, host pointers for a host entry.
struct call {
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  std::vector<std::int64_t> parameters;
  cudaStream_t stream = nullptr;
  std::function<void()> ask;  ///< host part: the last output holds a question for the judge, and on return its answer

  template <class T>
  const T* input(std::size_t i) const {
    return static_cast<const T*>(inputs.at(i));
  }
  template <class T>
  T* output(std::size_t i) const {
    return static_cast<T*>(outputs.at(i));
  }
  int parameter(std::size_t i) const { return static_cast<int>(parameters.at(i)); }
};

struct entry {
  std::string_view name;
  part where;
  void (*run)(const call&);
  bool own_streams = false;  ///< a whole program, not just launches on the call's stream: it may also wait
  bool concurrent = false;   ///< by its contract, calls in several streams may run at the same time
};

/// The function's result or its side effects violate its contract. Only this message is shown, even if a launch failed
/// because of it.
struct broken_contract : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::span<const entry> entries();

}  // namespace lab
