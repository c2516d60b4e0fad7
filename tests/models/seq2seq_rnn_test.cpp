#include "models/seq2seq_rnn/seq2seq_rnn.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "models/config/family_definition.h"
#include "models/decoding/model_decoder.h"
#include "models/decoding/search.h"
#include "models/directory.h"
#include "models/encoder_decoder_parts.h"
#include "models/inference.h"
#include "models/seq2seq_rnn_pairs.h"
#include "nn/attention/attention_recorder.h"
#include "support/context.h"
#include "support/folder.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

class Seq2SeqRnns : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(
    Variants,
    Seq2SeqRnns,
    testing::Values(
        "recurrent: {width: 5}, attention: {score: additive, width: 4}",
        "recurrent: {width: 5}, attention: {score: none}",
        "recurrent: {width: 5, bidirectional: false}, attention: {score: none}, readout: tanh",
        "recurrent: {cell: lstm, width: 5}, layers: 2, attention: {score: general}",
        "recurrent: {cell: lstm, width: 5, projection: 3}, attention: {coverage: sum}",
        "recurrent: {cell: rnn, width: 5}, attention: {coverage: fertility}",
        "recurrent: {width: 5, bidirectional: false}, layers: 2, decoder: {layers: 1}, "
        "attention: {score: dot, when: after}",
        "recurrent: {cell: lstm, width: 5, bidirectional: false}, layers: 2, "
        "attention: {score: scaled_dot, when: after, input_feeding: true}",
        "recurrent: {width: 5}, attention: {score: location, positions: 9}, "
        "tie_word_embeddings: false, share_encoder_decoder_embeddings: false",
        "recurrent: {width: 5}, attention: {when: after, input_feeding: true, coverage: sum}, "
        "output: {type: hierarchical}",
        "recurrent: {width: 5, residual: true}, layers: 2, attention: {local: monotonic, window: "
        "3, "
        "coverage: sum}",
        "recurrent: {cell: lstm, width: 5, projection: 3, residual: true}, layers: 3, "
        "attention: {score: general, when: after, local: predictive, window: 4}",
        "recurrent: {cell: rnn, width: 5, bidirectional: false}, layers: 2, attention: {score: "
        "location, positions: 9, when: after, input_feeding: true, local: predictive, window: 6}"));

TEST_P(Seq2SeqRnns, ComputeEachPairAsIfItWereAlone) {
  const auto model = rnn_model(GetParam());
  const auto together = features_of(*model);
  for (std::size_t i = 0; i + 1 < kTargetOffsets.size(); ++i) {
    EXPECT_TRUE(test::near(together.slice(0, kTargetOffsets[i], kTargetOffsets[i + 1]),
                           features_of(*model, Pairs().alone(i)), 1e-6))
        << i;
  }
}

TEST_P(Seq2SeqRnns, ReadTheWholeSourceAndThePastOfTheTarget) {
  const auto model = rnn_model(GetParam());
  const auto before = features_of(*model);
  Pairs changed;
  changed.targets[2] = 9;  // the last token of the first target
  const auto after = features_of(*model, changed);
  EXPECT_TRUE(test::near(before.slice(0, 0, 2), after.slice(0, 0, 2), 1e-7));
  EXPECT_FALSE(test::near(before[2], after[2], 1e-4));
  EXPECT_TRUE(test::near(before.slice(0, 3), after.slice(0, 3), 1e-7));
  changed = {};
  changed.sources[1] = 12;
  const auto other = features_of(*model, changed);
  EXPECT_FALSE(test::near(before[0], other[0], 1e-6));
  EXPECT_TRUE(test::near(before.slice(0, 3), other.slice(0, 3), 1e-7));
}

