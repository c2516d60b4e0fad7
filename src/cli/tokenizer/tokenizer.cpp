#include "data/tokenizer.h"

#include <algorithm>
#include <iostream>
#include <map>
#include <string_view>

#include "base/file.h"
#include "base/log.h"
#include "base/string_util.h"
#include "cli/commands.h"
#include "cli/tokenizer/tokenizer.h"
#include "data/tokenizer_options.h"
#include "formats/json.h"
#include "formats/line_reader.h"
#include "models/config/family_definition.h"

namespace weft::cli {

namespace {

/// Rejects options that belong to another tokenizer type.
void check_type_options(const Arguments& arguments, data::TokenizerType type) {
  using Type = data::TokenizerType;
  const std::vector<std::pair<std::string, std::vector<Type>>> belongings = {
      {"cased", {Type::kWordPiece}},
      {"min-frequency", {Type::kWordPiece, Type::kByteLevelBpe, Type::kWordLevel}},
      {"add-prefix-space", {Type::kByteLevelBpe}},
      {"byte-fallback", {Type::kUnigram, Type::kBpe}},
      {"character-coverage", {Type::kUnigram, Type::kBpe}},
      {"normalization", {Type::kUnigram, Type::kBpe}}};
  for (const auto& [option, types] : belongings) {
    if (arguments.has(option) && std::find(types.begin(), types.end(), type) == types.end()) {
      throw UsageError(str_cat("weft tokenizer train: --", option, " cannot be used with --type ",
                               arguments.has("type") ? arguments.get("type") : "wordpiece"));
    }
  }
}

data::TokenizerOptions training_options(const Arguments& arguments) {
  data::TokenizerOptions options;
  options.type = arguments.choice("type", options.type,
                                  {{"wordpiece", data::TokenizerType::kWordPiece},
                                   {"unigram", data::TokenizerType::kUnigram},
                                   {"bpe", data::TokenizerType::kBpe},
                                   {"byte_level_bpe", data::TokenizerType::kByteLevelBpe},
                                   {"characters", data::TokenizerType::kCharacters},
                                   {"word_level", data::TokenizerType::kWordLevel}});
  check_type_options(arguments, options.type);
  options.vocab_size = arguments.integer("vocab-size", options.vocab_size, 16, 1'000'000);
  options.lowercase = !arguments.has("cased");
  options.byte_fallback = arguments.has("byte-fallback");
  options.add_prefix_space = arguments.has("add-prefix-space");
  options.character_coverage =
      arguments.number("character-coverage", options.character_coverage, 0.98, 1.0);
  options.sample_lines = arguments.integer("sample-lines", options.sample_lines, 1, 100'000'000);
  options.min_frequency =
      arguments.integer("min-frequency", options.min_frequency, 1, 1'000'000'000);
  options.normalization = arguments.choice("normalization", options.normalization,
                                           {{"nmt_nfkc", "nmt_nfkc"},
                                            {"nfkc", "nfkc"},
                                            {"nmt_nfkc_cf", "nmt_nfkc_cf"},
                                            {"nfkc_cf", "nfkc_cf"},
                                            {"identity", "identity"}});
  if (arguments.has("languages")) {
    const auto given = arguments.get("languages");
    const auto codes = split(given, ',');
    options.languages.source = codes.front();
    options.languages.target = codes.size() == 2 ? codes.back() : "";
    options.languages.others = {codes.begin(), codes.end()};
  }
  return options;
}

std::vector<std::string> input_files(const Arguments& arguments) {
  std::vector<std::string> files;
  for (const std::string& pattern : arguments.all("input")) {
    const std::vector<std::string> found = glob_paths(pattern);
    if (found.empty()) {
      throw UsageError(str_cat("weft tokenizer train: --input: '", pattern, "' matches no file"));
    }
    files.insert(files.end(), found.begin(), found.end());
  }
  if (files.empty()) {
    throw UsageError("weft tokenizer train: --input FILE is required");
  }
  return files;
}

/// The families that read texts, with their special tokens.
std::vector<std::pair<std::string_view, data::TokenizerTemplate>> text_styles() {
  std::vector<std::pair<std::string_view, data::TokenizerTemplate>> styles;
  for (const auto& [name, family] : models::families()) {
    if (!family->reads_images) {
      styles.emplace_back(name, family->style);
    }
  }
  return styles;
}

void declare_tokenizer_training(Arguments& arguments) {
  arguments.group("Data")
      .value("input", "FILE", "Text files as a glob pattern; may be repeated")
      .value("output", "DIR", "Output directory")
      .value("sample-lines", "N",
             "Maximum number of training lines; more are sampled at random (default: 2000000)")
      .value("seed", "N", "Random seed for sampling lines (default: 1)")
      .group("Tokenizer")
      .value(
          "type", "TYPE",
          "wordpiece (default), unigram or bpe (both SentencePiece), byte_level_bpe, characters or "
          "word_level")
      .value("vocab-size", "N", "Vocabulary size, including special tokens (default: 30522)")
      .value("style", "STYLE",
             "Special tokens of this model family, a value of model.type such as roberta, gpt2, t5 "
             "or mbart (default: bert)")
      .value("languages", "CODES",
             "mbart: language codes such as en_XX,de_DE; the first is appended to sources, the "
             "second (if any) to targets (default: en_XX)")
      .value("max-length", "N", "model_max_length in tokenizer_config.json (default: 512)")
      .group("Type-specific")
      .flag("cased", "wordpiece: keep upper case and accents")
      .value(
          "min-frequency", "N",
          "wordpiece, byte_level_bpe: minimum frequency of a pair to be merged; word_level: of a "
          "word (default: 2)")
      .flag("add-prefix-space", "byte_level_bpe: add a space before the first word of a text")
      .flag("byte-fallback", "unigram, bpe: encode characters outside of the vocabulary as bytes")
      .value("character-coverage", "SHARE",
             "unigram, bpe: fraction of the characters covered by the vocabulary (default: 0.9995)")
      .value("normalization", "RULES",
             "unigram, bpe: nmt_nfkc (default), nfkc, nmt_nfkc_cf, nfkc_cf, identity (--style "
             "mbart requires identity)");
}

int run_training(const std::vector<std::string>& raw) {
  Arguments arguments(
      {.usage = "weft tokenizer train --input FILE [--input FILE ...] --output DIR [options]",
       .description = "Trains a tokenizer on the lines of text files (optionally .gz) and writes a "
                      "directory that AutoTokenizer of transformers can load.",
       .examples =
           {"weft tokenizer train --input 'corpus/*.txt' --output tokenizer --vocab-size 8192",
            "weft tokenizer train --input text.txt --output tokenizer --type unigram "
            "--style roberta"}},
      0, 0);
  declare_tokenizer_training(arguments);
  if (!arguments.parse(raw)) {
    return 0;
  }
  if (!arguments.has("output")) {
    throw UsageError("weft tokenizer train: --output DIR is required");
  }
  const auto options = training_options(arguments);
  const auto style = arguments.choice("style", data::TokenizerTemplate::kBert, text_styles());
  if (arguments.has("languages") && style != data::TokenizerTemplate::kMbart) {
    throw UsageError("weft tokenizer train: --languages works only with --style mbart");
  }
  const std::vector<std::string> files = input_files(arguments);
  data::TokenizerReport report;
  const auto tokenizer = data::train_tokenizer(
      options, style, static_cast<uint64_t>(arguments.integer("seed", 1, 0, int64_t{1} << 62)),
      [&](const data::TextVisitor& visit) {
        for (const std::string& file : files) {
          formats::LineReader reader(file);
          for (std::string_view line; reader.next(line);) {
            visit(line);
          }
        }
      },
      report);
  tokenizer->save(arguments.get("output"),
                  arguments.integer("max-length", 512, 1, int64_t{1} << 30));
  log::info(str_cat("[tokenizer] ", with_commas(tokenizer->size()), " pieces from ",
                    with_commas(report.sampled), " of ", with_commas(report.lines), " lines, ",
                    format_bytes(static_cast<double>(report.bytes))));
  if (report.skipped_long > 0) {
    log::warning(str_cat("[tokenizer] ", counted(report.skipped_long, "line"), " ",
                         was_or_were(report.skipped_long), " too long and skipped"));
  }
  if (report.pruned_words > 0) {
    log::warning(str_cat("[tokenizer] ", counted(report.pruned_words, "rare word"), " ",
                         was_or_were(report.pruned_words), " ignored because there were too many"));
  }
  for (const auto& warning : report.warnings) {
    log::warning("[tokenizer] " + warning);
  }
  return 0;
}

constexpr const char* kTargetHelp =
    "The texts are target texts, for tokenizers with a source and a target side (Marian)";

const data::Tokenizer& side_of(const data::Tokenizer& tokenizer, const Arguments& arguments) {
  return arguments.has("target") ? tokenizer.target() : tokenizer;
}

int run_encoding(const std::vector<std::string>& raw) {
  Arguments arguments(
      {.usage = "weft tokenizer encode --model MODEL [options]",
       .description = "Reads lines from standard input and writes one JSON object for each, with "
                      "ids and tokens. Only a line feed ends a line.",
       .examples = {"echo 'Hello world' | weft tokenizer encode --model runs/bert-mini/last"}},
      0, 0);
  arguments.value("model", "MODEL", "Tokenizer or model directory, or a tokenizer file")
      .flag("pairs", "Each line has two texts separated by a tab")
      .flag("no-special-tokens", "Do not add special tokens")
      .flag("target", kTargetHelp)
      .flag("offsets", "Also write the byte range of the text for each token");
  if (!arguments.parse(raw)) {
    return 0;
  }
  const auto tokenizer = data::load_tokenizer(required_model(arguments, "encode"));
  encode_lines(side_of(*tokenizer, arguments), {.are_pairs = arguments.has("pairs"),
                                                .adds_special = !arguments.has("no-special-tokens"),
                                                .has_offsets = arguments.has("offsets")});
  return 0;
}

int run_decoding(const std::vector<std::string>& raw) {
  Arguments arguments(
      {.usage = "weft tokenizer decode --model MODEL",
       .description = "Reads JSON lines {\"ids\": [...]} from standard input and writes one line "
                      "of text for each, without special tokens.",
       .examples =
           {"echo '{\"ids\": [5, 6]}' | weft tokenizer decode --model runs/bert-mini/last"}},
      0, 0);
  arguments.value("model", "MODEL", "Tokenizer or model directory, or a tokenizer file")
      .flag("target", kTargetHelp);
  if (!arguments.parse(raw)) {
    return 0;
  }
  const auto tokenizer = data::load_tokenizer(required_model(arguments, "decode"));
  decode_lines(side_of(*tokenizer, arguments));
  return 0;
}

std::string pieces_of(const data::Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> pieces;
  for (const data::Token& token : tokenizer.tokens(text)) {
    pieces.push_back(tokenizer.piece(token.id));
  }
  return join(pieces, " ");
}

int run_inspection(const std::vector<std::string>& raw) {
  Arguments arguments(
      {.usage = "weft tokenizer inspect MODEL",
       .description =
           "Describes a tokenizer: size, special tokens, and how it splits some example texts.",
       .examples = {"weft tokenizer inspect runs/bert-mini/last"}},
      1, 1);
  if (!arguments.parse(raw)) {
    return 0;
  }
  const auto tokenizer = data::load_tokenizer(arguments.positional()[0]);
  const data::SpecialTokenIds special = tokenizer->special_token_ids();
  std::cout << "pieces        " << with_commas(tokenizer->size()) << "\n"
            << "added         " << tokenizer->num_special_tokens_to_add(false)
            << " tokens are added to a text, " << tokenizer->num_special_tokens_to_add(true)
            << " to a pair\n";
  const std::vector<std::pair<std::string_view, int32_t>> names = {
      {"pad", special.pad},  {"unknown", special.unk},  {"begin", special.bos},
      {"end", special.eos},  {"classify", special.cls}, {"separate", special.sep},
      {"mask", special.mask}};
  for (const auto& [name, id] : names) {
    std::cout << name << std::string(14 - name.size(), ' ')
              << (id < 0 ? std::string("none") : str_cat(tokenizer->piece(id), " (", id, ")"))
              << "\n";
  }
  for (const std::string_view example :
       {"The quick brown fox jumps over the lazy dog.", "Fünf naïve Café-Gäste, 1,234.50 €!",
        "日本語 и русский"}) {
    const auto pieces = pieces_of(*tokenizer, example);
    const auto target = pieces_of(tokenizer->target(), example);
    std::cout << "\n" << example << "\n  " << pieces << "\n";
    if (target != pieces) {
      std::cout << "  as target: " << target << "\n";
    }
  }
  return 0;
}

struct TokenizerAction {
  std::string name;
  std::string summary;
  int (*run)(const std::vector<std::string>& arguments);
};

const std::vector<TokenizerAction> kTokenizerActions = {
    {"train", "on the lines of text files", run_training},
    {"encode", "lines of text to ids and tokens", run_encoding},
    {"decode", "ids to text", run_decoding},
    {"inspect", "size, special tokens, and how it splits some example texts", run_inspection},
    {"bench", "speed of one thread", run_tokenizer_bench}};

/// Help of the command without an action.
HelpText actions_help() {
  HelpText help{.usage = "weft tokenizer train|encode|decode|inspect|bench ...",
                .description =
                    "Trains tokenizers and runs them. `weft tokenizer train --help` "
                    "shows the options of an action.\n",
                .examples = {"echo 'Hello world' | weft tokenizer encode --model "
                             "runs/bert-mini/last"}};
  for (const auto& action : kTokenizerActions) {
    help.description += "\n" + help_row(action.name, 9, action.summary);
  }
  return help;
}

}  // namespace

int run_tokenizer(std::vector<std::string> raw) {
  if (raw.empty() || raw[0].starts_with("--help") || raw[0] == "-h") {
    Arguments(actions_help(), 1, 1).parse({"--help"});
    return raw.empty() ? 2 : 0;
  }
  return find_entry(kTokenizerActions, raw[0], "weft tokenizer: unknown action")
      .run({raw.begin() + 1, raw.end()});
}

}  // namespace weft::cli
