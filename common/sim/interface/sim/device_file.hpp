// A device's figures from its description devices/NAME.toml.
#pragma once

#include <toml++/toml.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace sim {

/// Throws std::runtime_error, which names the file and the key, if one is missing.
class device_file {
 public:
  device_file(const std::string& folder, const std::string& name)
      : path_(folder + "/" + name + ".toml"), table_(parsed(path_)) {}
  device_file(std::string path, toml::table table) : path_(std::move(path)), table_(std::move(table)) {}

  double number(const char* key) const { return value_of<double>(table_[key], key); }
  int whole(const char* key) const { return static_cast<int>(number(key)); }
  int whole(const char* key, std::size_t index) const { return value_of<int>(table_[key][index], key); }
  std::string text(const char* key) const { return value_of<std::string>(table_[key], key); }

 private:
  static toml::table parsed(const std::string& path) try {
    return toml::parse_file(path);
  } catch (const toml::parse_error& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
  template <class T>
  T value_of(const toml::node_view<const toml::node>& node, const char* key) const {
    const auto value = node.value<T>();
    if (!value) throw std::runtime_error(path_ + ": '" + key + "' is missing");
    return *value;
  }

  std::string path_;
  toml::table table_;
};

}  // namespace sim
