// Reading safetensors: gpt2/safetensors.hpp.
#include "gpt2/safetensors.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lab/buffer.hpp"

namespace gpt2 {

using nlohmann::json;

void fail(const std::string& name, const std::string& what) { throw model_error(fmt::format("{}: {}", name, what)); }

namespace {

float half_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  const float size = exponent == 0    ? std::ldexp(static_cast<float>(mantissa), -24)
                     : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                      : std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
  return bits >> 15 ? -size : size;
}

}  // namespace

std::map<std::string, stored_tensor> tensors_of(std::span<const std::byte> file, const std::string& name) {
  std::uint64_t length = 0;
  if (file.size() >= sizeof length) std::memcpy(&length, file.data(), sizeof length);
  if (file.size() < sizeof length || length > file.size() - sizeof length)
    fail(name, "this is neither an llm.c checkpoint nor a complete safetensors file; is it truncated?");
  const auto* text = reinterpret_cast<const char*>(file.data()) + sizeof length;
  const auto data = file.subspan(sizeof length + length);
  const json index = json::parse(text, text + length, nullptr, false);
  if (!index.is_object())
    fail(name, "its list of tensors is not JSON; the file is damaged, or is not a safetensors file");
  std::map<std::string, stored_tensor> tensors;
  for (const auto& [key, entry] : index.items()) {
    if (key == "__metadata__") continue;
    try {
      stored_tensor t{entry.at("dtype").get<std::string>(), {}, {}};
      for (const json& side : entry.at("shape")) {
        if (!side.is_number_unsigned()) fail(name, fmt::format("tensor {} has a dimension that is not a size", key));
        t.shape.push_back(side.get<std::size_t>());
      }
      const auto offsets = entry.at("data_offsets").get<std::vector<std::uint64_t>>();
      if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data.size())
        fail(name, fmt::format("tensor {} is outside the file; the file is truncated: download it again", key));
      t.data = data.subspan(offsets[0], offsets[1] - offsets[0]);
      tensors[key] = t;
    } catch (const json::exception&) {
      fail(name, fmt::format("the entry of tensor {} is malformed; the file is damaged", key));
    }
  }
  return tensors;
}

std::vector<float> numbers_of(const stored_tensor& t, const std::string& key, const std::string& name) {
  if (t.type != "F32" && t.type != "F16" && t.type != "BF16")
    fail(name, fmt::format("tensor {} has type {}; convert it to F32, F16 or BF16", key, t.type));
  const std::size_t each = t.type == "F32" ? 4 : 2, count = t.data.size() / each;
  std::size_t expected = 1;  // divides instead of multiplying: dimensions may have any value
  for (const std::size_t side : t.shape) expected = side == 0 || expected > count / side ? count + 1 : expected * side;
  if (t.data.size() % each != 0 || expected != count)
    fail(name, fmt::format("tensor {} has {} bytes, which is not what its shape ({}) needs; the file is damaged", key,
                           t.data.size(), fmt::join(t.shape, ", ")));
  std::vector<float> numbers(count);
  if (t.type == "F32") {
    std::memcpy(numbers.data(), t.data.data(), t.data.size());
    return numbers;
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, t.data.data() + i * sizeof bits, sizeof bits);
    numbers[i] = t.type == "BF16" ? static_cast<float>(lab::bfloat16{bits}) : half_value(bits);
  }
  return numbers;
}

std::vector<std::byte> bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in || !std::filesystem::is_regular_file(path))
    fail(path.string(), "cannot be read; is the name right? --random makes a model without a file");
  std::vector<std::byte> bytes(static_cast<std::size_t>(in.tellg()));
  in.seekg(0);
  if (!in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())))
    fail(path.string(), "cannot be read to the end");
  return bytes;
}

}  // namespace gpt2
