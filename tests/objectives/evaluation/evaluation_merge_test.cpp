#include <barrier>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <ostream>
#include <thread>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "base/string_util.h"
#include "batching/device_batch.h"
#include "formats/binary_records.h"
#include "formats/error.h"
#include "formats/image.h"
#include "metrics/metric.h"
#include "models/config/presets.h"
#include "models/encoder_decoder_parts.h"
#include "models/generator.h"
#include "objectives/batches.h"
#include "objectives/evaluation/evaluation.h"
#include "objectives/masked_lm.h"
#include "objectives/objectives.h"
#include "objectives/tiny_gpt.h"
#include "support/config.h"

namespace weft::objectives {
namespace {

using Edit = std::function<void(int64_t number, data::Example& example)>;

/// A kind of evaluation, with a model for it and how its examples differ from the common ones.
struct Kind {
  std::string name;
  std::function<std::unique_ptr<Objective>()> make_objective;
  models::ModelOptions model;
  Edit edit = [](int64_t, data::Example&) {};
};

/// Shown by failures.
std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }

models::ModelOptions tiny_electra() {
  auto model = test::tiny_model(models::Head::kReplacedToken);
  model.family = models::family_named("electra");
  model.embedding_size = 8;
  return model;
}

models::ModelOptions tiny_translator() {
  auto model = models::family_defaults(models::family_named("transformer"));
  model.head = models::Head::kConditional;
  model.vocabulary = 30;
  model.dim = 16;
  model.layers = model.decoder.layers = 1;
  model.heads = model.decoder.heads = 2;
  model.width = model.decoder.width = 24;
  model.length = 20;
  models::set_decoding_ids(model);
  return model;
}

models::ModelOptions tiny_vision() {
  auto model = models::family_defaults(models::family_named("vit"));
  model.head = models::Head::kMaskedImage;
  model.dim = 8;
  model.layers = 1;
  model.heads = 2;
  model.width = 12;
  model.vision.image_size = 4;
  model.vision.patch_size = 2;
  model.vision.channels = 1;
  return model;
}

void make_image(int64_t number, data::Example& example) {
  example = {};
  example.ids = {formats::kClassToken};
  example.token_type_ids = {0};
  example.patch_width = 4;
  for (int64_t patch = 0; patch < 4; ++patch) {
    example.ids.push_back(formats::patch_id(patch / 2, patch % 2));
    example.token_type_ids.push_back(patch == number % 4 || patch == 2 ? 1 : 0);
    if (example.token_type_ids.back() == 1) {
      example.target_positions.push_back(patch + 1);
      example.targets.push_back(0);
    }
    for (int64_t value = 0; value < 4; ++value) {
      example.patches.push_back(std::sin(static_cast<float>(number * 16 + patch * 4 + value)));
    }
  }
}

/// Classification with a tuned threshold.
std::unique_ptr<Objective> make_tuned(bool is_multi_label) {
  return make_classify(
      {.multi_label = is_multi_label, .tune_threshold = metrics::ThresholdMetric::kF1});
}

std::unique_ptr<Objective> make_with_pairs(data::PairTask pair) {
  return make_masked_lm({.pair = pair});
}

std::vector<Kind> all_kinds() {
  using models::Head;
  const auto labelled = [](Head head, std::vector<std::string> labels) {
    auto model = test::tiny_model(head);
    model.labels = std::move(labels);
    return model;
  };
  auto regression = labelled(Head::kSequence, {});
  regression.is_regression = true;
  auto gpt = test::tiny_gpt_options();
  gpt.vocabulary = 30;
  return {
      {"mlm", [] { return make_masked_lm(); }, test::tiny_model(Head::kMaskedLm)},
      {"next_sentence", [] { return make_with_pairs(data::PairTask::kNextSentence); },
       test::tiny_model(Head::kPretraining)},
      {"sentence_order", [] { return make_with_pairs(data::PairTask::kSentenceOrder); },
       test::tiny_model(Head::kPretraining)},
      {"translation_lm", [] { return make_translation_lm(); }, test::tiny_model(Head::kMaskedLm)},
      {"classify_two", [] { return make_tuned(false); }, labelled(Head::kSequence, {"no", "yes"})},
      {"classify_six", [] { return make_classify(); },
       labelled(Head::kSequence, {"a", "b", "c", "d", "e", "f"}),
       [](int64_t number, data::Example& example) { example.label = number % 6; }},
      {"multi_label", [] { return make_tuned(true); }, labelled(Head::kSequence, {"a", "b"}),
       [](int64_t number, data::Example& example) {
         example.values = {number % 2 == 0 ? 1.0 : 0.0, number % 3 == 0 ? 1.0 : 0.0};
       }},
      {"regress", [] { return make_regress(); }, regression,
       [](int64_t number, data::Example& example) {
         example.values = {std::sin(static_cast<double>(number))};
       }},
      {"tag", [] { return make_tag(); }, labelled(Head::kToken, {"B-X", "I-X", "O"}),
       [](int64_t number, data::Example& example) {
         example.targets = {number % 3, (number + 1) % 3};
       }},
      {"seq2seq", [] { return make_seq2seq(); }, tiny_translator(),
       [](int64_t number, data::Example& example) {
         example.source_ids = {5 + number, 7, 6 + number};
         example.token_type_ids.clear();
       }},
      {"causal", [] { return make_causal_lm(); }, gpt,
       [](int64_t number, data::Example& example) {
         example.token_type_ids.clear();
         example.values = {static_cast<double>(number + 1), 30, 40};
       }},
      {"distill", [] { return make_distill({}); }, test::tiny_model(Head::kMaskedLm)},
      {"masked_sentence", [] { return make_masked_sentence(); },
       test::tiny_document_model(Head::kMaskedLm),
       [](int64_t number, data::Example& example) { example = test::masked_document(number); }},
      {"masked_image", [] { return make_masked_image(); }, tiny_vision(), make_image},
      {"replaced_token", [] { return make_replaced_token(); }, tiny_electra()},
  };
}

class EvaluationMergeTest : public ::testing::TestWithParam<Kind> {
 protected:
  EvaluationMergeTest()
      : objective_(GetParam().make_objective()), model_(models::make_model(GetParam().model, 3)) {
    if (const auto generator = objective_->generator_options(GetParam().model)) {
      models::make_generator(*model_, *generator, 5);
    }
    // Not in item order, so that an order of arrival shows.
    for (const auto& items :
         std::vector<std::vector<int64_t>>{{9, 2}, {0}, {7, 4, 5}, {1, 8}, {6, 3, 10}}) {
      data::Batch batch;
      for (const auto item : items) {
        auto example = test::example(item);
        GetParam().edit(item, example);
        batch.add(item, example);
      }
      batches_.push_back(std::move(batch));
    }
  }

