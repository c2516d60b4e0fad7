#include "formats/tensorboard_values.h"

#include <iomanip>
#include <sstream>

#include <gtest/gtest.h>

namespace weft::formats::tensorboard {
namespace {

std::string hex(const std::string& bytes) {
  std::ostringstream text;
  for (const unsigned char byte : bytes) {
    text << std::hex << std::setfill('0') << std::setw(2) << static_cast<int>(byte);
  }
  return text.str();
}

// The bytes that TensorBoard's own messages (tensorboard.compat.proto) serialize to.

TEST(TensorboardValues, AHistogram) {
  EXPECT_EQ(
      hex(histogram("w", {.min = -1,
                          .max = 2,
                          .count = 3,
                          .sum = 1.5,
                          .sum_of_squares = 5,
                          .limits = {0.5, 2},
                          .counts = {1, 2}})),
      "0a01772a5109000000000000f0bf11000000000000004019000000000000084021000000000000f83f2900"
      "000000000014403210000000000000e03f00000000000000403a10000000000000f03f0000000000000040");
}

TEST(TensorboardValues, AText) {
  EXPECT_EQ(hex(text("t", "hi")), "0a0174420c0807120412020801420268694a080a060a0474657874");
}

TEST(TensorboardValues, Hyperparameters) {
  const auto all =
      hyperparameters({{"lr", 0.5}, {"b", true}, {"s", std::string("x")}}, {"eval/loss"}, 2.5);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(hex(all[0]),
            "0a145f68706172616d735f2f6578706572696d656e744a340a320a0768706172616d731227122522060a02"
            "6c72200322050a0162200222050a017320012a0d0a0b12096576616c2f6c6f7373");
  EXPECT_EQ(hex(hyperparameters({{"lr", 0.5}}, {}, 2.5)[1]),
            "0a1c5f68706172616d735f2f73657373696f6e5f73746172745f696e666f4a290a270a0768706172616d73"
            "121c1a1a0a0f0a026c72120911000000000000e03f290000000000000440");
}

TEST(TensorboardValues, AnImageIsAPng) {
  const Image picture{.height = 1, .width = 2, .channels = 3, .pixels = {1, 2, 3, 4, 5, 6}};
  const auto value = image("i", picture);
  const auto begin = value.find("\x89PNG");
  ASSERT_NE(begin, std::string::npos);
  EXPECT_EQ(decode_image(std::string_view(value).substr(begin), "value"), picture);
}

}  // namespace
}  // namespace weft::formats::tensorboard
