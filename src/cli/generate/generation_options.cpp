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
#include "inference/shortlist.h"

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
    arguments.fail("--temperature: must be above 0; for greedy decoding use --greedy");
  }
  return arguments.number("temperature", fallback, kSmall, kLarge);
}

void read_sampling(const Arguments& arguments, models::SearchOptions& search) {
  const auto sampling = given_of(arguments, kSampling);
  if (arguments.has("greedy") && !sampling.empty()) {
    arguments.fail("--greedy does not sample, but --" + sampling + " does: use only one of them");
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
                           " are mutually exclusive"));
  }
  if (arguments.has("beams")) {
    search.num_beams = asked;
    search.sampling.is_enabled = search.sampling.is_enabled && asked == 1;
  } else if (search.sampling.is_enabled || arguments.has("greedy")) {
    search.num_beams = 1;
  }
  if (search.num_beams == 1) {
    search.num_beam_groups = 1;
    const auto useless =
        given_of(arguments, std::array<std::string_view, 4>{"beam-groups", "diversity-penalty",
                                                            "early-stopping", "coverage-penalty"});
    if (!useless.empty()) {
      arguments.fail("--" + useless + " needs --beams of at least 2");
    }
  }
  search.num_beam_groups = arguments.integer("beam-groups", search.num_beam_groups, 1, kMaxBeams);
  search.diversity_penalty =
      arguments.number("diversity-penalty", search.diversity_penalty, 0, kLarge);
  search.length_penalty =
      arguments.number("length-penalty", search.length_penalty, -kLarge, kLarge);
  search.word_penalty = arguments.number("word-penalty", 0, -kLarge, kLarge);
  search.coverage_penalty = arguments.number("coverage-penalty", 0, 0, kLarge);
  if (search.num_beams % search.num_beam_groups != 0) {
    arguments.fail(str_cat("--beam-groups ", search.num_beam_groups, " must divide ",
                           search.num_beams, " beams without remainder"));
  }
  if (arguments.has("diversity-penalty") && search.num_beam_groups == 1) {
    arguments.fail(
        "--diversity-penalty works between beam groups: it needs --beam-groups of at least 2");
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
  arguments.fail("--" + name + ": '" + piece + "' is not a token of the model");
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
    arguments.fail("--" + worded + " needs the model's tokenizer, but the model has none");
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
  const auto read = [&](std::string_view key, std::string& value) {
    const auto* found = root.value_at(key);
    if (found != nullptr && found->kind == config::Node::Kind::kScalar) {
      value = found->scalar;
    }
  };
  read("objective.source_prefix", texts.prefix);
  read("objective.source_language", texts.languages.source);
  read("objective.target_language", texts.languages.target);
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
    arguments.fail("--seed only affects sampling: also give --sample or --temperature");
  }
}

struct GenerationGroup {
  const char* title;
  bool is_rare = false;  // shown by --help-all only
};

constexpr GenerationGroup kLengthGroup{"Length"};
constexpr GenerationGroup kSamplingGroup{"Sampling"};
constexpr GenerationGroup kBeamSearchGroup{"Beam search"};
constexpr GenerationGroup kAdvancedGroup{"Advanced decoding", true};
constexpr GenerationGroup kConstraintsGroup{"Constraints", true};
constexpr GenerationGroup kSourcesGroup{"Encoder-decoders", true};
constexpr GenerationGroup kPerformanceGroup{"Performance"};

/// One generation option.
struct GenerationOption {
  GenerationGroup group;
  const char* name;
  const char* placeholder;  // empty: a flag
  const char* help;
};

