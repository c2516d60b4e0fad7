#include "data/tokenizers/decoder.h"

#include <array>
#include <utility>

namespace weft::data {

namespace {

class DecoderSequence : public TokenDecoder {
 public:
  explicit DecoderSequence(const JsonFields& fields) {
    for (const formats::Json& part : fields.list("decoders")) {
      parts_.push_back(make_token_decoder(JsonFields(part, fields.location() + ".decoders")));
    }
  }

  void apply(std::vector<std::string>& pieces) const override {
    for (const auto& part : parts_) {
      part->apply(pieces);
    }
  }

 private:
  std::vector<std::unique_ptr<TokenDecoder>> parts_;
};

std::unique_ptr<TokenDecoder> make_decoder_sequence(const JsonFields& fields) {
  return std::make_unique<DecoderSequence>(fields);
}

constexpr std::array<std::pair<std::string_view, MakeTokenDecoder>, 9> kDecoders = {{
    {"Sequence", make_decoder_sequence},
    {"WordPiece", make_word_piece_decoder},
    {"ByteLevel", make_byte_level_decoder},
    {"Metaspace", make_metaspace_decoder},
    {"Replace", make_replace_decoder},
    {"ByteFallback", make_byte_fallback_decoder},
    {"Fuse", make_fuse_decoder},
    {"Strip", make_strip_decoder},
    {"BPEDecoder", make_suffix_decoder},
}};

}  // namespace

std::unique_ptr<TokenDecoder> make_token_decoder(const JsonFields& fields) {
  return fields.choose("type", fields.text("type"), kDecoders)(fields);
}

}  // namespace weft::data
