// The judge's own use of a GPU: memory that it owns and a runner in a box maps. gpu.cpp is part of the grader only, and
// of builds with CUDA only; the judge gets the GPU as an argument, or none.
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
  virtual void write(std::span<const std::byte> from) = 0;  ///< to its beginning; waits until it is there
  virtual void read(std::span<std::byte> to) = 0;
};

class gpu {
 public:
  virtual ~gpu() = default;
  virtual void add_to(box& what) = 0;  ///< device nodes, and the driver's library as /driver
  /// At least that much. Throws std::runtime_error if there is not.
  virtual std::unique_ptr<gpu_memory> share(std::size_t bytes) = 0;
};

/// Null if this machine has none.
gpu* this_gpu();

}  // namespace grading