TEST_P(Seq2SeqRnns, DecodeTokenByTokenAsTheyReadATarget) {
  const at::NoGradGuard guard;
  const auto model = rnn_model(GetParam());
  std::vector<Prompt> prompts;
  for (std::size_t i = 0; i + 1 < kTargetOffsets.size(); ++i) {
    const auto pair = Pairs().alone(i);
    prompts.push_back(
        {.tokens = {pair.targets.begin(), pair.targets.begin() + 1}, .source = pair.sources});
  }
  const auto last_logits = [&](const std::vector<std::vector<int64_t>>& targets,
                               const std::vector<int64_t>& sources) {
    std::vector<at::Tensor> rows;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      auto pair = Pairs().alone(static_cast<std::size_t>(sources[i]));
      pair.targets = targets[i];
      pair.target_offsets = {0, static_cast<int64_t>(targets[i].size())};
      rows.push_back(model->lm_logits(features_of(*model, pair))[-1]);
    }
    return at::stack(rows);
  };
  const auto output = prepare_for_decoding(*model);
  ModelDecoder decoder(*model, output, prompts);
  EXPECT_TRUE(test::near(decoder.first(), last_logits({{0}, {0}, {0}}, {0, 1, 2}), 1e-5));
  // Two beams of the last source, one of the first.
  EXPECT_TRUE(test::near(decoder.next({2, 2, 0}, {4, 5, 6}),
                         last_logits({{0, 4}, {0, 5}, {0, 6}}, {2, 2, 0}), 1e-5));
  EXPECT_TRUE(
      test::near(decoder.next({1, 2}, {7, 8}), last_logits({{0, 5, 7}, {0, 6, 8}}, {2, 0}), 1e-5));
}

TEST_P(Seq2SeqRnns, AreStoredWithTheirOptions) {
  const auto model = rnn_model(GetParam());
  const test::Folder folder;
  save_model(folder.path(), *model, formats::DType::kF32);
  const auto options = read_model_config(folder.path());
  EXPECT_EQ(options.seq2seq_rnn, model->options().seq2seq_rnn);
  const auto loaded = load_model(folder.path(), options, 9);
  EXPECT_TRUE(loaded.missing_keys.empty());
  EXPECT_TRUE(loaded.unexpected_keys.empty());
  EXPECT_TRUE(at::equal(features_of(*loaded.model), features_of(*model)));
}

TEST_P(Seq2SeqRnns, RecordAlignments) {
  const auto model = rnn_model(GetParam());
  nn::AttentionRecorder recorder({0});
  features_of(*model, {}, &recorder);
  if (!model->options().seq2seq_rnn.score) {
    EXPECT_TRUE(recorder.cross_layers().empty());
    return;
  }
  const auto& weights = recorder.cross_layers().at(0);
  ASSERT_EQ(weights.size(), 3U);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto pair = Pairs().alone(i);
    EXPECT_EQ(weights[i].sizes(),
              (std::vector<int64_t>{1, static_cast<int64_t>(pair.targets.size()),
                                    static_cast<int64_t>(pair.sources.size())}));
    const auto sums = weights[i].sum(2);
    const auto& local = model->options().seq2seq_rnn.local;
    if (local && local->type == "predictive") {
      EXPECT_GT(sums.min().item<float>(), 0);
      EXPECT_LT(sums.max().item<float>(), 1);
    } else {
      EXPECT_TRUE(test::near(sums, at::ones_like(sums)));
    }
  }
}

TEST_P(Seq2SeqRnns, HaveAGradientForEveryParameter) {
  const auto model = rnn_model(GetParam());
  const auto features = features_of(*model);
  const auto targets = at::arange(features.size(0)) + 3;
  model->lm_loss(features, targets, {}).backward();
  for (const auto& parameter : model->named_parameters()) {
    ASSERT_TRUE(parameter->grad().defined()) << parameter.key();
    EXPECT_GT(parameter->grad().abs().max().item<double>(), 0) << parameter.key();
  }
}

TEST(Seq2SeqRnn, AttentionToASingleTokenIsTheSummaryOfTheSource) {
  const auto attention = rnn_model("recurrent: {width: 5}");
  const auto none = rnn_model("recurrent: {width: 5}, attention: {score: none}");
  copy_common_parameters(*attention, *none);
  const Pairs single{
      .sources = {7}, .source_offsets = {0, 1}, .targets = {0, 3, 4}, .target_offsets = {0, 3}};
  EXPECT_TRUE(test::near(features_of(*attention, single), features_of(*none, single), 1e-6));
  EXPECT_FALSE(test::near(features_of(*attention), features_of(*none), 1e-4));
}