constexpr GenerationOption kOptions[] = {
    {kLengthGroup, "max-new", "N", "Maximum number of new tokens (default: the model's, else 128)"},
    {kAdvancedGroup, "min-new", "N", "Minimum number of new tokens (default: the model's, else 0)"},
    {kLengthGroup, "n-best", "N", "Number of texts per prompt, best first (default: 1)"},
    {kLengthGroup, "stop", "TEXT", "Stop before this text; may be repeated"},
    {kSamplingGroup, "greedy", "",
     "Greedy decoding, even if the model's generation_config.json says otherwise"},
    {kSamplingGroup, "sample", "", "Sample tokens from the predicted distribution"},
    {kSamplingGroup, "temperature", "T",
     "Sampling temperature T > 0 (default: 1). Logits are divided by T; values below 1 favour "
     "likely tokens. Implies --sample"},
    {kSamplingGroup, "top-k", "K",
     "Top-k sampling: sample from the K most likely tokens (default: 0, all). Implies --sample"},
    {kSamplingGroup, "top-p", "P",
     "Top-p (nucleus) sampling: sample from the smallest set of most likely tokens with total "
     "probability P, in (0, 1] (default: 1). Implies --sample"},
    {kAdvancedGroup, "min-p", "P",
     "Min-p sampling: only sample tokens with at least P times the probability of the most likely "
     "token, in [0, 1] (default: 0). Implies --sample"},
    {kSamplingGroup, "seed", "N",
     "Random seed for sampling (default: 1); each prompt has its own random stream"},
    {kBeamSearchGroup, "beams", "K", "Beam search with K beams (default: the model's, else 1)"},
    {kAdvancedGroup, "beam-groups", "G", "Number of groups for diverse beam search (default: 1)"},
    {kAdvancedGroup, "diversity-penalty", "D",
     "Diversity penalty for tokens chosen by earlier beam groups (default: 0)"},
    {kBeamSearchGroup, "length-penalty", "A",
     "Length penalty A: scores are log-probabilities divided by length^A (default: 1); values "
     "above 0 favour longer texts"},
    {kAdvancedGroup, "word-penalty", "W",
     "Penalty subtracted from the score for each token (default: 0)"},
    {kAdvancedGroup, "coverage-penalty", "B",
     "Coverage penalty of a beam search: for each source token, B ln(min(c, 1)) is added to the "
     "score, where c is the attention to it in all (default: 0)"},
    {kAdvancedGroup, "early-stopping", "WHEN",
     "When beam search stops after K beams have ended: yes (immediately), no (when the current "
     "best running beam is not better; default), never (when no running beam can become better)"},
    {kConstraintsGroup, "repetition-penalty", "R",
     "Repetition penalty: values above 1 make tokens that already occurred less likely (default: "
     "1)"},
    {kConstraintsGroup, "no-repeat-ngram-size", "N",
     "No n-gram of N tokens may occur twice (default: 0, off)"},
    {kConstraintsGroup, "bad-word", "WORD", "Word that must not be generated; may be repeated"},
    {kConstraintsGroup, "allowed-words", "FILE",
     "File with words: only their tokens may be generated"},
    {kConstraintsGroup, "forced-bos-token", "TOKEN",
     "First token of the decoder, such as a language token (default: the model's)"},
    {kConstraintsGroup, "prefix", "TEXT", "Text that every generated text starts with"},
    {kSourcesGroup, "source-prefix", "TEXT",
     "Text put before every prompt of an encoder-decoder, such as T5's task prefix (default: that "
     "of the training run)"},
    {kSourcesGroup, "source-language", "TOKEN",
     "Language token of the prompts (mBART; default: that of the training run)"},
    {kSourcesGroup, "target-language", "TOKEN",
     "Language token of the generated text (mBART; default: that of the training run)"},
    {kSourcesGroup, "shortlist", "FILE",
     "Lexical shortlist, as in Marian: texts consist of likely translations of the source's tokens "
     "and of the most frequent tokens, and the output layer computes only these. FILE has lines "
     "TARGET SOURCE PROBABILITY (`weft data shortlist`); '{file: FILE, first: 100, best: 100}' "
     "also "
     "gives the number of frequent tokens and of translations of each token"},
    {kPerformanceGroup, "batch-size", "N",
     "Number of prompts per batch (default: 64); does not change the results"}};

}  // namespace

void declare_generation(Arguments& arguments, HelpLevel level) {
  for (const auto& [group, name, placeholder, help] : kOptions) {
    arguments.group(group.title, group.is_rare ? HelpLevel::kHelpAll : level);
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
  if (arguments.has("shortlist")) {
    settings.shortlist =
        inference::read_shortlist_options(arguments.get("shortlist"), "--shortlist");
  }
  settings.stop_strings = arguments.all("stop");
  if (std::find(settings.stop_strings.begin(), settings.stop_strings.end(), "") !=
      settings.stop_strings.end()) {
    arguments.fail("--stop: an empty text would stop every text immediately");
  }
  settings.batch_size = arguments.integer("batch-size", settings.batch_size, 1, int64_t{1} << 16);
}

}  // namespace weft::cli
