#include <set>

#include "base/string_util.h"
#include "data/datasets/language_dataset.h"
#include "data/datasets/parallel_dataset.h"
#include "models/config/family_definition.h"
#include "models/config/heads.h"
#include "models/encoder_decoder_parts.h"
#include "train/step/run_components.h"

namespace weft::train {

namespace {

/// Records in the model how a decoder trained with prefixes sees prompts.
void set_prompt(const RunConfig& config,
                const data::Tokenizer& tokenizer,
                models::ModelOptions& options) {
  options.is_prefix_lm = config.objective->traits(options).is_prefix_lm;
  const bool has_pairs =
      options.is_prefix_lm && config.objective->reads_pairs(config.data, options);
  options.prefix_end_id = has_pairs ? data::separator_id(tokenizer) : -1;
}

/// The decoder begins with the language token of its text (mBART). If all texts share one,
/// config.json records it.
void set_language(const RunConfig& config,
                  const data::Tokenizer& tokenizer,
                  models::ModelOptions& options) {
  std::set<std::string> targets;
  for (const auto& item : config.data.train) {
    targets.insert(item.target_language);
  }
  const auto codes = config.objective->language_codes(config.data);
  const bool has_pairs = config.objective->reads_pairs(config.data, options);
  if (!has_pairs && !config.data.train.empty() && !config.data.train.front().language.empty()) {
    const auto& language = config.data.train.front().language;
    if (data::language_tokens(tokenizer, language, "language") !=
        data::language_tokens(tokenizer, "", "language")) {
      throw UserError(str_cat("data.train: texts in '", language,
                              "', but the tokenizer adds a different language token to single "
                              "texts: see src_lang in its tokenizer_config.json"));
    }
  }
  if (codes.target.empty() && targets.size() > 1) {
    options.decoder.decoder_start_id = -1;
  } else if (!codes.target.empty() || !config.init_from) {
    const auto around = data::language_tokens(tokenizer.target(), codes.target, "target_language");
    options.decoder.decoder_start_id = around.after.empty() ? -1 : around.after.back();
  }
}

}  // namespace

void set_vocabulary_size(const data::Tokenizer& tokenizer, models::ModelOptions& options) {
  options.vocabulary = tokenizer.target().size();
  const bool is_shared = tokenizer.size() == options.vocabulary;
  options.decoder.source_vocabulary = is_shared ? 0 : tokenizer.size();
}

void check_vocabulary(const std::string& location,
                      const data::Tokenizer& tokenizer,
                      const models::ModelOptions& options) {
  const int64_t own = options.decoder.source_vocabulary;
  const auto check = [&](int64_t ids, int64_t known) {
    if (ids > known) {
      throw UserError(
          str_cat(location, ": its tokenizer has ", ids, " ids, but its model takes ", known));
    }
  };
  check(tokenizer.size(), own > 0 ? own : options.vocabulary);
  check(tokenizer.target().size(), options.vocabulary);
  const bool is_apart =
      models::is_encoder_decoder(options) && !options.decoder.share_encoder_decoder_embeddings;
  if (!is_apart && tokenizer.has_separate_vocabularies()) {
    throw UserError(str_cat(location,
                            ": separate vocabularies for sources and targets (separate_vocabs), "
                            "which need a model with separate embeddings: type: marian or "
                            "transformer with share_encoder_decoder_embeddings: false"));
  }
}

void set_head(const objectives::Objective& objective,
              const data::DataOptions& data,
              models::ModelOptions& options) {
  const auto head = objective.head(options);
  if (options.head != head) {
    options.labels.clear();  // of another head
  }
  options.head = head;
  if (models::head_of(options).classifies_sequences && options.pad_id < 0) {
    options.pad_id = options.eos_id;  // transformers locates the end of a sequence by it
  }
  const auto label_format = objective.label_format(data);
  options.is_regression = label_format.is_regression;
  options.is_multi_label = label_format.is_multi_label;
}

models::ModelOptions complete_options(const RunConfig& config, const data::Tokenizer& tokenizer) {
  auto options = config.model;
  if (!config.init_from) {
    set_vocabulary_size(tokenizer, options);
    const auto special = tokenizer.special_token_ids();
    const bool has_pad = special.pad >= 0 && special.pad != special.eos;
    options.pad_id = has_pad ? special.pad : options.pad_id;
    options.bos_id = special.bos >= 0 ? special.bos : options.bos_id;
    options.eos_id = special.eos >= 0 ? special.eos : options.eos_id;
    if (models::is_baseline(options.family)) {  // baselines drop the special tokens around texts
      options.bos_id = special.cls >= 0 ? special.cls : options.bos_id;
      options.eos_id = special.sep >= 0 ? special.sep : options.eos_id;
    }
    models::set_decoding_ids(options);
  }
  if (models::capabilities_of(options.family).has_language_tokens) {
    set_language(config, tokenizer, options);
  }
  check_vocabulary(config.init_from.value_or("tokenizer"), tokenizer, options);
  if (!config.objective->reads_pairs(config.data, options) &&
      tokenizer.has_separate_vocabularies()) {
    throw UserError(
        "objective.type: must be seq2seq, because the tokenizer has separate vocabularies for "
        "sources and targets (separate_vocabs)");
  }
  set_head(*config.objective, config.data, options);
  set_prompt(config, tokenizer, options);
  return options;
}

models::ModelOptions options_without_data(const RunConfig& config) {
  auto options = config.model;
  set_head(*config.objective, config.data, options);
  if (options.vocabulary == 0 && !models::reads_images(options)) {
    options.vocabulary = config.tokenizer.vocab_size;
    if (config.tokenizer.file) {
      set_vocabulary_size(*data::load_tokenizer(*config.tokenizer.file), options);
    }
  }
  if (options.eos_id < 0) {
    options.eos_id = options.vocabulary - 1;
  }
  if (const auto teacher = config.objective->teacher_options(options);
      teacher && options.labels.empty()) {
    options.labels = teacher->labels;
  }
  auto labelled = options;
  labelled.labels = {"LABEL_0", "LABEL_1"};
  const bool lacks_labels =
      models::head_outputs(options) == 0 && models::head_outputs(labelled) > 0;
  return lacks_labels ? labelled : options;
}

}  // namespace weft::train
