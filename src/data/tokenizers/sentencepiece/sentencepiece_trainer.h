#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokenizer_options.h"
#include "data/tokenizers/sentencepiece/sentencepiece_model.h"
#include "data/tokenizers/special_layout.h"

namespace weft::data {

/// Texts longer than this (bytes) are not given to libsentencepiece's trainer.
inline constexpr int64_t kLongestSentence = 65536;

/// Trains a model with libsentencepiece and returns the bytes of its `.model` file. Padding and
/// mask are left out where they are not among the layout's first tokens: the model has so many
/// pieces less than `options.vocab_size` then. Throws data::Error.
std::string train_sentencepiece(const TokenizerOptions& options,
                                const SpecialLayout& layout,
                                const std::vector<std::string>& texts);

}  // namespace weft::data
