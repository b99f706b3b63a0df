// Reading folders and archives by hand: no extractor that follows a path or a link somewhere. Formats: PKWARE's
// APPNOTE.TXT (zip), POSIX.1-1988 ustar and GNU long names (tar).
#include "intake.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <stdexcept>

#include "sha256.hpp"

namespace grading {
namespace fs = std::filesystem;

namespace {

/// Why something is not taken, as a sentence without full stop.
struct refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Names come from students: nothing that a terminal or a log could take for more than a name.
std::string shown(const std::string& name) {
  std::string text;
  for (const char c : name.substr(0, 100)) text += c >= ' ' && c < 127 ? c : '?';
  return text;
}

std::string basename_of(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

/// Collects the wanted files of one submission, wherever in it they lie.
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
    // The one that lies highest counts: people hand in their backups too.
    const auto depth = std::count(path.begin(), path.end(), '/');
    const auto known = depth_.find(name);
    if (known != depth_.end() && known->second < depth) return;
    if (known != depth_.end() && known->second == depth) {
      twice_.insert(name);
      return;
    }
    twice_.erase(name);
    depth_[name] = depth;
    files_[name] = std::move(text);
  }
  void expect_no_choice() const {
    if (!twice_.empty()) throw refusal(fmt::format("there are two files {}; hand in one", *twice_.begin()));
  }
  std::map<std::string, std::string>& files() { return files_; }

 private:
  static void expect_text(const std::string& path, const std::string& text) {
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
      throw refusal(shown(path) + " is in UTF-16; save it as UTF-8");
    if (text.find('\0') != std::string::npos) throw refusal(shown(path) + " has zero bytes in it; it is no text file");
    for (std::size_t i = 0; i < text.size();) {
      const auto lead = static_cast<unsigned char>(text[i]);
      const std::size_t length = lead < 0x80                   ? 1
                                 : lead >= 0xC2 && lead < 0xE0 ? 2
                                 : (lead & 0xF0) == 0xE0       ? 3
                                 : lead >= 0xF0 && lead < 0xF5 ? 4
                                                               : 0;
      bool good = length > 0 && i + length <= text.size();
      for (std::size_t k = 1; good && k < length; ++k) good = (text[i + k] & 0xC0) == 0x80;
      if (!good) throw refusal(fmt::format("{} is not UTF-8 (byte {}); save it as UTF-8", shown(path), i));
      i += length;
    }
  }

