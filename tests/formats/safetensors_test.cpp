#include "formats/safetensors.h"

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "support/folder.h"

namespace weft::formats {
namespace {

template <class Number>
std::span<const std::byte> bytes_of(const std::vector<Number>& numbers) {
  return std::as_bytes(std::span(numbers));
}

/// The file of a header and data, with the header's length in front.
std::string file_of(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + header + data;
}

class SafetensorsTest : public ::testing::Test {
 protected:
  /// What a file with these bytes is refused with; empty: it is read.
  std::string refusal(const std::string& content) {
    const auto path = folder_.write("t.safetensors", content);
    try {
      const SafetensorsFile file(path);
      return "";
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with(path)) << message;
      EXPECT_LT(message.size(), 400U + path.size());
      return message.substr(path.size());
    }
  }
  std::string header_refusal(const std::string& header) {
    return refusal(file_of(header, std::string(16, 'x')));
  }

  test::Folder folder_;
};

const std::string kSound =
    R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"I32","shape":[1,2],"data_offsets":[8,16]}})";

TEST_F(SafetensorsTest, ReadsWhatItWrote) {
  const std::vector<float> weights{1.5F, -2.0F, 3.25F, 0.0F, 1e-20F, 7.0F};
  const std::vector<int64_t> ids{1, -1, int64_t{1} << 40};
  const std::vector<uint8_t> mask{1, 0, 1};
  const auto path = folder_.path("w.safetensors");
  write_safetensors(path,
                    {{"mask", {DType::kBool, {3}, bytes_of(mask)}},
                     {"weights", {DType::kF32, {2, 3}, bytes_of(weights)}},
                     {"ids", {DType::kI64, {3}, bytes_of(ids)}},
                     {"scalar", {DType::kF32, {}, bytes_of(weights).first(4)}},
                     {"empty", {DType::kF16, {4, 0}, {}}}},
                    {{"format", "pt"}, {"naïve", "\"quoted\"\n"}});
  const SafetensorsFile file(path);
  EXPECT_EQ(file.tensors().size(), 5U);
  EXPECT_EQ(file.metadata().at("naïve"), "\"quoted\"\n");
  const auto& read = file.at("weights");
  EXPECT_EQ(read.dtype, DType::kF32);
  EXPECT_EQ(read.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(read.bytes.data(), weights.data(), read.bytes.size()), 0);
  EXPECT_EQ(std::memcmp(file.at("ids").bytes.data(), ids.data(), 24), 0);
  EXPECT_EQ(file.at("scalar").count(), 1);
  EXPECT_EQ(file.at("empty").count(), 0);
  EXPECT_EQ(file.at("empty").shape, (std::vector<int64_t>{4, 0}));
}

TEST_F(SafetensorsTest, EachTensorBeginsAtAMultipleOfItsWidth) {
  const std::vector<uint8_t> odd{1, 2, 3};
  const std::vector<double> wide{1.0};
  const auto path = folder_.path("w.safetensors");
  write_safetensors(path, {{"odd", {DType::kU8, {3}, bytes_of(odd)}},
                           {"wide", {DType::kF64, {1}, bytes_of(wide)}}});
  const SafetensorsFile file(path);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file.at("wide").bytes.data()) % 8, 0U);
  EXPECT_EQ(std::to_integer<int>(file.at("odd").bytes[2]), 3);
}

TEST_F(SafetensorsTest, WriterAsksForBytesInTheOrderOfTheFile) {
  std::vector<float> kept;
  std::string asked;
  const auto reader = [&](float value, char name) {
    return [&kept, &asked, value, name] {
      asked += name;
      kept = {value, value};
      return bytes_of(kept);
    };
  };
  const auto path = folder_.path("w.safetensors");
  const TensorView two{DType::kF32, {2}, {}};
  write_safetensors(path, {{"a", two, reader(1.0F, 'a')}, {"b", two, reader(2.0F, 'b')}});
  EXPECT_EQ(asked, "ab");
  const SafetensorsFile file(path);
  const std::vector<float> wanted{2.0F, 2.0F};
  EXPECT_EQ(std::memcmp(file.at("b").bytes.data(), wanted.data(), 8), 0);
  const TensorView three{DType::kF32, {3}, {}};
  EXPECT_THROW(write_safetensors(folder_.path("x"), {{"a", three, reader(1.0F, 'a')}}),
               std::invalid_argument);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("x")));
}

