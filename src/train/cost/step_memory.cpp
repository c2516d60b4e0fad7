#include "train/cost/step_memory.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cross_entropy.h"
#include "models/config/family_definition.h"
#include "models/families/baselines.h"
#include "objectives/replaced_token.h"
#include "train/cost/baseline_cost.h"
#include "train/cost/layer_memory.h"
#include "train/cost/ledger.h"
#include "train/cost/lesson_memory.h"

namespace weft::train {

namespace {

constexpr double kId = 8;
constexpr double kStatistics = 8;  // mean and deviation of a row, fp32
constexpr double kVerdict = 24;    // label, logit and loss of a token, with what they are made of

/// Goes through the passes of a step, one part after another.
class Walk {
 public:
  Walk(const models::ModelOptions& model,
       const objectives::Objective& objective,
       const StepShape& shape,
       int64_t rows_read,
       Ledger& ledger)
      : model_(model),
        objective_(objective),
        shape_(shape),
        read_(static_cast<double>(rows_read)),
        ledger_(ledger) {
    for (int64_t layer = 0; layer < model.layers; ++layer) {
      const bool is_last = layer + 1 == model.layers;
      layers_.push_back(
          layer_sizes(model, shape.lora, layer,
                      {.tokens = tokens_, .rows = is_last ? read_ : tokens_, .element = element_}));
    }
  }

  void forward() {
    states_forward();
    head_forward();
  }

  /// Up to what leaves the last layer.
  void states_forward() {
    ledger_.hold(3 * kId * tokens_);  // ids, types, positions
    embeddings_forward();
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
      if (!is_kept(layer)) {
        pass_layer(ledger_, layers_[layer]);
        ledger_.release(layers_[layer].stream);
      } else if (shape_.recomputes_layers) {
        pass_layer(ledger_, layers_[layer]);
      } else {
        forward_layer(ledger_, layers_[layer]);
      }
    }
    if (is_pre()) {
      ledger_.hold(hidden() + hidden_statistics());
    }
  }

  void backward() {
    head_backward();
    states_backward();
  }

  void states_backward() {
    if (is_pre()) {
      ledger_.hold(hidden());
      ledger_.release(2 * hidden() + hidden_statistics());
    }
    for (std::size_t layer = layers_.size(); layer-- > 0 && is_kept(layer);) {
      shape_.recomputes_layers ? recompute_layer(ledger_, layers_[layer])
                               : backward_layer(ledger_, layers_[layer]);
    }
    embeddings_backward();
  }

  /// What this student and its teacher say of words.
  LessonSizes lesson(const Walk& teacher, const objectives::Objective& objective) const {
    const auto kept_rows = [](const Walk& of) {
      return (of.read_ > of.targets_ ? of.targets_ * of.dim_ * of.element_ : 0) + of.transformed();
    };
    LessonSizes sizes;
    sizes.logits = targets_ * vocabulary_;
    sizes.states = read_ * dim_;
    sizes.taught = teacher.read_ * teacher.dim_;
    sizes.rows = kept_rows(*this);
    sizes.rows_of_teacher = kept_rows(teacher);
    sizes.output_gradient = tied_gradient();
    sizes.element = element_;
    const auto pairs = static_cast<double>(objective.traits(model_).recorded_layers);
    sizes.squares = pairs * static_cast<double>(model_.heads) * tokens_ * tokens_ / sequences_;
    sizes.projected = pairs * layers_.front().qkv / element_;
    const auto terms = objective.terms();
    const auto has = [&](const char* term) {
      return std::find(terms.begin(), terms.end(), term) != terms.end();
    };
    sizes.has_soft = has("soft");
    sizes.has_hard = has("hard");
    sizes.has_hidden = has("hidden");
    return sizes;
  }

  /// Bytes at most by the head alone.
  double head() const { return head_; }

 private:
  /// Its embeddings end in no norm, its head has no transform, and it looks at last tokens.
  bool is_plain() const { return !models::definition_of(model_.family).uses_bert_head; }
  bool is_kept(std::size_t layer) const {
    return shape_.first_trained_depth <= static_cast<int64_t>(layer) + 1;
  }
  bool trains_embeddings() const { return shape_.first_trained_depth == 0; }
  double stream() const { return tokens_ * dim_ * element_; }
  /// Of what leaves the last layer.
  double hidden() const { return layers_.empty() ? stream() : layers_.back().rest; }
  double hidden_statistics() const { return kStatistics * hidden() / (dim_ * element_); }

  void embeddings_backward() {
    if (trains_embeddings()) {
      const double rows = tokens_ * embedding_ * element_;
      if (is_plain()) {
        ledger_.touch(model_.decoder.embedding_dropout > 0 ? rows : 0);
        ledger_.release(rows);
        return ledger_.release(3 * kId * tokens_ + tied_gradient());
      }
      ledger_.hold(rows);
      ledger_.release(2 * rows + kStatistics * tokens_);
      ledger_.touch(rows);
      ledger_.release(rows);
    }
    ledger_.release(3 * kId * tokens_ + tied_gradient());
  }

