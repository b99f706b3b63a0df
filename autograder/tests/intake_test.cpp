// What intake accepts from a submission, what it refuses, and the reasons that it gives.
#include "build/intake.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <random>

#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/names.hpp"
#include "support/text.hpp"

namespace {

using namespace grading;
namespace fs = std::filesystem;

struct Intake : testing::Test {
  fs::path folder = fs::temp_directory_path() / ("intake_" + std::to_string(getpid()));
  fs::path sub = folder / "sub";
  void SetUp() override {
    fs::remove_all(folder);
    fs::create_directories(sub);
  }
  void TearDown() override { fs::remove_all(folder); }
  static void write(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  static std::string refusal(const fs::path& from, const intake_limits& limits = {}) {
    const taken got = take_in(from, {"a.cpp", "b.cu"}, limits);
    return got.refused.empty() ? "" : got.refused.front();
  }
};

struct packed {
  std::string name, text;
  unsigned type = AE_IFREG;
  std::string link = {};  ///< a hard link to this name
};

std::string archive_of(const std::string& format, const std::vector<packed>& files, const char* options = nullptr) {
  archive* out = archive_write_new();
  archive_write_set_format_by_name(out, format.c_str());
  if (options) {
    EXPECT_EQ(archive_write_set_options(out, options), ARCHIVE_OK) << archive_error_string(out);
    archive_write_set_passphrase(out, "secret");
  }
  std::string data(1u << 20, '\0');
  std::size_t used = 0;
  archive_write_set_bytes_in_last_block(out, 1);
  archive_write_open_memory(out, data.data(), data.size(), &used);
  for (const packed& f : files) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, f.name.c_str());
    archive_entry_set_filetype(entry, f.type);
    archive_entry_set_perm(entry, 0644);
    if (f.type == AE_IFLNK) archive_entry_set_symlink(entry, f.text.c_str());
    if (!f.link.empty()) archive_entry_set_hardlink(entry, f.link.c_str());
    archive_entry_set_size(entry, f.type == AE_IFREG && f.link.empty() ? static_cast<la_int64_t>(f.text.size()) : 0);
    EXPECT_EQ(archive_write_header(out, entry), ARCHIVE_OK) << archive_error_string(out);
    if (f.type == AE_IFREG && f.link.empty()) archive_write_data(out, f.text.data(), f.text.size());
    archive_entry_free(entry);
  }
  archive_write_close(out);
  archive_write_free(out);
  data.resize(used);
  return data;
}

