#include <algorithm>
#include <functional>
#include <utility>

#include "base/string_util.h"
#include "base/utf8.h"
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

bool is_trained_by_sentencepiece(const TokenizerOptions& options) {
  return options.type == TokenizerType::kUnigram || options.type == TokenizerType::kBpe;
}

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
  auto [bytes, vocab_size] = train_sentencepiece(options, inner, texts);
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
  add_special_tokens(parts, style, layout, vocab_size);
  apply_tokenizer_class(parts, name);
  return std::make_shared<Pipeline>(std::move(parts));
}

std::shared_ptr<const Tokenizer> train_sentencepiece_tokenizer(
    const TokenizerOptions& options,
    TokenizerTemplate style,
    const std::vector<std::string>& texts) {
  if (has_fairseq_form(options, style)) {
    return train_fairseq_tokenizer(options, style, texts);
  }
  const SpecialTokenLayout layout = special_token_layout(style);
  auto [bytes, vocab_size] = train_sentencepiece(options, layout, texts);
  TokenizerParts parts{.location = kTrainPlace};
  parts.document =
      sentencepiece_document(read_sentencepiece_model(bytes, kTrainPlace), kTrainPlace);
  parts.sentencepiece = std::move(bytes);
  parts.config["tokenizer_class"] = "PreTrainedTokenizerFast";
  add_special_tokens(parts, style, layout, vocab_size);
  return std::make_shared<Pipeline>(std::move(parts));
}

std::shared_ptr<const Tokenizer> train_on_texts(const TokenizerOptions& options,
                                                TokenizerTemplate style,
                                                const std::vector<std::string>& texts,
                                                TokenizerReport& report) {
  if (style == TokenizerTemplate::kMbart) {
    return train_fairseq_tokenizer(options, style, texts);
  }
  switch (options.type) {
    case TokenizerType::kWordPiece:
      return train_word_piece_tokenizer(options, style, texts, report);
    case TokenizerType::kByteLevelBpe:
      return train_byte_level_tokenizer(options, style, texts, report);
    case TokenizerType::kCharacters:
      return train_character_tokenizer(options, style, texts);
    case TokenizerType::kWordLevel:
      return train_word_level_tokenizer(options, style, texts, report);
    case TokenizerType::kFastText:
      return train_fasttext_tokenizer(options, texts);
    case TokenizerType::kUnigram:
    case TokenizerType::kBpe:
      break;
  }
  return train_sentencepiece_tokenizer(options, style, texts);
}

struct CharacterCount {
  char32_t character;
  int64_t count;
};

/// The characters of the texts that the tokenizer does not know, the most frequent first.
std::vector<CharacterCount> unknown_characters(const Tokenizer& tokenizer,
                                               const std::vector<std::string>& texts) {
  std::vector<int64_t> counts(0x110000);
  for (const auto& text : texts) {
    for (std::size_t at = 0; at < text.size();) {
      ++counts[utf8::next(text, at)];
    }
  }
  std::vector<CharacterCount> unknown;
  for (char32_t character = '!'; character < counts.size(); ++character) {
    if (counts[character] == 0 || character == utf8::kReplacement) {
      continue;
    }
    std::string text;
    utf8::append(text, character);
    std::vector<int32_t> ids;
    tokenizer.encode(text, ids);
    if (std::ranges::find(ids, tokenizer.special_token_ids().unk) != ids.end()) {
      unknown.push_back({character, counts[character]});
    }
  }
  std::ranges::stable_sort(unknown, std::greater(), &CharacterCount::count);
  return unknown;
}

std::string describe_unknown(const TokenizerOptions& options,
                             const std::vector<CharacterCount>& unknown) {
  constexpr std::size_t kShown = 20;
  std::vector<std::string> shown;
  for (const auto& [character, count] : unknown) {
    std::string text;
    utf8::append(text, character);
    shown.push_back(str_cat(printable(text), " (", with_commas(count), "x)"));
  }
  const std::size_t rest = shown.size() - std::min(kShown, shown.size());
  shown.resize(shown.size() - rest);
  return str_cat("characters of the texts that become the unknown token: ", join(shown),
                 rest > 0 ? str_cat(" and ", rest, " more") : "",
                 is_trained_by_sentencepiece(options)
                     ? "; a higher tokenizer.character_coverage or byte_fallback: true keeps them"
                     : "; a larger tokenizer.vocab_size keeps them");
}

