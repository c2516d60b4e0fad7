#include "data/tokenizer_options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <vector>

#include "base/file.h"
#include "base/string_util.h"

namespace weft::data {

namespace {

const config::Choices<TokenizerType> kTypes = {
    {"wordpiece", TokenizerType::kWordPiece},
    {"unigram", TokenizerType::kUnigram},
    {"bpe", TokenizerType::kBpe},
    {"byte_level_bpe", TokenizerType::kByteLevelBpe},
    {"characters", TokenizerType::kCharacters},
    {"word_level", TokenizerType::kWordLevel},
    {"fasttext", TokenizerType::kFastText},
};

const config::Choices<std::string> kNormalizations = {
    {"nmt_nfkc", "nmt_nfkc"}, {"nfkc", "nfkc"},         {"nmt_nfkc_cf", "nmt_nfkc_cf"},
    {"nfkc_cf", "nfkc_cf"},   {"identity", "identity"},
};

constexpr int64_t kMostWordNgrams = 5;
constexpr int64_t kMostCharNgrams = 32;
constexpr int64_t kAllWords = 1'000'000;  // as many as there are

constexpr std::string_view kOnlyWordPiece = "type: wordpiece";
constexpr std::string_view kOnlyLowercasing = "type: wordpiece or fasttext";
constexpr std::string_view kOnlyFastText = "type: fasttext";
constexpr std::string_view kOnlySentencePiece = "type: unigram or bpe";
constexpr std::string_view kOnlyByteLevel = "type: byte_level_bpe";
constexpr std::string_view kOnlyCounting =
    "type: wordpiece, byte_level_bpe, word_level or fasttext";

struct TypeKey {
  const char* key;
  std::string_view only_if;
};
constexpr std::array<TypeKey, 9> kTypeKeys = {{
    {"lowercase", kOnlyLowercasing},
    {"strip_accents", kOnlyWordPiece},
    {"min_frequency", kOnlyCounting},
    {"add_prefix_space", kOnlyByteLevel},
    {"character_coverage", kOnlySentencePiece},
    {"byte_fallback", kOnlySentencePiece},
    {"normalization", kOnlySentencePiece},
    {"word_ngrams", kOnlyFastText},
    {"char_ngrams", kOnlyFastText},
}};

/// Whether the vocabulary has all words that are frequent enough, by default.
bool counts_words(TokenizerType type) {
  return type == TokenizerType::kWordLevel || type == TokenizerType::kFastText;
}

void check_file(config::Section& section, const TokenizerOptions& options) {
  std::vector<const char*> others = {"train_on", "type", "vocab_size", "sample_lines"};
  for (const TypeKey& one : kTypeKeys) {
    others.push_back(one.key);
  }
  for (const char* key : others) {
    if (section.has(key)) {
      section.fail(
          "file",
          str_cat("an existing tokenizer is used as is, so it cannot be combined with ", key));
    }
  }
  if (!std::filesystem::exists(*options.file)) {
    section.fail("file", str_cat("'", *options.file, "': no such file or directory"));
  }
}

void read_lowercase(config::Section& section, TokenizerOptions& options) {
  section.read("lowercase", options.lowercase,
               {.help = "Lowercases the text. fasttext: also separates punctuation from words.",
                .only_if = kOnlyLowercasing});
}

void read_fasttext(config::Section& section, TokenizerOptions& options) {
  section.read("word_ngrams", options.word_ngrams,
               {.help = "Maximum size of word n-grams. 2: adds bigrams to the single words.",
                .unit = "words",
                .range = config::between(1, kMostWordNgrams),
                .only_if = kOnlyFastText});
  std::vector<double> sizes(options.char_ngrams.begin(), options.char_ngrams.end());
  section.read("char_ngrams", sizes,
               {.help = "Minimum and maximum size of character n-grams of words, such as [3, 6]. "
                        "[0, 0]: none.",
                .unit = "characters",
                .range = config::between(0, kMostCharNgrams),
                .only_if = kOnlyFastText});
  const bool are_whole =
      std::ranges::all_of(sizes, [](double size) { return size == std::floor(size); });
  if (sizes.size() != 2 || !are_whole || sizes[0] > sizes[1]) {
    section.report("char_ngrams", "must be two whole numbers, the first at most the second");
    return;
  }
  options.char_ngrams = {static_cast<int64_t>(sizes[0]), static_cast<int64_t>(sizes[1])};
}

void read_word_piece(config::Section& section, TokenizerOptions& options) {
  bool strips_accents = options.lowercase;
  if (section.is_documenting() || section.has("strip_accents")) {
    section.read(
        "strip_accents", strips_accents,
        {.help = "Removes accents. Default: same as lowercase.", .only_if = kOnlyWordPiece});
    options.strip_accents = strips_accents;
  }
}

void read_min_frequency(config::Section& section, TokenizerOptions& options) {
  section.read("min_frequency", options.min_frequency,
               {.help = "Minimum frequency of a pair of pieces to be merged into a new piece; for "
                        "word_level, of a word; for fasttext, of a word or an n-gram.",
                .unit = "times",
                .range = config::at_least(1),
                .only_if = kOnlyCounting});
}

void read_byte_level(config::Section& section, TokenizerOptions& options) {
  section.read("add_prefix_space", options.add_prefix_space,
               {.help = "Adds a space before the first word of a text, so that it is tokenized "
                        "like the other words.",
                .only_if = kOnlyByteLevel});
}

void read_sentencepiece(config::Section& section, TokenizerOptions& options) {
  section.read(
      "character_coverage", options.character_coverage,
      {.help = "Fraction of the characters in the training text covered by the vocabulary. The "
               "rest becomes the unknown token, or bytes with byte_fallback.",
       .range = config::between(0.98, 1.0),
       .only_if = kOnlySentencePiece});
  section.read("byte_fallback", options.byte_fallback,
               {.help = "Encodes characters that are not in the vocabulary as bytes instead of the "
                        "unknown token.",
                .only_if = kOnlySentencePiece});
  section.read_choice("normalization", options.normalization, kNormalizations,
                      {.help = "SentencePiece normalization rules (_cf: with case folding, i.e. "
                               "lowercasing). mbart models require identity.",
                       .only_if = kOnlySentencePiece});
}

/// Reads the keys of the tokenizer type; keys of other types are rejected.
void read_type_keys(config::Section& section, TokenizerOptions& options) {
  const bool is_word_piece = options.type == TokenizerType::kWordPiece;
  const bool is_byte_level = options.type == TokenizerType::kByteLevelBpe;
  const bool is_described = section.is_documenting();
  std::vector<std::string_view> read;
  const auto read_where = [&](bool is_wanted, std::string_view only, auto read_keys) {
    if (is_wanted || is_described) {
      read_keys(section, options);
      read.push_back(only);
    }
  };
  const bool is_fasttext = options.type == TokenizerType::kFastText;
  read_where(is_word_piece || is_fasttext, kOnlyLowercasing, read_lowercase);
  read_where(is_word_piece, kOnlyWordPiece, read_word_piece);
  read_where(is_word_piece || is_byte_level || counts_words(options.type), kOnlyCounting,
             read_min_frequency);
  read_where(is_fasttext, kOnlyFastText, read_fasttext);
  read_where(is_byte_level, kOnlyByteLevel, read_byte_level);
  const bool is_sentencepiece =
      options.type == TokenizerType::kUnigram || options.type == TokenizerType::kBpe;
  read_where(is_sentencepiece, kOnlySentencePiece, read_sentencepiece);
  for (const TypeKey& one : kTypeKeys) {
    if (section.has(one.key) && std::find(read.begin(), read.end(), one.only_if) == read.end()) {
      section.report(one.key, str_cat("belongs to ", one.only_if));
    }
  }
}

void read_tokenizer_training(config::Section& section, TokenizerOptions& options) {
  section.read_choice("type", options.type, kTypes,
                      {.help = "Tokenizer algorithm to train. word_level: the words between white "
                               "space, as they are. fasttext: words and n-grams in hash buckets, "
                               "for models that classify by a bag of features."});
  if (counts_words(options.type)) {
    options.vocab_size = kAllWords;
  }
  section.read("vocab_size", options.vocab_size,
               {.help = "Vocabulary size, including special tokens. For characters, word_level and "
                        "fasttext: the maximum; the default of the latter two is 1,000,000.",
                .unit = "pieces",
                .range = config::between(16, 1'000'000)});
  section.read("train_on", options.train_on,
               {.help = "Text the tokenizer is trained on. `data`: the texts of data.train. "
                        "Otherwise a glob pattern of text files."});
  section.read(
      "sample_lines", options.sample_lines,
      {.help = "Maximum number of lines used to train the tokenizer; more are sampled at random.",
       .unit = "lines",
       .range = config::between(1, 100'000'000)});
  if (options.train_on != "data" && glob_paths(options.train_on).empty()) {
    section.report("train_on",
                   str_cat("'", options.train_on, "' matches no file and is not the word `data`"));
  }
}

}  // namespace

TokenizerOptions default_tokenizer_options(TokenizerTemplate style, int64_t bytes) {
  constexpr double kFewest = 1000;
  constexpr double kMost = 32000;
  TokenizerOptions options;
  const double pieces = 4 * std::sqrt(static_cast<double>(bytes));
  options.vocab_size =
      static_cast<int64_t>(std::clamp(std::round(pieces / 100) * 100, kFewest, kMost));
  switch (style) {
    case TokenizerTemplate::kBert:
    case TokenizerTemplate::kBertNoSegments:
    case TokenizerTemplate::kFunnel:
    case TokenizerTemplate::kXlm:
      options.type = TokenizerType::kWordPiece;
      break;
    case TokenizerTemplate::kRoberta:
    case TokenizerTemplate::kGpt2:
    case TokenizerTemplate::kQwen2:
      options.type = TokenizerType::kByteLevelBpe;
      break;
    case TokenizerTemplate::kFastText:
      options.type = TokenizerType::kFastText;
      options.vocab_size = kAllWords;
      break;
    case TokenizerTemplate::kBosEos:
      options.type = TokenizerType::kWordLevel;
      options.vocab_size = kAllWords;
      break;
    case TokenizerTemplate::kMbart:
      options.normalization = "identity";  // its tokenizer class has no normalization rules
      [[fallthrough]];
    case TokenizerTemplate::kXlmRoberta:
    case TokenizerTemplate::kT5:
    case TokenizerTemplate::kEosOnly:
      options.type = TokenizerType::kUnigram;
      break;
  }
  return options;
}

TokenizerOptions read_tokenizer_options(config::Section& section, TokenizerOptions options) {
  section.read("file", options.file,
               {.help = "Path of an existing tokenizer, used instead of training one: a directory "
                        "(also of a run, or a Marian model with source.spm and target.spm), "
                        "tokenizer.json, vocab.txt or a .model file."});
  if (options.file) {
    check_file(section, options);
    section.reject_unread();
    return options;
  }
  read_tokenizer_training(section, options);
  read_type_keys(section, options);
  section.reject_unread();
  return options;
}

}  // namespace weft::data
