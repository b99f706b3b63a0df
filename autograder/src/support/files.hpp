// Reads and writes whole files, and makes temporary folders.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

namespace grading {

/// An error in a file that people write: "rubric.toml:12: ...".
struct input_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The text of a file; throws input_error if it cannot be read.
std::string text_of(const std::filesystem::path& file);

/// Writes a temporary file next to it and renames that, so that no reader sees half a file and a full disk loses
/// nothing. Creates the folder. Throws std::runtime_error if it cannot write.
void replace_file(const std::filesystem::path& file, std::string_view text);

/// A new folder, deleted with its contents when the object is destroyed. Another user, such as a box's, can open files
/// in it whose names it knows, but cannot list it.
class temporary_folder {
 public:
  /// Its name begins with the purpose. Throws std::runtime_error if it cannot be made.
  explicit temporary_folder(const std::string& purpose);
  ~temporary_folder();
  temporary_folder(const temporary_folder&) = delete;  // owns the folder
  temporary_folder& operator=(const temporary_folder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace grading
