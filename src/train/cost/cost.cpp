#include "train/cost/cost.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/string_util.h"
#include "models/adapters/lora.h"
#include "models/config/family_definition.h"
#include "models/config/modernbert.h"
#include "models/families/baselines.h"
#include "models/generator.h"
#include "models/weights/weight_map.h"
#include "objectives/loss/teacher.h"
#include "objectives/replaced_token.h"
#include "train/cost/baseline_cost.h"
#include "train/cost/step_rows.h"
#include "train/optimizer/freeze.h"
#include "train/optimizer/layer_wise_lr_decay.h"

namespace weft::train {
namespace {

/// What is trained of a model, and how far down its backward pass goes.
struct Trained {
  int64_t parameters = 0;
  int64_t trained = 0;
  bool trains_word_embeddings = false;  // the table of words
  int64_t first_trained_depth = 0;      // depth of the lowest trained parameter
  std::vector<bool> has_trained = {};   // by depth
};

Trained trained_part_of(const models::ModelOptions& model,
                        const TrainOptions& train,
                        const std::set<std::string>& frozen) {
  const auto names = parameter_names(model);
  const auto whole =
      train.lora ? models::modules_to_save_of(model, *train.lora, {}) : std::set<models::Part>();
  const int64_t layers = count_layers(names);
  Trained result{.has_trained = std::vector<bool>(static_cast<std::size_t>(layers) + 2)};
  for (const auto& tensor : models::weight_map(model)) {
    const int64_t count = tensor.elements();
    result.parameters += count;
    const bool is_trained =
        train.lora ? whole.contains(tensor.part) : !frozen.contains(tensor.parameter);
    if (is_trained) {
      result.trains_word_embeddings =
          result.trains_word_embeddings || tensor.parameter == "embeddings.word.weight";
      result.trained += count;
      result.has_trained[static_cast<std::size_t>(parameter_depth(tensor.parameter, layers))] =
          true;
    }
  }
  const auto first = std::find(result.has_trained.begin(), result.has_trained.end(), true);
  result.first_trained_depth = first - result.has_trained.begin();
  if (train.lora) {
    for (const auto& site : models::lora_layers(model, *train.lora)) {
      const auto count = train.lora->rank * (site.rows + site.columns);
      result.parameters += count;
      result.trained += count;
      result.first_trained_depth =
          std::min(result.first_trained_depth, parameter_depth(site.linear, layers));
    }
  }
  return result;
}

/// The frozen parameters of the generator, by its own names.
std::set<std::string> frozen_generator_parameters(const std::set<std::string>& frozen) {
  std::set<std::string> names;
  for (const auto& name : frozen) {
    if (name.starts_with(models::kGeneratorPrefix)) {
      names.insert(name.substr(models::kGeneratorPrefix.size()));
    } else if (models::is_shared_embedding(name)) {
      names.insert(name);
    }
  }
  return names;
}

/// Products of a step's backward pass for one of its forward pass: for weight and input, for the
/// input alone where the weights are frozen, none below the lowest trained layer.
double backward_share(const Trained& trained) {
  const auto& depths = trained.has_trained;
  if (depths.size() <= 2) {
    return 2;
  }
  double products = 0;
  for (std::size_t depth = 1; depth + 1 < depths.size(); ++depth) {
    products +=
        static_cast<int64_t>(depth) < trained.first_trained_depth ? 0 : (depths[depth] ? 2 : 1);
  }
  return products / static_cast<double>(depths.size() - 2);
}

/// Keys that a token of a model that reads from left to right sees on average, added up over the
/// layers.
double causal_attended_keys(const models::ModelOptions& model, int64_t length) {
  double keys = 0;
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    const auto& decoder = model.decoder;
    const bool has_window = decoder.window > 0 && layer >= decoder.first_window_layer;
    const auto most = static_cast<double>(has_window ? std::min(decoder.window, length) : length);
    // Those at the begin see fewer.
    keys += most - most * (most - 1) / (2 * static_cast<double>(length));
  }
  return keys;
}

/// Keys that a token sees, added up over the layers: a window ends with the sequence.
double attended_keys(const models::ModelOptions& model, int64_t length) {
  if (models::generates(model)) {
    return causal_attended_keys(model, length);
  }
  double keys = 0;
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    const auto window = 2 * (model.modern.window / 2) + 1;
    keys += static_cast<double>(
        models::is_global_attention_layer(model, layer) ? length : std::min(length, window));
  }
  return keys;
}

/// Of one layer and token, forward: projections and feed-forward.
double block_flops(const models::ModelOptions& model, int64_t heads, int64_t width) {
  const auto dim = static_cast<double>(model.dim);
  const auto features = static_cast<double>(models::head_dim(model));
  const auto own = static_cast<double>(heads) * features;  // of the queries
  const auto shared = model.decoder.key_value_heads > 0
                          ? static_cast<double>(models::key_value_heads(model)) * features
                          : own;
  const double up_and_down = model.modern.is_gated ? 3.0 : 2.0;
  return 2.0 * (2.0 * dim * (own + shared) + up_and_down * dim * static_cast<double>(width));
}