TEST_F(SafetensorsTest, ReservedFilesAreLikeWrittenOnes) {
  const std::vector<uint8_t> odd{1, 2, 3};
  const std::vector<double> wide{1.5};
  const std::vector<NamedTensor> tensors = {{"odd", {DType::kU8, {3}, bytes_of(odd)}},
                                            {"wide", {DType::kF64, {1}, bytes_of(wide)}}};
  const auto path = folder_.path("reserved");
  const auto positions = reserve_safetensors(path, tensors);
  ASSERT_EQ(positions.size(), 2U);
  FileWriter file(path, FileWriter::Mode::kUpdate);
  file.seek(positions[0]);
  file.write(odd.data(), odd.size());
  file.seek(positions[1]);
  file.write(wide.data(), 8);
  file.commit();
  write_safetensors(folder_.path("written"), tensors);
  EXPECT_EQ(read_file(path), read_file(folder_.path("written")));
}

TEST_F(SafetensorsTest, WriterRefusesWhatDoesNotFit) {
  const std::vector<float> weights{1.0F, 2.0F};
  const NamedTensor sound{"a", {DType::kF32, {2}, bytes_of(weights)}};
  const NamedTensor longer{"b", {DType::kF32, {3}, bytes_of(weights)}};
  EXPECT_THROW(write_safetensors(folder_.path("x"), {sound, sound}), std::invalid_argument);
  EXPECT_THROW(write_safetensors(folder_.path("x"), {longer}), std::invalid_argument);
  EXPECT_FALSE(std::filesystem::exists(folder_.path("x")));
}

TEST_F(SafetensorsTest, MissingTensorIsNamed) {
  const auto path = folder_.write("t.safetensors", file_of(kSound, std::string(16, 'x')));
  const SafetensorsFile file(path);
  EXPECT_EQ(file.tensors().size(), 2U);
  EXPECT_THROW(file.at("c"), Error);
}

TEST_F(SafetensorsTest, RefusesFilesThatAreNone) {
  EXPECT_EQ(refusal(""), ": 0 bytes, too short for a safetensors file");
  EXPECT_NE(refusal("1234567"), "");
  EXPECT_NE(refusal(std::string(8, '\0')), "");
  EXPECT_NE(refusal(std::string(200, '\xFF')), "");
  EXPECT_NE(refusal("PK\x03\x04" + std::string(500, 'x')).find("pickle"), std::string::npos);
  EXPECT_NE(refusal("\x80\x02}q" + std::string(500, 'x')).find("pickle"), std::string::npos);
  EXPECT_NE(refusal(file_of(" " + kSound, std::string(16, 'x'))), "");
  EXPECT_NE(refusal(file_of("[]", "")), "");
  const uint64_t beyond = 1000;
  EXPECT_NE(refusal(std::string(reinterpret_cast<const char*>(&beyond), 8) + kSound), "");
  EXPECT_EQ(refusal(file_of("{}", "")), "");
  EXPECT_EQ(refusal(file_of(kSound + "     ", std::string(16, 'x'))), "");
}

TEST_F(SafetensorsTest, ReadsAHeaderWhoseLengthLooksLikePickle) {
  const auto padded = kSound + std::string(0x0280 - kSound.size(), ' ');  // bytes 0x80 0x02
  EXPECT_EQ(refusal(file_of(padded, std::string(16, 'x'))), "");
}

TEST_F(SafetensorsTest, RefusesHeadersThatAreNoGoodJson) {
  EXPECT_NE(header_refusal(kSound.substr(0, kSound.size() - 1)), "");
  EXPECT_NE(header_refusal(kSound + "x"), "");
  EXPECT_NE(header_refusal(kSound + std::string("\0junk", 5)), "");
  EXPECT_NE(header_refusal("{\"a\":" + std::string(200000, '[') + std::string(200000, ']') + "}"),
            "");
  std::string broken = kSound;
  broken[2] = '\xFF';
  EXPECT_NE(header_refusal(broken).find("not UTF-8"), std::string::npos);
}