std::vector<std::string> tokenizer_warnings(const TokenizerOptions& options,
                                            const Tokenizer& tokenizer,
                                            const std::vector<std::string>& texts) {
  std::vector<std::string> warnings;
  const bool is_word_level = options.type == TokenizerType::kWordLevel;
  const bool is_fasttext = options.type == TokenizerType::kFastText;
  const bool is_limit = is_word_level || is_fasttext || options.type == TokenizerType::kCharacters;
  if (tokenizer.size() < options.vocab_size && !is_limit) {
    warnings.push_back(str_cat("tokenizer.vocab_size: ", options.vocab_size,
                               ", but these texts yield only ", tokenizer.size(), " pieces"));
  }
  const bool has_bytes = options.type == TokenizerType::kByteLevelBpe ||
                         (is_trained_by_sentencepiece(options) && options.byte_fallback);
  if (!has_bytes && !is_word_level && !is_fasttext) {
    if (const auto unknown = unknown_characters(tokenizer, texts); !unknown.empty()) {
      warnings.push_back(describe_unknown(options, unknown));
    }
  }
  return warnings;
}

/// Pieces that are not bytes or characters need an unknown token, which GPT-2 has not.
TokenizerTemplate trained_style(const TokenizerOptions& options, TokenizerTemplate style) {
  const bool has_unknown =
      options.type != TokenizerType::kByteLevelBpe && options.type != TokenizerType::kCharacters;
  return style == TokenizerTemplate::kGpt2 && has_unknown ? TokenizerTemplate::kBosEos : style;
}

}  // namespace

void check_trainable(const TokenizerOptions& options, TokenizerTemplate given_style) {
  const auto style = trained_style(options, given_style);
  const bool is_byte_level = options.type == TokenizerType::kByteLevelBpe;
  const bool is_mbart = style == TokenizerTemplate::kMbart;
  if (style == TokenizerTemplate::kQwen2 && !is_byte_level) {
    throw Error(
        "tokenizer.type: must be byte_level_bpe for qwen2: its tokenizer class in transformers "
        "supports no other");
  }
  if (is_mbart && !has_fairseq_form(options, style)) {
    throw Error(
        "tokenizer.type: must be unigram without byte_fallback for mbart: its tokenizer class in "
        "transformers supports no other");
  }
  if (is_mbart && options.normalization != "identity") {
    throw Error(str_cat("tokenizer.normalization: ", options.normalization,
                        ", must be identity for mbart: its tokenizer class in transformers has no "
                        "normalization rules"));
  }
  if (!is_byte_level) {
    return;
  }
  const auto bytes = static_cast<int64_t>(bytes_to_unicode().size());
  const auto min_size = bytes + static_cast<int64_t>(byte_level_layout(style).first.size());
  if (options.vocab_size < min_size) {
    throw Error(str_cat("tokenizer.vocab_size: ", options.vocab_size, " is too small, ", bytes,
                        " bytes and the special tokens alone need ", min_size, " pieces"));
  }
}

std::shared_ptr<const Tokenizer> train_tokenizer(const TokenizerOptions& options,
                                                 TokenizerTemplate given_style,
                                                 uint64_t seed,
                                                 const TextSource& source,
                                                 TokenizerReport& report) {
  check_trainable(options, given_style);
  const auto style = trained_style(options, given_style);
  const bool is_sentencepiece = is_trained_by_sentencepiece(options);
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
  auto tokenizer = train_on_texts(options, style, texts, report);
  report.warnings = tokenizer_warnings(options, *tokenizer, texts);
  return tokenizer;
}

}  // namespace weft::data
