#include <algorithm>
#include <utility>

#include "base/string_util.h"
#include "data/tokenizer_options.h"
#include "data/tokenizers/documents.h"
#include "data/tokenizers/special_token_layout.h"
#include "data/tokenizers/tokenizer_json_parts.h"
#include "data/tokenizers/training/text_sample.h"
#include "data/tokenizers/training/trainers.h"

namespace weft::data {

namespace {

constexpr int64_t kTrainMostBytes = int64_t{256} << 20;  // of sampled texts
constexpr const char* kTrainPlace = "tokenizer";

Vocabulary train_sample_pieces(const TokenizerOptions& options,
                               const SpecialTokenLayout& layout,
                               const formats::Json& normalizer,
                               const std::vector<std::string>& texts,
                               TokenizerReport& report) {
  const formats::Json pre_tokenizer = {{"type", "BertPreTokenizer"}};
  const WordCounts counts =
      count_words(texts, *make_normalizer(JsonFields(normalizer, kTrainPlace)),
                  *make_pre_tokenizer(JsonFields(pre_tokenizer, kTrainPlace)), kMaxWords);
  report.pruned_words = counts.pruned;
  WordPieceTrainingOptions training{
      .vocab_size = options.vocab_size - static_cast<int64_t>(layout.last.size()),
      .min_frequency = options.min_frequency,
      .first = layout.first};
  // A small vocabulary reserves a quarter for longer pieces, unless there are too few of them.
  const int64_t max_pieces = training.vocab_size - static_cast<int64_t>(layout.first.size());
  training.max_alphabet_pieces = max_pieces * 3 / 4;
  Vocabulary vocabulary = train_word_piece(counts, training);
  if (vocabulary.size() < training.vocab_size) {
    training.max_alphabet_pieces = max_pieces;
    vocabulary = train_word_piece(counts, training);
  }
  for (const std::string& last : layout.last) {
    vocabulary.add(last, static_cast<int32_t>(vocabulary.size()));
  }
  if (vocabulary.size() < options.vocab_size) {
    throw Error(str_cat("tokenizer.vocab_size: ", options.vocab_size,
                        " is too large, these texts give at most ", vocabulary.size(),
                        " pieces (pairs with at least ", options.min_frequency, " occurrences)"));
  }
  return vocabulary;
}

std::shared_ptr<const Tokenizer> train_word_piece_tokenizer(const TokenizerOptions& options,
                                                            TokenizerTemplate style,
                                                            const std::vector<std::string>& texts,
                                                            TokenizerReport& report) {
  const SpecialTokenLayout layout = special_token_layout(style);
  TokenizerParts parts{.document = empty_document(), .location = kTrainPlace};
  formats::Json& document = parts.document;
  document["normalizer"] =
      bert_normalizer({.lowercase = options.lowercase, .strip_accents = options.strip_accents});
  document["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  document["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  const Vocabulary vocabulary =
      train_sample_pieces(options, layout, document["normalizer"], texts, report);
  document["model"] = word_piece_model(vocabulary, layout.unk);
  // BertTokenizer would apply BERT's template, so other styles use the generic class, which uses
  // the file unchanged.
  parts.config["tokenizer_class"] =
      is_bert_style(style) ? "BertTokenizer" : "PreTrainedTokenizerFast";
  parts.config["do_lower_case"] = options.lowercase;
  parts.config["strip_accents"] =
      options.strip_accents ? formats::Json(*options.strip_accents) : formats::Json();
  parts.config["tokenize_chinese_chars"] = true;
  add_special_tokens(parts, style, layout, vocabulary.size());
  return std::make_shared<Pipeline>(std::move(parts));
}

/// XLM-RoBERTa's and mBART's classes rebuild a unigram tokenizer, without byte fallback.
bool has_fairseq_form(const TokenizerOptions& options, TokenizerTemplate style) {
  return (style == TokenizerTemplate::kXlmRoberta || style == TokenizerTemplate::kMbart) &&
         options.type == TokenizerType::kUnigram && !options.byte_fallback;
}

std::shared_ptr<const Tokenizer> train_fairseq_tokenizer(const TokenizerOptions& options,
                                                         TokenizerTemplate style,
                                                         const std::vector<std::string>& texts) {
  const SpecialTokenLayout layout = special_token_layout(style, options.languages);
  SpecialTokenLayout inner = layout;
  inner.first = {inner.unk, inner.cls, inner.sep};  // as in fairseq's models
  std::string bytes = train_sentencepiece(options, inner, texts);
  TokenizerParts parts{.location = kTrainPlace};
  parts.document =
      sentencepiece_document(read_sentencepiece_model(bytes, kTrainPlace), kTrainPlace);
  convert_to_fairseq_ids(parts.document, layout.last);
  parts.sentencepiece = std::move(bytes);
  const bool is_mbart = style == TokenizerTemplate::kMbart;
  const std::string name = is_mbart ? "MBartTokenizer" : "XLMRobertaTokenizer";
  parts.config["tokenizer_class"] = name;
  if (is_mbart) {
    parts.config["src_lang"] = options.languages.source;
    if (!options.languages.target.empty()) {
      parts.config["tgt_lang"] = options.languages.target;
    }
    parts.config["additional_special_tokens"] = mbart_language_codes(options.languages);
  }
  add_special_tokens(parts, style, layout, options.vocab_size);
  apply_tokenizer_class(parts, name);
  return std::make_shared<Pipeline>(std::move(parts));
}

std::shared_ptr<const Tokenizer> train_mbart_tokenizer(const TokenizerOptions& options,
                                                       const std::vector<std::string>& texts) {
  if (!has_fairseq_form(options, TokenizerTemplate::kMbart)) {
    throw Error(
        "tokenizer.type: must be unigram without byte_fallback for mbart: its tokenizer class in "
        "transformers supports no other");
  }
  if (options.normalization != "identity") {
    throw Error(str_cat("tokenizer.normalization: ", options.normalization,
                        ", must be identity for mbart: its tokenizer class in transformers has no "
                        "normalization rules"));
  }
  return train_fairseq_tokenizer(options, TokenizerTemplate::kMbart, texts);
}

std::shared_ptr<const Tokenizer> train_sentencepiece_tokenizer(
    const TokenizerOptions& options,
    TokenizerTemplate style,
    const std::vector<std::string>& texts) {
  if (has_fairseq_form(options, style)) {
    return train_fairseq_tokenizer(options, style, texts);
  }
  const SpecialTokenLayout layout = special_token_layout(style);
  std::string bytes = train_sentencepiece(options, layout, texts);
  TokenizerParts parts{.location = kTrainPlace};
  parts.document =
      sentencepiece_document(read_sentencepiece_model(bytes, kTrainPlace), kTrainPlace);
  parts.sentencepiece = std::move(bytes);
  parts.config["tokenizer_class"] = "PreTrainedTokenizerFast";
  add_special_tokens(parts, style, layout, options.vocab_size);
  return std::make_shared<Pipeline>(std::move(parts));
}

}  // namespace

std::shared_ptr<const Tokenizer> train_tokenizer(const TokenizerOptions& options,
                                                 TokenizerTemplate style,
                                                 uint64_t seed,
                                                 const TextSource& source,
                                                 TokenizerReport& report) {
  const bool is_sentencepiece =
      options.type == TokenizerType::kUnigram || options.type == TokenizerType::kBpe;
  if (style == TokenizerTemplate::kGpt2 && options.type != TokenizerType::kByteLevelBpe &&
      options.type != TokenizerType::kCharacters) {
    throw Error(
        "tokenizer.type: the GPT-2 special token works only with byte_level_bpe and characters");
  }
  if (style == TokenizerTemplate::kQwen2 && options.type != TokenizerType::kByteLevelBpe) {
    throw Error(
        "tokenizer.type: must be byte_level_bpe for qwen2: its tokenizer class in transformers "
        "supports no other");
  }
  report = {};
  TextSample sample(seed, options.sample_lines, kTrainMostBytes);
  source([&](std::string_view text) {
    ++report.lines;
    if (is_sentencepiece && static_cast<int64_t>(text.size()) > kMaxSentenceBytes) {
      ++report.skipped_long;
    } else if (!text.empty()) {
      sample.offer(text);
    }
  });
  const std::vector<std::string> texts = sample.take();
  report.sampled = static_cast<int64_t>(texts.size());
  for (const std::string& line : texts) {
    report.bytes += static_cast<int64_t>(line.size());
  }
  if (texts.empty()) {
    throw Error("tokenizer: no text to train on");
  }
  if (style == TokenizerTemplate::kMbart) {
    return train_mbart_tokenizer(options, texts);
  }
  switch (options.type) {
    case TokenizerType::kWordPiece:
      return train_word_piece_tokenizer(options, style, texts, report);
    case TokenizerType::kByteLevelBpe:
      return train_byte_level_tokenizer(options, style, texts, report);
    case TokenizerType::kCharacters:
      return train_character_tokenizer(options, style, texts);
    case TokenizerType::kUnigram:
    case TokenizerType::kBpe:
      break;
  }
  return train_sentencepiece_tokenizer(options, style, texts);
}

}  // namespace weft::data
