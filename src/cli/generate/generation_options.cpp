#include "cli/generate/generation_options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <set>
#include <string_view>

#include "base/file.h"
#include "base/text.h"
#include "config/yaml.h"
#include "data/datasets/parallel_dataset.h"
#include "formats/lines.h"

namespace weft::cli {
namespace {

using models::EarlyStopping;
using models::Tokens;

constexpr int64_t kMostTokens = int64_t{1} << 20;
constexpr int64_t kMostBeams = 1024;
constexpr double kGreat = 1e6;
constexpr double kSmall = 1e-6;

constexpr std::array<std::string_view, 5> kSampling{"sample", "temperature", "top-k", "top-p",
                                                    "min-p"};

/// The first of the options that was given; empty: none.
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
    config.most_new = arguments.integer("max-new", 0, 0, kMostTokens);
  }
  if (arguments.has("min-new")) {
    config.least_new = arguments.integer("min-new", 0, 0, kMostTokens);
  }
  if (config.most_new && config.least_new && *config.least_new > *config.most_new) {
    arguments.refuse(
        text("--min-new ", *config.least_new, " is more than --max-new ", *config.most_new));
  }
}

double read_temperature(const Arguments& arguments, double otherwise) {
  const auto word = arguments.get("temperature");
  if (!word.empty() && word.find_first_not_of("0.+-") == std::string::npos) {
    arguments.refuse(
        "--temperature: it is above 0; for the likeliest token each time give --greedy instead");
  }
  return arguments.number("temperature", otherwise, kSmall, kGreat);
}

void read_sampling(const Arguments& arguments, models::SearchOptions& search) {
  const auto sampling = given_of(arguments, kSampling);
  if (arguments.has("greedy") && !sampling.empty()) {
    arguments.refuse("--greedy takes the likeliest token, --" + sampling +
                     " draws one: give one of them");
  }
  auto& draws = search.sampling;
  draws.temperature = read_temperature(arguments, draws.temperature);
  draws.top_k = arguments.integer("top-k", draws.top_k, 0, std::numeric_limits<int32_t>::max());
  draws.top_p = arguments.number("top-p", draws.top_p, kSmall, 1);
  draws.min_p = arguments.number("min-p", draws.min_p, 0, 1);
  draws.seed =
      static_cast<uint64_t>(arguments.integer("seed", 1, 0, std::numeric_limits<int64_t>::max()));
  draws.is_on = !sampling.empty() || (draws.is_on && !arguments.has("greedy"));
}

void read_beams(const Arguments& arguments, models::SearchOptions& search) {
  const auto asked = arguments.integer("beams", 1, 1, kMostBeams);
  const auto sampling = given_of(arguments, kSampling);
  if (asked > 1 && (!sampling.empty() || arguments.has("greedy"))) {
    arguments.refuse(text("--beams ", asked, " and --", sampling.empty() ? "greedy" : sampling,
                          " exclude each other"));
  }
  if (arguments.has("beams")) {
    search.beams = asked;
    search.sampling.is_on = search.sampling.is_on && asked == 1;
  } else if (search.sampling.is_on || arguments.has("greedy")) {
    search.beams = 1;
  }
  if (search.beams == 1) {
    search.groups = 1;
    const auto useless = given_of(
        arguments, std::array<std::string_view, 3>{"beam-groups", "diversity", "early-stopping"});
    if (!useless.empty()) {
      arguments.refuse("--" + useless + " needs --beams of 2 or more");
    }
  }
  search.groups = arguments.integer("beam-groups", search.groups, 1, kMostBeams);
  search.diversity = arguments.number("diversity", search.diversity, 0, kGreat);
  search.length_penalty =
      arguments.number("length-penalty", search.length_penalty, -kGreat, kGreat);
  search.word_penalty = arguments.number("word-penalty", 0, -kGreat, kGreat);
  if (search.beams % search.groups != 0) {
    arguments.refuse(
        text("--beam-groups ", search.groups, " do not share ", search.beams, " beams evenly"));
  }
  if (arguments.has("diversity") && search.groups == 1) {
    arguments.refuse("--diversity keeps groups apart: it needs --beam-groups of 2 or more");
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
    arguments.refuse("--early-stopping: '" + word + "' is not one of yes, no, never");
  }
}

/// A word as it stands at a text's begin and inside one.
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
  arguments.refuse("--" + name + ": '" + piece + "' is no token of the model");
}

