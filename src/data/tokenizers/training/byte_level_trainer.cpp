
#include <algorithm>
#include <utility>

#include "base/string_util.h"
#include "data/tokenizers/documents.h"
#include "data/tokenizers/pre_tokenizers/pre_tokenizer.h"
#include "data/tokenizers/special_token_layout.h"
#include "data/tokenizers/tokenizer_json_parts.h"
#include "data/tokenizers/training/trainers.h"

namespace weft::data {

namespace {

using formats::Json;

constexpr const char* kByteLevelPlace = "tokenizer";

/// ModernBERT and Qwen2 compose characters first; GPT-2 and RoBERTa use the bytes unchanged.
bool byte_level_composes(TokenizerTemplate style) {
  switch (style) {
    case TokenizerTemplate::kBert:
    case TokenizerTemplate::kBertNoSegments:
    case TokenizerTemplate::kQwen2:
      return true;
    case TokenizerTemplate::kFunnel:
    case TokenizerTemplate::kRoberta:
    case TokenizerTemplate::kXlm:
    case TokenizerTemplate::kXlmRoberta:
    case TokenizerTemplate::kMbart:
    case TokenizerTemplate::kGpt2:
    case TokenizerTemplate::kT5:
    case TokenizerTemplate::kEosOnly:
    case TokenizerTemplate::kFastText:
    case TokenizerTemplate::kBosEos:
      break;
  }
  return false;
}

/// Class that builds everything around the vocabulary in the same way; empty: the generic class
/// that uses the file unchanged.
std::string class_of(TokenizerTemplate style) {
  switch (style) {
    case TokenizerTemplate::kBert:
    case TokenizerTemplate::kBertNoSegments:
    case TokenizerTemplate::kT5:
    case TokenizerTemplate::kEosOnly:
    case TokenizerTemplate::kFastText:
    case TokenizerTemplate::kBosEos:
    case TokenizerTemplate::kFunnel:
    case TokenizerTemplate::kXlm:
      break;
    case TokenizerTemplate::kRoberta:
    case TokenizerTemplate::kXlmRoberta:
    case TokenizerTemplate::kMbart:
      return "RobertaTokenizer";
    case TokenizerTemplate::kGpt2:
      return "GPT2Tokenizer";
    case TokenizerTemplate::kQwen2:
      return "Qwen2Tokenizer";
  }
  return "PreTrainedTokenizerFast";
}

BytePairPieces train_byte_level_pieces(const TokenizerOptions& options,
                                       const SpecialTokenLayout& layout,
                                       const Json& document,
                                       const std::vector<std::string>& texts,
                                       TokenizerReport& report) {
  const Json unchanged = sequence_of("normalizers", {});
  const Json& normalizer = document["normalizer"].is_null() ? unchanged : document["normalizer"];
  const WordCounts counts = count_words(
      texts, *make_normalizer(JsonFields(normalizer, kByteLevelPlace)),
      *make_pre_tokenizer(JsonFields(document["pre_tokenizer"], kByteLevelPlace)), kMaxWords);
  report.pruned_words = counts.pruned;
  return train_byte_pair(counts,
                         {.vocab_size = options.vocab_size,
                          .min_frequency = options.min_frequency,
                          .first = layout.first,
                          .alphabet = {bytes_to_unicode().begin(), bytes_to_unicode().end()}});
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
                                                            TokenizerTemplate style,
                                                            const std::vector<std::string>& texts,
                                                            TokenizerReport& report) {
  const SpecialTokenLayout layout = byte_level_layout(style);
  TokenizerParts parts{.document = empty_document(), .location = kByteLevelPlace};
  Json& document = parts.document;
  if (byte_level_composes(style)) {
    document["normalizer"] = {{"type", "NFC"}};
  }
  document["pre_tokenizer"] = style == TokenizerTemplate::kQwen2
                                  ? qwen2_pre_tokenizer(options.add_prefix_space)
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
