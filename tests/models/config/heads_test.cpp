#include "models/config/heads.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "base/threads.h"
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

using Shapes = std::map<std::string, std::vector<int64_t>>;

/// Shapes of what the functions of a model return, without those that it does not support.
Shapes shapes_of(HeadCase& it) {
  auto& model = *it.model;
  const auto& context = it.sequences.context;
  const auto states = it.head.predicts_neighbours ? it.hidden.chunk(2, 1).front() : it.hidden;
  const std::map<std::string, std::function<at::Tensor()>> functions = {
      {"tokens", [&] { return model.lm_logits(states); }},
      {"features", [&] { return model.token_features(states); }},
      {"pair", [&] { return model.next_sentence_logits(model.pooled(it.hidden, context)); }},
      {"classes", [&] { return model.classify(it.sequences.input, context); }},
      {"token_logits", [&] { return model.token_logits(it.hidden, context); }}};
  Shapes shapes;
  for (const auto& [name, function] : functions) {
    if (const auto shape = shape_of(function)) {
      shapes[name] = *shape;
    }
  }
  return shapes;
}

/// Of the class in transformers, for N tokens or patches, 2 sequences, and 3 classes.
Shapes expected_shapes(const ModelOptions& options, int64_t tokens) {
  const int64_t vocabulary = options.vocabulary;
  // Reformer's heads read both streams.
  const int64_t features =
      states_dim(options) == options.dim ? embedding_width(options) : states_dim(options);
  const int64_t pixels = options.vision.patch_width();
  const Shapes words = {{"tokens", {tokens, vocabulary}}, {"features", {tokens, features}}};
  const Shapes pair = {{"pair", {2, 2}}};
  auto words_and_pair = words;
  words_and_pair.insert(pair.begin(), pair.end());
  const Shapes classes = {{"classes", {2, 3}}};
  const Shapes span = {{"token_logits", {tokens, 2}}};
  const std::map<std::string, Shapes> table = {
      {"Model", {}},
      {"EncoderModel", {}},
      {"BaseModel", {}},
      {"ForMaskedLM", words},
      {"WithLMHeadModel", words},
      {"ModelWithLMHead", words},
      {"ForCausalLM", words},
      {"LMHeadModel", words},
      {"ForBidirectionalLM",
       {{"tokens", {tokens, vocabulary}}, {"features", {tokens, options.dim / 2}}}},
      {"ForConditionalGeneration", words},
      {"MTModel", words},
      {"ForNextSentencePrediction", pair},
      {"ForSequenceClassification", classes},
      {"ForImageClassification", classes},
      {"ForImageClassificationWithTeacher", classes},
      {"ForTokenClassification", {{"token_logits", {tokens, 3}}}},
      {"ForQuestionAnswering", span},
      {"ForQuestionAnsweringSimple", span},
      {"ForMaskedImageModeling", {{"features", {tokens, pixels}}}}};
  const auto name = architecture_of(options);
  return name == "BertForPreTraining"     ? words_and_pair
         : name == "WeftNgramForCausalLM" ? Shapes{{"tokens", {tokens, vocabulary}}}
         : name == "ElectraForPreTraining" || name == "DebertaV2ForPreTraining" ||
                 name == "FunnelForPreTraining"
             ? Shapes{{"token_logits", {tokens, 1}}}
             : table.at(name.substr(hf_names_of(options).class_prefix.size()));
}

TEST(Heads, ModelsReturnWhatTheirClassInTransformersReturns) {
  for (const auto& options : test::every_head()) {
    SCOPED_TRACE(architecture_of(options));
    HeadCase it(options);
    const auto shapes = shapes_of(it);
    EXPECT_EQ(shapes, expected_shapes(options, it.hidden.size(0)));
    EXPECT_EQ(it.head.predicts_words(), shapes.contains("tokens"));
    EXPECT_EQ(it.head.predicts_pixels, shapes.contains("features") && !shapes.contains("tokens"));
    EXPECT_EQ(it.head.predicts_next_sentence, shapes.contains("pair"));
    EXPECT_EQ(it.head.classifies_sequences, shapes.contains("classes"));
    EXPECT_EQ(it.head.has_token_logits(), shapes.contains("token_logits"));
    EXPECT_EQ(it.head.is_bare, shapes.empty());
    EXPECT_EQ(shape_of([&] { return it.model->pooled(it.hidden, it.sequences.context); }),
              shape_if(has_pooler(options), {2, options.dim}));
  }
}

TEST(Heads, BatchesMayRunAtTheSameTime) {
  for (const auto& options : test::every_head()) {
    SCOPED_TRACE(architecture_of(options));
    const auto model = make_model(options, 3);
    std::vector<at::Tensor> found(8);
    parallel_for(
        std::ssize(found), 1,
        [&](int64_t begin, int64_t end) {
          for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
            const at::NoGradGuard guard;
            found[i] = test::states_of_two_sequences(*model).states;
          }
        },
        4);
    const at::NoGradGuard guard;
    for (const auto& hidden : found) {
      EXPECT_TRUE(test::near(hidden, test::states_of_two_sequences(*model).states));
    }
  }
}

TEST(Heads, EveryClassifierHasItsOwnLogits) {
  for (const auto& options : test::every_head()) {
    if (head_of(options).classifies_sequences) {
      SCOPED_TRACE(architecture_of(options));
      HeadCase it(options);
      const auto all = it.model->classifier_logits(it.sequences.input, it.sequences.context);
      EXPECT_EQ(all.size(), architecture_of(options).ends_with("WithTeacher") ? 2U : 1U);
      EXPECT_EQ(static_cast<int64_t>(all.size()), it.head.classifiers);
    }
  }
}

TEST(Heads, OutputsFollowFromTheClassesOnlyWhereThereAreClasses) {
  auto options = test::smallest_options(family_named("bert"), Head::kNone);
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
