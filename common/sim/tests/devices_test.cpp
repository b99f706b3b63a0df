// The device descriptions: the same keys in each, a source for each figure, and no contradictions.
#include <gtest/gtest.h>

#include <toml++/toml.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> descriptions() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(SIM_DEVICES_DIR))
    if (entry.path().extension() == ".toml") found.push_back(entry.path());
  return found;
}

TEST(Devices, AllHaveTheKeysOfTheH200) {
  const auto keys = [](const fs::path& path) {
    std::set<std::string> names;
    for (const auto& [key, value] : toml::parse_file(path.string())) names.insert(std::string(key.str()));
    return names;
  };
  const std::set<std::string> expected = keys(fs::path(SIM_DEVICES_DIR) / "h200.toml");
  EXPECT_GE(descriptions().size(), 5u);
  for (const fs::path& path : descriptions()) EXPECT_EQ(keys(path), expected) << path;
}

TEST(Devices, EveryFigureHasASource) {
  for (const fs::path& path : descriptions()) {
    std::ifstream file(path);
    int number = 0;
    for (std::string line; std::getline(file, line);) {
      ++number;
      if (line.empty() || line[0] == '#') continue;
      const std::size_t comment = line.find(" # ");
      EXPECT_TRUE(comment != std::string::npos && comment + 8 < line.size())
          << path.string() << ":" << number << ": add a comment with the source";
    }
  }
}

TEST(Devices, FiguresAreConsistent) {
  for (const fs::path& path : descriptions()) {
    SCOPED_TRACE(path.string());
    const toml::table t = toml::parse_file(path.string());
    const auto number = [&t](const char* key) { return t[key].value<double>().value_or(-1); };
    for (const auto& [key, value] : t) {
      if (value.is_number()) {
        const bool may_be_none = key == "link_bytes_per_second";
        EXPECT_GT(value.value<double>().value_or(0), may_be_none ? -1 : 0) << key.str();
      }
    }
    EXPECT_LT(number("copy_bytes_per_second"), number("dram_bytes_per_second"));
    EXPECT_LT(number("dram_bytes_per_second"), number("l2_bytes_per_second"));
    EXPECT_LT(number("host_copy_bytes_per_second"), number("pcie_bytes_per_second"));
    EXPECT_LT(number("allocatable_bytes"), number("memory_bytes"));
    EXPECT_LE(number("fp32_flops_per_second"),
              2 * number("fp32_lanes_per_sm") * number("multiprocessors") * number("sm_clock_hertz"));
    EXPECT_LT(number("fp32_flops_per_second"), number("tf32_tensor_flops_per_second"));
    EXPECT_LT(number("tf32_tensor_flops_per_second"), number("bf16_tensor_flops_per_second"));
    EXPECT_LT(number("l1_latency_cycles"), number("l2_latency_cycles"));
    EXPECT_LT(number("l2_latency_cycles"), number("dram_latency_seconds") * number("sm_clock_hertz"));
    EXPECT_EQ(number("shared_per_block_optin_bytes") + number("shared_reserved_per_block_bytes"),
              number("shared_per_sm_bytes"));
    EXPECT_EQ(t["compute_capability"].as_array()->size(), 2u);
  }
}

}  // namespace
