#include "formats/binary_records.h"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "formats/error.h"
#include "support/config.h"

namespace weft::formats {
namespace {

struct Point {
  int64_t label = 0;
  std::vector<float> outputs = {};
  std::array<double, 2> pair{};
  std::string name = {};

  static constexpr auto kFields =
      std::tuple(&Point::label, &Point::outputs, &Point::pair, &Point::name);
};

TEST(BinaryRecords, EveryBitComesBack) {
  const double odd = std::bit_cast<double>(uint64_t{0xFFF8000000000123});  // a NaN with a payload
  const Point point{.label = std::numeric_limits<int64_t>::min(),
                    .outputs = {0.1F, -0.0F, std::numeric_limits<float>::infinity()},
                    .pair = {odd, 0.1},
                    .name = std::string("a\0b", 3)};
  BinaryWriter writer("points");
  writer.write(point);
  writer.write(std::vector<std::string>{"", "x"});
  const auto bytes = writer.finish();
  BinaryReader reader(bytes, "points");
  const auto found = reader.read<Point>();
  EXPECT_EQ(found.label, point.label);
  EXPECT_EQ(found.outputs, point.outputs);
  EXPECT_TRUE(std::signbit(found.outputs[1]));
  EXPECT_EQ(std::bit_cast<uint64_t>(found.pair[0]), std::bit_cast<uint64_t>(odd));
  EXPECT_EQ(found.pair[1], 0.1);
  EXPECT_EQ(found.name, point.name);
  EXPECT_EQ(reader.read<std::vector<std::string>>(), (std::vector<std::string>{"", "x"}));
  reader.finish();
}

TEST(BinaryRecords, AnErrorSaysWhatWasFoundAndExpected) {
  const auto message = [](std::string_view bytes) {
    return test::message_of<Error>([&] { BinaryReader(bytes, "points").finish(); });
  };
  const std::string expected = ", expected complete records of kind 'points', version 1";
  EXPECT_EQ(message("{\"a\": 1}"),
            "serialized records: found 8 bytes of another format" + expected);
  auto bytes = BinaryWriter("lines").finish();
  EXPECT_EQ(message(bytes), "serialized records: found kind 'lines'" + expected);
  EXPECT_EQ(message(bytes.substr(0, bytes.size() - 1)),
            "serialized records: found damaged or truncated bytes" + expected);
  bytes[12] = 2;
  EXPECT_EQ(message(bytes), "serialized records: found version 2" + expected);
}

TEST(BinaryRecords, MoreOrLessThanWasWrittenIsRefused) {
  BinaryWriter writer("points");
  writer.write(uint64_t{1} << 60);
  const auto bytes = writer.finish();
  BinaryReader reader(bytes, "points");
  EXPECT_THROW(reader.finish(), Error);
  EXPECT_THROW(reader.read<std::vector<double>>(), Error);  // a count without elements
  EXPECT_THROW(reader.read<double>(), Error);
}

}  // namespace
}  // namespace weft::formats