/// What the last layer is spared of it where a token's last hidden state is read by nobody.
double unused_output_flops(const models::ModelOptions& model, int64_t length) {
  const auto own = static_cast<double>(models::query_width(model));
  const auto shared = static_cast<double>(models::key_width(model));
  const double inputs = 2.0 * static_cast<double>(model.dim);
  const double rest = block_flops(model, model.heads, model.width) - inputs * (own + 2.0 * shared);
  return rest + (spares_queries(model) ? (inputs + 4.0 * static_cast<double>(length)) * own : 0);
}

/// Of one token of either stream of an encoder-decoder, both of this length; without the head.
double encoder_decoder_flops(const models::ModelOptions& model, int64_t length) {
  const auto& decoder = model.decoder;
  const auto features = static_cast<double>(models::head_dim(model));
  const auto dim = static_cast<double>(model.dim);
  const auto own = static_cast<double>(models::query_width(model));
  const auto decoders = static_cast<double>(decoder.heads) * features;
  const auto seen = static_cast<double>(length);
  const double source = block_flops(model, model.heads, model.width) + 4.0 * seen * own;
  // Half of the keys on average, then all of the source's, whose keys and values are projected too.
  const double target = block_flops(model, decoder.heads, decoder.width) + 8.0 * dim * decoders +
                        4.0 * (seen / 2 + seen) * decoders;
  return (static_cast<double>(model.layers) * source +
          static_cast<double>(decoder.layers) * target) /
         2;
}

/// Of so many tokens, in sequences of this length.
StepRows cost_rows_of(const objectives::ObjectiveOptions& objective,
                      int64_t tokens,
                      int64_t length) {
  const double targets = objectives::target_fraction(objective) * static_cast<double>(tokens);
  return {.tokens = tokens,
          .targets = std::llround(targets),
          .sequences = std::max<int64_t>(1, tokens / std::max<int64_t>(1, length))};
}

/// Of one token, forward: projections, feed-forward, scores and weighted values, and the share of
/// the head.
double forward_flops(const models::ModelOptions& model,
                     const objectives::ObjectiveOptions& objective,
                     int64_t length) {
  if (models::is_baseline(model.family)) {
    return baseline_flops(model, length);
  }
  const auto dim = static_cast<double>(model.dim);
  const auto own = static_cast<double>(models::query_width(model));
  const auto features = static_cast<double>(models::embedding_width(model));
  // Encoders of BERT's kind pool once a sequence, and transform what guesses words.
  const bool is_plain = !models::definition_of(model.family).uses_bert_head;
  double head = is_plain ? 0 : 2.0 * dim * dim / static_cast<double>(length);
  if (objectives::predicts_tokens(objective)) {
    head += objectives::target_fraction(objective) * 2.0 * features *
            ((is_plain ? 0 : dim) + static_cast<double>(model.vocabulary));
  }
  if (objective.type == objectives::ObjectiveType::kReplacedToken) {
    head += 2.0 * dim * (dim + 1);  // of every token
  }
  if (models::is_encoder_decoder(model) && model.decoder.layers > 0) {
    return encoder_decoder_flops(model, length) + head;
  }
  const double block = block_flops(model, model.heads, model.width);
  const double read =
      static_cast<double>(rows_read(model, objective, cost_rows_of(objective, length, length)));
  const double unread = model.layers > 0 ? 1 - read / static_cast<double>(length) : 0;
  return static_cast<double>(model.layers) * block + 4.0 * attended_keys(model, length) * own +
         head - unread * unused_output_flops(model, length);
}

/// Its tokens, all sequences being of this length.
int64_t largest_micro_batch(const TrainOptions& train, int64_t length) {
  const int64_t step = train.batch_tokens.value_or(train.batch_sequences.value_or(1) * length);
  return std::min(step, train.micro_batch_tokens.value_or(step));
}

/// Gradients of bf16 micro-batches are added up in fp32.
bool accumulates_gradients(const TrainOptions& train, bool is_bf16) {
  return is_bf16 && train.micro_batch_tokens &&
         (!train.batch_tokens || *train.micro_batch_tokens < *train.batch_tokens);
}

/// What the model and, where there are such, its generator and its teacher have and do.
struct Parts {
  Trained model;
  std::optional<models::ModelOptions> generator_options;
  Trained generator;  // without what both embed
  std::optional<models::ModelOptions> teacher;
};

