// Reads a safetensors file: 8 bytes of length, JSON of that length with each tensor's position, then the tensors.
// Checks everything that it reads. All errors are model_errors that begin with the file's name.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gpt2/model.hpp"

namespace gpt2 {

struct stored_tensor {
  std::string type;  ///< "F32", "BF16", ...
  std::vector<std::size_t> shape;
  std::span<const std::byte> data;
};

/// The tensors by name. They point into `file`.
std::map<std::string, stored_tensor> tensors_of(std::span<const std::byte> file, const std::string& name);

/// The tensor's numbers. Its type must be F32, F16 or BF16, and its bytes must match its shape. `key` is its name.
std::vector<float> numbers_of(const stored_tensor& t, const std::string& key, const std::string& name);

/// The contents of a file.
std::vector<std::byte> bytes_of(const std::filesystem::path& path);

[[noreturn]] void fail(const std::string& name, const std::string& what);

}  // namespace gpt2