void read_rules(const Arguments& arguments,
                const data::Tokenizer* tokenizer,
                models::TokenRules& rules) {
  rules.repetition_penalty =
      arguments.number("repetition-penalty", rules.repetition_penalty, kSmall, kGreat);
  rules.no_repeat = arguments.integer("no-repeat", rules.no_repeat, 0, kMostTokens);
  const auto worded =
      given_of(arguments, std::array<std::string_view, 3>{"ban", "vocabulary", "first-token"});
  if (worded.empty()) {
    return;
  }
  if (tokenizer == nullptr) {
    arguments.refuse("--" + worded + " needs the model's tokenizer, and there is none");
  }
  const auto& writer = tokenizer->target();
  for (const auto& word : arguments.all("ban")) {
    for (const auto& form : forms_of(word, writer)) {
      rules.banned.push_back(form);
    }
  }
  if (arguments.has("vocabulary")) {
    std::set<int64_t> allowed;
    formats::LineReader lines(arguments.get("vocabulary"));
    for (std::string_view line; lines.next(line);) {
      for (const auto& form : forms_of(std::string(line), writer)) {
        allowed.insert(form.begin(), form.end());
      }
    }
    if (allowed.empty()) {
      arguments.refuse("--vocabulary: " + arguments.get("vocabulary") + " has no words");
    }
    rules.allowed.assign(allowed.begin(), allowed.end());
  }
  if (arguments.has("first-token")) {
    rules.forced_first = one_token(arguments, "first-token", writer);
  }
}

/// What the run that made the model put before its sources, and its languages.
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
  read("prefix", texts.prefix);
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
  // The decoder begins with the last token of its own kind of text, as mBART was trained with.
  const auto frame = data::enclosure_of(tokenizer->target(), target, "--target-language");
  if (!frame.after.empty()) {
    settings.config.start_id = frame.after.back();
  }
  if (!frame.before.empty()) {
    settings.config.search.rules.forced_first = frame.before.front();
  }
}

void read_best(const Arguments& arguments, models::SearchOptions& search) {
  search.best = arguments.integer("n-best", 1, 1, kMostBeams);
  if (search.best > 1 && !search.sampling.is_on && search.best > search.beams) {
    arguments.refuse(
        text("--n-best ", search.best, " needs --beams ", search.best, " or more, or sampling"));
  }
  if (arguments.has("seed") && !search.sampling.is_on) {
    arguments.refuse("--seed is for sampling: give --sample or --temperature too");
  }
}

/// One of the options that say how texts are generated.
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
    {"no-repeat", "N", "No N tokens in a row come twice (0: they may)"},
    {"beams", "K", "Keep the K best texts while searching (the model's; 1)"},
    {"beam-groups", "G", "Groups of beams that are kept apart (1)"},
    {"diversity", "D", "What a token that an earlier group chose costs the next ones (0)"},
    {"length-penalty", "A",
     "Scores are log-probabilities divided by tokens^A (1): above 0 favours longer texts"},
    {"word-penalty", "W", "What each token costs beside (0)"},
    {"early-stopping", "WHEN",
     "When K beams have ended: yes (at once), no (when the best running one is not better "
     "as it stands; default), never (when none can become better)"},
    {"n-best", "N", "Texts for each prompt, best first (1)"},
    {"stop", "TEXT", "End before this text; may be repeated"},
    {"ban", "WORD", "A word that may not come; may be repeated"},
    {"vocabulary", "FILE", "Lines of words whose tokens alone may come"},
    {"first-token", "TOKEN",
     "Token that an encoder-decoder must give first, such as a language (the model's)"},
    {"source-prefix", "TEXT",
     "What stands before every prompt of an encoder-decoder, such as T5's task (that of "
     "the run that made it)"},
    {"source-language", "TOKEN", "Token of the prompts' language (mBART), likewise"},
    {"target-language", "TOKEN", "Token of the answers' language (mBART), likewise"},
    {"prefix", "TEXT", "What every new text begins with"},
    {"batch", "N", "Prompts computed at once (32); changes no text"}};

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
  settings.stops = arguments.all("stop");
  if (std::find(settings.stops.begin(), settings.stops.end(), "") != settings.stops.end()) {
    arguments.refuse("--stop: an empty text would end every text at once");
  }
  settings.batch = arguments.integer("batch", settings.batch, 1, int64_t{1} << 16);
}

}  // namespace weft::cli
