// The judge's use of a GPU: it owns memory that a runner in the sandbox maps. gpu.cpp is part of the grader alone, in
// builds with CUDA; the judge gets a GPU or null as an argument.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "sandbox/sandbox.hpp"

namespace grading {

class gpu_memory {
 public:
  virtual ~gpu_memory() = default;
  virtual std::size_t bytes() const = 0;
  virtual int descriptor() const = 0;                       ///< for the runner
  virtual void write(std::span<const std::byte> from) = 0;  ///< writes to its beginning, and waits until done
  virtual void read(std::span<std::byte> to) = 0;
};

class gpu {
 public:
  virtual ~gpu() = default;
  virtual void add_to(box& what) = 0;  ///< device nodes, and the driver's library as /driver
  /// Allocates at least `bytes`; throws std::runtime_error if it cannot.
  virtual std::unique_ptr<gpu_memory> share(std::size_t bytes) = 0;
};

/// Null if this machine has none.
gpu* this_gpu();

}  // namespace grading
