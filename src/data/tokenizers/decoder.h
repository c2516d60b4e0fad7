#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/tokenizers/json_fields.h"

namespace weft::data {

/// One `decoder` of a tokenizer.json: converts the pieces of a sequence to texts that are then
/// concatenated. Immutable.
class TokenDecoder {
 public:
  virtual ~TokenDecoder() = default;

  virtual void apply(std::vector<std::string>& pieces) const = 0;
};

using MakeTokenDecoder = std::unique_ptr<TokenDecoder> (*)(const JsonFields& fields);

std::unique_ptr<TokenDecoder> make_word_piece_decoder(const JsonFields& fields);
std::unique_ptr<TokenDecoder> make_byte_level_decoder(const JsonFields& fields);
std::unique_ptr<TokenDecoder> make_metaspace_decoder(const JsonFields& fields);
std::unique_ptr<TokenDecoder> make_replace_decoder(const JsonFields& fields);
std::unique_ptr<TokenDecoder> make_byte_fallback_decoder(const JsonFields& fields);
std::unique_ptr<TokenDecoder> make_fuse_decoder(const JsonFields& fields);
std::unique_ptr<TokenDecoder> make_strip_decoder(const JsonFields& fields);
std::unique_ptr<TokenDecoder> make_suffix_decoder(const JsonFields& fields);

/// Created by the object's `type`, from the table in decoder.cpp. Throws data::Error.
std::unique_ptr<TokenDecoder> make_token_decoder(const JsonFields& fields);

}  // namespace weft::data
