#include "cli/generate/generation_options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <set>
#include <string_view>

#include "base/file.h"
#include "base/string_util.h"
#include "config/yaml.h"
#include "data/datasets/parallel_dataset.h"
#include "formats/line_reader.h"

namespace weft::cli {
namespace {

using models::EarlyStopping;
using models::Tokens;

constexpr int64_t kMaxTokens = int64_t{1} << 20;
constexpr int64_t kMaxBeams = 1024;
constexpr double kLarge = 1e6;
constexpr double kSmall = 1e-6;

constexpr std::array<std::string_view, 5> kSampling{"sample", "temperature", "top-k", "top-p",
                                                    "min-p"};

/// First of the options that was given; empty: none.
template <class Names>
std::string given_of(const Arguments& arguments, const Names& names) {
  for (const auto name : names) {
    if (arguments.has(std::string(name))) {
      return std::string(name);
    }
  }
  return {};
}

void read_lengths(const Arguments& arguments, models::GenerationConfig& config) {
  if (arguments.has("max-new")) {
    config.max_new_tokens = arguments.integer("max-new", 0, 0, kMaxTokens);
  }
  if (arguments.has("min-new")) {
    config.min_new_tokens = arguments.integer("min-new", 0, 0, kMaxTokens);
  }
  if (config.max_new_tokens && config.min_new_tokens &&
      *config.min_new_tokens > *config.max_new_tokens) {
    arguments.fail(str_cat("--min-new ", *config.min_new_tokens, " is more than --max-new ",
                           *config.max_new_tokens));
  }
}

double read_temperature(const Arguments& arguments, double fallback) {
  const auto word = arguments.get("temperature");
  if (!word.empty() && word.find_first_not_of("0.+-") == std::string::npos) {
    arguments.fail(
        "--temperature: it is above 0; for the likeliest token each time give --greedy instead");
  }
  return arguments.number("temperature", fallback, kSmall, kLarge);
}

void read_sampling(const Arguments& arguments, models::SearchOptions& search) {
  const auto sampling = given_of(arguments, kSampling);
  if (arguments.has("greedy") && !sampling.empty()) {
    arguments.fail("--greedy takes the likeliest token, --" + sampling +
                   " draws one: give one of them");
  }
  auto& sampling_options = search.sampling;
  sampling_options.temperature = read_temperature(arguments, sampling_options.temperature);
  sampling_options.top_k =
      arguments.integer("top-k", sampling_options.top_k, 0, std::numeric_limits<int32_t>::max());
  sampling_options.top_p = arguments.number("top-p", sampling_options.top_p, kSmall, 1);
  sampling_options.min_p = arguments.number("min-p", sampling_options.min_p, 0, 1);
  sampling_options.seed =
      static_cast<uint64_t>(arguments.integer("seed", 1, 0, std::numeric_limits<int64_t>::max()));
  sampling_options.is_enabled =
      !sampling.empty() || (sampling_options.is_enabled && !arguments.has("greedy"));
}

void read_beams(const Arguments& arguments, models::SearchOptions& search) {
  const auto asked = arguments.integer("beams", 1, 1, kMaxBeams);
  const auto sampling = given_of(arguments, kSampling);
  if (asked > 1 && (!sampling.empty() || arguments.has("greedy"))) {
    arguments.fail(str_cat("--beams ", asked, " and --", sampling.empty() ? "greedy" : sampling,
                           " exclude each other"));
  }
  if (arguments.has("beams")) {
    search.num_beams = asked;
    search.sampling.is_enabled = search.sampling.is_enabled && asked == 1;
  } else if (search.sampling.is_enabled || arguments.has("greedy")) {
    search.num_beams = 1;
  }
  if (search.num_beams == 1) {
    search.num_beam_groups = 1;
    const auto useless = given_of(
        arguments,
        std::array<std::string_view, 3>{"beam-groups", "diversity-penalty", "early-stopping"});
    if (!useless.empty()) {
      arguments.fail("--" + useless + " needs --beams of 2 or more");
    }
  }
  search.num_beam_groups = arguments.integer("beam-groups", search.num_beam_groups, 1, kMaxBeams);
  search.diversity_penalty =
      arguments.number("diversity-penalty", search.diversity_penalty, 0, kLarge);
  search.length_penalty =
      arguments.number("length-penalty", search.length_penalty, -kLarge, kLarge);
  search.word_penalty = arguments.number("word-penalty", 0, -kLarge, kLarge);
  if (search.num_beams % search.num_beam_groups != 0) {
    arguments.fail(str_cat("--beam-groups ", search.num_beam_groups, " do not share ",
                           search.num_beams, " beams evenly"));
  }
  if (arguments.has("diversity-penalty") && search.num_beam_groups == 1) {
    arguments.fail("--diversity-penalty keeps groups apart: it needs --beam-groups of 2 or more");
  }
}

void read_early_stopping(const Arguments& arguments, models::SearchOptions& search) {
  if (!arguments.has("early-stopping")) {
    return;
  }
  const auto word = arguments.get("early-stopping");
  if (word == "yes") {
    search.early_stopping = EarlyStopping::kYes;
  } else if (word == "no") {
    search.early_stopping = EarlyStopping::kNo;
  } else if (word == "never") {
    search.early_stopping = EarlyStopping::kNever;
  } else {
    arguments.fail("--early-stopping: '" + word + "' is not one of yes, no, never");
  }
}

/// Tokens of a word at the beginning of a text and inside one.
std::set<Tokens> forms_of(const std::string& word, const data::Tokenizer& tokenizer) {
  std::set<Tokens> forms{tokenizer.ids(word), tokenizer.ids(" " + word)};
  forms.erase(Tokens{});
  return forms;
}

int64_t one_token(const Arguments& arguments,
                  const std::string& name,
                  const data::Tokenizer& tokenizer) {
  const auto piece = arguments.get(name);
  if (const auto id = tokenizer.id(piece)) {
    return *id;
  }
  arguments.fail("--" + name + ": '" + piece + "' is no token of the model");
}

void read_rules(const Arguments& arguments,
                const data::Tokenizer* tokenizer,
                models::TokenRules& rules) {
  rules.repetition_penalty =
      arguments.number("repetition-penalty", rules.repetition_penalty, kSmall, kLarge);
  rules.no_repeat_ngram_size =
      arguments.integer("no-repeat-ngram-size", rules.no_repeat_ngram_size, 0, kMaxTokens);
  const auto worded = given_of(
      arguments, std::array<std::string_view, 3>{"bad-word", "allowed-words", "forced-bos-token"});
  if (worded.empty()) {
    return;
  }
  if (tokenizer == nullptr) {
    arguments.fail("--" + worded + " needs the model's tokenizer, and there is none");
  }
  const auto& writer = tokenizer->target();
  for (const auto& word : arguments.all("bad-word")) {
    for (const auto& form : forms_of(word, writer)) {
      rules.bad_words.push_back(form);
    }
  }
  if (arguments.has("allowed-words")) {
    std::set<int64_t> allowed;
    formats::LineReader lines(arguments.get("allowed-words"));
    for (std::string_view line; lines.next(line);) {
      for (const auto& form : forms_of(std::string(line), writer)) {
        allowed.insert(form.begin(), form.end());
      }
    }
    if (allowed.empty()) {
      arguments.fail("--allowed-words: " + arguments.get("allowed-words") + " has no words");
    }
    rules.allowed.assign(allowed.begin(), allowed.end());
  }
  if (arguments.has("forced-bos-token")) {
    rules.forced_bos_token = one_token(arguments, "forced-bos-token", writer);
  }
}

/// Source prefix and languages of the run that trained the model.
struct RunTexts {
  std::string prefix;
  TextLanguages languages;
};

RunTexts texts_of_run(const std::string& directory) {
  RunTexts texts;
  const auto path = directory + "/weft.yaml";
  if (!std::filesystem::exists(path)) {
    return texts;
  }
  const auto root = config::parse_yaml(MappedFile(path).text(), path);
  const auto* objective = root.find("objective");
  const auto read = [&](std::string_view key, std::string& value) {
    const auto* entry = objective == nullptr ? nullptr : objective->value.find(key);
    if (entry != nullptr && entry->value.kind == config::Node::Kind::kScalar) {
      value = entry->value.scalar;
    }
  };
  read("source_prefix", texts.prefix);
  read("source_language", texts.languages.source);
  read("target_language", texts.languages.target);
  return texts;
}

void read_source(const Arguments& arguments,
                 const std::string& directory,
                 const data::Tokenizer* tokenizer,
                 const TextLanguages& languages,
                 inference::GenerationSettings& settings) {
  const auto run = texts_of_run(directory);
  const auto language = [&](const std::string& option, const std::string& own,
                            const std::string& of_run) {
    return arguments.get(option, own.empty() ? of_run : own);
  };
  settings.source_prefix = arguments.get("source-prefix", run.prefix);
  settings.source_language = language("source-language", languages.source, run.languages.source);
  const auto target = language("target-language", languages.target, run.languages.target);
  if (target.empty() || tokenizer == nullptr) {
    return;
  }
  // The decoder starts with the last token of its language's texts, as in mBART's training.
  const auto frame = data::language_tokens(tokenizer->target(), target, "--target-language");
  if (!frame.after.empty()) {
    settings.config.decoder_start_id = frame.after.back();
  }
  if (!frame.before.empty()) {
    settings.config.search.rules.forced_bos_token = frame.before.front();
  }
}

void read_best(const Arguments& arguments, models::SearchOptions& search) {
  search.num_return_sequences = arguments.integer("n-best", 1, 1, kMaxBeams);
  if (search.num_return_sequences > 1 && !search.sampling.is_enabled &&
      search.num_return_sequences > search.num_beams) {
    arguments.fail(str_cat("--n-best ", search.num_return_sequences, " needs --beams ",
                           search.num_return_sequences, " or more, or sampling"));
  }
  if (arguments.has("seed") && !search.sampling.is_enabled) {
    arguments.fail("--seed is for sampling: give --sample or --temperature too");
  }
}

/// One generation option.
struct GenerationOption {
  const char* name;
  const char* placeholder;  // empty: a flag
  const char* help;
};

constexpr GenerationOption kOptions[] = {
    {"max-new", "N", "New tokens at most (the model's; 128 where it names none)"},
    {"min-new", "N", "New tokens before the text may end (the model's; 0)"},
    {"greedy", "", "Take the likeliest token each time, whatever the model's directory says"},
    {"sample", "", "Draw tokens by their probabilities"},
    {"temperature", "T",
     "Divide logits by T > 0 before drawing (1): below 1 bolder in what is likely; implies "
     "--sample"},
    {"top-k", "K", "Draw among the K likeliest tokens (0: all); implies --sample"},
    {"top-p", "P",
     "Draw among the likeliest tokens that make up this share, in (0, 1] (1); implies "
     "--sample"},
    {"min-p", "P",
     "Draw among tokens at least this share as likely as the likeliest, in [0, 1] (0); "
     "implies --sample"},
    {"seed", "N", "Seed of the draws (1): each hangs on it, the prompt's number and place"},
    {"repetition-penalty", "R",
     "Makes tokens that are there already less likely, where above 1 (1)"},
    {"no-repeat-ngram-size", "N", "No N tokens in a row come twice (0: they may)"},
    {"beams", "K", "Keep the K best texts while searching (the model's; 1)"},
    {"beam-groups", "G", "Groups of beams that are kept apart (1)"},
    {"diversity-penalty", "D", "What a token that an earlier group chose costs the next ones (0)"},
    {"length-penalty", "A",
     "Scores are log-probabilities divided by tokens^A (1): above 0 favours longer texts"},
    {"word-penalty", "W", "What each token costs beside (0)"},
    {"early-stopping", "WHEN",
     "When K beams have ended: yes (at once), no (when the best running one is not better "
     "as it stands; default), never (when none can become better)"},
    {"n-best", "N", "Texts for each prompt, best first (1)"},
    {"stop", "TEXT", "End before this text; may be repeated"},
    {"bad-word", "WORD", "A word that may not come; may be repeated"},
    {"allowed-words", "FILE", "Lines of words whose tokens alone may come"},
    {"forced-bos-token", "TOKEN",
     "Token that an encoder-decoder must give first, such as a language (the model's)"},
    {"source-prefix", "TEXT",
     "What stands before every prompt of an encoder-decoder, such as T5's task (that of "
     "the run that made it)"},
    {"source-language", "TOKEN", "Token of the prompts' language (mBART), likewise"},
    {"target-language", "TOKEN", "Token of the answers' language (mBART), likewise"},
    {"prefix", "TEXT", "What every new text begins with"},
    {"batch-size", "N", "Prompts computed at once (32); changes no text"}};

}  // namespace

void declare_generation(Arguments& arguments) {
  for (const auto& [name, placeholder, help] : kOptions) {
    if (*placeholder == '\0') {
      arguments.flag(name, help);
    } else {
      arguments.value(name, placeholder, help);
    }
  }
}

std::vector<std::string> generation_option_names() {
  std::vector<std::string> names;
  for (const auto& option : kOptions) {
    names.emplace_back(option.name);
  }
  return names;
}

void read_generation(const Arguments& arguments,
                     const std::string& directory,
                     const data::Tokenizer* tokenizer,
                     inference::GenerationSettings& settings,
                     const TextLanguages& languages) {
  auto& config = settings.config;
  read_lengths(arguments, config);
  read_sampling(arguments, config.search);
  read_beams(arguments, config.search);
  read_early_stopping(arguments, config.search);
  read_source(arguments, directory, tokenizer, languages, settings);
  read_rules(arguments, tokenizer, config.search.rules);
  read_best(arguments, config.search);
  settings.stop_strings = arguments.all("stop");
  if (std::find(settings.stop_strings.begin(), settings.stop_strings.end(), "") !=
      settings.stop_strings.end()) {
    arguments.fail("--stop: an empty text would end every text at once");
  }
  settings.batch_size = arguments.integer("batch-size", settings.batch_size, 1, int64_t{1} << 16);
}

}  // namespace weft::cli
