#include <gtest/gtest.h>

#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "models/config/family_definition.h"
#include "models/directory.h"
#include "objectives/batches.h"
#include "objectives/masked_lm.h"
#include "objectives/objective_registry.h"
#include "objectives/objectives.h"
#include "support/context.h"
#include "support/folder.h"

namespace weft::objectives {
namespace {

const std::vector<std::string> kDocumentFamilies = {"bert",       "roberta", "xlm-roberta",
                                                    "distilbert", "electra", "modernbert",
                                                    "albert",     "deberta", "deberta-v2"};

models::ModelOptions masked_sentence_model(const std::string& type = "hibert",
                                           const std::string& family = "bert") {
  auto options = test::tiny_document_model(models::Head::kMaskedLm, type);
  options.family = models::family_named(family);
  return options;
}

double loss_of(models::Model& model, const data::Batch& batch) {
  return test::loss_sum(
      make_masked_sentence()->losses(model, batch, batching::to_device(batch, at::kCPU).context));
}

class MaskedSentence : public testing::TestWithParam<std::string> {
 protected:
  static models::ModelOptions options() { return masked_sentence_model(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Types, MaskedSentence, testing::Values("hibert", "hi_transformer"));

/// Each masked sentence on its own, one token after another.
TEST_P(MaskedSentence, LossIsThatOfADecoderThatReadsTheStateOfTheSentence) {
  const auto model = models::make_model(options(), 1);
  const auto batch = test::masked_documents({0, 1, 2, 5});
  const auto documents = batching::to_device(batch, at::kCPU);
  const auto states = model->hidden(documents.input, documents.context);
  double expected = 0;
  std::size_t begin = 0;
  for (const auto length : batch.targets_per_row()) {
    const auto row = batch.target_rows[begin];
    const nn::EncoderStates sentence{.states = states.slice(0, row, row + 1),
                                     .layout = test::context_of({0, 1}).layout};
    std::vector<int64_t> ids = {batch.targets[begin + static_cast<std::size_t>(length) - 1]};
    for (int64_t i = 0; i < length; ++i) {
      auto context = test::context_of({0, std::ssize(ids)});
      context.encoder_states = &sentence;
      const auto last = model->hidden({.ids = at::tensor(ids, at::kLong)}, context).slice(0, i);
      const auto target = batch.targets[begin + static_cast<std::size_t>(i)];
      expected -= model->lm_logits(last).log_softmax(1)[0][target].item<double>();
      ids.push_back(target);
    }
    begin += static_cast<std::size_t>(length);
  }
  EXPECT_NEAR(loss_of(*model, batch), expected, 1e-4);
  EXPECT_EQ(make_masked_sentence()->counts(batch), std::vector<int64_t>{12});
}

TEST_P(MaskedSentence, LossDependsOnTheOtherSentences) {
  const auto model = models::make_model(options(), 1);
  auto batch = test::masked_documents({5});
  const auto before = loss_of(*model, batch);
  batch.ids[1] = 29;  // of the first sentence; the last is masked
  EXPECT_GT(std::abs(loss_of(*model, batch) - before), 1e-5);
}

TEST_P(MaskedSentence, LossDoesNotDependOnTheSplitOfAStep) {
  auto dropping = options();
  dropping.dropout = 0.3;
  dropping.attention_dropout = 0.2;
  dropping.stochastic_depth.drop_path_rate = 0.3;
  const auto model = models::make_model(dropping, 1);
  const auto objective = make_masked_sentence();
  const auto losses = [&](const std::vector<std::vector<int64_t>>& parts) {
    double sum = 0;
    nn::ForwardContext context;
    context.is_training = true;
    context.step = 3;
    for (const auto& part : parts) {
      const auto batch = test::masked_documents(part);
      batching::set_sequences(batch, at::kCPU, context);
      sum += test::loss_sum(objective->losses(*model, batch, context));
      batching::advance_offsets(batch, context);
    }
    return sum;
  };
  const auto together = losses({{0, 1, 2, 5}});
  EXPECT_NEAR(losses({{0}, {1, 2}, {5}}), together, 1e-4);
  EXPECT_NEAR(losses({{0, 1, 2}, {5}}), together, 1e-4);
}

TEST_P(MaskedSentence, GradientsReachAllParameters) {
  const auto model = models::make_model(options(), 1);
  const auto batch = test::masked_documents({1, 2, 4, 5});
  make_masked_sentence()
      ->losses(*model, batch, batching::to_device(batch, at::kCPU).context)
      .at(0)
      .backward();
  for (const auto& parameter : model->named_parameters()) {
    const auto& name = parameter.key();
    ASSERT_TRUE(parameter.value().grad().defined()) << name;
    EXPECT_GT(parameter.value().grad().abs().max().item<double>(), 0) << name;
  }
}

TEST_P(MaskedSentence, ModelsAreStoredWithTheirDecoder) {
  auto three = options();
  three.document->decoder_layers = 3;
  const auto model = models::make_model(three, 1);
  const test::Folder folder;
  models::save_model(folder.path(), *model, formats::DType::kF32);
  const auto read = models::read_model_config(folder.path());
  EXPECT_EQ(read.document->decoder_layers, 3);
  const auto loaded = models::load_model(folder.path(), read, 9);
  EXPECT_TRUE(loaded.missing_keys.empty());
  EXPECT_TRUE(loaded.unexpected_keys.empty());
  const auto batch = test::masked_documents({1, 2});
  EXPECT_EQ(loss_of(*loaded.model, batch), loss_of(*model, batch));
}

TEST_P(MaskedSentence, AClassifierStartsFromTheEncodersOfThePretrainedModel) {
  const auto model = models::make_model(options(), 1);
  const test::Folder folder;
  models::save_model(folder.path(), *model, formats::DType::kF32);
  auto wanted = test::tiny_document_model(models::Head::kSequence, GetParam());
  const auto loaded = models::load_model(folder.path(), wanted, 9);
  for (const auto& name : loaded.missing_keys) {
    EXPECT_TRUE(name.starts_with("head.") || name.starts_with("pooler.") ||
                name.starts_with("pooling."))
        << name;
  }
  const auto pretrained = model->named_parameters();
  int64_t shared = 0;
  for (const auto& parameter : loaded.model->named_parameters()) {
    if (parameter.key().starts_with("document.") || parameter.key().starts_with("layers.")) {
      ++shared;
      EXPECT_TRUE(at::equal(parameter.value(), pretrained[parameter.key()])) << parameter.key();
    }
  }
  EXPECT_GT(shared, 20);
}

TEST(MaskedSentenceFamilies, LearnWithTheirOwnNormsAndPositions) {
  for (const auto& family : kDocumentFamilies) {
    auto options = masked_sentence_model("hibert", family);
    options.embedding_size = options.dim;
    const auto model = models::make_model(options, 1);
    const auto batch = test::masked_documents({1, 2, 4, 5});
    const auto loss =
        make_masked_sentence()->losses(*model, batch, batching::to_device(batch, at::kCPU).context);
    ASSERT_TRUE(loss.at(0).isfinite().item<bool>()) << family;
    loss.at(0).backward();
    const auto parameters = model->named_parameters();
    const auto* projection =
        parameters.find("sentence_decoder.1.cross_attention.projection.weight");
    ASSERT_NE(projection, nullptr) << family;
    EXPECT_GT(projection->grad().abs().max().item<double>(), 0) << family;
    const auto apart = loss_of(*model, test::masked_documents({1})) +
                       loss_of(*model, test::masked_documents({2, 4})) +
                       loss_of(*model, test::masked_documents({5}));
    EXPECT_NEAR(apart, test::loss_sum(loss), 1e-3) << family;
  }
}

TEST(MaskedSentenceObjective, TheSampleHasTargetsForSomeSentences) {
  const auto objective = make_masked_sentence({.fraction = 0.5});
  const auto example = objective->sample_example(masked_sentence_model(), 17);
  EXPECT_EQ(example.sentence_lengths, (std::vector<int64_t>{5, 5, 5, 2}));
  EXPECT_EQ(example.target_positions, (std::vector<int64_t>{9, 9, 9, 9, 9, 16, 16}));
}

TEST(MaskedSentenceObjective, NeedsAModelOfDocuments) {
  const auto objective = make_masked_sentence();
  auto options = masked_sentence_model();
  EXPECT_FALSE(find_incompatibility(*objective, options));
  const auto mlm = find_incompatibility(*make_masked_lm(), options);
  ASSERT_TRUE(mlm);
  EXPECT_EQ(mlm->message,
            "mlm cannot train a model of type bert, which reads documents sentence by sentence "
            "(model.document); allowed are classify, regress, tag, masked_sentence");
  options.document.reset();
  const auto wrong = find_incompatibility(*objective, options);
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->message.find("set model.document.type to hibert or hi_transformer"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::objectives
