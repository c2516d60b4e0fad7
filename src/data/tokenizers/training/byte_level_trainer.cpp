#include "data/tokenizers/training/byte_level_trainer.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "data/tokenizers/documents.h"
#include "data/tokenizers/pre_tokenizers/byte_signs.h"
#include "data/tokenizers/special_layout.h"
#include "data/tokenizers/tokenizer_classes.h"
#include "data/tokenizers/training/byte_pair_trainer.h"

namespace weft::data {

namespace {

using formats::Json;

constexpr const char* kByteLevelPlace = "tokenizer";

/// ModernBERT and Qwen2 compose characters first; GPT-2 and RoBERTa take the bytes as they come.
bool byte_level_composes(SpecialStyle style) {
  switch (style) {
    case SpecialStyle::kBert:
    case SpecialStyle::kBertNoSegments:
    case SpecialStyle::kQwen2:
      return true;
    case SpecialStyle::kRoberta:
    case SpecialStyle::kXlm:
    case SpecialStyle::kXlmRoberta:
    case SpecialStyle::kMbart:
    case SpecialStyle::kGpt2:
    case SpecialStyle::kT5:
    case SpecialStyle::kEnding:
      break;
  }
  return false;
}

/// The class that builds all around the vocabulary as it is built here; empty: the one that takes
/// the file as it is.
std::string class_of(SpecialStyle style) {
  switch (style) {
    case SpecialStyle::kBert:
    case SpecialStyle::kBertNoSegments:
    case SpecialStyle::kT5:
    case SpecialStyle::kEnding:
    case SpecialStyle::kXlm:
      break;
    case SpecialStyle::kRoberta:
    case SpecialStyle::kXlmRoberta:
    case SpecialStyle::kMbart:
      return "RobertaTokenizer";
    case SpecialStyle::kGpt2:
      return "GPT2Tokenizer";
    case SpecialStyle::kQwen2:
      return "Qwen2Tokenizer";
  }
  return "PreTrainedTokenizerFast";
}

BytePairPieces train_byte_level_pieces(const TokenizerOptions& options,
                                       const SpecialLayout& layout,
                                       const Json& document,
                                       const std::vector<std::string>& texts,
                                       TokenizerReport& report) {
  const auto bytes = static_cast<int64_t>(byte_signs().size());
  const int64_t least = bytes + static_cast<int64_t>(layout.first.size());
  if (options.vocab_size < least) {
    throw Error(text("tokenizer.vocab_size: ", options.vocab_size, " is too few, ", bytes,
                     " bytes and the special tokens alone need ", least, " pieces"));
  }
  const Json unchanged = sequence_of("normalizers", {});
  const Json& normalizer = document["normalizer"].is_null() ? unchanged : document["normalizer"];
  const WordCounts counts = count_words(
      texts, *make_normalizer(JsonFields(normalizer, kByteLevelPlace)),
      *make_pre_tokenizer(JsonFields(document["pre_tokenizer"], kByteLevelPlace)), kMostWords);
  report.pruned_words = counts.pruned;
  BytePairPieces pieces =
      train_byte_pair(counts, {.vocab_size = options.vocab_size,
                               .min_frequency = options.min_frequency,
                               .first = layout.first,
                               .alphabet = {byte_signs().begin(), byte_signs().end()}});
  if (pieces.vocabulary.size() < options.vocab_size) {
    throw Error(text("tokenizer.vocab_size: ", options.vocab_size,
                     " is too many, these texts give at most ", pieces.vocabulary.size(),
                     " pieces (pairs seen ", options.min_frequency, " times or more)"));
  }
  return pieces;
}

Json model_of(const BytePairPieces& pieces) {
  Json merges = Json::array();
  for (const auto& [left, right] : pieces.merges) {
    merges.push_back(Json::array({pieces.vocabulary.piece(left), pieces.vocabulary.piece(right)}));
  }
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", ""},
          {"end_of_word_suffix", ""},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", vocabulary_object(pieces.vocabulary)},
          {"merges", std::move(merges)}};
}

}  // namespace

std::shared_ptr<const Tokenizer> train_byte_level_tokenizer(const TokenizerOptions& options,
                                                            SpecialStyle style,
                                                            const std::vector<std::string>& texts,
                                                            TokenizerReport& report) {
  const SpecialLayout layout = byte_level_layout(style);
  TokenizerParts parts{.document = empty_document(), .place = kByteLevelPlace};
  Json& document = parts.document;
  if (byte_level_composes(style)) {
    document["normalizer"] = {{"type", "NFC"}};
  }
  document["pre_tokenizer"] = style == SpecialStyle::kQwen2 ? qwen2_words(options.add_prefix_space)
                                                            : byte_level(options.add_prefix_space);
  document["decoder"] = byte_level(true);
  const BytePairPieces pieces = train_byte_level_pieces(options, layout, document, texts, report);
  document["model"] = model_of(pieces);
  parts.config["tokenizer_class"] = class_of(style);
  parts.config["add_prefix_space"] = options.add_prefix_space;
  add_special_tokens(parts, style, layout, pieces.vocabulary.size());
  apply_tokenizer_class(parts, class_of(style));
  return std::make_shared<Pipeline>(std::move(parts));
}

}  // namespace weft::data
