#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokenizer_options.h"
#include "data/tokenizers/sentencepiece/sentencepiece_model.h"
#include "data/tokenizers/special_token_layout.h"

namespace weft::data {

/// Longer texts (in bytes) are not passed to libsentencepiece's trainer.
inline constexpr int64_t kMaxSentenceBytes = 65536;

/// Trains a model with libsentencepiece and returns the bytes of its `.model` file. Padding and
/// mask are left out unless they are among the layout's first tokens; the model then has that many
/// pieces fewer than `options.vocab_size`. Throws data::Error.
std::string train_sentencepiece(const TokenizerOptions& options,
                                const SpecialTokenLayout& layout,
                                const std::vector<std::string>& texts);

}  // namespace weft::data