TEST(Seq2SeqRnn, WithZeroScoresTheContextIsTheMean) {
  const auto model = rnn_model("recurrent: {width: 5}, attention: {when: after}");
  {
    const at::NoGradGuard guard;
    model->named_parameters()["attention.score.vector"].zero_();
  }
  nn::AttentionRecorder recorder({0});
  features_of(*model, {}, &recorder);
  for (const auto& weights : recorder.cross_layers().at(0)) {
    EXPECT_TRUE(test::near(weights, at::full_like(weights, 1.0 / weights.size(2)), 1e-6));
  }
}

TEST(Seq2SeqRnn, CoverageWithoutWeightsIsNoCoverage) {
  const auto none = rnn_model("recurrent: {width: 5}");
  for (const auto* kind : {"sum", "fertility"}) {
    const auto model =
        rnn_model("recurrent: {width: 5}, attention: {coverage: " + std::string(kind) + "}");
    copy_common_parameters(*none, *model);
    EXPECT_FALSE(test::near(features_of(*model), features_of(*none), 1e-4)) << kind;
    const at::NoGradGuard guard;
    model->named_parameters()["attention.coverage"].zero_();
    EXPECT_TRUE(test::near(features_of(*model), features_of(*none), 1e-6)) << kind;
  }
}

TEST(Seq2SeqRnn, DropoutDoesNotDependOnTheMicroBatches) {
  auto options = rnn_options("recurrent: {width: 5}, layers: 2");
  options.dropout = 0.5;
  const auto model = make_model(options, 1);
  test::fill_parameters(*model, 0.6);
  const auto training_features = [&](const Pairs& pairs, std::size_t earlier) {
    auto reading = test::context_of(pairs.source_offsets);
    reading.is_training = true;
    reading.seed = 5;
    auto writing = test::context_of(pairs.target_offsets);
    writing.is_training = true;
    writing.seed = 5;
    reading.first_row = kSourceOffsets[earlier];
    writing.first_row = kTargetOffsets[earlier];
    reading.first_sequence = writing.first_sequence = static_cast<int64_t>(earlier);
    const nn::EncoderStates encoder_states{
        .states =
            model->encode({.ids = at::tensor(pairs.sources, at::kLong), .patches = {}}, reading),
        .layout = reading.layout};
    writing.encoder_states = &encoder_states;
    return model->hidden({.ids = at::tensor(pairs.targets, at::kLong)}, writing);
  };
  const auto together = training_features({}, 0);
  EXPECT_FALSE(test::near(together, features_of(*model), 1e-3));
  for (std::size_t i = 0; i + 1 < kTargetOffsets.size(); ++i) {
    EXPECT_TRUE(test::near(together.slice(0, kTargetOffsets[i], kTargetOffsets[i + 1]),
                           training_features(Pairs().alone(i), i), 1e-6))
        << i;
  }
}

TEST(Seq2SeqRnn, RefusesCombinationsThatHaveNoMeaning) {
  for (const auto& [keys, message] : std::vector<std::pair<const char*, const char*>>{
           {"attention: {input_feeding: true}", "only with when: after"},
           {"attention: {score: none, when: after}", "after has no effect with score: none"},
           {"attention: {score: general, coverage: sum}", "only possible with score: additive"},
           {"attention: {score: dot}", "use general, or recurrent.bidirectional: false"},
           {"attention: {when: after}, readout: tanh", "has no effect with attention.when"},
           {"attention: {score: none, local: monotonic}", "no effect with score: none"},
           {"attention: {local: predictive, window: 1}", "window"},
           {"attention: {window: 4}", "unknown key 'window'"},
           {"recurrent: {residual: true}", "has no effect with one layer"}}) {
    try {
      rnn_options(keys);
      ADD_FAILURE() << keys;
    } catch (const config::Error& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace weft::models
