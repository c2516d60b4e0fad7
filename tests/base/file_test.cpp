#include "base/file.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/config.h"
#include "support/folder.h"

namespace weft {
namespace {

using test::Folder;
using test::message_of;

std::size_t files_in(const std::string& folder) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    count += entry.exists() ? 1 : 0;
  }
  return count;
}

TEST(FileWriter, ShowsNothingBeforeCommit) {
  const Folder folder;
  const std::string path = folder.write("kept.txt", "old");
  {
    FileWriter writer(path);
    writer.write("new");
    writer.flush();
    EXPECT_EQ(read_file(path), "old");
    writer.commit();
    EXPECT_EQ(read_file(path), "new");
  }
  EXPECT_EQ(files_in(folder.path()), 1U);
}

TEST(FileWriter, LeavesNothingBehindWithoutCommit) {
  const Folder folder;
  const std::string path = folder.path("none.txt");
  { FileWriter(path).write("lost"); }
  EXPECT_EQ(files_in(folder.path()), 0U);
}

TEST(FileWriter, AppendsAndKeepsWithoutCommit) {
  const Folder folder;
  const std::string path = folder.write("log", "one\n");
  { FileWriter(path, FileWriter::Mode::kAppend).write("two\n"); }
  EXPECT_EQ(read_file(path), "one\ntwo\n");
}

TEST(FileWriter, WritesPlainlyIntoTheFile) {
  const Folder folder;
  const std::string path = folder.write("plain", "something long");
  FileWriter writer(path, FileWriter::Mode::kPlain);
  writer.write("x");
  writer.commit();
  EXPECT_EQ(read_file(path), "x");
}

TEST(FileWriter, UpdatesAtPositionsOfAFile) {
  const Folder folder;
  const std::string path = folder.path("update");
  EXPECT_THROW(FileWriter(path, FileWriter::Mode::kUpdate), FileError);
  FileWriter frame(path, FileWriter::Mode::kPlain);
  frame.write("head");
  frame.resize(8);
  frame.commit();
  EXPECT_EQ(read_file(path), std::string("head\0\0\0\0", 8));
  FileWriter writer(path, FileWriter::Mode::kUpdate);
  writer.seek(6);
  writer.write("yz");
  writer.seek(4);
  writer.write("x");
  writer.commit();
  EXPECT_EQ(read_file(path), std::string("headx\0yz", 8));
}

TEST(FileWriter, KeepsTheOrderOfSmallAndLargePieces) {
  const Folder folder;
  const std::string path = folder.path("pieces");
  std::string expected;
  FileWriter writer(path);
  for (std::size_t i = 0; i < 40; ++i) {
    const std::string piece(i * i * 400, static_cast<char>('a' + i % 26));
    writer.write(piece);
    expected += piece;
  }
  EXPECT_EQ(writer.size(), static_cast<int64_t>(expected.size()));
  writer.commit();
  EXPECT_TRUE(read_file(path) == expected);
}

TEST(FileWriter, SaysThatADiskIsFull) {
  if (!std::filesystem::exists("/dev/full")) {
    GTEST_SKIP() << "no /dev/full here";
  }
  FileWriter writer("/dev/full", FileWriter::Mode::kPlain);
  writer.write("lost");
  EXPECT_EQ(message_of<FileError>([&] { writer.commit(); }),
            "/dev/full: cannot write: No space left on device");
}