  /// An evaluation of these batches alone.
  std::unique_ptr<Evaluation> of(const std::vector<std::size_t>& numbers) {
    const at::NoGradGuard guard;
    auto evaluation = objective_->evaluation();
    for (const auto number : numbers) {
      const auto& batch = batches_[number];
      evaluation->add(*model_, batch, batching::to_device(batch, at::kCPU).context);
    }
    return evaluation;
  }

  /// Everything an evaluation returns, with all bits of the numbers.
  static std::string results(const Evaluation& evaluation) {
    std::string text;
    for (const auto& [name, value] : evaluation.result()) {
      text += str_cat(name, " ", std::bit_cast<uint64_t>(value), " ", value, "\n");
    }
    text += evaluation.details().dump();
    if (const auto worst = evaluation.hardest_examples(20)) {
      for (const auto& example : *worst) {
        text += str_cat("\n", example.item, " ", std::bit_cast<uint64_t>(example.loss), " ",
                        example.fields.dump());
      }
    }
    return text;
  }

  std::unique_ptr<Objective> objective_;
  std::shared_ptr<models::Model> model_;
  std::vector<data::Batch> batches_;
};

TEST_P(EvaluationMergeTest, MergedPartsAreTheWholeBitByBit) {
  const auto whole = results(*of({0, 1, 2, 3, 4}));
  const std::vector<std::vector<std::vector<std::size_t>>> splits = {
      {{0, 1, 2, 3, 4}},     {{4, 2, 0, 3, 1}},     {{0, 1}, {2, 3, 4}},  {{4, 0}, {1, 3, 2}},
      {{}, {0, 1, 2, 3, 4}}, {{0, 3}, {1, 4}, {2}}, {{2}, {4, 1}, {0, 3}}};
  for (const auto& split : splits) {
    std::vector<std::string> parts;
    for (const auto& numbers : split) {
      parts.push_back(of(numbers)->serialize());
    }
    const auto forwards = objective_->evaluation();
    const auto backwards = objective_->evaluation();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      forwards->merge(parts[i]);
      backwards->merge(parts[parts.size() - 1 - i]);
    }
    EXPECT_EQ(results(*forwards), whole);
    EXPECT_EQ(results(*backwards), whole);
    const auto own = of(split.front());
    for (std::size_t i = 1; i < parts.size(); ++i) {
      own->merge(parts[i]);
    }
    EXPECT_EQ(results(*own), whole);
  }
}