  bool is_pre() const { return model_.norm_placement == models::NormPlacement::kPre; }

  void embeddings_forward() {
    const double rows = tokens_ * embedding_ * element_;
    if (is_plain()) {
      ledger_.hold(rows);
      return ledger_.touch(model_.decoder.embedding_dropout > 0 ? rows : 0);
    }
    ledger_.hold(2 * rows + kStatistics * tokens_);  // the sum, and its norm
    if (model_.dropout > 0) {
      ledger_.touch(rows);
    }
    if (!trains_embeddings()) {
      ledger_.release(rows + kStatistics * tokens_);
    }
    if (embedding_ != dim_) {
      ledger_.hold(stream());
      ledger_.release(trains_embeddings() ? 0 : rows);
    }
  }

  /// The gradient of the matrix that is the table of words too waits for the table's own.
  double tied_gradient() const {
    return traits_.predicts_tokens && model_.tie_word_embeddings && trains_embeddings()
               ? output_gradient()
               : 0;
  }
  double output_gradient() const {
    const bool is_trained =
        model_.tie_word_embeddings ? shape_.trains_word_embeddings : shape_.lora == nullptr;
    return is_trained ? vocabulary_ * embedding_ * element_ : 0;
  }

  void head_forward() {
    if (traits_.predicts_tokens) {
      return words_forward();
    }
    if (traits_.is_sequence_level) {
      ledger_.hold(pooled());
      return ledger_.release(model_.modern.uses_mean_pooling && shape_.is_bf16 ? hidden() : 0);
    }
    if (objective_.generator_options(model_)) {
      return ledger_.hold(2 * stream() + kVerdict * tokens_);  // a layer, and its activation
    }
    ledger_.hold(hidden() + 2 * kId * read_);  // tags, or pixels
    ledger_.release(hidden());
  }

  void head_backward() {
    if (traits_.predicts_tokens) {
      return words_backward();
    }
    if (traits_.is_sequence_level) {
      return class_backward();
    }
    if (objective_.generator_options(model_)) {
      return verdicts_backward();
    }
    ledger_.hold(2 * hidden());
    ledger_.release(2 * hidden() + 2 * kId * read_);
  }

  void verdicts_backward() {
    ledger_.hold(2 * stream());  // gradients of the activation and of the layer before it
    ledger_.release(2 * stream() + kVerdict * tokens_);
    ledger_.hold(stream());
    ledger_.release(2 * stream() + hidden());
  }

  /// Some vectors of each sequence; means are taken in fp32.
  double pooled() const {
    constexpr double kVectors = 6;
    const double mean = model_.modern.uses_mean_pooling && shape_.is_bf16 ? 4 * tokens_ * dim_ : 0;
    return kVectors * sequences_ * dim_ * element_ + mean;
  }

  void class_backward() {
    if (model_.modern.uses_mean_pooling && shape_.is_bf16) {
      ledger_.hold(4 * tokens_ * dim_);
      ledger_.release(pooled());
      ledger_.hold(stream());
      ledger_.release(4 * tokens_ * dim_);
    } else {
      ledger_.hold(hidden());
      ledger_.release(pooled() + hidden());
    }
  }

  // Rows of targets through the transform, then the loss with its gradients at once.
  void words_forward() {
    const double before = ledger_.live();
    const double rows = targets_ * embedding_ * element_;
    ledger_.hold(gathered() + targets_ * kId + transformed());
    const double row = vocabulary_ * element_;
    const double chunk =
        std::min(targets_,
                 static_cast<double>(kernels::logit_chunk_rows(
                     std::llround(vocabulary_), std::llround(embedding_), std::llround(element_))));
    const double sum = output_gradient() * (chunk < targets_ ? 1 + 4 / element_ : 1);
    const double work = chunk * row + rows + std::max(sum, chunk * embedding_ * element_);
    ledger_.touch(work);
    head_ = ledger_.live() - before + work;
    ledger_.hold(rows + output_gradient());
    ledger_.release(rows);  // the features
    ledger_.hold(pairs());
    ledger_.release(gathered() > 0 ? hidden() : 0);
  }

  void words_backward() {
    const double rows = targets_ * embedding_ * element_;
    ledger_.hold(rows + output_gradient());  // by the factor of the loss
    ledger_.release(rows + output_gradient());
    ledger_.release(output_gradient() - tied_gradient());
    ledger_.release(targets_ * kId);
    if (is_plain()) {
      return;  // the features are the states
    }
    ledger_.hold(rows);
    ledger_.release(transformed());
    ledger_.hold(targets_ * dim_ * element_);
    ledger_.release(rows + targets_ * dim_ * element_);
    if (gathered() > 0) {
      ledger_.hold(2 * hidden());
      ledger_.release(targets_ * dim_ * element_ + pairs() + hidden());
    }
  }

