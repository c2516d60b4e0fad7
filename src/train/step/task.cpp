#include "train/step/task.h"

#include <cmath>
#include <filesystem>
#include <set>
#include <string_view>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "data/datasets/language_dataset.h"
#include "data/datasets/parallel_dataset.h"
#include "data/images/pixel_tokenizer.h"
#include "data/tokenizer_options.h"
#include "models/config/family_definition.h"
#include "models/directory.h"
#include "models/encoder_decoder_parts.h"
#include "models/families/baselines.h"
#include "models/generator.h"
#include "objectives/data/image_data.h"
#include "objectives/data/running_text.h"
#include "objectives/data/training_texts.h"
#include "objectives/replaced_token.h"
#include "train/optimizer/freeze.h"
#include "train/optimizer/lora_run.h"
#include "train/step/document_frequencies.h"

namespace weft::train {

namespace {

data::DataItem task_item_of(const std::string& pattern) {
  data::DataItem item;
  item.path = pattern;
  item.files = glob_paths(pattern);
  return item;
}

/// How texts are read to train a tokenizer on: whole, where it is to see their line feeds too.
data::DataOptions training_reading(const RunConfig& config) {
  const bool keeps_feeds = config.tokenizer.type == data::TokenizerType::kByteLevelBpe ||
                           config.tokenizer.type == data::TokenizerType::kCharacters;
  return keeps_feeds ? objectives::store_options(config.objective, config.data, config.model)
                     : config.data;
}

std::shared_ptr<const data::Tokenizer> train_tokenizer(const RunConfig& config) {
  const auto seed = static_cast<uint64_t>(config.run.seed);
  auto options = config.tokenizer;
  options.languages = objectives::language_codes(config.objective, config.data);
  log::set_status("training the tokenizer");
  data::TokenizerReport report;
  const auto reading = training_reading(config);
  auto tokenizer = data::train_tokenizer(
      options, models::definition_of(config.model.family).style, seed,
      [&](const data::TextVisitor& visit) {
        config.tokenizer.train_on == "data"
            ? objectives::visit_training_texts(config.objective, reading, seed, visit)
            : data::visit_texts({task_item_of(config.tokenizer.train_on)}, reading, visit);
      },
      report);
  log::set_status("");
  log::info(text("[tokenizer] trained ", with_commas(tokenizer->size()), " pieces on ",
                 with_commas(report.sampled), " of ", with_commas(report.lines), " texts, ",
                 byte_size(static_cast<double>(report.bytes)),
                 report.skipped_long > 0 ? text(", ", report.skipped_long, " too long") : ""));
  return tokenizer;
}

std::shared_ptr<const data::Tokenizer> tokenizer_of_model(const RunConfig& config) {
  auto tokenizer = data::load_tokenizer(models::model_directory(*config.init_from));
  if (config.tokenizer.file) {
    const auto named = data::load_tokenizer(*config.tokenizer.file);
    if (named->fingerprint() != tokenizer->fingerprint()) {
      throw UserError(text("tokenizer.file: ", *config.tokenizer.file, " is not the tokenizer of ",
                           *config.init_from, ", leave it out"));
    }
  }
  return tokenizer;
}

models::LoadedModel make_model(const RunConfig& config,
                               const models::ModelOptions& options,
                               const std::optional<std::string>& checkpoint) {
  const auto seed = static_cast<uint64_t>(config.run.seed);
  if (!checkpoint && !config.init_from) {
    return {.model = models::make_model(options, seed), .fresh = {}, .unused = {}, .stored = {}};
  }
  const auto directory = checkpoint ? *checkpoint : models::model_directory(*config.init_from);
  auto loaded = models::load_model(directory, options, seed);
  if (checkpoint && !loaded.fresh.empty()) {
    throw UserError(text(directory, ": has no weights for ", loaded.fresh.front()));
  }
  log::info(text("[model] weights of ", directory));
  if (!loaded.fresh.empty()) {
    log::info("[model] begun anew: " + join(loaded.fresh));
  }
  if (!loaded.unused.empty()) {
    log::info("[model] not used: " + join(loaded.unused));
  }
  return loaded;
}

/// What stands in for the generator of a model that finds replaced tokens: that of the directory
/// that the model came from, or a new one.
void prepare_generator(const RunConfig& config,
                       const std::optional<std::string>& checkpoint,
                       models::Model& model) {
  const auto wanted = objectives::generator_beside(model.options(), config.objective);
  if (!wanted) {
    return;
  }
  const auto directory = checkpoint         ? *checkpoint
                         : config.init_from ? models::model_directory(*config.init_from)
                                            : std::string();
  const bool is_stored = checkpoint || (config.init_from && models::has_generator(directory));
  if (is_stored) {
    models::load_generator(model, directory);
  } else {
    models::make_generator(model, *wanted, static_cast<uint64_t>(config.run.seed));
  }
  const auto& shape = models::generator_of(model)->options();
  log::info(text("[model] generator of ", shape.layers, " x ", shape.dim, ", ", shape.heads,
                 " heads, feed-forward ", shape.width,
                 is_stored ? ", weights of " + models::generator_directory(directory) : ""));
}

/// How images come to the model: as those of the model that it begins with, unless the config says
/// otherwise.
std::shared_ptr<const data::Tokenizer> prepare_pixels(
    const RunConfig& config, const std::optional<std::string>& checkpoint) {
  const auto& vision = config.model.vision;
  std::optional<data::ImageFormat> base;
  if (checkpoint || config.init_from) {
    base = data::read_image_format(
        checkpoint ? *checkpoint : models::model_directory(*config.init_from), vision.channels);
  }
  return data::make_pixel_tokenizer(data::image_format(
      config.data.images, base, {vision.image_size, vision.grid(), vision.channels}));
}

/// How a decoder that learns behind prefixes is to see prompts ever after.
void set_prompt(const RunConfig& config,
                const data::Tokenizer& tokenizer,
                models::ModelOptions& options) {
  auto& decoder = options.decoder;
  decoder.sees_prompt = config.objective.type == objectives::ObjectiveType::kPrefix &&
                        options.head == models::Head::kCausalLm;
  const bool has_pairs =
      decoder.sees_prompt && objectives::reads_pairs(config.objective, config.data);
  decoder.prompt_end_id = has_pairs ? data::joining_id(tokenizer) : -1;
}

/// An mbart's decoder begins with the language of its text. Where all texts are in one, config.json
/// says so.
void set_language(const RunConfig& config,
                  const data::Tokenizer& tokenizer,
                  models::ModelOptions& options) {
  std::set<std::string> targets;
  for (const auto& item : config.data.train) {
    targets.insert(item.target_language);
  }
  const auto codes = objectives::language_codes(config.objective, config.data);
  const bool has_pairs = objectives::reads_pairs(config.objective, config.data);
  if (!has_pairs && !config.data.train.empty() && !config.data.train.front().language.empty()) {
    const auto& language = config.data.train.front().language;
    if (data::enclosure_of(tokenizer, language, "language") !=
        data::enclosure_of(tokenizer, "", "language")) {
      throw UserError(text("data.train: texts of '", language,
                           "', but the tokenizer puts another language behind texts by "
                           "themselves: src_lang of its tokenizer_config.json"));
    }
  }
  if (codes.target.empty() && targets.size() > 1) {
    options.decoder.start_id = -1;
  } else if (!codes.target.empty() || !config.init_from) {
    const auto around = data::enclosure_of(tokenizer.target(), codes.target, "target_language");
    options.decoder.start_id = around.after.empty() ? -1 : around.after.back();
  }
}

}  // namespace

data::ProgressVisitor show_progress() {
  return [](const data::Progress& progress) {
    log::set_status(progress.share < 0
                        ? progress.doing
                        : text(progress.doing, "  ", std::floor(progress.share * 100), " %"));
  };
}

std::shared_ptr<const data::Tokenizer> prepare_tokenizer(
    const RunConfig& config, const std::optional<std::string>& checkpoint) {
  if (models::reads_images(config.model)) {
    return prepare_pixels(config, checkpoint);
  }
  if (checkpoint) {
    return data::load_tokenizer(*checkpoint);
  }
  if (config.init_from) {
    return tokenizer_of_model(config);
  }
  return config.tokenizer.file ? data::load_tokenizer(*config.tokenizer.file)
                               : train_tokenizer(config);
}

void take_vocabulary(const data::Tokenizer& tokenizer, models::ModelOptions& options) {
  options.vocabulary = tokenizer.target().size();
  const bool is_shared = tokenizer.size() == options.vocabulary;
  options.decoder.source_vocabulary = is_shared ? 0 : tokenizer.size();
}

void check_vocabulary(const std::string& place,
                      const data::Tokenizer& tokenizer,
                      const models::ModelOptions& options) {
  const int64_t own = options.decoder.source_vocabulary;
  const auto check = [&](int64_t ids, int64_t known) {
    if (ids > known) {
      throw UserError(text(place, ": its tokenizer has ", ids, " ids, its model takes ", known));
    }
  };
  check(tokenizer.size(), own > 0 ? own : options.vocabulary);
  check(tokenizer.target().size(), options.vocabulary);
  const bool is_apart = models::reads_source(options) && !options.decoder.ties_source;
  if (!is_apart && tokenizer.has_two_vocabularies()) {
    throw UserError(text(place,
                         ": sources and targets have vocabularies of their own (separate_vocabs), "
                         "which needs a model whose embeddings are apart too: type: marian or "
                         "transformer with ties_source: false"));
  }
}

models::ModelOptions complete_options(const RunConfig& config,
                                      const objectives::Objective& objective,
                                      const data::Tokenizer& tokenizer) {
  auto options = config.model;
  if (!config.init_from) {
    take_vocabulary(tokenizer, options);
    const auto special = tokenizer.special();
    const bool has_pad = special.pad >= 0 && special.pad != special.end;
    options.pad_id = has_pad ? special.pad : options.pad_id;
    options.begin_id = special.begin >= 0 ? special.begin : options.begin_id;
    options.end_id = special.end >= 0 ? special.end : options.end_id;
    if (models::is_baseline(options.family)) {  // they leave out what encloses the texts
      options.begin_id = special.classify >= 0 ? special.classify : options.begin_id;
      options.end_id = special.separate >= 0 ? special.separate : options.end_id;
    }
    models::settle_decoding_ids(options);
  }
  if (options.family == models::Family::kMbart) {
    set_language(config, tokenizer, options);
  }
  check_vocabulary(config.init_from.value_or("tokenizer"), tokenizer, options);
  if (!objectives::reads_pairs(config.objective, config.data) && tokenizer.has_two_vocabularies()) {
    throw UserError(
        "objective.type: sources and targets have vocabularies of their own (separate_vocabs), so "
        "that only pairs of texts can be learned: seq2seq");
  }
  const auto head = objectives::head_for(objective.head(), options);
  if (options.head != head) {
    options.labels.clear();  // another head's
  }
  options.head = head;
  if (head == models::Head::kSequence && options.pad_id < 0) {
    options.pad_id = options.end_id;  // by it transformers knows where a sequence of a batch ends
  }
  set_prompt(config, tokenizer, options);
  options.is_regression = config.objective.type == objectives::ObjectiveType::kRegress;
  options.is_multi_label = config.objective.type == objectives::ObjectiveType::kClassify &&
                           config.objective.classes.multi_label;
  return options;
}

Task prepare_task(const RunConfig& config,
                  const std::optional<std::string>& checkpoint,
                  const c10::Device& device) {
  Task task;
  task.objective = objectives::make_objective(config.objective);
  task.tokenizer = prepare_tokenizer(config, checkpoint);
  auto options = complete_options(config, *task.objective, *task.tokenizer);
  task.data = objectives::make_task_data(config.objective, config.data, options, task.tokenizer,
                                         static_cast<uint64_t>(config.run.seed), show_progress());
  log::set_status("");
  for (const auto& remark : task.data.remarks) {
    log::info("[data] " + remark);
  }
  for (const std::string& warning : task.data.warnings) {
    log::warning("[data] " + warning);
  }
  log::info(text("[data] ", with_commas(task.data.train->size(0)), " items an epoch"));
  if (!task.data.labels.empty() || options.is_regression) {
    options.labels = task.data.labels;
  }
  task.objective->learn_from(task.data);
  const auto loaded = make_model(config, options, checkpoint);
  task.model = loaded.model;
  if (!checkpoint && !config.init_from) {
    fit_document_frequencies(*task.model, *task.data.train);
  }
  prepare_generator(config, checkpoint, *task.model);
  task.lora = prepare_lora(config, loaded, checkpoint);
  freeze(*task.model, config.train.freeze);
  task.model->to(device);
  return task;
}

}  // namespace weft::train
