#include "models/config/heads.h"

#include <functional>
#include <optional>
#include <set>

#include <gtest/gtest.h>

#include "models/directory.h"
#include "models/every_head.h"
#include "support/tensors.h"

namespace weft::models {
namespace {

using Shape = std::optional<std::vector<int64_t>>;

/// Shape of what a function of the model returns; nullopt where the model does not support it.
Shape shape_of(const std::function<at::Tensor()>& function) {
  try {
    return function().sizes().vec();
  } catch (const c10::Error&) {
    return std::nullopt;
  }
}

Shape shape_if(bool exists, std::vector<int64_t> shape) {
  return exists ? Shape(std::move(shape)) : std::nullopt;
}

/// A model with the hidden states of two sequences.
struct HeadCase {
  explicit HeadCase(const ModelOptions& options)
      : model(make_model(options, 3)), head(head_of(options)), sequences(options) {
    test::fill_parameters(*model);
    if (head.reads_source) {
      source.states = model->encode({.ids = sequences.input.ids, .patches = {}}, sequences.context);
      source.layout = sequences.context.layout;
      sequences.context.encoder_states = &source;
    }
    hidden = model->hidden(sequences.input, sequences.context);
  }

  std::shared_ptr<Model> model;
  const HeadDefinition& head;
  test::TwoSequences sequences;
  nn::EncoderStates source;
  at::Tensor hidden;  // (N, D)
};

TEST(Heads, ModelsSupportWhatTheirHeadIsDefinedToPredict) {
  for (const auto& options : test::every_head()) {
    SCOPED_TRACE(architecture_of(options));
    HeadCase it(options);
    auto& model = *it.model;
    const auto& context = it.sequences.context;
    const auto tokens = it.hidden.size(0);
    const auto outputs = head_outputs(options);
    EXPECT_EQ(shape_of([&] {
                return at::matmul(model.token_features(it.hidden), model.output_weight().t());
              }),
              shape_if(it.head.predicts_tokens, {tokens, options.vocabulary}));
    EXPECT_EQ(shape_of([&] { return model.token_features(it.hidden); }).has_value(),
              it.head.predicts_tokens || it.head.predicts_pixels);
    if (it.head.predicts_pixels) {
      EXPECT_EQ(model.token_features(it.hidden).size(1), options.vision.patch_width());
    }
    EXPECT_EQ(
        shape_of([&] { return model.next_sentence_logits(model.pooled(it.hidden, context)); }),
        shape_if(it.head.predicts_next_sentence, {2, outputs}));
    EXPECT_EQ(shape_of([&] { return model.classify(it.sequences.input, context); }),
              shape_if(it.head.classifies_sequences, {2, outputs}));
    EXPECT_EQ(shape_of([&] { return model.token_logits(it.hidden, context); }),
              shape_if(it.head.has_token_logits(), {tokens, outputs}));
    EXPECT_EQ(shape_of([&] { return model.pooled(it.hidden, context); }),
              shape_if(has_pooler(options), {2, options.dim}));
  }
}

TEST(Heads, EveryClassifierHasItsOwnLogits) {
  for (const auto& options : test::every_head()) {
    if (head_of(options).classifies_sequences) {
      SCOPED_TRACE(architecture_of(options));
      HeadCase it(options);
      const auto all = it.model->classifier_logits(it.sequences.input, it.sequences.context);
      EXPECT_EQ(static_cast<int64_t>(all.size()), it.head.classifiers);
    }
  }
}

TEST(Heads, OutputsFollowFromTheClassesOnlyWhereThereAreClasses) {
  auto options = test::smallest_options(Family::kBert, Head::kNone);
  for (const auto& head : head_table()) {
    options.head = head.head;
    options.labels = {"a", "b", "c"};
    const auto before = head_outputs(options);
    options.labels.emplace_back("d");
    EXPECT_EQ(head_outputs(options) - before, head.has_classes() ? 1 : 0) << head.name;
  }
}

TEST(Heads, OnlyThoseThatGenerateIgnoreLaterTokens) {
  for (const auto& options : test::every_head()) {
    if (!head_of(options).predicts_tokens) {
      continue;
    }
    SCOPED_TRACE(architecture_of(options));
    HeadCase it(options);
    auto changed = it.sequences.input;
    changed.ids = changed.ids.clone();
    changed.ids[3] = 12;
    const auto hidden = it.model->hidden(changed, it.sequences.context);
    EXPECT_EQ(test::near(hidden[0], it.hidden[0]), it.head.generates);
    EXPECT_FALSE(test::near(hidden[3], it.hidden[3]));
  }
}

TEST(Heads, OnlyThoseThatReadASourceNeedOne) {
  for (const auto& options : test::every_head()) {
    SCOPED_TRACE(architecture_of(options));
    HeadCase it(options);
    auto context = it.sequences.context;
    context.encoder_states = nullptr;
    EXPECT_EQ(shape_of([&] { return it.model->hidden(it.sequences.input, context); }),
              shape_if(!it.head.reads_source, it.hidden.sizes().vec()));
  }
}

TEST(Heads, EachIsDefinedOnceUnderItsOwnName) {
  std::set<Head> heads;
  std::set<std::string_view> names;
  std::set<std::string_view> task_types;
  std::size_t with_task_type = 0;
  for (const auto& definition : head_table()) {
    heads.insert(definition.head);
    names.insert(definition.name);
    if (!definition.peft_task_type.empty()) {
      task_types.insert(definition.peft_task_type);
      ++with_task_type;
    }
  }
  EXPECT_EQ(heads.size(), head_table().size());
  EXPECT_EQ(names.size(), head_table().size());
  EXPECT_EQ(task_types.size(), with_task_type);
  for (const auto& options : test::every_head()) {
    EXPECT_EQ(head_of(options).head, options.head);
  }
}

}  // namespace
}  // namespace weft::models
