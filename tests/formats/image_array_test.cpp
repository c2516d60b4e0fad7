#include "formats/image_array.h"

#include <random>

#include <gtest/gtest.h>

#include "base/file.h"
#include "support/folder.h"

namespace weft::formats {
namespace {

class PixelRowsTest : public ::testing::Test {
 protected:
  std::string written(const std::string& bytes, const std::string& name = "file") {
    const auto path = folder_.path() + "/" + name;
    test::Folder::write_to(path, bytes);
    return path;
  }
  template <class Read>
  static std::string message_of(const Read& read) {
    try {
      read();
    } catch (const Error& error) {
      const std::string message = error.what();
      const auto at = message.find("/file");
      return at == std::string::npos ? message : message.substr(at + 1);
    }
    return "";
  }

  test::Folder folder_;
};

std::string big_endian(uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(number >> shift));
  }
  return bytes;
}

std::string idx_images() {
  return big_endian(2051) + big_endian(2) + big_endian(2) + big_endian(3) + "abcdefghijkl";
}

TEST_F(PixelRowsTest, IdxHasImagesAndLabels) {
  const auto rows = read_idx_images(written(idx_images()));
  EXPECT_EQ(rows.size(), 2);
  EXPECT_EQ(rows.image(1).height, 2);
  EXPECT_EQ(rows.image(1).width, 3);
  EXPECT_EQ(rows.image(1).pixels, (std::vector<uint8_t>{'g', 'h', 'i', 'j', 'k', 'l'}));
  const auto labels = written(big_endian(2049) + big_endian(3) + std::string("\x05\x00\x09", 3));
  EXPECT_EQ(read_idx_labels(labels), (std::vector<int64_t>{5, 0, 9}));
  EXPECT_TRUE(is_idx(labels));
  EXPECT_FALSE(is_idx(written("text")));
}

TEST_F(PixelRowsTest, DamagedIdxIsAnErrorWithItsPlace) {
  const auto read = [&](const std::string& bytes) {
    return message_of([&] { read_idx_images(written(bytes)); });
  };
  EXPECT_EQ(read(idx_images() + "m"),
            "file: the IDX file has extra data after the 12 bytes given by its header");
  EXPECT_EQ(read(idx_images().substr(0, 25)),
            "file: the IDX file is truncated: 9 bytes after its header, must be 12");
  EXPECT_EQ(read(idx_images().substr(0, 7)), "file: the header of the IDX file is truncated");
  EXPECT_EQ(read(big_endian(2051) + big_endian(0xffffffff) + big_endian(60000) + big_endian(1000)),
            "file: 4,294,967,295 images of 60000000 bytes do not fit into memory, allowed are at "
            "most 16.0 GiB");
  EXPECT_EQ(read("text of some length"),
            "file: not an IDX file of bytes: its magic number is 1952807028, must be 2049 "
            "(labels), 2051 (images) or 2052 (colour images)");
  // A header with a large size does not allocate more memory than the file needs.
  EXPECT_EQ(read(big_endian(2051) + big_endian(60000) + big_endian(100) + big_endian(1000) + "x"),
            "file: the IDX file is truncated: 1 bytes after its header, must be 6000000000");
}

TEST_F(PixelRowsTest, CifarRecordsBecomePixels) {
  std::string record(1, '\x03');
  for (const char plane : {'r', 'g', 'b'}) {
    record += std::string(1024, plane);
  }
  const auto rows = read_cifar(written(record + record), CifarKind::kCifar10);
  EXPECT_EQ(rows.size(), 2);
  EXPECT_EQ(rows.labels, (std::vector<int64_t>{3, 3}));
  const auto image = rows.image(1);
  EXPECT_EQ(std::string(image.pixels.begin(), image.pixels.begin() + 6), "rgbrgb");
  EXPECT_EQ(read_cifar(written("\x09" + record), CifarKind::kCifar100).labels,
            (std::vector<int64_t>{3}));
  EXPECT_EQ(message_of([&] { read_cifar(written(record + "x"), CifarKind::kCifar10); }),
            "file: record 2 is truncated: 1 bytes, must be 3073");
  record[0] = 10;
  EXPECT_EQ(message_of([&] { read_cifar(written(record), CifarKind::kCifar10); }),
            "file: record 1: label 10, must be 0 to 9");
  EXPECT_EQ(message_of([&] { read_cifar(written(""), CifarKind::kCifar10); }),
            "file: no records, must have at least one");
}

TEST_F(PixelRowsTest, TablesOfPixelsFindTheirLabel) {
  const auto last = read_image_csv(written("0,8,16,0,7\n16,0,0,4,2\n"), {.white = 16});
  EXPECT_EQ(last.labels, (std::vector<int64_t>{7, 2}));
  EXPECT_EQ(last.pixels, (std::vector<uint8_t>{0, 128, 255, 0, 255, 0, 0, 64}));
  const auto named = read_image_csv(written("label,a,b,c,d\n7,1,2,3,4\n"), {});
  EXPECT_EQ(named.labels, (std::vector<int64_t>{7}));
  EXPECT_EQ(named.pixels, (std::vector<uint8_t>{1, 2, 3, 4}));
  const auto numbered = read_image_csv(written("1\t2\t3\t4\t9\n"), {.label = "2"});
  EXPECT_EQ(numbered.labels, (std::vector<int64_t>{2}));
  const auto colours =
      read_image_csv(written("1,2,3,4,5,6,7,8,9,10,11,12,0\n"), {});  // three planes of 2 x 2
  EXPECT_EQ(colours.channels, 3);
  EXPECT_EQ(colours.pixels, (std::vector<uint8_t>{1, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8, 12}));
}

TEST_F(PixelRowsTest, DamagedTablesNameTheLine) {
  const auto read = [&](const std::string& bytes) {
    return message_of([&] { read_image_csv(written(bytes), {}); });
  };
  EXPECT_EQ(read("1,2,3,4,0\n1,2,3\n"), "file:2: 3 fields, must be 5 as in the first line");
  EXPECT_EQ(read("1,2,3,4,0\n1,2,x,4,0\n"),
            "file:2: column 3: pixel 'x', must be a number from 0 to 255");
  EXPECT_EQ(read("1,2,3,400,0\n"), "file:1: column 4: pixel '400', must be a number from 0 to 255");
  EXPECT_EQ(read("1,2,3,4,0.5\n"), "file:1: label '0.5', must be an integer of at least 0");
  EXPECT_EQ(
      read("1,2,3,4,5,0\n"),
      "file:1: 5 pixels per row, must be a square number, or three times one for colour images");
  EXPECT_EQ(read("\n\n"), "file: no rows, must have at least one");
}

TEST_F(PixelRowsTest, ChangedBytesNeverCrash) {
  std::mt19937 random(2);
  std::string table = "1,2,3,4,0\n5,6,7,8,1\n";
  for (int round = 0; round < 100; ++round) {
    auto images = idx_images();
    auto text = table;
    images[random() % images.size()] = static_cast<char>(random());
    text[random() % text.size()] = static_cast<char>(random());
    message_of([&] { read_idx_images(written(images)); });
    message_of([&] { read_image_csv(written(text), {}); });
    message_of([&] { read_cifar(written(images), CifarKind::kCifar10); });
  }
}

}  // namespace
}  // namespace weft::formats
