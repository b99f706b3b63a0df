#include "report.hpp"
namespace grading {
std::filesystem::path write_report(const result_store&, const std::filesystem::path&,
                                   const std::filesystem::path& build) {
  return build / "report" / "index.html";
}
}  // namespace grading