  const std::vector<std::string>& wanted_;
  const intake_limits& limits_;
  std::map<std::string, std::string> files_;
  std::map<std::string, std::ptrdiff_t> depth_;
  std::set<std::string> twice_;  ///< at the same depth
  std::size_t entries_ = 0;
};

void expect_plain_path(const std::string& path) {
  const bool out = path.starts_with("/") || path == ".." || path.starts_with("../") || path.ends_with("/..") ||
                   path.find("/../") != std::string::npos || path.find('\\') != std::string::npos ||
                   path.find('\0') != std::string::npos;
  if (out) throw refusal(fmt::format("the archive has a file '{}', which would lie outside of it", shown(path)));
}

struct open_file {
  int fd;
  ~open_file() { close(fd); }
};

/// The bytes of a regular file that is no link. Never waits, whatever the file turns out to be.
std::string read_plain(const fs::path& path, const std::string& name, std::uint64_t most) {
  const open_file file{open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
  if (file.fd < 0)
    throw refusal(errno == ELOOP ? name + " is a symbolic link; hand in the file itself"
                                 : fmt::format("{} cannot be read: {}", name, std::strerror(errno)));
  struct stat status {};
  fstat(file.fd, &status);
  if (!S_ISREG(status.st_mode)) throw refusal(name + " is no regular file; hand in a text file");
  if (status.st_nlink > 1) throw refusal(name + " is a hard link; hand in a copy");
  if (static_cast<std::uint64_t>(status.st_size) > most)
    throw refusal(fmt::format("{} has {} bytes; at most {} are taken", name, status.st_size, most));
  std::string text(static_cast<std::size_t>(status.st_size) + 1, '\0');
  std::size_t have = 0;
  for (ssize_t got; have < text.size() && (got = read(file.fd, text.data() + have, text.size() - have)) > 0;)
    have += static_cast<std::size_t>(got);
  if (have == text.size()) throw refusal(name + " grew while it was read");
  text.resize(have);
  return text;
}

void from_folder(const fs::path& folder, const std::string& prefix, int depth, basket& into) {
  constexpr int deepest = 3;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    into.count_entry();
    const std::string path = prefix + entry.path().filename().string();
    if (into.wants(path)) {
      into.put(path, read_plain(entry.path(), shown(path), into.limits().file_bytes));
    } else if (entry.symlink_status().type() == fs::file_type::directory && depth < deepest) {
      from_folder(entry.path(), path + "/", depth + 1, into);
    }
  }
}

/// Unpacks at most `most` bytes; `format` as zlib's windowBits.
std::string inflated(std::string_view packed, int format, std::size_t most, const std::string& name) {
  z_stream stream{};
  if (inflateInit2(&stream, format) != Z_OK) throw std::runtime_error("zlib does not start");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  int state = Z_OK;
  while (state == Z_OK && text.size() <= most) {
    char piece[64 << 10];
    stream.next_out = reinterpret_cast<Bytef*>(piece);
    stream.avail_out = sizeof piece;
    state = inflate(&stream, Z_NO_FLUSH);
    text.append(piece, sizeof piece - stream.avail_out);
    if (stream.avail_in == 0 && stream.avail_out != 0) break;
  }
  inflateEnd(&stream);
  if (text.size() > most) throw refusal(fmt::format("{} unpacks to more than {} bytes", name, most));
  if (state != Z_STREAM_END) throw refusal(name + " is damaged: it does not unpack");
  return text;
}

/// Little-endian number of `bytes` at `at`; refuses what lies outside.
std::uint32_t number_at(std::string_view data, std::size_t at, std::size_t bytes) {
  if (at > data.size() || bytes > data.size() - at) throw refusal("the archive is damaged: it ends early");
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(data[at + i])) << (8 * i);
  return value;
}

std::string_view piece_of(std::string_view data, std::size_t at, std::size_t bytes) {
  if (at > data.size() || bytes > data.size() - at) throw refusal("the archive is damaged: it ends early");
  return data.substr(at, bytes);
}

void from_zip(std::string_view zip, basket& into) {
  constexpr std::string_view end_mark("PK\5\6", 4), entry_mark("PK\1\2", 4), local_mark("PK\3\4", 4);
  const std::size_t end = zip.rfind(end_mark);
  if (end == std::string_view::npos) throw refusal("the archive is no zip file, or damaged: it has no directory");
  std::size_t at = number_at(zip, end + 16, 4);
  const std::uint32_t entries = number_at(zip, end + 10, 2);
  for (std::uint32_t i = 0; i < entries; ++i) {
    into.count_entry();
    if (piece_of(zip, at, 4) != entry_mark) throw refusal("the archive's directory is damaged");
    const std::uint32_t flags = number_at(zip, at + 8, 2), method = number_at(zip, at + 10, 2),
                        packed = number_at(zip, at + 20, 4), unpacked = number_at(zip, at + 24, 4),
                        name_bytes = number_at(zip, at + 28, 2), mode = number_at(zip, at + 38, 4) >> 16;
    const std::string name(piece_of(zip, at + 46, name_bytes));
    expect_plain_path(name);
    const std::size_t local = number_at(zip, at + 42, 4);
    at += 46 + name_bytes + number_at(zip, at + 30, 2) + number_at(zip, at + 32, 2);
    if (!into.wants(name)) continue;
    if (S_ISLNK(mode)) throw refusal(shown(name) + " is a symbolic link; hand in the file itself");
    if ((mode & S_IFMT) != 0 && !S_ISREG(mode)) throw refusal(shown(name) + " is no regular file; hand in a text file");
    if (flags & 1) throw refusal(shown(name) + " is encrypted; hand it in without a password");
    into.expect_size(name, unpacked);
    if (piece_of(zip, local, 4) != local_mark)
      throw refusal("the archive is damaged: " + shown(name) + " is not there");
    const std::size_t data = local + 30 + number_at(zip, local + 26, 2) + number_at(zip, local + 28, 2);
    const std::string_view content = piece_of(zip, data, packed);
    if (method == 0)
      into.put(name, std::string(content));
    else if (method == 8)
      into.put(name, inflated(content, -15, into.limits().file_bytes, shown(name)));
    else
      throw refusal(shown(name) + " is packed in a way that is not known here; use an ordinary zip");
  }
}

