#include "settings.hpp"

#include <unistd.h>

#include <map>
#include <string>

namespace sim {

// Runs before the constructors of the program's global objects.
[[gnu::constructor(101)]] static void read_settings() { setting(""); }

const char* setting(const char* name) {
  static const auto& all = *[] {
    auto* const found = new std::map<std::string, std::string>;
    for (char** one = environ; *one; ++one)
      if (const std::string text = *one; text.starts_with("SIM_"))
        if (const std::size_t equals = text.find('='); equals != std::string::npos)
          found->emplace(text.substr(0, equals), text.substr(equals + 1));
    return found;
  }();
  const auto found = all.find(name);
  return found == all.end() || found->second.empty() ? nullptr : found->second.c_str();
}

}  // namespace sim