TEST_P(EvaluationMergeTest, BatchesAddedByThreadsAreTheWholeBitByBit) {
  const auto whole = results(*of({0, 1, 2, 3, 4}));
  const at::NoGradGuard guard;
  for (int round = 0; round < 20; ++round) {
    const auto evaluation = objective_->evaluation();
    std::barrier all_begin(std::ssize(batches_));
    std::vector<std::jthread> threads;
    for (const auto& batch : batches_) {
      threads.emplace_back([&] {
        const at::NoGradGuard guard_of_thread;
        all_begin.arrive_and_wait();
        evaluation->add(*model_, batch, batching::context_of(batch, at::kCPU));
      });
    }
    threads.clear();  // joins
    ASSERT_EQ(results(*evaluation), whole) << "round " << round;
  }
}

TEST_P(EvaluationMergeTest, DamagedBytesAreRefusedAndChangeNothing) {
  const auto bytes = of({0, 1})->serialize();
  const auto evaluation = of({2, 3});
  const auto before = results(*evaluation);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(evaluation->merge(std::string_view(bytes).substr(0, size)), formats::Error)
        << size << " of " << bytes.size();
  }
  for (std::size_t place = 0; place < bytes.size(); ++place) {
    auto damaged = bytes;
    damaged[place] = static_cast<char>(damaged[place] ^ 4);
    EXPECT_THROW(evaluation->merge(damaged), formats::Error) << "at " << place;
  }
  EXPECT_THROW(evaluation->merge(bytes + "x"), formats::Error);
  EXPECT_EQ(results(*evaluation), before);
  evaluation->merge(bytes);
  EXPECT_NE(results(*evaluation), before);
}

TEST_P(EvaluationMergeTest, AnItemCountsOnce) {
  const auto evaluation = of({0, 1});
  const auto before = results(*evaluation);
  EXPECT_EQ(test::message_of<formats::Error>([&] {
              evaluation->merge(of({1, 2})->serialize());
            }),
            "serialized records: item 0 was evaluated twice, expected each item in one part only");
  EXPECT_EQ(results(*evaluation), before);
}

TEST_P(EvaluationMergeTest, ResultOfSomeItemsIsThatOfAnEvaluationOfThese) {
  const auto whole = of({0, 1, 2, 3, 4});
  const auto before = results(*whole);
  EXPECT_EQ(whole->size(), 11U);
  // The items of the batches 1 and 2 are 0, 4, 5 and 7, which are the indices in item order too.
  const auto some = whole->result_of({0, 4, 5, 7});
  for (const auto& [name, value] : of({1, 2})->result()) {
    EXPECT_EQ(std::bit_cast<uint64_t>(some.at(name)), std::bit_cast<uint64_t>(value)) << name;
  }
  EXPECT_EQ(results(*whole), before);
}

TEST_P(EvaluationMergeTest, EveryMetricIsInTheTable) {
  for (const auto& [name, value] : of({0, 1, 2})->result()) {
    EXPECT_TRUE(name.starts_with("eval_") && metrics::find_metric(name) != nullptr) << name;
  }
  EXPECT_NE(metrics::find_metric(objective_->metric_for_best_model()), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Every,
                         EvaluationMergeTest,
                         ::testing::ValuesIn(all_kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST(Evaluation, OtherKindsAndLabelsAreRefused) {
  const auto of = [](const std::string& name) {
    for (const auto& kind : all_kinds()) {
      if (kind.name == name) {
        return kind.make_objective()->evaluation();
      }
    }
    throw std::logic_error("no kind " + name);
  };
  EXPECT_EQ(
      test::message_of<formats::Error>([&] { of("mlm")->merge(of("next_sentence")->serialize()); }),
      "serialized records: found kind 'masked_lm next_sentence', expected complete records of kind "
      "'masked_lm ', version 1");
  EXPECT_THROW(of("regress")->merge(of("multi_label")->serialize()), formats::Error);
  const auto labelled = [&](const std::vector<std::string>& labels) {
    auto model_options = test::tiny_model(models::Head::kSequence);
    model_options.labels = labels;
    const auto model = models::make_model(model_options, 3);
    const auto batch = test::batch_of({static_cast<int64_t>(labels.size())});
    auto evaluation = of("classify_six");
    evaluation->add(*model, batch, batching::to_device(batch, at::kCPU).context);
    return evaluation;
  };
  EXPECT_EQ(test::message_of<formats::Error>([&] {
              labelled({"a", "b"})->merge(labelled({"a", "b", "c"})->serialize());
            }),
            "serialized records: found the labels a, b, c, expected a, b");
}

}  // namespace
}  // namespace weft::objectives
