#include "formats/image.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "support/folder.h"
#include "support/images.h"

namespace weft::formats {
namespace {

using test::image_folder;
using test::image_in;
using test::image_reference;
using test::max_difference;

std::string message_of(const std::string& bytes) {
  try {
    decode_image(bytes, "x.png");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Image, ReadsEveryKindAsPillowDoes) {
  for (const auto& [name, wanted] : image_reference()["files"].items()) {
    const auto image = read_image(image_folder() + name);
    // Decoders of JPEG and lossy WebP of other times round a step of the transform otherwise.
    EXPECT_LE(max_difference(image, image_in(wanted)),
              name.ends_with(".jpg") || name == "lossy.webp" ? 2 : 0)
        << name;
    const auto size = read_image_size(image_folder() + name);
    EXPECT_EQ(size.height, image.height) << name;
    EXPECT_EQ(size.width, image.width) << name;
  }
}

TEST(Image, TruncatedFilesAreReportedByName) {
  for (const auto& [name, wanted] : image_reference()["files"].items()) {
    const auto bytes = read_file(image_folder() + name);
    for (std::size_t length = 0; length + 24 < bytes.size(); length += 7) {
      const auto message = message_of(bytes.substr(0, length));
      EXPECT_TRUE(message.starts_with("x.png: ")) << name << " of " << length << ": " << message;
    }
  }
}

/// A damaged file gives an image or an error, nothing else, and allocates no memory for what
/// it claims to be.
TEST(Image, ChangedBytesNeverCrash) {
  std::mt19937 random(1);
  int errors = 0;
  for (const auto& [name, wanted] : image_reference()["files"].items()) {
    const auto bytes = read_file(image_folder() + name);
    for (int round = 0; round < 150; ++round) {
      auto damaged = bytes;
      for (int i = 0; i < 1 + round % 4; ++i) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
      try {
        const auto image = decode_image(damaged, name);
        EXPECT_EQ(static_cast<int64_t>(image.pixels.size()),
                  image.height * image.width * image.channels);
      } catch (const Error& error) {
        EXPECT_LT(std::string(error.what()).size(), 1000U);
        ++errors;
      }
    }
  }
  EXPECT_GT(errors, 100);
}

TEST(Image, LargeOnesAreRefusedBeforeTheyTakeMemory) {
  EXPECT_EQ(
      message_of("P5 70000 1 255\n"),
      "x.png: an image of 70000 x 1 pixels, allowed are at most 67,108,864 in total and 65,500 "
      "per side");
  EXPECT_EQ(message_of("P6 60000 60000 255\n").substr(0, 39),
            "x.png: an image of 60000 x 60000 pixels");
  EXPECT_EQ(message_of("P5 0 4 255\n"), "x.png: an image without pixels");
}

TEST(Image, PnmScalesToBytes) {
  const auto image = decode_image("P2 # a remark\n3 1\n15\n0 5 15\n", "x");
  EXPECT_EQ(image.pixels, (std::vector<uint8_t>{0, 85, 255}));
  const std::string deep("P5 1 1 65535\n\x80\x00", 15);
  EXPECT_EQ(decode_image(deep, "x").pixels, (std::vector<uint8_t>{128}));
  EXPECT_EQ(message_of("P2 1 1 15\n16\n"),
            "x.png: damaged PNM: a pixel of 16, but the maximum value is 15");
  EXPECT_EQ(message_of("P5 2 2 255\nabc"),
            "x.png: damaged PNM: 3 bytes of pixels, must be 4: the file is truncated");
}

TEST(Image, AnimationsAreRefused) {
  EXPECT_EQ(message_of(read_file(image_folder() + "animated.webp")),
            "x.png: an animated WebP, must be a single image");
}

TEST(Image, OtherFilesAreNoImages) {
  EXPECT_EQ(message_of("GIF89a"), "x.png: not an image, must be PNG, JPEG, WebP, PPM or PGM");
  EXPECT_EQ(message_of(""), "x.png: an empty file, must be PNG, JPEG, WebP, PPM or PGM");
  EXPECT_EQ(message_of("RIFF1234WAVEfmt "),
            "x.png: not an image, must be PNG, JPEG, WebP, PPM or PGM");
  EXPECT_TRUE(is_image_name("a/b.JPeG"));
  EXPECT_TRUE(is_image_name("b.webp"));
  EXPECT_FALSE(is_image_name("a/b.txt"));
  EXPECT_FALSE(is_image_name("g"));
}

}  // namespace
}  // namespace weft::formats
