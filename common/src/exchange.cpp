#include "lab/exchange.hpp"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

namespace lab {
namespace {

using std::filesystem::path;

constexpr const char* begin = "lab-exchange-";  // followed by the number of the process that made it

/// Removes the folders of killed processes, which could not do it themselves.
void remove_leftovers(const path& in) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(in, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(begin)) continue;
    const int process = std::atoi(name.c_str() + std::string(begin).size());
    if (process > 0 && kill(process, 0) != 0 && errno == ESRCH) std::filesystem::remove_all(entry.path(), ignored);
  }
}

struct folder {
  folder() {
    constexpr std::uintmax_t room = 256u << 20;
    std::error_code none;
    const path in_memory = "/dev/shm";
    const auto space = std::filesystem::space(in_memory, none);
    const path in = !none && space.available >= room ? in_memory : std::filesystem::temp_directory_path();
    remove_leftovers(in);
    std::string name = (in / (begin + std::to_string(maker) + "-XXXXXX")).string();
    if (!mkdtemp(name.data())) throw std::runtime_error("cannot make a folder in " + in.string());
    where = name;
    using std::filesystem::perms;
    std::filesystem::permissions(
        where, perms::owner_all | perms::group_read | perms::group_exec | perms::others_read | perms::others_exec);
  }
  ~folder() {
    std::error_code ignored;
    if (getpid() == maker) std::filesystem::remove_all(where, ignored);
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  const pid_t maker = getpid();
  path where;
};

/// Null if this process has made none. A child does not share its parent's folder: both would write the same files.
std::unique_ptr<folder>& own() {
  static std::unique_ptr<folder> one;
  if (one && one->maker != getpid()) one.reset();
  return one;
}

}  // namespace

const path& exchange_folder() {
  std::unique_ptr<folder>& one = own();
  if (!one) one = std::make_unique<folder>();
  return one->where;
}

void remove_exchange_folder() { own().reset(); }

path exchange_folder_if_any() { return own() ? own()->where : path{}; }

}  // namespace lab
