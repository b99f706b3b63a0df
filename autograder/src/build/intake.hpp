// Reads a submission from a folder or an archive: only the files that the rubric names. Refuses anything odd, with a
// reason.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace grading {

struct intake_limits {
  std::size_t file_bytes = 256u << 10;
  std::size_t archive_bytes = 8u << 20;    ///< of an archive as handed in
  std::size_t unpacked_bytes = 64u << 20;  ///< of a gzip file
  std::size_t entries = 10'000;            ///< files in a folder or an archive
};

struct taken {
  std::map<std::string, std::string> files;  ///< by the rubric's name; UTF-8 without a byte order mark
  std::vector<std::string> missing;          ///< named by the rubric but not handed in
  std::vector<std::string> refused;          ///< reasons for the student; a single one forbids grading
  std::string sha256;                        ///< of all accepted files
};

/// `from` is a folder, a zip, or a tar, which may be gzipped. Throws only if the machine fails.
taken take_in(const std::filesystem::path& from, const std::vector<std::string>& wanted,
              const intake_limits& limits = {});

/// "bob" of "bob.zip"; nothing if it is not the name of an archive.
std::optional<std::string> stem_of_archive(const std::string& name);

}  // namespace grading
