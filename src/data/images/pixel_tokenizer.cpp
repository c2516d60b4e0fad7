#include "data/images/pixel_tokenizer.h"

#include <bit>

#include "base/file.h"
#include "base/random.h"
#include "data/error.h"

namespace weft::data {

namespace {

class PixelTokenizer : public Tokenizer {
 public:
  explicit PixelTokenizer(ImageFormat format) : format_(std::move(format)) {}

  const ImageFormat& format() const { return format_; }

  std::vector<Token> tokens(std::string_view /*text*/) const override { refuse(); }
  void encode(std::string_view /*text*/, std::vector<int32_t>& /*ids*/) const override { refuse(); }
  Sequence sequence(const std::vector<int32_t>& /*first*/) const override { refuse(); }
  Sequence sequence(const std::vector<int32_t>& /*first*/,
                    const std::vector<int32_t>& /*second*/) const override {
    refuse();
  }
  std::string decode(const std::vector<int32_t>& /*ids*/, bool /*skips_special*/) const override {
    refuse();
  }
  int64_t size() const override { return 0; }
  std::string piece(int32_t /*id*/) const override { refuse(); }
  std::optional<int32_t> id(std::string_view /*piece*/) const override { return std::nullopt; }
  SpecialIds special() const override { return {}; }
  bool is_special(int32_t /*id*/) const override { return false; }
  bool continues_word(int32_t /*id*/) const override { return false; }

  void save(const std::string& directory, int64_t /*max_length*/) const override {
    write_image_format(directory, format_);
  }

  uint64_t fingerprint() const override {
    uint64_t value =
        mix(static_cast<uint64_t>(format_.size), static_cast<uint64_t>(format_.channels));
    value = mix(value, static_cast<uint64_t>(format_.resample));
    value = mix(value, std::bit_cast<uint64_t>(format_.crop_share));
    value = mix(value, static_cast<uint64_t>(format_.most_patches.value_or(0)));
    for (const auto* numbers : {&format_.mean, &format_.deviation}) {
      value = digest(numbers->data(), numbers->size() * sizeof(double), value);
    }
    return value;
  }

 private:
  [[noreturn]] static void refuse() {
    throw Error("a model of images has no tokenizer: it takes images, not text");
  }

  ImageFormat format_;
};

}  // namespace

std::shared_ptr<const Tokenizer> make_pixel_tokenizer(const ImageFormat& format) {
  return std::make_shared<PixelTokenizer>(format);
}

const ImageFormat& image_format_of(const Tokenizer& tokenizer) {
  const auto* pixels = dynamic_cast<const PixelTokenizer*>(&tokenizer);
  if (pixels == nullptr) {
    throw Error("a tokenizer of text, a model of images has preprocessor_config.json");
  }
  return pixels->format();
}

std::shared_ptr<const Tokenizer> load_pixel_tokenizer(const std::string& directory) {
  const auto format = read_image_format(directory, 0);
  return format ? make_pixel_tokenizer(*format) : nullptr;
}

}  // namespace weft::data