/// Octal number in a header's field.
std::uint64_t octal(std::string_view field) {
  std::uint64_t value = 0;
  for (const char c : field) {
    if (c == ' ' || c == '\0') {
      if (value) break;
      continue;
    }
    if (c < '0' || c > '7') throw refusal("the archive is damaged: a size is no number");
    value = value * 8 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

void from_tar(std::string_view tar, basket& into) {
  constexpr std::size_t block = 512;
  const auto text_of = [](std::string_view field) { return std::string(field.substr(0, field.find('\0'))); };
  std::string long_name;
  for (std::size_t at = 0; at + block <= tar.size();) {
    const std::string_view header = tar.substr(at, block);
    if (std::all_of(header.begin(), header.end(), [](char c) { return c == '\0'; })) return;
    const std::uint64_t bytes = octal(header.substr(124, 12));
    const std::string_view content = piece_of(tar, at + block, bytes);
    at += block + (bytes + block - 1) / block * block;
    const char type = header[156];
    if (type == 'L') {
      long_name = text_of(content);
      continue;
    }
    if (type == 'x' || type == 'g') continue;  // extended headers: dates and owners, which nobody asks for
    into.count_entry();
    std::string name = long_name.empty() ? text_of(header.substr(0, 100)) : long_name;
    if (long_name.empty() && header.substr(257, 5) == "ustar" && header[345] != '\0')
      name = text_of(header.substr(345, 155)) + "/" + name;
    long_name.clear();
    expect_plain_path(name);
    if (!into.wants(name)) continue;
    if (type == '2') throw refusal(shown(name) + " is a symbolic link; hand in the file itself");
    if (type == '1') throw refusal(shown(name) + " is a hard link; hand in a copy");
    if (type != '0' && type != '\0') throw refusal(shown(name) + " is no regular file; hand in a text file");
    into.put(name, std::string(content));
  }
  throw refusal("the archive is damaged: it has no end");
}

void take_all(const fs::path& from, basket& into) {
  if (fs::symlink_status(from).type() == fs::file_type::directory) return from_folder(from, "", 0, into);
  const std::string name = from.filename().string();
  const std::string data = read_plain(from, shown(name), into.limits().archive_bytes);
  if (name.ends_with(".zip")) return from_zip(data, into);
  if (name.ends_with(".tar")) return from_tar(data, into);
  if (name.ends_with(".tar.gz") || name.ends_with(".tgz"))
    return from_tar(inflated(data, 15 + 16, into.limits().unpacked_bytes, shown(name)), into);
  throw refusal(shown(name) + " is neither a folder nor a .zip, .tar, .tar.gz or .tgz");
}

}  // namespace

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
    result.refused.push_back(fmt::format("none of the hand-in files is there: {}", fmt::join(wanted, ", ")));
  std::string all;
  for (const auto& [name, text] : result.files) all += fmt::format("{} {}\n{}", name, text.size(), text);
  result.sha256 = sha256(all);
  return result;
}

}  // namespace grading
