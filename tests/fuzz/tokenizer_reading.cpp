#include "fuzz/tokenizer_reading.h"

#include <array>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "base/utf8.h"
#include "fuzz/target.h"

namespace weft::fuzz {

namespace {

constexpr std::array<std::string_view, 6> kTexts = {
    "",
    "Hello world, good morning! 1999",
    "  two  blanks\t\n",
    "[CLS] <s></s> [MASK] ##a \xE2\x96\x81",
    "\xCE\x9A\xCE\xB1\xCE\xBB \xE6\x97\xA5\xE6\x9C\xAC \xF0\x9F\x98\x80 e\xCC\x81",
    "\xFF\xC3\x28\x00 aaaaaaaaaaaaaaaaaaaaaaaa"};

}  // namespace

void use_tokenizer_on(const data::Tokenizer& tokenizer, std::string_view text) {
  std::vector<int32_t> ids;
  tokenizer.encode(text, ids);
  const auto tokens = tokenizer.tokens(text);
  if (tokens.size() != ids.size()) {
    throw std::logic_error("encode and tokens differ in number");
  }
  for (std::size_t index = 0; index < ids.size(); ++index) {
    const auto& token = tokens[index];
    const bool is_sound = token.id == ids[index] && token.id >= 0 && token.id < tokenizer.size() &&
                          token.begin >= 0 && token.begin <= token.end;
    if (!is_sound) {
      throw std::logic_error("a token with an id or a place that cannot be");
    }
    tokenizer.piece(token.id);
    tokenizer.continues_word(token.id);
  }
  if (utf8::first_invalid(tokenizer.decode(ids))) {
    throw std::logic_error("decoded text is not UTF-8");
  }
  tokenizer.sequence(ids, ids);
  tokenizer.sequence(ids);
}

void use_tokenizer(const std::string& path) {
  try_reading([&] {
    const auto tokenizer = data::load_tokenizer(path);
    tokenizer->special_token_ids();
    tokenizer->fingerprint();
    for (const auto text : kTexts) {
      try_reading([&] { use_tokenizer_on(*tokenizer, text); });
    }
  });
}

}  // namespace weft::fuzz