TEST(FileWriter, NeverReplacesADevice) {
  FileWriter writer("/dev/null");
  writer.write("gone");
  writer.commit();
  struct stat status {};
  ASSERT_EQ(::stat("/dev/null", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST(FileWriter, NamesThePathThatCannotBeOpened) {
  const Folder folder;
  const std::string path = folder.path("no/such/file");
  const std::string message = message_of<FileError>([&] { FileWriter writer(path); });
  EXPECT_EQ(message, path + ": cannot open: No such file or directory");  // not the temporary one
}

TEST(MappedFile, ShowsTheWholeFile) {
  const Folder folder;
  const MappedFile file(folder.write("a", "abc"));
  EXPECT_EQ(file.text(), "abc");
  EXPECT_EQ(MappedFile(folder.write("empty", "")).bytes().size(), 0U);
}

TEST(MappedFile, UpdatesItsMap) {
  const Folder folder;
  MappedFile first(folder.write("a", "abc"));
  MappedFile second(std::move(first));
  EXPECT_EQ(second.text(), "abc");
  MappedFile third(folder.write("b", "xy"));
  third = std::move(second);
  EXPECT_EQ(third.text(), "abc");
}

/// Memory of this process that is in use, in bytes.
int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0;
  file >> pages >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

TEST(MappedFile, ReleasesPagesAndReadsThemAgain) {
  constexpr int64_t kSize = int64_t{32} << 20;
  const Folder folder;
  const MappedFile file(folder.write("a", std::string(kSize, 'x')));
  const auto digest_of_all = [&] { return digest(file.bytes().data(), file.bytes().size()); };
  const auto first = digest_of_all();
  const auto before = resident_bytes();
  release_pages(file.bytes().subspan(1));  // parts of pages stay
  EXPECT_LT(resident_bytes(), before - kSize / 2);
  EXPECT_EQ(digest_of_all(), first);
  release_pages(file.bytes().first(100));
  release_pages({});
}

TEST(MappedFile, RefusesWhatIsNoFile) {
  const Folder folder;
  EXPECT_EQ(message_of<FileError>([&] { MappedFile(folder.path()); }),
            folder.path() + ": cannot read: not a regular file but a directory");
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(message_of<FileError>([&] { MappedFile file(pipe); }),
            pipe + ": cannot read: not a regular file");
  EXPECT_THROW(MappedFile(folder.path("none")), FileError);
}

TEST(ReadFile, ReadsUpToItsLimit) {
  const Folder folder;
  const std::string content(100000, 'x');
  const std::string path = folder.write("a", content);
  EXPECT_TRUE(read_file(path) == content);
  EXPECT_TRUE(read_file(path, 100000) == content);
  EXPECT_EQ(message_of<FileError>([&] { read_file(path, 99999); }),
            path + ": cannot read: larger than 97.7 KiB");
  EXPECT_EQ(read_file(folder.write("empty", "")), "");
  EXPECT_THROW(read_file(folder.path()), FileError);
  EXPECT_THROW(read_file("/dev/zero", 1000), FileError);
}

TEST(Files, RenamesAndLinks) {
  const Folder folder;
  write_file(folder.path("a"), "1");
  rename_and_flush(folder.path("a"), folder.path("b"));
  EXPECT_EQ(read_file(folder.path("b")), "1");
  EXPECT_THROW(rename_and_flush(folder.path("a"), folder.path("c")), FileError);
  write_file(folder.path("c"), "2");
  replace_link("b", folder.path("last"));
  EXPECT_EQ(read_file(folder.path("last")), "1");
  replace_link("c", folder.path("last"));
  EXPECT_EQ(read_file(folder.path("last")), "2");
  make_directories(folder.path("d/e"));
  make_directories(folder.path("d/e"));
  EXPECT_THROW(replace_link("c", folder.path("d")), FileError);
  EXPECT_THROW(make_directories(folder.path("b/x")), FileError);
  EXPECT_EQ(files_in(folder.path()), 4U);
}

TEST(Files, ReportsTheFreeSpaceOfANewPath) {
  const Folder folder;
  EXPECT_GT(free_bytes(folder.path("not/yet/there")), 0);
  EXPECT_GT(free_bytes("not_yet_there"), 0);
}

TEST(Files, CountsTheBytesOfFilesInDirectories) {
  const Folder folder;
  folder.write("a.txt", "abc");
  make_directories(folder.path("d/e"));
  folder.write("d/b.txt", "de");
  folder.write("d/e/c.txt", "f");
  EXPECT_EQ(bytes_of_files(folder.path("a.txt")), 3);
  EXPECT_EQ(bytes_of_files(folder.path("d")), 3);
  EXPECT_EQ(bytes_of_files(folder.path()), 6);
  EXPECT_EQ(bytes_of_files(folder.path("none")), 0);
}

TEST(GlobPaths, SortsAndTakesPlainPaths) {
  const Folder folder;
  for (const auto* name : {"b.txt", "a.txt", "B.txt", "c.csv", "odd[1].txt"}) {
    folder.write(name, "");
  }
  const auto at = [&](const char* name) { return folder.path(name); };
  EXPECT_EQ(glob_paths(at("?.txt")),
            (std::vector<std::string>{at("B.txt"), at("a.txt"), at("b.txt")}));
  EXPECT_EQ(glob_paths(at("[ab].txt")), (std::vector<std::string>{at("a.txt"), at("b.txt")}));
  EXPECT_EQ(glob_paths(at("c.csv")), std::vector<std::string>{at("c.csv")});
  EXPECT_EQ(glob_paths(at("odd[1].txt")), std::vector<std::string>{at("odd[1].txt")});
  EXPECT_TRUE(glob_paths(at("*.json")).empty());
  EXPECT_TRUE(glob_paths(at("none.txt")).empty());
}

// XXH3 is a fixed function: digests on disk stay valid. The first value is the published one of no
// bytes.
TEST(Digest, IsXxh3) {
  EXPECT_EQ(to_hex(digest("")), "2d06800538d394c2");
  EXPECT_EQ(to_hex(digest("weft")), "15d05235f1304082");
  EXPECT_NE(digest("weft", 1), digest("weft"));
  const Folder folder;
  std::string large;
  for (int i = 0; i < 400000; ++i) {
    large += std::to_string(i);
  }
  EXPECT_EQ(digest_file(folder.write("large", large)), digest(large));
  EXPECT_EQ(digest_file(folder.write("empty", "")), digest(""));
  EXPECT_EQ(to_hex(0xAB), "00000000000000ab");
}

}  // namespace
}  // namespace weft
