#include "models/decoding/generation_config.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "models/config/family_definition.h"
#include "models/config/json_fields.h"

namespace weft::models {
namespace {

constexpr int64_t kMostGeneratedTokens = int64_t{1} << 24;
constexpr int64_t kMostIds = int64_t{1} << 31;
constexpr int64_t kDefaultMaxNewTokens = 128;  // without any limit in the config

/// Keys of transformers that change the output and are not supported, with their neutral values.
struct UnknownKey {
  std::string_view key;
  double neutral;
};
constexpr std::array<UnknownKey, 8> kUnknown{{{"typical_p", 1},
                                              {"epsilon_cutoff", 0},
                                              {"eta_cutoff", 0},
                                              {"encoder_repetition_penalty", 1},
                                              {"encoder_no_repeat_ngram_size", 0},
                                              {"penalty_alpha", 0},
                                              {"guidance_scale", 1},
                                              {"top_h", 1}}};

Tokens ids_of(const JsonFields& fields, std::string_view key) {
  const auto& found = fields.at(key);
  const auto id = [&](const formats::Json& value) {
    if (!value.is_number_integer() || value.get<int64_t>() < 0 || value.get<int64_t>() > kMostIds) {
      fields.fail(key, "expected an id or a list of ids");
    }
    return value.get<int64_t>();
  };
  if (!found.is_array()) {
    return {id(found)};
  }
  Tokens ids;
  for (const auto& value : found) {
    ids.push_back(id(value));
  }
  return ids;
}

void read_ids(const JsonFields& fields, std::string_view key, Tokens& ids) {
  if (fields.has(key)) {
    ids = ids_of(fields, key);
  }
}

/// Reads an id, also from a list of one id, as in some files.
void read_id(const JsonFields& fields, std::string_view key, int64_t& id) {
  if (fields.has(key)) {
    const auto ids = ids_of(fields, key);
    id = ids.empty() ? -1 : ids[0];
  }
}

void read_limit(const JsonFields& fields, std::string_view key, std::optional<int64_t>& bound) {
  if (fields.has(key)) {
    bound = 0;
    fields.read(key, *bound, 0, kMostGeneratedTokens);
  }
}

void read_rules(const JsonFields& fields, TokenRules& rules) {
  constexpr double kPenalties = 1e6;
  fields.read("repetition_penalty", rules.repetition_penalty, 1e-6, kPenalties);
  fields.read("no_repeat_ngram_size", rules.no_repeat_ngram_size, 0, kMostGeneratedTokens);
  fields.read("renormalize_logits", rules.renormalize_logits);
  read_ids(fields, "suppress_tokens", rules.suppress_tokens);
  read_ids(fields, "begin_suppress_tokens", rules.begin_suppress_tokens);
  read_id(fields, "forced_bos_token_id", rules.forced_bos_token);
  read_id(fields, "forced_eos_token_id", rules.forced_eos_token);
  if (fields.has("bad_words_ids")) {
    const auto& words = fields.at("bad_words_ids");
    if (!words.is_array()) {
      fields.fail("bad_words_ids", "expected a list of lists of ids");
    }
    for (const auto& word : words) {
      const formats::Json object{{"bad_words_ids", word}};
      rules.bad_words.push_back(
          ids_of(JsonFields(object, "generation_config.json"), "bad_words_ids"));
    }
  }
}

void read_sampling(const JsonFields& fields, Sampling& sampling) {
  constexpr double kHottest = 1e6;
  fields.read("do_sample", sampling.is_enabled);
  // Files of models without sampling may contain invalid values of these.
  if (!sampling.is_enabled) {
    return;
  }
  fields.read("temperature", sampling.temperature, 1e-6, kHottest);
  fields.read("top_k", sampling.top_k, 0, kMostIds);
  fields.read("top_p", sampling.top_p, 1e-9, 1.0 + 1e-9);
  fields.read("min_p", sampling.min_p, 0, 1.0 + 1e-9);
}

void read_beams(const JsonFields& fields, SearchOptions& search) {
  constexpr int64_t kMostBeams = 1024;
  constexpr double kPenalties = 1e3;
  fields.read("num_beams", search.num_beams, 1, kMostBeams);
  fields.read("num_beam_groups", search.num_beam_groups, 1, kMostBeams);
  fields.read("diversity_penalty", search.diversity_penalty, 0, kPenalties);
  fields.read("length_penalty", search.length_penalty, -kPenalties, kPenalties);
  if (!fields.has("early_stopping")) {
    return;
  }
  const auto& early = fields.at("early_stopping");
  if (early.is_string() && early.get<std::string>() == "never") {
    search.early_stopping = EarlyStopping::kNever;
    return;
  }
  bool ends = false;
  fields.read("early_stopping", ends);
  search.early_stopping = ends ? EarlyStopping::kYes : EarlyStopping::kNo;
}

std::vector<std::string> unsupported_keys_of(const JsonFields& fields) {
  std::vector<std::string> result;
  for (const auto& [key, neutral] : kUnknown) {
    if (fields.has(key) && fields.at(key).is_number() && fields.at(key).get<double>() != neutral) {
      result.emplace_back(key);
    }
  }
  for (const std::string_view key :
       {"sequence_bias", "exponential_decay_length_penalty", "watermarking_config"}) {
    if (fields.has(key)) {
      result.emplace_back(key);
    }
  }
  return result;
}

}  // namespace

GenerationConfig read_generation_config(const std::string& directory, const ModelOptions& model) {
  GenerationConfig config;
  config.search.eos_ids = model.eos_id < 0 ? Tokens{} : Tokens{model.eos_id};
  config.search.rules.forced_bos_token = model.decoder.forced_bos_id;
  config.search.rules.forced_eos_token = model.decoder.forced_eos_id;
  config.decoder_start_id = model.decoder.decoder_start_id;
  auto path = directory + "/generation_config.json";
  if (!std::filesystem::exists(path)) {
    path = directory + "/config.json";
  }
  const auto json = formats::read_json(path, int64_t{16} << 20);
  if (!json.is_object()) {
    throw formats::Error(path + ": not a JSON object");
  }
  const JsonFields fields(json, path);
  read_ids(fields, "eos_token_id", config.search.eos_ids);
  read_id(fields, "decoder_start_token_id", config.decoder_start_id);
  read_limit(fields, "max_new_tokens", config.max_new_tokens);
  read_limit(fields, "max_length", config.max_length);
  read_limit(fields, "min_new_tokens", config.min_new_tokens);
  read_limit(fields, "min_length", config.min_length);
  read_rules(fields, config.search.rules);
  read_sampling(fields, config.search.sampling);
  read_beams(fields, config.search);
  config.unsupported_keys = unsupported_keys_of(fields);
  return config;
}

void set_length_limits(Prompt& prompt, const GenerationConfig& config, const ModelOptions& model) {
  const auto prompt_tokens = static_cast<int64_t>(prompt.tokens.size());
  prompt.max_new_tokens = config.max_new_tokens.value_or(
      config.max_length ? *config.max_length - prompt_tokens : kDefaultMaxNewTokens);
  prompt.min_new_tokens =
      config.min_new_tokens.value_or(config.min_length ? *config.min_length - prompt_tokens : 0);
  if (const auto limit = position_limit(model); limit > 0) {
    // The last new token is never fed back, hence + 1.
    const auto available = limit - prompt_tokens + 1;
    prompt.is_length_limited = prompt.max_new_tokens > available;
    prompt.max_new_tokens = std::min(prompt.max_new_tokens, available);
  }
  prompt.max_new_tokens = std::max<int64_t>(prompt.max_new_tokens, 0);
  prompt.min_new_tokens = std::clamp<int64_t>(prompt.min_new_tokens, 0, prompt.max_new_tokens);
}

}  // namespace weft::models
