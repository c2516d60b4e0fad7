#include "formats/tensorboard_events.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/folder.h"

namespace weft::formats {
namespace {

/// Payloads of the records, their frames checked.
std::vector<std::string> records_of(const std::string& path) {
  const std::string bytes = test::Folder::read(path);
  std::vector<std::string> records;
  for (std::size_t at = 0; at < bytes.size();) {
    uint64_t length = 0;
    uint32_t head_crc = 0;
    uint32_t crc = 0;
    std::memcpy(&length, &bytes[at], 8);
    std::memcpy(&head_crc, &bytes[at + 8], 4);
    EXPECT_EQ(head_crc, masked_crc32c(std::string_view(bytes).substr(at, 8)));
    records.push_back(bytes.substr(at + 12, length));
    std::memcpy(&crc, &bytes[at + 12 + length], 4);
    EXPECT_EQ(crc, masked_crc32c(records.back()));
    at += 16 + length;
  }
  return records;
}

double wall_time(const std::string& record) {
  double time = 0;
  std::memcpy(&time, &record[1], 8);
  return time;
}

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
}

TEST(Crc32c, InstructionAndTableAgree) {
  std::string bytes;
  for (int size = 0; size < 70; ++size) {
    EXPECT_EQ(crc32c(bytes), detail::crc32c_plain(bytes)) << size;
    bytes.push_back(static_cast<char>(size * 37 + 11));
  }
}

class EventWriterTest : public ::testing::Test {
 protected:
  /// Writes steps 1 to `last` and returns the file.
  std::string write(int64_t last) {
    EventWriter writer(folder_.path(), 0);
    for (int64_t step = 1; step <= last; ++step) {
      writer.scalar("train/loss", 0.5, step);
    }
    return writer.path();
  }
  int64_t files() const {
    const std::filesystem::directory_iterator entries(folder_.path());
    return std::distance(begin(entries), end(entries));
  }

  test::Folder folder_;
};

TEST_F(EventWriterTest, BytesAreThoseOfTheProtocol) {
  const auto records = records_of(write(1));
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].substr(9),
            "\x1A\x0D"
            "brain.Event:2");
  // step 1; summary of one value with tag and float 0.5
  EXPECT_EQ(records[1].substr(9),
            std::string("\x10\x01\x2A\x13\x0A\x11\x0A\x0Atrain/loss\x15\x00\x00\x00\x3F", 23));
  EXPECT_EQ(records[1][0], '\x09');
}

TEST_F(EventWriterTest, AppendsAndTruncatesLaterEvents) {
  const auto path = write(10);
  {
    EventWriter writer(folder_.path(), 6);
    EXPECT_EQ(writer.path(), path);
    writer.scalar("train/loss", 2.0, 7);
  }
  const auto records = records_of(path);
  ASSERT_EQ(records.size(), 8U);
  EXPECT_EQ(records[6].substr(9, 2), "\x10\x06");
  EXPECT_EQ(records[7].substr(9, 2), "\x10\x07");
  EXPECT_EQ(files(), 1);
  for (std::size_t index = 1; index < records.size(); ++index) {
    EXPECT_GE(wall_time(records[index]), wall_time(records[index - 1]));
  }
}

TEST_F(EventWriterTest, RemovesAPartialLineAtAnyPosition) {
  const auto path = write(3);
  const auto whole = test::Folder::read(path);
  const auto expected = records_of(path);
  for (std::size_t cut = 0; cut < whole.size(); cut += 3) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, cut);
    { EventWriter writer(folder_.path(), 100); }
    const auto records = records_of(path);
    ASSERT_GE(records.size(), 1U);
    EXPECT_LT(records.size(), expected.size());
    EXPECT_NE(records[0].find("brain.Event:2"), std::string::npos);
  }
}

TEST_F(EventWriterTest, TakesTheNewestFile) {
  const auto name = folder_.path("events.out.tfevents.9999999999.host.1.0");
  write(2);
  std::filesystem::rename(EventWriter(folder_.path(), 2).path(), name);
  std::ofstream(folder_.path("events.out.tfevents.1000000000.host.1.0"));
  EXPECT_EQ(EventWriter(folder_.path(), 2).path(), name);
  EXPECT_EQ(records_of(name).size(), 3U);
}

TEST_F(EventWriterTest, MissingFolderIsRefused) {
  EXPECT_THROW(EventWriter(folder_.path("none"), 0), FileError);
}

}  // namespace
}  // namespace weft::formats