Parts parts_of(const models::ModelOptions& model,
               const objectives::ObjectiveOptions& objective,
               const TrainOptions& train) {
  const auto frozen = frozen_parameters(train.freeze, parameter_names(model, objective));
  Parts parts{.model = trained_part_of(model, train, frozen),
              .generator_options = objectives::generator_model_options(model, objective),
              .generator = {},
              .teacher = objectives::teacher_model_options(model, objective)};
  if (const auto& generator = parts.generator_options) {
    const auto spared = frozen_generator_parameters(frozen);
    parts.generator = trained_part_of(*generator, train, spared);
    parts.generator.parameters = models::count_unshared_parameters(*generator);
    parts.generator.trained = models::count_unshared_parameters(*generator, spared);
  }
  return parts;
}

StepShape shape_of(const Parts& parts, const TrainOptions& train, bool is_bf16) {
  return {.rows = {},
          .is_bf16 = is_bf16,
          .recomputes_layers = train.gradient_checkpointing == ActivationCheckpointing::kLayers,
          .first_trained_depth = parts.model.first_trained_depth,
          .first_trained_depth_of_generator = parts.generator.first_trained_depth,
          .trains_word_embeddings = parts.model.trains_word_embeddings,
          .lora = train.lora ? &*train.lora : nullptr,
          .teacher = parts.teacher};
}

/// The products of a step for one token, forward, and with those of the backward pass.
void add_flops(const models::ModelOptions& model,
               const objectives::ObjectiveOptions& objective,
               const Trained& trained,
               int64_t length,
               bool recomputes,
               Cost& cost) {
  const double forward = forward_flops(model, objective, length);
  cost.forward_flops += forward;
  cost.training_flops += (1.0 + (recomputes ? 1 : 0) + backward_share(trained)) * forward;
}

/// The generator guesses hidden words, and a second time to draw what takes their places.
void add_generator_flops(const models::ModelOptions& generator,
                         const objectives::ObjectiveOptions& objective,
                         const Trained& trained,
                         int64_t length,
                         bool recomputes,
                         Cost& cost) {
  const auto prediction = objectives::generator_objective(objective);
  add_flops(generator, prediction, trained, length, recomputes, cost);
  const double sampling = objectives::target_fraction(prediction) * 2.0 *
                          static_cast<double>(models::embedding_width(generator)) *
                          static_cast<double>(generator.vocabulary);
  cost.forward_flops += sampling;
  cost.training_flops += sampling;
}

/// A teacher only answers, with weights in the precision of the run.
void add_teacher(const models::ModelOptions& teacher,
                 const objectives::ObjectiveOptions& objective,
                 int64_t length,
                 bool is_bf16,
                 Cost& cost) {
  const auto parameters = trained_part_of(teacher, {}, {}).parameters;
  cost.teacher_bytes = (is_bf16 ? 2.0 : 4.0) * static_cast<double>(parameters);
  cost.training_flops += forward_flops(teacher, objective, length);
}

}  // namespace

StepShape step_shape(const models::ModelOptions& model,
                     const objectives::ObjectiveOptions& objective,
                     const TrainOptions& train,
                     bool is_bf16) {
  return shape_of(parts_of(model, objective, train), train, is_bf16);
}

Cost cost_of(const models::ModelOptions& model,
             const objectives::ObjectiveOptions& objective,
             const TrainOptions& train,
             int64_t length,
             bool is_bf16) {
  Cost result;
  const auto parts = parts_of(model, objective, train);
  result.parameters = parts.model.parameters + parts.generator.parameters;
  result.trained_parameters = parts.model.trained + parts.generator.trained;
  const bool recomputes = train.gradient_checkpointing == ActivationCheckpointing::kLayers;
  add_flops(model, objective, parts.model, length, recomputes, result);
  if (parts.generator_options) {
    add_generator_flops(*parts.generator_options, objective, parts.generator, length, recomputes,
                        result);
  }
  if (parts.teacher) {
    add_teacher(*parts.teacher, objective, length, is_bf16, result);
  }
  const auto parameters = static_cast<double>(result.parameters);
  const auto trained_parameters = static_cast<double>(result.trained_parameters);
  const double width = is_bf16 ? 2.0 : 4.0;
  result.copy_bytes = is_bf16 ? 2 * parameters : 0;
  result.weight_bytes = 4 * parameters + result.copy_bytes;
  result.gradient_bytes =
      trained_parameters * (width + (accumulates_gradients(train, is_bf16) ? 4 : 0));
  result.ema_bytes = train.ema.decay ? 4.0 * trained_parameters : 0;
  result.optimizer_bytes = trained_parameters * optimizer_state_bytes(train.optimizer);
  if (train.saves_async) {
    result.save_bytes = 4 * parameters + result.optimizer_bytes + result.ema_bytes;
  }
  result.is_estimate = models::is_encoder_decoder(model) || models::reads_images(model);
  auto shape = shape_of(parts, train, is_bf16);
  shape.rows = cost_rows_of(objective, largest_micro_batch(train, length), length);
  result.step = step_memory(model, objective, shape);
  return result;
}

}  // namespace weft::train
