#include "formats/line_reader.h"

#include <array>
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "support/folder.h"

namespace weft::formats {
namespace {

std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string zstd(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

std::vector<std::string> lines_of(LineReader& reader) {
  std::vector<std::string> lines;
  std::string_view line;
  while (reader.next(line)) {
    lines.emplace_back(line);
  }
  return lines;
}

class LineReaderTest : public ::testing::Test {
 protected:
  std::vector<std::string> read(const std::string& name,
                                const std::string& content,
                                const LineOptions& options = {}) {
    LineReader reader(folder_.write(name, content), options);
    return lines_of(reader);
  }
  std::string refusal(const std::string& name,
                      const std::string& content,
                      const LineOptions& options = {}) {
    try {
      read(name, content, options);
      return "";
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with(folder_.path(name)));
      return message.substr(folder_.path(name).size());
    }
  }

  test::Folder folder_;
};

using Lines = std::vector<std::string>;

TEST_F(LineReaderTest, OnlyALineFeedEndsALine) {
  EXPECT_EQ(read("a", "one\r\ntwo\rmore\n\nlast\xE2\x80\xA8still"),
            (Lines{"one", "two\rmore", "", "last\xE2\x80\xA8still"}));
  EXPECT_EQ(read("a", "one\n"), (Lines{"one"}));
  EXPECT_EQ(read("a", "\n"), (Lines{""}));
  EXPECT_EQ(read("a", ""), Lines{});
  EXPECT_EQ(read("a", std::string("a\0b\n", 4)), (Lines{std::string("a\0b", 3)}));
  EXPECT_EQ(read("a", "one\r\n", {.keeps_carriage_returns = true}), (Lines{"one\r"}));
}

TEST_F(LineReaderTest, DropsOneByteOrderMark) {
  EXPECT_EQ(read("a", "\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo"), (Lines{"one", "\xEF\xBB\xBFtwo"}));
  EXPECT_EQ(read("a", "\xEF\xBB\xBF"), Lines{});
  EXPECT_EQ(read("a", "\xEF\xBB"), (Lines{"\xEF\xBB"}));
  EXPECT_EQ(read("a.gz", gzip("\xEF\xBB\xBFone\n")), (Lines{"one"}));
}

TEST_F(LineReaderTest, Utf16IsRefused) {
  EXPECT_EQ(refusal("a", std::string("\xFF\xFE"
                                     "a\0",
                                     4)),
            ": UTF-16 text, must be UTF-8");
}

TEST_F(LineReaderTest, BinaryFilesAreReportedByName) {
  EXPECT_EQ(refusal("a.txt", "PAR1\x15\n"),
            ": Parquet data, allowed only in files whose names end in .parquet");
  EXPECT_EQ(refusal("a.parquet", "PAR1\x15\n"),
            ": Parquet data, allowed is text: lines, csv, tsv or jsonl, optionally compressed "
            "(.gz, .zst)");
  EXPECT_TRUE(refusal("a.csv", "PK\x03\x04\n").starts_with(": a zip archive, allowed is text"));
  EXPECT_TRUE(refusal("a.gz", gzip("SQLite format 3\n")).starts_with(": an SQLite database,"));
  EXPECT_TRUE(refusal("a.txt", "\x89PNG\r\n").starts_with(": a PNG image,"));
  EXPECT_TRUE(refusal("a.txt", "\xFF\xD8\xFF\xE0").starts_with(": a JPEG image,"));
  EXPECT_EQ(read("a", "GIF8\n"), (Lines{"GIF8"}));
  EXPECT_EQ(read("a", "PAR2\n"), (Lines{"PAR2"}));
}

TEST_F(LineReaderTest, ShortFirstLineOfAPipeIsReadImmediately) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  LineReader reader("/dev/fd/" + std::to_string(ends[0]));
  ASSERT_EQ(write(ends[1], "a\n", 2), 2);
  auto first = std::async(std::launch::async, [&] {
    std::string_view line;
    return reader.next(line) ? std::string(line) : "";
  });
  EXPECT_EQ(first.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  close(ends[1]);
  EXPECT_EQ(first.get(), "a");
  close(ends[0]);
}

TEST_F(LineReaderTest, LinesCrossTheBordersOfBlocks) {
  std::string content;
  Lines expected;
  for (std::size_t length = 0; content.size() < 3'000'000; length = (length * 7 + 13) % 5001) {
    expected.emplace_back(length, static_cast<char>('a' + length % 26));
    content += expected.back() + "\n";
  }
  EXPECT_EQ(read("a", content), expected);
  EXPECT_EQ(read("a.gz", gzip(content)), expected);
}

TEST_F(LineReaderTest, NumbersLinesAndCountsBytes) {
  LineReader reader(folder_.write("a", "x\n\ny"));
  std::string_view line;
  EXPECT_EQ(reader.total(), 4);
  EXPECT_EQ(reader.fraction_read(), 0);
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(reader.consumed(), 2);
  EXPECT_EQ(reader.fraction_read(), 0.5);
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(reader.location(), folder_.path("a") + ":2");
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(reader.number(), 3);
  EXPECT_FALSE(reader.next(line));
  EXPECT_EQ(reader.consumed(), 4);
  EXPECT_EQ(reader.number(), 3);
}

TEST_F(LineReaderTest, LongLinesAreRefusedByNumber) {
  EXPECT_EQ(refusal("a", "x\n12345678901\n", {.max_line_bytes = 10}),
            ":2: a line longer than 10 bytes");
  EXPECT_EQ(refusal("a", "x\n1234567890\n", {.max_line_bytes = 10}), "");
}

TEST_F(LineReaderTest, LongLinesComeInPieces) {
  const LineOptions options{.max_line_bytes = 10, .splits_long = true};
  EXPECT_EQ(read("a", "abc def ghi jkl\nx", options), (Lines{"abc def ", "ghi jkl", "x"}));
  EXPECT_EQ(read("a", "0123456789abcdef", options).front().size(), 9U);
  // Three bytes a character: no piece ends inside one.
  EXPECT_EQ(read("a", "日本語日本語\n", options), (Lines{"日本語", "日本語"}));
  const LineOptions tighter{.max_line_bytes = 9, .splits_long = true};
  EXPECT_EQ(read("a", "日本語日本語\n", tighter), (Lines{"日本", "語日", "本語"}));
  LineReader reader(folder_.path("a"), tighter);
  std::string_view line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_TRUE(reader.continues());
  ASSERT_TRUE(reader.next(line));
  ASSERT_TRUE(reader.next(line));
  EXPECT_FALSE(reader.continues());
  EXPECT_EQ(reader.number(), 1);
  EXPECT_FALSE(reader.next(line));
  EXPECT_EQ(reader.number(), 1);
}

TEST_F(LineReaderTest, GzipMembersFollowEachOther) {
  EXPECT_EQ(read("a.gz", gzip("one\ntw") + gzip("") + gzip("o\nthree\n")),
            (Lines{"one", "two", "three"}));
  EXPECT_EQ(read("a.gz", gzip("one\n") + std::string(512, '\0')), (Lines{"one"}));
}

TEST_F(LineReaderTest, DamagedGzipIsRefused) {
  const auto packed = gzip(std::string(100000, 'x') + "\nmore\n");
  for (std::size_t cut = 0; cut < packed.size(); ++cut) {
    EXPECT_NE(refusal("a.gz", packed.substr(0, cut)), "") << cut;
  }
  EXPECT_NE(refusal("a.gz", packed.substr(0, 20)).find("truncated"), std::string::npos);
  EXPECT_NE(refusal("a.gz", "plain text\n").find("damaged"), std::string::npos);
  EXPECT_NE(refusal("a.gz", packed + "garbage"), "");
  auto wrong_sum = packed;
  wrong_sum[wrong_sum.size() - 6] ^= 1;
  EXPECT_NE(refusal("a.gz", wrong_sum), "");
  EXPECT_NE(refusal("a.txt", packed).find("end in .gz"), std::string::npos);
}

TEST_F(LineReaderTest, ReadsZstandardFrames) {
  EXPECT_EQ(read("a.zst", zstd("one\ntw") + zstd("") + zstd("o\nthree\n")),
            (Lines{"one", "two", "three"}));
  std::string content;
  Lines expected;
  for (int i = 0; content.size() < (std::size_t{3} << 20); ++i) {
    expected.push_back("line " + std::to_string(i * 7919));
    content += expected.back() + "\n";
  }
  EXPECT_EQ(read("a.zst", zstd(content)), expected);
}

TEST_F(LineReaderTest, DamagedZstandardIsRefused) {
  const auto packed = zstd(std::string(100000, 'x') + "\nmore\n");
  for (std::size_t cut = 1; cut < packed.size(); ++cut) {
    EXPECT_NE(refusal("a.zst", packed.substr(0, cut)).find("truncated"), std::string::npos) << cut;
  }
  EXPECT_NE(refusal("a.zst", "").find("is empty"), std::string::npos);
  EXPECT_NE(refusal("a.zst", "plain text\n").find("damaged"), std::string::npos);
  EXPECT_NE(refusal("a.zst", packed + "garbage"), "");
  EXPECT_NE(
      refusal("a.txt", packed).find("zstd data, allowed only in files whose names end in .zst"),
      std::string::npos);
}

TEST_F(LineReaderTest, GzipBombsTakeNoMemory) {
  const std::string member = gzip(std::string(std::size_t{32} << 20, 'x'));
  EXPECT_NE(refusal("a.gz", member + member + member), "");  // 96 MiB without a line feed
}

TEST_F(LineReaderTest, AHyphenIsStandardInput) {
  const int kept = dup(STDIN_FILENO);
  const int file = open(folder_.write("a", "one\ntwo").c_str(), O_RDONLY);
  dup2(file, STDIN_FILENO);
  {
    LineReader reader("-");
    EXPECT_EQ(lines_of(reader), (Lines{"one", "two"}));
    EXPECT_EQ(reader.location(), "standard input:2");
  }
  dup2(kept, STDIN_FILENO);
  close(kept);
  close(file);
}

TEST_F(LineReaderTest, SaysWhetherAPipeHasInput) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  LineReader reader("/proc/self/fd/" + std::to_string(ends[0]));
  EXPECT_FALSE(reader.has_input());
  ASSERT_EQ(::write(ends[1], "one\ntwo\n", 8), 8);
  EXPECT_TRUE(reader.has_input());
  std::string_view line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_TRUE(reader.has_input());  // the second line is in memory
  ASSERT_TRUE(reader.next(line));
  EXPECT_FALSE(reader.has_input());
  close(ends[1]);
  EXPECT_TRUE(reader.has_input());  // the end need not be waited for
  EXPECT_FALSE(reader.next(line));
  close(ends[0]);
  LineReader file(folder_.write("a", "one\n"));
  EXPECT_TRUE(file.has_input());
}

TEST_F(LineReaderTest, MissingFilesAndFoldersAreNamed) {
  EXPECT_THROW(LineReader(folder_.path("missing")), Error);
  LineReader reader(folder_.path());
  std::string_view line;
  EXPECT_THROW(reader.next(line), Error);
}

}  // namespace
}  // namespace weft::formats
