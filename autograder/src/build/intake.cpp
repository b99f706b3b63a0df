// Reads folders by hand, so that it follows no link, and archives with libarchive: only tar and zip, because each
// format's code is exposed to untrusted bytes.
#include "build/intake.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "support/hash.hpp"
#include "support/names.hpp"

namespace grading {
namespace fs = std::filesystem;

namespace {

/// The reason for a refusal, as a sentence without a full stop.
struct refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string shown(const std::string& name) { return as_text(name.substr(0, 100)); }

std::string basename_of(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

/// Collects the wanted files of one submission, at any depth.
class basket {
 public:
  basket(const std::vector<std::string>& wanted, const intake_limits& limits) : wanted_(wanted), limits_(limits) {}

  const intake_limits& limits() const { return limits_; }
  bool wants(const std::string& path) const {
    return std::find(wanted_.begin(), wanted_.end(), basename_of(path)) != wanted_.end();
  }
  void count_entry() {
    if (++entries_ > limits_.entries)
      throw refusal(fmt::format("more than {} files; hand in only {}", limits_.entries, fmt::join(wanted_, ", ")));
  }
  void expect_size(const std::string& path, std::uint64_t bytes) const {
    if (bytes > limits_.file_bytes)
      throw refusal(
          fmt::format("{} has {} bytes; a hand-in file has at most {}", shown(path), bytes, limits_.file_bytes));
  }
  void put(const std::string& path, std::string text) {
    expect_size(path, text.size());
    expect_text(path, text);
    const std::string name = basename_of(path);
    if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
    // The file nearest the top counts (handin/ does not add a level), as people hand in backups, too. A repeated path
    // replaces the earlier file, as it does when unpacking.
    const found here{path, depth_of(path)};
    const auto known = from_.find(name);
    if (known != from_.end() && known->second.path != path) {
      if (known->second.depth < here.depth) return;
      if (known->second.depth == here.depth) {
        const auto& [one, other] = std::minmax(known->second.path, path);
        if (files_[name] != text) twice_[name] = shown(one) + " and " + shown(other);
        return;
      }
      twice_.erase(name);
    }
    from_[name] = here;
    files_[name] = std::move(text);
  }
  void expect_no_choice() const {
    if (!twice_.empty())
      throw refusal(fmt::format("there is more than one such file: {}, {}; hand in one", twice_.begin()->first,
                                twice_.begin()->second));
  }
  std::map<std::string, std::string>& files() { return files_; }

 private:
  struct found {
    std::string path;
    std::ptrdiff_t depth = 0;
  };
  /// Folders created by programs (.history, .ipynb_checkpoints, __MACOSX) come after all others.
  static std::ptrdiff_t depth_of(const std::string& path) {
    const bool hidden = path.starts_with(".") || path.find("/.") != std::string::npos || path.starts_with("__MACOSX/");
    const bool in_handin = fs::path(path).parent_path().filename() == "handin";
    return std::count(path.begin(), path.end(), '/') - (in_handin ? 1 : 0) + (hidden ? PATH_MAX : 0);
  }
  static void expect_text(const std::string& path, const std::string& text) {
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
      throw refusal(shown(path) + " is in UTF-16; save it as UTF-8");
    if (text.find('\0') != std::string::npos)
      throw refusal(shown(path) + " contains zero bytes; it is not a text file");
    if (const std::size_t at = first_not_utf8(text); at != std::string::npos)
      throw refusal(fmt::format("{} is not UTF-8 (byte {}); save it as UTF-8", shown(path), at));
  }

  const std::vector<std::string>& wanted_;
  const intake_limits& limits_;
  std::map<std::string, std::string> files_;
  std::map<std::string, found> from_;
  std::map<std::string, std::string> twice_;  ///< paths of files found twice at the same depth
  std::size_t entries_ = 0;
};

/// libarchive converts names to the thread's locale, and loses names that it cannot convert.
class utf8_locale {
 public:
  utf8_locale() { uselocale(own_); }
  ~utf8_locale() {
    uselocale(before_);
    if (own_) freelocale(own_);
  }
  utf8_locale(const utf8_locale&) = delete;
  utf8_locale& operator=(const utf8_locale&) = delete;

 private:
  locale_t own_ = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr), before_ = uselocale(nullptr);
};

/// The path with slashes, which Windows archives do not always use, and without "./".
std::string plain_path(std::string name) {
  std::replace(name.begin(), name.end(), '\\', '/');
  const fs::path path(name);
  const bool drive = name.size() > 1 && name[1] == ':';
  if (path.is_absolute() || drive || std::find(path.begin(), path.end(), "..") != path.end())
    throw refusal(
        fmt::format("the archive has a file '{}' that would unpack outside the archive's folder", shown(name)));
  return path.lexically_normal().string();
}

struct open_file {
  int fd;
  ~open_file() { close(fd); }
};

/// The bytes of a regular file that is not a link. Never blocks, whatever the file is.
std::string read_plain(const fs::path& path, const std::string& name, std::uint64_t most) {
  const open_file file{open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
  if (file.fd < 0)
    throw refusal(errno == ELOOP ? name + " is a symbolic link; hand in the file itself"
                                 : fmt::format("{} cannot be read: {}", name, std::strerror(errno)));
  struct stat status {};
  fstat(file.fd, &status);
  if (!S_ISREG(status.st_mode)) throw refusal(name + " is not a regular file; hand in a text file");
  if (status.st_nlink > 1) throw refusal(name + " is a hard link; hand in a copy");
  if (static_cast<std::uint64_t>(status.st_size) > most)
    throw refusal(fmt::format("{} has {} bytes; the limit is {}", name, status.st_size, most));
  std::string text(static_cast<std::size_t>(status.st_size) + 1, '\0');
  std::size_t have = 0;
  for (ssize_t got; have < text.size() && (got = read(file.fd, text.data() + have, text.size() - have)) > 0;)
    have += static_cast<std::size_t>(got);
  if (have == text.size()) throw refusal(name + " grew while the grader read it");
  text.resize(have);
  return text;
}

void from_folder(const fs::path& folder, const std::string& prefix, int depth, basket& into) {
  constexpr int deepest = 64;
  if (depth > deepest) throw refusal(fmt::format("its folders are nested more than {} deep", deepest));
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    into.count_entry();
    const std::string path = prefix + entry.path().filename().string();
    if (into.wants(path)) {
      into.put(path, read_plain(entry.path(), shown(path), into.limits().file_bytes));
    } else if (entry.symlink_status().type() == fs::file_type::directory) {
      from_folder(entry.path(), path + "/", depth + 1, into);
    }
  }
}

using reader = std::unique_ptr<archive, decltype(&archive_read_free)>;

refusal unreadable(const reader& in, const std::string& what) {
  const char* why = archive_error_string(in.get());
  return refusal(fmt::format("{} cannot be read: {}", what, as_text(why ? why : "it is damaged")));
}

/// Up to `most` bytes of the reader's current entry, plus one if it is longer.
std::string data_at(const reader& in, const std::string& name, std::size_t most) {
  constexpr std::size_t piece = 1u << 20;
  std::string data;
  for (la_ssize_t got = 1; got > 0 && data.size() <= most;) {
    const std::size_t have = data.size();
    data.resize(have + std::min(piece, most + 1 - have));
    got = archive_read_data(in.get(), data.data() + have, data.size() - have);
    if (got < 0) throw unreadable(in, name);
    data.resize(have + static_cast<std::size_t>(got));
  }
  return data;
}

/// Unpacks gzip completely before anything looks inside, because a tar reader does not say how much it skips. One layer
/// only: some files unpack to themselves.
std::string gunzipped(const std::string& data, const std::string& name, std::size_t most) {
  const reader in(archive_read_new(), &archive_read_free);
  archive_read_append_filter(in.get(), ARCHIVE_FILTER_GZIP);
  archive_read_support_format_raw(in.get());
  archive_entry* entry = nullptr;
  archive_read_open_memory(in.get(), data.data(), data.size());
  if (archive_read_next_header(in.get(), &entry) != ARCHIVE_OK) throw unreadable(in, name);
  std::string unpacked = data_at(in, name, most);
  if (unpacked.size() > most) throw refusal(fmt::format("{} unpacks to more than {} bytes", name, most));
  return unpacked;
}

/// Reads a zip or a tar, plain or gzipped, whatever its extension. Unpacks nothing to disk: only reads the text of each
/// wanted file, so links and odd paths are harmless; they are still refused.
void from_archive(std::string data, const std::string& archive_name, basket& into) {
  const utf8_locale for_names;
  if (data.starts_with("\x1F\x8B")) data = gunzipped(data, shown(archive_name), into.limits().unpacked_bytes);
  const reader in(archive_read_new(), &archive_read_free);
  archive_read_support_format_tar(in.get());
  archive_read_support_format_zip_seekable(in.get());
  archive_read_open_memory(in.get(), data.data(), data.size());
  archive_entry* entry = nullptr;
  for (int got = 0; (got = archive_read_next_header(in.get(), &entry)) != ARCHIVE_EOF;) {
    if (archive_format(in.get()) == 0)
      throw refusal(shown(archive_name) + " is not a .zip, .tar, .tar.gz or .tgz, or is damaged; make a new one");
    if (got != ARCHIVE_OK && got != ARCHIVE_WARN) throw unreadable(in, shown(archive_name));
    into.count_entry();
    const char* name = archive_entry_pathname(entry);
    const std::string path = plain_path(name ? name : "");
    if (!into.wants(path)) continue;
    if (archive_entry_hardlink(entry)) throw refusal(shown(path) + " is a hard link; hand in a copy");
    if (archive_entry_filetype(entry) == AE_IFLNK)
      throw refusal(shown(path) + " is a symbolic link; hand in the file itself");
    if (archive_entry_filetype(entry) != AE_IFREG)
      throw refusal(shown(path) + " is not a regular file; hand in a text file");
    if (archive_entry_is_encrypted(entry)) throw refusal(shown(path) + " is encrypted; hand it in without a password");
    into.expect_size(path, static_cast<std::uint64_t>(std::max<la_int64_t>(archive_entry_size(entry), 0)));
    into.put(path, data_at(in, shown(path), into.limits().file_bytes));
  }
}

void take_all(const fs::path& from, basket& into) {
  if (fs::symlink_status(from).type() == fs::file_type::directory) return from_folder(from, "", 0, into);
  const std::string name = from.filename().string();
  from_archive(read_plain(from, shown(name), into.limits().archive_bytes), name, into);
}

}  // namespace

std::optional<std::string> stem_of_archive(const std::string& name) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  // Includes archives that will be refused: they are a student's work, and get a reason.
  for (const std::string_view ending :
       {".zip", ".tar", ".tar.gz", ".tgz", ".7z", ".rar", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst"})
    if (lower.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  return {};
}

taken take_in(const fs::path& from, const std::vector<std::string>& wanted, const intake_limits& limits) {
  taken result;
  basket into(wanted, limits);
  try {
    take_all(from, into);
    into.expect_no_choice();
  } catch (const refusal& why) {
    result.refused.emplace_back(why.what());
  } catch (const fs::filesystem_error& why) {
    result.refused.emplace_back(fmt::format("the submission cannot be read: {}", why.code().message()));
  }
  result.files = std::move(into.files());
  for (const std::string& name : wanted)
    if (!result.files.contains(name)) result.missing.push_back(name);
  if (result.refused.empty() && result.files.empty())
    result.refused.push_back(fmt::format("it contains none of the hand-in files: {}", fmt::join(wanted, ", ")));
  std::string all;
  for (const auto& [name, text] : result.files) all += fmt::format("{} {}\n{}", name, text.size(), text);
  result.sha256 = sha256(all);
  return result;
}

}  // namespace grading
