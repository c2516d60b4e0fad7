// What inspect says of a step's memory against the tensors that a step makes.
#include "train/cost/step_memory.h"

#include <string>
#include <vector>

#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include "models/adapters/lora.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "models/config/modernbert.h"
#include "models/directory.h"
#include "models/generator.h"
#include "objectives/causal_lm.h"
#include "objectives/classify.h"
#include "objectives/distill.h"
#include "objectives/masked_lm.h"
#include "objectives/objective.h"
#include "objectives/regress.h"
#include "objectives/replaced_token.h"
#include "objectives/tag.h"
#include "support/folder.h"
#include "train/cost/allocation_tracker.h"
#include "train/cost/cost.h"
#include "train/optimizer/flat_parameters.h"
#include "train/optimizer/freeze.h"
#include "train/step/train_step.h"

namespace weft::train {
namespace {

using models::Family;
using objectives::make_causal_lm;
using objectives::make_classify;
using objectives::make_masked_lm;
using Objective = std::shared_ptr<const objectives::Objective>;
using objectives::StudentObjective;

/// A model, an objective and the rows of a step.
struct Case {
  models::ModelOptions model;
  Objective objective;
  TrainOptions train;
  int64_t sequences = 16;
  int64_t length = 64;
  bool is_bf16 = false;
};

Case base(Family family, const Objective& objective) {
  Case result;
  auto& model = result.model;
  if (family == Family::kModernBert) {
    model = models::modernbert_defaults();
    model.modern.window = 16;
    model.modern.global_attention_every = 2;
  }
  if (!models::definition_of(family).uses_bert_head) {
    model = models::family_defaults(family);
    model.decoder.key_value_heads = family == Family::kLlama ? 2 : 0;
  }
  model.family = family;
  model.vocabulary = 2000;
  model.dim = 128;
  model.layers = 3;
  model.heads = 4;
  model.width = 384;
  model.length = 128;
  model.type_vocab_size = family == Family::kBert || family == Family::kElectra ? 2 : 0;
  if (family == Family::kRoberta) {
    model.type_vocab_size = 1;
    model.pad_id = 1;
  }
  result.objective = objective;
  if (objective->name() == "classify" || objective->name() == "tag") {
    model.labels = {"no", "perhaps", "yes"};
  }
  return result;
}

data::StepBatches batches_of(const Case& given) {
  data::StepBatches batches;
  batches.micro_batches.emplace_back();
  const auto objective = given.objective->student().name();
  const bool is_mlm = objective == "mlm" || objective == "replaced_token";
  const bool is_tag = objective == "tag";
  const bool reads_on = objective == "causal";
  for (int64_t number = 0; number < given.sequences; ++number) {
    data::Example example;
    for (int64_t i = 0; i < given.length; ++i) {
      example.ids.push_back(5 + (number * 71 + i * 13) % (given.model.vocabulary - 5));
      example.token_type_ids.push_back(
          given.model.type_vocab_size > 1 && i >= given.length / 2 ? 1 : 0);
      if (reads_on && i + 1 < given.length) {
        example.target_positions.push_back(i);
        example.targets.push_back(5 + i);
      }
      if ((is_mlm && i % 7 == 3) || (is_tag && i % 2 == 0)) {
        example.target_positions.push_back(i);
        example.targets.push_back(is_tag ? i % 3 : 5 + i);
      }
    }
    example.label = number % 2;
    if (objective == "regress") {
      example.values = {0.5};
    }
    batches.micro_batches.front().add(number, example);
  }
  return batches;
}

StepRows step_memory_rows_of(const data::Batch& batch) {
  return {.tokens = batch.tokens(),
          .targets = static_cast<int64_t>(batch.targets.size()),
          .sequences = batch.sequences()};
}

struct Found {
  double expected = 0;
  double measured = 0;
  double kept = 0;
};

Found run(Case given) {
  const auto& objective = given.objective;
  given.model.head = objective->head(given.model);
  const auto model = models::make_model(given.model, 1);
  if (given.train.lora) {
    models::Lora lora;
    lora.options = *given.train.lora;
    lora.layers = models::lora_layers(given.model, lora.options);
    lora.modules_to_save = models::modules_to_save_of(given.model, lora.options, {});
    models::attach_lora(*model, lora, 1);
  }
  if (const auto generator = objective->generator_options(given.model)) {
    models::make_generator(*model, *generator, 1);
  }
  freeze(*model, given.train.freeze);
  FlatParameters flat_parameters(*model, given.is_bf16 ? at::kBFloat16 : at::kFloat,
                                 DecayOn::kMatrices);
  const auto optimizer = make_optimizer({}, flat_parameters);
  const bool recomputes = given.train.gradient_checkpointing == ActivationCheckpointing::kLayers;
  TrainStepOptions options;
  options.recomputes_layers = recomputes;
  TrainStep train_step(*objective, *model, flat_parameters, *optimizer, options);
  const auto batches = batches_of(given);
  if (objective->name() == "distill") {
    train_step.compute(batches, 0);  // loads the teacher
    train_step.discard_gradients();
  }
  Found found;
  {
    AllocationTracker memory;
    const auto before = memory.counts().live;
    const auto result = train_step.compute(batches, 0);
    EXPECT_TRUE(result.is_finite());
    found.measured = static_cast<double>(memory.counts().peak - before);
  }
  auto shape = step_shape(given.model, *objective, given.train, given.is_bf16);
  shape.rows = step_memory_rows_of(batches.micro_batches.front());
  const auto expected = step_memory(given.model, *objective, shape);
  found.expected = expected.peak;
  found.kept = expected.kept;
  return found;
}

/// Both ways of keeping activations in both precisions.
void expect_stated(Case given, const std::string& what, double tolerance = 0.1) {
  for (const bool is_bf16 : {false, true}) {
    for (const auto checkpointing :
         {ActivationCheckpointing::kNone, ActivationCheckpointing::kLayers}) {
      if (checkpointing == ActivationCheckpointing::kLayers &&
          given.objective->traits(given.model).recorded_layers > 0) {
        continue;  // a config may not have both
      }
      given.is_bf16 = is_bf16;
      given.train.gradient_checkpointing = checkpointing;
      const auto found = run(given);
      EXPECT_NEAR(found.expected / found.measured, 1, tolerance)
          << what << (is_bf16 ? ", bf16" : ", fp32")
          << (checkpointing == ActivationCheckpointing::kLayers ? ", checkpointed" : "")
          << ": expected " << found.expected / 1e6 << " MB, measured " << found.measured / 1e6
          << " MB";
      EXPECT_LE(found.kept, found.expected);
    }
  }
}

TEST(StepMemory, OfBertMiniThatGuessesWords) {
  for (const int64_t sequences : {4, 24}) {
    auto given = base(Family::kBert, make_masked_lm());
    given.model.vocabulary = 8000;
    given.model.dim = 256;
    given.model.layers = 4;
    given.model.width = 1024;
    given.sequences = sequences;
    expect_stated(given, "bert-mini of " + std::to_string(sequences) + " sequences");
  }
}

TEST(StepMemory, OfMiniLmThatClassifies) {
  for (const int64_t sequences : {6, 20}) {
    auto given = base(Family::kBert, make_classify());
    given.model.dim = 384;
    given.model.layers = 6;
    given.model.heads = 12;
    given.model.width = 1536;
    given.sequences = sequences;
    expect_stated(given, "MiniLM of " + std::to_string(sequences) + " sequences");
  }
}

TEST(StepMemory, OfEveryFamily) {
  for (const auto family : {Family::kRoberta, Family::kModernBert, Family::kDistilBert}) {
    for (const auto& objective : {Objective(make_masked_lm()), Objective(make_classify()),
                                  Objective(objectives::make_tag())}) {
      expect_stated(base(family, objective),
                    std::string(models::word_of(family)) + " " + std::string(objective->name()));
    }
  }
  auto narrow = base(Family::kElectra, make_masked_lm());
  narrow.model.embedding_size = 64;
  expect_stated(narrow, "electra");
}

TEST(StepMemory, OfAGeneratorAndItsDiscriminator) {
  auto given =
      base(Family::kElectra, objectives::make_replaced_token({.generator = {.size_ratio = 1}}));
  given.model.embedding_size = 64;
  expect_stated(given, "a generator as large");
  given.objective = objectives::make_replaced_token({.generator = {.size_ratio = 0.25}});
  given.model.vocabulary = 8000;
  expect_stated(given, "a small generator of many words");
}

/// A student of a teacher that is twice as deep, and stored in the folder.
Case taught(Family family,
            objectives::DistillOptions options,
            int64_t vocabulary,
            const test::Folder& folder) {
  options.teacher = folder.path();
  auto given = base(family, objectives::make_distill(options));
  given.sequences = 8;
  given.model.vocabulary = vocabulary;
  if (options.student_objective == StudentObjective::kClassify) {
    given.model.labels = {"no", "yes"};
  }
  auto teacher = given.model;
  teacher.head = given.objective->head(given.model);
  teacher.layers = 2 * given.model.layers;
  models::save_model(folder.path(), *models::make_model(teacher, 2), formats::DType::kF32);
  return given;
}

TEST(StepMemory, OfATeacherAndItsStudent) {
  const test::Folder folder;
  for (const int64_t vocabulary : {500, 4000}) {
    const auto words = std::to_string(vocabulary) + " words";
    objectives::DistillOptions options;
    expect_stated(taught(Family::kBert, options, vocabulary, folder), words);
    options.alpha_cos = 0;
    options.alpha_ce = 0;
    expect_stated(taught(Family::kBert, options, vocabulary, folder),
                  words + ", their distribution alone");
    options.alpha_attention = 1;
    expect_stated(taught(Family::kBert, options, vocabulary, folder),
                  words + ", and the last attention");
    options.layer_map = objectives::LayerMap::kUniform;
    expect_stated(taught(Family::kBert, options, vocabulary, folder),
                  words + ", and all attention");
    expect_stated(
        taught(Family::kGpt2, {.student_objective = StudentObjective::kCausal}, vocabulary, folder),
        words + ", the next");
  }
  expect_stated(
      taught(Family::kBert, {.student_objective = StudentObjective::kClassify}, 500, folder),
      "classes");
}

TEST(StepMemory, OfModelsThatReadFromLeftToRight) {
  for (const auto family : {Family::kGpt2, Family::kLlama, Family::kGptNeoX}) {
    for (const auto& objective : {Objective(make_causal_lm()), Objective(make_classify())}) {
      expect_stated(base(family, objective),
                    std::string(models::word_of(family)) + " " + std::string(objective->name()));
    }
  }
}

TEST(StepMemory, OfOtherObjectives) {
  expect_stated(base(Family::kBert, make_masked_lm({.pair = data::PairTask::kNextSentence})),
                "pairs");
  expect_stated(base(Family::kBert, make_classify({.r_drop = 1})), "two passes");
  auto plain = base(Family::kBert, objectives::make_regress());
  plain.model.is_regression = true;
  plain.model.dropout = 0;
  plain.model.attention_dropout = 0;
  expect_stated(plain, "no dropout");
}

TEST(StepMemory, OfWhatIsTrainedInPart) {
  auto frozen = base(Family::kBert, make_classify());
  frozen.train.freeze = {"embeddings", "layers.0"};
  expect_stated(frozen, "frozen layers");
  auto adapted = base(Family::kBert, make_classify());
  adapted.train.lora = models::LoraOptions{.rank = 8, .dropout = 0.1};
  expect_stated(adapted, "adapters");
}

TEST(StepMemory, CheckpointingFallsAsStated) {
  auto given = base(Family::kBert, make_masked_lm());
  given.model.layers = 8;
  const auto plain = run(given);
  given.train.gradient_checkpointing = ActivationCheckpointing::kLayers;
  const auto checkpointed = run(given);
  EXPECT_LT(checkpointed.measured, 0.5 * plain.measured);
  EXPECT_NEAR(plain.expected - checkpointed.expected, plain.measured - checkpointed.measured,
              0.1 * plain.measured);
}

// As oneDNN frees its buffers: by the allocator of that moment, not the one that gave them.
TEST(AllocationTracker, EnduresThatAnotherAllocatorFrees) {
  auto* const before = c10::GetCPUAllocator()->raw_allocate(4096);
  void* during = nullptr;
  {
    AllocationTracker memory;
    c10::GetCPUAllocator()->raw_deallocate(before);
    during = c10::GetCPUAllocator()->raw_allocate(4096);
  }
  c10::GetCPUAllocator()->raw_deallocate(during);
  AllocationTracker memory;
  std::vector<at::Tensor> made;
  for (int i = 0; i < 50; ++i) {
    made.push_back(at::full({1024}, i));  // some lie where the freed ones lay
  }
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(made[static_cast<std::size_t>(i)].sum().item<double>(), 1024.0 * i);
  }
}

TEST(AllocationTracker, CountsWhatIsMadeAndGoes) {
  at::Tensor survivor;
  {
    AllocationTracker memory;
    const auto kept = at::empty({1000}, at::kFloat);
    survivor = at::empty({10}, at::kFloat);
    { const auto gone = at::empty({3000}, at::kFloat); }
    auto counts = memory.counts();
    EXPECT_EQ(counts.peak - counts.live, 12000);
    EXPECT_EQ(counts.allocations, 3);
    EXPECT_EQ(counts.allocated, 16040);
    memory.reset();
    counts = memory.counts();
    EXPECT_EQ(counts.peak, counts.live);
    EXPECT_EQ(counts.allocations, 0);
  }
  survivor.fill_(1);  // may outlive the counting
}

}  // namespace
}  // namespace weft::train