TEST_F(SafetensorsTest, RefusesRepeatedAndUnknownKeys) {
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  EXPECT_NE(header_refusal("{" + a + "," + a + "}").find("'a' is duplicated"), std::string::npos);
  EXPECT_NE(
      header_refusal(R"({"a":{"dtype":"F32","dtype":"F32","shape":[4],"data_offsets":[0,16]}})"),
      "");
  EXPECT_NE(header_refusal(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16],"more":1}})"),
            "");
  EXPECT_NE(header_refusal(R"({"a":{"dtype":"F32","shape":[4]}})"), "");
  EXPECT_NE(header_refusal(R"({"a":5})"), "");
  EXPECT_NE(header_refusal(R"({"__metadata__":{"format":{"a":1}}})"), "");
  EXPECT_NE(header_refusal(R"({"__metadata__":{"format":1}})"), "");
  EXPECT_NE(header_refusal(R"({"__metadata__":[]})"), "");
}

/// The refusal of a header of one tensor.
#define EXPECT_REFUSED(dtype, shape, offsets)                             \
  EXPECT_NE(header_refusal("{\"a\":{\"dtype\":" dtype ",\"shape\":" shape \
                           ",\"data_offsets\":" offsets "}}"),            \
            "")                                                           \
      << dtype << shape << offsets

TEST_F(SafetensorsTest, RefusesTensorsThatDoNotFitTheFile) {
  EXPECT_EQ(header_refusal(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})"), "");
  EXPECT_REFUSED("\"F33\"", "[4]", "[0,16]");
  EXPECT_REFUSED("\"F64\"", "[4]", "[0,16]");
  EXPECT_REFUSED("4", "[4]", "[0,16]");
  EXPECT_REFUSED("\"F32\"", "[1099511627776,1099511627776]", "[0,16]");
  EXPECT_REFUSED("\"F32\"", "[4294967296,4294967296,4]", "[0,16]");
  EXPECT_REFUSED("\"F32\"", "[-1,-4]", "[0,16]");
  EXPECT_REFUSED("\"F32\"", "[1.5]", "[0,16]");
  EXPECT_REFUSED("\"F32\"", "[[4]]", "[0,16]");
  EXPECT_REFUSED("\"F32\"", "4", "[0,16]");
  EXPECT_REFUSED("\"F32\"", "[4]", "[4,20]");
  EXPECT_REFUSED("\"F32\"", "[4]", "[-16,0]");
  EXPECT_REFUSED("\"F32\"", "[4]", "[16,0]");
  EXPECT_REFUSED("\"F32\"", "[4]", "[\"0\",\"16\"]");
  EXPECT_REFUSED("\"F32\"", "[4]", "[0,16,16]");
  EXPECT_REFUSED("\"F32\"", "[4]", "[0]");
  EXPECT_REFUSED("\"F32\"", "[1]", "[18446744073709551608,18446744073709551612]");
  EXPECT_REFUSED("\"F32\"", "[3]", "[0,12]");  // bytes left over
  EXPECT_REFUSED("\"F32\"", "[5]", "[0,20]");
}

TEST_F(SafetensorsTest, RefusesOverlapsAndHoles) {
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"a":{"dtype":"U8","shape":[8],"data_offsets":)" + first +
           R"(},"b":{"dtype":"U8","shape":[8],"data_offsets":)" + second + "}}";
  };
  EXPECT_EQ(header_refusal(two("[8,16]", "[0,8]")), "");
  EXPECT_NE(header_refusal(two("[0,8]", "[0,8]")), "");
  EXPECT_NE(header_refusal(two("[0,8]", "[4,12]")), "");
  EXPECT_NE(header_refusal(two("[0,8]", "[9,17]")), "");
}

TEST_F(SafetensorsTest, RefusesManyDimensions) {
  std::string shape = "[1";
  for (int count = 1; count < 100000; ++count) {
    shape += ",1";
  }
  const auto message =
      header_refusal(R"({"a":{"dtype":"U8","shape":)" + shape + R"(],"data_offsets":[0,16]}})");
  EXPECT_NE(message.find("more than 64 dimensions"), std::string::npos);
}

TEST_F(SafetensorsTest, FlippedHeaderBitsAreHandled) {
  const auto sound = file_of(kSound, std::string(16, 'x'));
  for (std::size_t bit = 0; bit < 8 * (8 + kSound.size()); bit += 3) {
    std::string damaged = sound;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    refusal(damaged);  // read or refused with a message that names the file
  }
}

}  // namespace
}  // namespace weft::formats
