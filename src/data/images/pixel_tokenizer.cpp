#include <bit>

#include "base/file.h"
#include "base/random.h"
#include "data/error.h"
#include "data/images/image_format.h"

namespace weft::data {

namespace {

class ImageProcessor : public Tokenizer {
 public:
  explicit ImageProcessor(ImagePreprocessorConfig format) : format_(std::move(format)) {}

  const ImagePreprocessorConfig& format() const { return format_; }

  std::vector<Token> tokens(std::string_view /*text*/) const override { reject_text(); }
  void encode(std::string_view /*text*/, std::vector<int32_t>& /*ids*/) const override {
    reject_text();
  }
  Sequence sequence(const std::vector<int32_t>& /*first*/) const override { reject_text(); }
  Sequence sequence(const std::vector<int32_t>& /*first*/,
                    const std::vector<int32_t>& /*second*/) const override {
    reject_text();
  }
  std::string decode(const std::vector<int32_t>& /*ids*/,
                     bool /*skip_special_tokens*/) const override {
    reject_text();
  }
  int64_t size() const override { return 0; }
  std::string piece(int32_t /*id*/) const override { reject_text(); }
  std::optional<int32_t> id(std::string_view /*piece*/) const override { return std::nullopt; }
  SpecialTokenIds special_token_ids() const override { return {}; }
  bool is_special(int32_t /*id*/) const override { return false; }
  bool continues_word(int32_t /*id*/) const override { return false; }

  void save(const std::string& directory, int64_t /*max_length*/) const override {
    write_preprocessor_config(directory, format_);
  }

  uint64_t fingerprint() const override {
    uint64_t value =
        hash_combine(static_cast<uint64_t>(format_.size), static_cast<uint64_t>(format_.channels));
    value = hash_combine(value, static_cast<uint64_t>(format_.resample));
    value = hash_combine(value, std::bit_cast<uint64_t>(format_.crop_pct));
    value = hash_combine(value, static_cast<uint64_t>(format_.max_patches.value_or(0)));
    for (const auto* numbers : {&format_.image_mean, &format_.image_std}) {
      value = digest(numbers->data(), numbers->size() * sizeof(double), value);
    }
    return value;
  }

 private:
  [[noreturn]] static void reject_text() {
    throw Error("an image model has no tokenizer: its input is images, not text");
  }

  ImagePreprocessorConfig format_;
};

}  // namespace

std::shared_ptr<const Tokenizer> make_image_processor(const ImagePreprocessorConfig& format) {
  return std::make_shared<ImageProcessor>(format);
}

const ImagePreprocessorConfig& preprocessor_config_of(const Tokenizer& tokenizer) {
  const auto* pixels = dynamic_cast<const ImageProcessor*>(&tokenizer);
  if (pixels == nullptr) {
    throw Error("a text tokenizer, but an image model has preprocessor_config.json");
  }
  return pixels->format();
}

std::shared_ptr<const Tokenizer> load_image_processor(const std::string& directory) {
  const auto format = read_preprocessor_config(directory, 0);
  return format ? make_image_processor(*format) : nullptr;
}

}  // namespace weft::data
