// What is taken from a submission, and what is refused with which reason.
#include "intake.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <fstream>

#include "sha256.hpp"

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

std::string number(std::uint32_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

std::string deflated(const std::string& text, int format) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, format, 8, Z_DEFAULT_STRATEGY);
  std::string out(text.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

struct zipped {
  std::string name, text;
  std::uint32_t mode = S_IFREG | 0644, flags = 0, declared = 0;
};

std::string zip_of(const std::vector<zipped>& files) {
  std::string body, directory;
  for (const zipped& f : files) {
    const std::string packed = deflated(f.text, -15);
    const std::uint32_t size = f.declared ? f.declared : static_cast<std::uint32_t>(f.text.size());
    const std::string common = number(20, 2) + number(f.flags, 2) + number(8, 2) + number(0, 4) + number(0, 4) +
                               number(static_cast<std::uint32_t>(packed.size()), 4) + number(size, 4) +
                               number(static_cast<std::uint32_t>(f.name.size()), 2) + number(0, 2);
    directory += "PK\1\2" + number(0x031e, 2) + common + number(0, 2) + number(0, 2) + number(0, 2) +
                 number(f.mode << 16, 4) + number(static_cast<std::uint32_t>(body.size()), 4) + f.name;
    body += "PK\3\4" + common + f.name + packed;
  }
  return body + directory + "PK\5\6" + number(0, 4) + number(static_cast<std::uint32_t>(files.size()), 2) +
         number(static_cast<std::uint32_t>(files.size()), 2) + number(static_cast<std::uint32_t>(directory.size()), 4) +
         number(static_cast<std::uint32_t>(body.size()), 4) + number(0, 2);
}

std::string tar_of(const std::string& name, const std::string& text, char type = '0') {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  char size[12];
  std::snprintf(size, sizeof size, "%011zo", text.size());
  header.replace(124, 11, size);
  header[156] = type;
  header.replace(257, 5, "ustar");
  std::string padded = text;
  padded.resize((text.size() + 511) / 512 * 512);
  return header + padded;
}

TEST(Sha256, KnowsTheStandardsExamples) {  // FIPS 180-4 examples
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
  EXPECT_EQ(refusal(sub), "there are two files a.cpp; hand in one");
  write(sub / "a.cpp", "new");
  EXPECT_EQ(take_in(sub, {"a.cpp"}).files.at("a.cpp"), "new");
}

TEST_F(Intake, RefusesWhatIsNoPlainText) {
  EXPECT_EQ(refusal(sub), "none of the hand-in files is there: a.cpp, b.cu");
  symlink("/etc/passwd", (sub / "a.cpp").c_str());
  EXPECT_EQ(refusal(sub), "a.cpp is a symbolic link; hand in the file itself");
  fs::remove(sub / "a.cpp");
  mkfifo((sub / "a.cpp").c_str(), 0600);
  EXPECT_EQ(refusal(sub), "a.cpp is no regular file; hand in a text file");
  fs::remove(sub / "a.cpp");
  fs::create_directory(sub / "a.cpp");
  EXPECT_EQ(refusal(sub), "a.cpp is no regular file; hand in a text file");
  fs::remove(sub / "a.cpp");
  write(sub / "x", "x");
  fs::create_hard_link(sub / "x", sub / "a.cpp");
  EXPECT_EQ(refusal(sub), "a.cpp is a hard link; hand in a copy");
  fs::remove(sub / "a.cpp");
  write(sub / "a.cpp", std::string("\xFF\xFEi\0n\0t\0", 8));
  EXPECT_EQ(refusal(sub), "a.cpp is in UTF-16; save it as UTF-8");
  write(sub / "a.cpp", std::string("a\0b", 3));
  EXPECT_EQ(refusal(sub), "a.cpp has zero bytes in it; it is no text file");
  write(sub / "a.cpp", "caf\xE9");
  EXPECT_EQ(refusal(sub), "a.cpp is not UTF-8 (byte 3); save it as UTF-8");
  write(sub / "a.cpp", std::string(300'000, 'x'));
  EXPECT_EQ(refusal(sub), "a.cpp has 300000 bytes; at most 262144 are taken");
}

TEST_F(Intake, RefusesFoldersWithoutEnd) {
  for (int i = 0; i < 30; ++i) write(sub / std::to_string(i), "");
  EXPECT_EQ(refusal(sub, {.entries = 20}), "more than 20 files; hand in only a.cpp, b.cu");
  fs::create_directory_symlink(sub, sub / "loop");
  write(sub / "a.cpp", "x");
  EXPECT_EQ(refusal(sub), "") << "a link to a folder is not followed";
}

TEST_F(Intake, ReadsZip) {
  const fs::path zip = folder / "s.zip";
  write(zip,
        zip_of({{"sub/a.cpp", "int a;"}, {"sub/b.cu", std::string(10'000, 'b')}, {"__MACOSX/sub/._a.cpp", "junk"}}));
  const taken got = take_in(zip, {"a.cpp", "b.cu"});
  EXPECT_TRUE(got.refused.empty()) << got.refused.front();
  EXPECT_EQ(got.files.at("a.cpp"), "int a;");
  EXPECT_EQ(got.files.at("b.cu").size(), 10'000u);
}

TEST_F(Intake, RefusesZipTricks) {
  const fs::path zip = folder / "s.zip";
  const auto said = [&](const std::vector<zipped>& files) {
    write(zip, zip_of(files));
    return refusal(zip);
  };
  EXPECT_EQ(said({{"../../a.cpp", "x"}}), "the archive has a file '../../a.cpp', which would lie outside of it");
  EXPECT_EQ(said({{"/etc/a.cpp", "x"}}), "the archive has a file '/etc/a.cpp', which would lie outside of it");
  EXPECT_EQ(said({{"x\\a.cpp", "x"}}), "the archive has a file 'x\\a.cpp', which would lie outside of it");
  EXPECT_EQ(said({{"a.cpp", "/etc/passwd", S_IFLNK | 0777}}), "a.cpp is a symbolic link; hand in the file itself");
  EXPECT_EQ(said({{"a.cpp", "x", S_IFIFO | 0644}}), "a.cpp is no regular file; hand in a text file");
  EXPECT_EQ(said({{"a.cpp", "x", S_IFREG | 0644, 1}}), "a.cpp is encrypted; hand it in without a password");
  EXPECT_EQ(said({{"a.cpp", std::string(1 << 24, ' '), S_IFREG | 0644, 0, 100}}),
            "a.cpp unpacks to more than 262144 bytes")
      << "whatever size it claims";
  EXPECT_EQ(said({{"a.cpp", std::string(1 << 24, ' ')}}),
            "a.cpp has 16777216 bytes; a hand-in file has at most 262144");
  write(zip, "PK nothing");
  EXPECT_EQ(refusal(zip), "the archive is no zip file, or damaged: it has no directory");
  const std::string good = zip_of({{"a.cpp", std::string(100, 'x')}});
  for (std::size_t cut = 0; cut < good.size(); ++cut) {  // no reading beyond the end, whatever is missing
    write(zip, good.substr(0, cut));
    const bool whole = cut + 2 >= good.size();  // the last two bytes count nothing
    EXPECT_TRUE(whole || !refusal(zip).empty()) << cut;
    write(zip, good.substr(cut));
    take_in(zip, {"a.cpp"});
    std::string flipped = good;
    flipped[cut] = static_cast<char>(flipped[cut] ^ 0xFF);
    write(zip, flipped);
    take_in(zip, {"a.cpp"});
  }
}

TEST_F(Intake, ReadsTar) {
  const std::string end(1024, '\0'), name = std::string(120, 'd') + "/a.cpp";
  write(folder / "s.tar", tar_of("sub/a.cpp", "int a;") + tar_of("sub/b.cu", "int b;") + end);
  EXPECT_EQ(take_in(folder / "s.tar", {"a.cpp", "b.cu"}).files.size(), 2u);
  write(folder / "s.tar.gz", deflated(tar_of("././@LongLink", name + '\0', 'L') + tar_of("x", "int a;") + end, 31));
  EXPECT_EQ(take_in(folder / "s.tar.gz", {"a.cpp"}).files.at("a.cpp"), "int a;");
  write(folder / "s.tar", tar_of("a.cpp", "", '2') + end);
  EXPECT_EQ(refusal(folder / "s.tar"), "a.cpp is a symbolic link; hand in the file itself");
  write(folder / "s.tar", tar_of("a.cpp", "", '3') + end);
  EXPECT_EQ(refusal(folder / "s.tar"), "a.cpp is no regular file; hand in a text file");
  write(folder / "s.tar", tar_of("a/../../a.cpp", "x") + end);
  EXPECT_EQ(refusal(folder / "s.tar"), "the archive has a file 'a/../../a.cpp', which would lie outside of it");
  write(folder / "s.tar", tar_of("a.cpp", "x").substr(0, 600));
  EXPECT_EQ(refusal(folder / "s.tar"), "the archive is damaged: it has no end");
  write(folder / "s.tgz", deflated(std::string(100 << 20, '\0'), 31));
  EXPECT_EQ(refusal(folder / "s.tgz"), "s.tgz unpacks to more than 67108864 bytes");
  write(folder / "s.rar", "x");
  EXPECT_EQ(refusal(folder / "s.rar"), "s.rar is neither a folder nor a .zip, .tar, .tar.gz or .tgz");
}

}  // namespace