/// Compressed by the filter alone, without an archive format.
std::string gzipped(const std::string& text) {
  archive* out = archive_write_new();
  archive_write_set_format_raw(out);
  archive_write_add_filter_gzip(out);
  std::string data(1u << 20, '\0');
  std::size_t used = 0;
  archive_write_set_bytes_in_last_block(out, 1);
  archive_write_open_memory(out, data.data(), data.size(), &used);
  archive_entry* entry = archive_entry_new();
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_write_header(out, entry);
  archive_write_data(out, text.data(), text.size());
  archive_entry_free(entry);
  archive_write_close(out);
  archive_write_free(out);
  data.resize(used);
  return data;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

TEST(Sha256, KnowsTheStandardsExamples) {
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_F(Intake, TakesOnlyWhatIsNamed) {
  write(sub / "a.cpp", "\xEF\xBB\xBFint a; // \xC3\xA4");
  write(sub / "CMakeLists.txt", "evil");
  const taken got = take_in(sub, {"a.cpp", "b.cu"});
  EXPECT_TRUE(got.refused.empty());
  EXPECT_EQ(got.files.size(), 1u);
  EXPECT_EQ(got.files.at("a.cpp"), "int a; // \xC3\xA4") << "without its byte order mark";
  EXPECT_EQ(got.missing, std::vector<std::string>{"b.cu"});
  EXPECT_EQ(got.sha256.size(), 64u);
}

TEST_F(Intake, TakesTheHighestOfSeveral) {
  write(sub / "old" / "a.cpp", "old");
  write(sub / "old2" / "a.cpp", "older");
  EXPECT_EQ(refusal(sub), "there is more than one such file: a.cpp, old/a.cpp and old2/a.cpp; hand in one");
  write(sub / "old2" / "a.cpp", "old");
  EXPECT_EQ(refusal(sub), "") << "the same text";
  write(sub / "a.cpp", "new");
  EXPECT_EQ(take_in(sub, {"a.cpp"}).files.at("a.cpp"), "new");
}

TEST_F(Intake, TakesTheFolderThatStudentsEditLikeItsFiles) {
  // However much of the course it contains: the folder alone, the lab, or everything.
  for (const std::string above : {"", "handin/", "03_coalescing/handin/", "course/labs/03_coalescing/handin/"}) {
    fs::remove_all(sub);
    write(sub / (above + "a.cpp"), "int a;");
    write(sub / (above + "b.cu"), "int b;");
    const taken got = take_in(sub, {"a.cpp", "b.cu"});
    EXPECT_TRUE(got.refused.empty() && got.missing.empty()) << above;
    EXPECT_EQ(got.files.at("a.cpp"), "int a;") << above;
    write(folder / "sub.zip", archive_of("zip", {{above + "a.cpp", "int a;"}, {above + "b.cu", "int b;"}}));
    EXPECT_EQ(take_in(folder / "sub.zip", {"a.cpp", "b.cu"}).sha256, got.sha256) << above;
  }
  // A file in both its old and its new place is ambiguous.
  fs::remove_all(sub);
  write(sub / "a.cpp", "old");
  write(sub / "handin" / "a.cpp", "new");
  EXPECT_EQ(refusal(sub), "there is more than one such file: a.cpp, a.cpp and handin/a.cpp; hand in one");
}

TEST_F(Intake, RefusesWhatIsNoPlainText) {
  EXPECT_EQ(refusal(sub), "it contains none of the hand-in files: a.cpp, b.cu");
  fs::create_symlink("/etc/passwd", sub / "a.cpp");
  EXPECT_EQ(refusal(sub), "a.cpp is a symbolic link; hand in the file itself");
  fs::remove(sub / "a.cpp");
  mkfifo((sub / "a.cpp").c_str(), 0600);
  EXPECT_EQ(refusal(sub), "a.cpp is not a regular file; hand in a text file");
  fs::remove(sub / "a.cpp");
  fs::create_directory(sub / "a.cpp");
  EXPECT_EQ(refusal(sub), "a.cpp is not a regular file; hand in a text file");
  fs::remove(sub / "a.cpp");
  write(sub / "x", "x");
  fs::create_hard_link(sub / "x", sub / "a.cpp");
  EXPECT_EQ(refusal(sub), "a.cpp is a hard link; hand in a copy");
  fs::remove(sub / "a.cpp");
  write(sub / "a.cpp", std::string("\xFF\xFEi\0n\0t\0", 8));
  EXPECT_EQ(refusal(sub), "a.cpp is in UTF-16; save it as UTF-8");
  write(sub / "a.cpp", std::string("a\0b", 3));
  EXPECT_EQ(refusal(sub), "a.cpp contains zero bytes; it is not a text file");
  write(sub / "a.cpp", "caf\xE9");
  EXPECT_EQ(refusal(sub), "a.cpp is not UTF-8 (byte 3); save it as UTF-8");
  write(sub / "a.cpp", std::string(300'000, 'x'));
  EXPECT_EQ(refusal(sub), "a.cpp has 300000 bytes; the limit is 262144");
}

TEST_F(Intake, RefusesFoldersWithoutEnd) {
  for (int i = 0; i < 30; ++i) write(sub / std::to_string(i), "");
  EXPECT_EQ(refusal(sub, {.entries = 20}), "more than 20 files; hand in only a.cpp, b.cu");
  fs::create_directory_symlink(sub, sub / "loop");
  write(sub / "a.cpp", "x");
  EXPECT_EQ(refusal(sub), "") << "a link to a folder is not followed";
}

TEST_F(Intake, LooksIntoDeepFoldersAndIntoHiddenOnesLast) {
  write(sub / "1/2/3/4/5/6/a.cpp", "deep");
  write(sub / ".history/a.cpp", "hidden");
  EXPECT_EQ(take_in(sub, {"a.cpp"}).files.at("a.cpp"), "deep");
  fs::remove_all(sub / "1");
  EXPECT_EQ(take_in(sub, {"a.cpp"}).files.at("a.cpp"), "hidden");
  fs::path down = sub;
  for (int i = 0; i < 100; ++i) fs::create_directory(down /= "d");
  EXPECT_EQ(refusal(sub), "its folders are nested more than 64 deep");
}

/// Archives written by common tools, see tests/archives/make.sh.
TEST_F(Intake, TakesTheArchivesThatToolsMake) {
  int archives = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(ARCHIVES)) {
    const std::string name = entry.path().filename().string();
    if (!stem_of_archive(name)) continue;
    ++archives;
    const taken got = take_in(entry.path(), {"a.cpp", "b.cu"});
    EXPECT_TRUE(got.refused.empty()) << name << ": " << got.refused.front();
    const std::map<std::string, std::string> want{{"a.cpp", "int a;\n"}, {"b.cu", "int b;\n"}};
    EXPECT_EQ(got.files, want) << name;
  }
  EXPECT_EQ(archives, 31);
}

TEST_F(Intake, RefusesTricksOfArchives) {
  const auto said = [&](const std::string& data) {
    write(folder / "s.zip", data);
    return refusal(folder / "s.zip");
  };
  for (const char* format : {"zip", "pax", "gnutar", "ustar"}) {
    SCOPED_TRACE(format);
    const auto of = [&](const packed& file) { return said(archive_of(format, {file})); };
    EXPECT_EQ(of({"../../a.cpp", "x"}),
              "the archive has a file '../../a.cpp' that would unpack outside the archive's folder");
    EXPECT_EQ(of({"a/../../a.cpp", "x"}),
              "the archive has a file 'a/../../a.cpp' that would unpack outside the archive's folder");
    EXPECT_EQ(of({"/etc/a.cpp", "x"}),
              "the archive has a file '/etc/a.cpp' that would unpack outside the archive's folder");
    EXPECT_EQ(of({"..\\..\\x", "x"}),
              "the archive has a file '../../x' that would unpack outside the archive's folder");
    EXPECT_EQ(of({"C:\\a.cpp", "x"}),
              "the archive has a file 'C:/a.cpp' that would unpack outside the archive's folder");
    EXPECT_EQ(of({"a.cpp", "/etc/passwd", AE_IFLNK}), "a.cpp is a symbolic link; hand in the file itself");
    EXPECT_EQ(of({"a.cpp", std::string(300'000, ' ')}), "a.cpp has 300000 bytes; a hand-in file has at most 262144");
    write(folder / "s.zip", archive_of(format, std::vector<packed>(21, {"x", ""})));
    EXPECT_EQ(refusal(folder / "s.zip", {.entries = 20}), "more than 20 files; hand in only a.cpp, b.cu");
    if (std::string(format) == "zip") continue;
    EXPECT_EQ(of({"a.cpp", "", AE_IFREG, "/etc/passwd"}), "a.cpp is a hard link; hand in a copy");
    for (const unsigned type : {AE_IFIFO, AE_IFCHR, AE_IFBLK, AE_IFDIR})
      EXPECT_EQ(of({"a.cpp", "", type}), type == AE_IFDIR ? "it contains none of the hand-in files: a.cpp, b.cu"
                                                          : "a.cpp is not a regular file; hand in a text file");
  }
  EXPECT_EQ(said(archive_of("zip", {{"a.cpp", "x"}}, "zip:encryption=traditional")),
            "a.cpp is encrypted; hand it in without a password");
  // A zip whose 200,000 bytes claim to be 100, and a tar whose 512 bytes claim to be a terabyte.
  const std::string bomb = archive_of("zip", {{"a.cpp", std::string(300'000, ' ')}}), size("\xE0\x93\4\0", 4);
  EXPECT_EQ(said(replaced(bomb, size, std::string("\x64\0\0\0", 4))).substr(0, 20), "a.cpp cannot be read");
  const std::string tar = archive_of("ustar", {{"big", std::string(512, 'x')}, {"a.cpp", "x"}});
  const auto header_with = [&](const std::map<std::size_t, std::string>& changes) {
    std::string header = tar.substr(0, 512);
    for (const auto& [at, bytes] : changes) header.replace(at, bytes.size(), bytes);
    header.replace(148, 8, "        ");
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    char octal[9];
    std::snprintf(octal, sizeof octal, "%06o", sum);
    return header.replace(148, 7, std::string(octal, 7));
  };
  EXPECT_EQ(said(header_with({{124, "77777777777 "}}) + tar.substr(512)).substr(0, 20), "s.zip cannot be read");
  // A sparse file and the map of its holes, which an archive reader reads first: 70 MB in few bytes.
  std::string piece(512, '\0'), map;
  piece[504] = 1;  // the map continues
  for (int i = 0; i < 140'000; ++i) map += piece;
  const std::string holes = header_with({{156, "S"}, {257, std::string("ustar  \0", 8)}, {386, "0"}, {482, "1"}});
  EXPECT_EQ(said(gzipped(holes + map)), "s.zip unpacks to more than 67108864 bytes");
  // Compressed twice: some such files unpack to themselves forever.
  EXPECT_EQ(said(gzipped(gzipped(tar))).substr(0, 12), "s.zip is not");
  EXPECT_EQ(said("PK nothing"), "s.zip is not a .zip, .tar, .tar.gz or .tgz, or is damaged; make a new one");
  EXPECT_EQ(said(""), "s.zip is not a .zip, .tar, .tar.gz or .tgz, or is damaged; make a new one");
  EXPECT_EQ(said("7z\xBC\xAF\x27\x1C"), "s.zip is not a .zip, .tar, .tar.gz or .tgz, or is damaged; make a new one");
}

TEST_F(Intake, ShowsOddNamesEscaped) {
  const auto said = [&](const std::string& name) {
    write(folder / "s.tar", archive_of("gnutar", {{name, "x"}}));
    return refusal(folder / "s.tar");
  };
  EXPECT_EQ(said("../\x1B[2J\xE9"),
            "the archive has a file '../\\x1B[2J\\xE9' that would unpack outside the archive's folder");
  EXPECT_EQ(said("/\xC3\xA9"), "the archive has a file '/\xC3\xA9' that would unpack outside the archive's folder");
}

/// However an archive is truncated, corrupted or rearranged, intake returns a reason or the files, with no more bytes
/// than a hand-in may have. The preset "sanitize" runs this under the sanitizers.
TEST_F(Intake, DamagedArchivesAreReadOrRefusedButNeverCrash) {
  std::mt19937 engine(1);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(engine); };
  std::vector<std::string> whole;
  for (const fs::directory_entry& entry : fs::directory_iterator(ARCHIVES))
    if (stem_of_archive(entry.path().filename().string())) whole.push_back(text_of(entry.path()));
  std::sort(whole.begin(), whole.end());
  int refused = 0;
  const intake_limits limits;
  for (int round = 0; round < 1500; ++round) {
    std::string data = whole[below(whole.size())];
    for (std::size_t edits = 1 + below(4); edits > 0 && !data.empty(); --edits) {
      const std::size_t at = below(data.size()), length = std::min(data.size() - at, 1 + below(20));
      switch (below(5)) {
        case 0: data[at] = static_cast<char>(below(256)); break;
        case 1: data.erase(at, length); break;
        case 2: data.insert(at, data.substr(below(data.size()), 1 + below(60))); break;
        case 3: data.replace(at, length, std::string(length, below(2) ? '\xFF' : '\0')); break;
        default: data.resize(at);
      }
    }
    write(folder / "s.zip", data);
    const taken got = take_in(folder / "s.zip", {"a.cpp", "b.cu"}, limits);
    refused += !got.refused.empty();
    for (const auto& [name, text] : got.files) EXPECT_LE(text.size(), limits.file_bytes);
    EXPECT_TRUE(!got.refused.empty() || !got.files.empty());
  }
  EXPECT_GT(refused, 500);
  EXPECT_LT(refused, 1500);
}

TEST(Names, DifferentBytesBecomeDifferentTextAndDifferentFiles) {
  EXPECT_EQ(as_text("ann"), "ann");
  EXPECT_EQ(as_text("\xE5\xBC\xA0\xE4\xBC\x9F"), "\xE5\xBC\xA0\xE4\xBC\x9F");
  EXPECT_EQ(as_text("a\xE9"), "a\\xE9");
  EXPECT_EQ(as_text("a\\xE9"), "a\\x5CxE9") << "not the same as that of the byte";
  EXPECT_EQ(as_text("a\n\x1B\x7F\xC2\x9B"), "a\\x0A\\x1B\\x7F\\xC2\\x9B");
  EXPECT_EQ(as_text("\xC0\xAF\xED\xA0\x80\xF4\x90\x80\x80"), "\\xC0\\xAF\\xED\\xA0\\x80\\xF4\\x90\\x80\\x80");
  // It can be reversed for any bytes, so no two texts become equal.
  std::mt19937 engine(1);
  const std::string alphabet = "\\x5CEab\xC3\xA9\xE2\x82\x9F\xEF\xBF\xBE\n";
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes, back;
    for (std::size_t n = engine() % 12; n > 0; --n) bytes += alphabet[engine() % alphabet.size()];
    const std::string text = as_text(bytes);
    ASSERT_EQ(first_not_utf8(text), std::string::npos);
    for (std::size_t i = 0; i < text.size();) {
      unsigned value = 0;
      int used = 0;
      if (std::sscanf(text.substr(i, 4).c_str(), "\\x%2X%n", &value, &used) == 1 && used == 4) {
        back += static_cast<char>(value);
        i += 4;
      } else {
        back += text[i++];
      }
    }
    ASSERT_EQ(back, bytes) << text;
  }
  for (const char* id : {"", ".", "..", "a b", "a_b", "A_b", "-rf", "../../x", "CON", "\xE5\xBC\xA0", "\xE4\xBC\x9F"}) {
    const std::string name = file_name_of(id);
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"),
              std::string::npos);
    EXPECT_NE(name[0], '-');
  }
  EXPECT_NE(file_name_of("a b"), file_name_of("a_b"));
  EXPECT_LE(file_name_of(std::string(5000, 'x')).size(), 60u);
}

}  // namespace