  /// What the transform of an encoder's head keeps.
  double transformed() const {
    return is_plain() ? 0 : 3 * targets_ * embedding_ * element_ + kStatistics * targets_;
  }

  /// Targets among the rows that are read, where these are more.
  double gathered() const {
    return traits_.states_read != objectives::StatesRead::kTargetsAndSequences
               ? 0
               : targets_ * dim_ * element_;
  }

  /// First tokens and their pooled ones.
  double pairs() const {
    constexpr double kVectors = 3;
    return traits_.states_read != objectives::StatesRead::kTargetsAndSequences
               ? 0
               : kVectors * sequences_ * dim_ * element_;
  }

  const models::ModelOptions& model_;
  const objectives::Objective& objective_;
  const objectives::ObjectiveTraits traits_ = objective_.traits(model_);
  const StepShape& shape_;
  const double element_ = shape_.is_bf16 ? 2 : 4;
  const double tokens_ = static_cast<double>(shape_.rows.tokens);
  const double targets_ = static_cast<double>(shape_.rows.targets);
  const double read_;  // rows of the last layer
  const double sequences_ = static_cast<double>(shape_.rows.sequences);
  const double dim_ = static_cast<double>(model_.dim);
  const double embedding_ = static_cast<double>(models::embedding_width(model_));
  const double vocabulary_ = static_cast<double>(model_.vocabulary);
  std::vector<LayerSizes> layers_;
  Ledger& ledger_;
  double head_ = 0;
};

/// A generator, draws from its guesses, then the discriminator; backward the other way round.
StepMemory memory_of_pair(const models::ModelOptions& model,
                          const models::ModelOptions& generator,
                          const objectives::Objective& objective,
                          const StepShape& shape) {
  constexpr double kDrawnAtOnce = 512;                     // rows of logits
  const double bytes = shape.is_bf16 ? 2 + 4 + 4 : 4 + 4;  // logits, in fp32 too, probabilities
  const auto generator_objective = objectives::make_generator_objective(objective.traits(model));
  const auto& guessing = *generator_objective;
  auto its_shape = shape;
  its_shape.first_trained_depth = shape.first_trained_depth_of_generator;
  Ledger ledger;
  Walk its_walk(generator, guessing, its_shape, rows_read(generator, guessing, shape.rows), ledger);
  Walk walk(model, objective, shape, rows_read(model, objective, shape.rows), ledger);
  its_walk.forward();
  const double rows = std::min(kDrawnAtOnce, static_cast<double>(shape.rows.targets));
  ledger.touch(rows * static_cast<double>(generator.vocabulary) * bytes);
  walk.forward();
  StepMemory memory{.kept = ledger.live(), .head = its_walk.head()};
  walk.backward();
  its_walk.backward();
  memory.peak = ledger.peak();
  return memory;
}

/// A teacher is asked while the student's activations are held.
StepMemory memory_of_lesson(const models::ModelOptions& model,
                            const models::ModelOptions& teacher,
                            const objectives::Objective& objective,
                            const StepShape& shape) {
  const auto& task = objective.student();
  auto its_shape = shape;
  its_shape.first_trained_depth = teacher.layers + 2;  // nothing of it is kept
  its_shape.lora = nullptr;
  Ledger ledger;
  Walk walk(model, task, shape, rows_read(model, objective, shape.rows), ledger);
  Walk its_walk(teacher, task, its_shape, rows_read(teacher, objective, shape.rows), ledger);
  StepMemory memory;
  if (!task.traits(model).predicts_tokens) {
    walk.forward();
    memory.kept = ledger.live();
    its_walk.forward();
    ledger.release(ledger.live() - memory.kept);
    walk.backward();
  } else {
    const auto sizes = walk.lesson(its_walk, objective);
    walk.states_forward();
    its_walk.states_forward();
    lesson_forward(ledger, sizes);
    memory.kept = ledger.live();
    lesson_backward(ledger, sizes);
    walk.states_backward();
  }
  memory.peak = ledger.peak();
  return memory;
}

}  // namespace

StepMemory step_memory(const models::ModelOptions& model,
                       const objectives::Objective& objective,
                       const StepShape& shape) {
  if (models::is_baseline(model.family)) {
    return baseline_memory(model, shape);
  }
  if (const auto generator = objective.generator_options(model)) {
    return memory_of_pair(model, *generator, objective, shape);
  }
  if (shape.teacher) {
    return memory_of_lesson(model, *shape.teacher, objective, shape);
  }
  Ledger ledger;
  Walk walk(model, objective, shape, rows_read(model, objective, shape.rows), ledger);
  const int64_t passes = objective.traits(model).passes;
  for (int64_t pass = 0; pass < passes; ++pass) {
    walk.forward();
  }
  StepMemory memory{.kept = ledger.live(), .head = walk.head()};
  for (int64_t pass = 0; pass < passes; ++pass) {
    walk.backward();
  }
  memory.peak = ledger.peak();
  return memory;
}

}  // namespace weft::train
