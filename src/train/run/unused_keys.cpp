#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/string_util.h"
#include "batching/model_inputs.h"
#include "data/error.h"
#include "data/images/image_source.h"
#include "data/text/languages.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "nn/attention/attention.h"
#include "nn/sublayer.h"
#include "objectives/data/training_texts.h"
#include "objectives/objective.h"
#include "train/optimizer/freeze.h"
#include "train/optimizer/layer_wise_lr_decay.h"
#include "train/run/run_config.h"
#include "train/step/evaluation_driver.h"

namespace weft::train {

namespace {

using config::Section;

constexpr std::string_view kPairs =
    "text pairs given by source and target (objective.type: seq2seq, translation_lm, or prefix_lm "
    "with a decoder)";

std::string layers_that_carry_state() {
  std::vector<std::string> attention;
  for (const auto& type : nn::attention_types().all()) {
    if (type.carries_state) {
      attention.emplace_back(type.name);
    }
  }
  return str_cat("layers that carry a state: model.block with ",
                 nn::list_sublayers(&nn::SublayerDefinition::carries_state),
                 "; model.attention.type: ", join(attention));
}

/// Keys for splitting running text, and keys of labels.
void reject_unused_data_keys(const Section& data, const RunConfig& config) {
  const data::DataOptions defaults;
  const auto& options = config.data;
  const auto traits = config.objective->traits(config.model);
  const bool is_parallel = config.objective->reads_pairs(options, config.model);
  const bool is_running_text = traits.reads_raw_text && !is_parallel;
  const bool is_table = traits.is_sequence_level;
  const auto reject = [&](bool is_unused, std::string_view key, std::string_view only) {
    if (is_unused) {
      data.report(key, str_cat("has no effect here, only with ", only));
    }
  };
  if (!is_running_text) {
    constexpr std::string_view kOnly = "running text (objective.type: mlm, causal, ...)";
    reject(options.pack != defaults.pack, "pack", kOnly);
    reject(options.document != defaults.document, "document_boundary", kOnly);
    reject(options.sentence != defaults.sentence, "sentence_boundary", kOnly);
    reject(options.languages.alpha.has_value(), "sampling_alpha", kOnly);
  }
  reject(options.streams && !traits.continues_text, "streams", "objective.type: causal");
  reject(options.streams && !models::carries_state(config.model.layer_types), "streams",
         layers_that_carry_state());
  if (!is_table) {
    constexpr std::string_view kOnly = "labelled texts (objective.type: classify or regress)";
    reject(options.unlabelled != defaults.unlabelled, "unlabelled", kOnly);
  }
  if (!traits.reads_rows) {
    constexpr std::string_view kOnly =
        "labelled texts, tags and images (objective.type: classify, regress, tag or masked_image); "
        "for other data, name held-out files in data.evaluate";
    reject(options.folds.has_value(), "folds", kOnly);
    reject(options.split.is_used(), "split", kOnly);
  }
  reject(!is_parallel && objectives::names_pairs(options.train), "train", kPairs);
  reject(!is_parallel && objectives::names_pairs(options.evaluate), "evaluate", kPairs);
  const bool takes_several = config.objective->label_format(options).allows_multiple();
  reject(options.label_separator && !(is_table && takes_several), "label_separator",
         "objective.multi_label: true or objective.type: regress");
}

/// An image model needs images.
void reject_text_items(const Section& data,
                       std::string_view key,
                       const std::vector<data::DataItem>& items) {
  for (const auto& item : items) {
    try {
      data::image_kind_of(item);
    } catch (const data::Error& error) {
      data.report(key, error.what());
    }
  }
}

/// Image keys have no effect for texts, and vice versa.
void reject_unused_image_keys(const Section& data, const RunConfig& config) {
  const data::DataOptions defaults;
  const auto& options = config.data;
  const bool is_of_images = models::reads_images(config.model);
  const auto reject = [&](bool is_unused, std::string_view key) {
    if (is_unused) {
      data.report(key, str_cat("has no effect here, only with models for ",
                               is_of_images ? "text" : "images (model.type: vit or deit)"));
    }
  };
  if (!is_of_images) {
    const auto has_image_keys = [](const auto& items) {
      return std::any_of(items.begin(), items.end(),
                         [](const auto& item) { return item.image != data::ImageItem{}; });
    };
    reject(options.images != defaults.images, "images");
    reject(options.augment != defaults.augment, "augment");
    reject(has_image_keys(options.train), "train");
    reject(has_image_keys(options.evaluate), "evaluate");
    return;
  }
  reject_text_items(data, "train", options.train);
  reject_text_items(data, "evaluate", options.evaluate);
  reject(options.length.has_value(), "length");
  reject(options.truncation.has_value(), "overflow");
  reject(options.unlabelled != defaults.unlabelled, "unlabelled");
  const auto& augment = options.augment;
  if (options.images.native_resolution && (augment.crop_scale || augment.pad_crop > 0)) {
    data.report("augment", "random crops cannot be combined with images.native_resolution: true");
  }
}

/// Items need a language that the model knows if it is multilingual. Where languages are tokens
/// (mBART), pairs name theirs, other texts use the tokenizer's.
void check_languages(const Section& data,
                     std::string_view key,
                     const std::vector<data::DataItem>& items,
                     const RunConfig& config) {
  const auto known = batching::languages_of(config.model);
  const bool has_tokens = models::capabilities_of(config.model.family).has_language_tokens;
  const bool has_pairs = config.objective->reads_pairs(config.data, config.model);
  for (const auto& item : items) {
    if (!item.target_language.empty() && !(has_pairs && (has_tokens || !known.empty()))) {
      data.report(
          key,
          "target_language has no effect here, only with objective.type: translation_lm and "
          "a model with language embeddings (model.type: xlm), or seq2seq and a model with "
          "language tokens (model.type: mbart)");
    }
    if (has_tokens && !has_pairs && item.language != items.front().language) {
      data.report(
          key, str_cat(item.path, ": language: '", item.language, "', but an earlier item has '",
                       items.front().language,
                       "': only text pairs (objective.type: seq2seq) may have several languages"));
    }
    const auto check = [&](std::string_view name, const std::string& language) {
      if (const auto mistake = data::language_error(language, known)) {
        data.report(key, str_cat(item.path, ": ", name, ": ", *mistake));
      }
    };
    if (!known.empty()) {
      check("language", item.language);
    }
    if (!known.empty() && has_pairs) {
      check("target_language", item.target_language);
    }
  }
}

/// A sweep may be ranked by a metric of its test files.
void reject_unused_metric_for_best_model(const Section& train, const RunConfig& config) {
  const auto& metric_for_best_model = config.train.metric_for_best_model;
  if (!metric_for_best_model || selects_by_tests(config.train)) {
    return;
  }
  if (!config.train.evaluate_every) {
    train.report("best_by", "has no effect: train.evaluate_every is `never`; omit one of them");
  }
  if (!config.data.has_evaluation()) {
    train.report("best_by", "has no effect: there is no data.evaluate; add it or omit this key");
  }
}

std::vector<std::string> trained_parameters(const RunConfig& config) {
  auto names = parameter_names(trained_model(config), *config.objective);
  const auto frozen = frozen_parameters(config.train.freeze, names);
  std::erase_if(names, [&](const auto& name) { return frozen.contains(name); });
  return names;
}

/// With adapters, the parameters are only known when the model is loaded.
void reject_unused_lr_keys(const Section& train, const RunConfig& config) {
  const auto& optimizer = config.train.optimizer;
  if (config.train.lora || (optimizer.layer_decay == 1 && !optimizer.head_lr)) {
    return;
  }
  const auto names = trained_parameters(config);
  const ParameterDepths depths(names);
  const auto is_head = [&](const auto& name) { return depths.is_head(name); };
  const bool has_head = std::any_of(names.begin(), names.end(), is_head);
  const bool has_layers = !std::all_of(names.begin(), names.end(), is_head);
  if (optimizer.layer_decay != 1 && !has_layers) {
    train.report("optimizer",
                 str_cat("layer_decay: has no effect, ", models::word_of(config.model.family),
                         " has no trainable layers below its head; allowed is 1"));
  }
  if (optimizer.head_lr && !has_head) {
    train.report("optimizer", "head_lr: has no effect, train.freeze freezes the pooler and head");
  }
}

}  // namespace

void reject_unused_keys(const Section& data, const Section& train, const RunConfig& config) {
  if (data.is_valid()) {
    reject_unused_image_keys(data, config);
    reject_unused_data_keys(data, config);
    check_languages(data, "train", config.data.train, config);
    check_languages(data, "evaluate", config.data.evaluate, config);
  }
  if (data.is_valid("evaluate") && train.is_valid()) {
    reject_unused_metric_for_best_model(train, config);
  }
  const auto& streams = config.data.streams;
  if (data.is_valid() && train.is_valid() && streams && config.train.batch_sequences != streams) {
    train.report("batch_sequences", str_cat("must be ", *streams, ", the number of data.streams"));
  }
  if (train.is_valid()) {
    reject_unused_lr_keys(train, config);
  }
}

}  // namespace weft::train
