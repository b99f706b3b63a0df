// usage: trace_check trace.json    Says what is wrong with a trace; exits with 1 if anything is.
#include <cstdio>
#include <fstream>

#include "trace_faults.hpp"

int main(int argc, char** argv) {
  std::ifstream in(argc == 2 ? argv[1] : "");
  const nlohmann::json trace = nlohmann::json::parse(in, nullptr, false);
  const auto faults =
      trace.is_discarded() ? std::vector<std::string>{"no JSON, or no such file"} : lab::trace_faults(trace);
  for (std::size_t i = 0; i < faults.size() && i < 20; ++i) std::printf("%s\n", faults[i].c_str());
  if (faults.empty()) std::printf("%zu events, all well\n", trace["traceEvents"].size());
  return faults.empty() ? 0 : 1;
}
