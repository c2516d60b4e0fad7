#include "models/encoder.h"

#include <functional>
#include <utility>

#include <gtest/gtest.h>

#include "models/config/family.h"
#include "models/directory.h"
#include "support/tensors.h"
#include "tiny.h"

namespace weft::models {
namespace {

std::shared_ptr<Model> encoder_model_of(const ModelOptions& options) {
  auto model = make_model(options, 3);
  test::fill_parameters(*model);
  return model;
}

TextInput encoder_ids(const std::vector<int64_t>& values) {
  return {.ids = at::tensor(values, at::kLong), .types = {}};
}

TEST(Encoder, ResultsDoNotDependOnOtherSequencesInTheBatch) {
  for (const auto family : test::transformers()) {
    const auto model = encoder_model_of(test::tiny_options(family));
    const auto together = model->hidden(encoder_ids({2, 5, 9, 3, 2, 7, 3, 2, 8, 11, 12, 3}),
                                        test::context_of({0, 4, 7, 12}));
    const auto alone = model->hidden(encoder_ids({2, 7, 3}), test::context_of({0, 3}));
    EXPECT_TRUE(test::near(together.slice(0, 4, 7), alone));
    const auto turned =
        model->hidden(encoder_ids({2, 8, 11, 12, 3, 2, 7, 3}), test::context_of({0, 5, 8}));
    EXPECT_TRUE(test::near(turned.slice(0, 5), alone));
  }
}

TEST(Encoder, TokensOfASequenceAttendToEachOther) {
  const auto model = encoder_model_of(test::tiny_options());
  const auto first = model->hidden(encoder_ids({2, 7, 3}), test::context_of({0, 3}));
  const auto second = model->hidden(encoder_ids({2, 8, 3}), test::context_of({0, 3}));
  EXPECT_FALSE(test::near(first.select(0, 0), second.select(0, 0)));
}

TEST(Encoder, TheTiedOutputMatrixIsTheWordEmbedding) {
  auto options = test::tiny_options();
  const auto tied = encoder_model_of(options);
  EXPECT_EQ(tied->output_weight().data_ptr(),
            tied->named_parameters()["embeddings.word.weight"].data_ptr());
  options.tie_word_embeddings = false;
  const auto untied = encoder_model_of(options);
  EXPECT_EQ(untied->output_weight().data_ptr(),
            untied->named_parameters()["head.decoder.weight"].data_ptr());
}

/// A training step of sequences of 3 and 2 tokens, and the second one as a separate micro-batch.
std::pair<nn::ForwardContext, nn::ForwardContext> step_and_its_end() {
  auto whole = test::context_of({0, 3, 5});
  whole.is_training = true;
  auto second = test::context_of({0, 2});
  second.is_training = true;
  second.first_row = 3;
  second.first_sequence = 1;
  return {whole, second};
}

TEST(Encoder, TheClassifiersDropoutIsOfSequencesNotOfPlaces) {
  auto options = test::tiny_options(family_named("roberta"), Head::kSequence);
  options.dropout = options.attention_dropout = 0;
  options.classifier_dropout = 0.5;
  const auto model = encoder_model_of(options);
  const auto [whole, second] = step_and_its_end();
  const auto hidden = model->hidden(encoder_ids({2, 7, 3, 2, 9}), whole);
  const auto part = model->hidden(encoder_ids({2, 9}), second);
  EXPECT_TRUE(test::near(model->class_logits(hidden, whole).slice(0, 1),
                         model->class_logits(part, second)));
}

std::vector<at::Tensor> gradients_of(Model& model, const at::Tensor& logits) {
  test::clear_gradients(model);
  (logits * at::arange(1, 1 + logits.numel(), at::kFloat).view_as(logits)).sum().backward();
  std::vector<at::Tensor> gradients;
  for (const auto& parameter : model.named_parameters().values()) {
    gradients.push_back(parameter.grad().defined() ? parameter.grad().clone() : at::empty({0}));
  }
  return gradients;
}

/// Values, and the gradients of all parameters.
void expect_same(Model& model,
                 const std::function<at::Tensor()>& found,
                 const std::function<at::Tensor()>& expected) {
  const auto wanted = expected();
  const auto wanted_gradients = gradients_of(model, wanted);
  const auto values = found();
  EXPECT_TRUE(test::near(values, wanted)) << architecture_of(model.options());
  const auto gradients = gradients_of(model, values);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    EXPECT_TRUE(test::near(gradients[i], wanted_gradients[i]))
        << architecture_of(model.options()) << ", parameter " << i;
  }
}

TEST(Encoder, ClassifyingComputesWhatTheHiddenStatesGive) {
  for (const auto family :
       {family_named("bert"), family_named("roberta"), family_named("distilbert"),
        family_named("electra"), family_named("modernbert")}) {
    const auto model = encoder_model_of(test::tiny_options(family, Head::kSequence));
    const auto context = test::context_of({0, 3, 4, 6});
    const models::TextInput input = encoder_ids({2, 7, 3, 2, 9, 5});
    expect_same(
        *model, [&] { return model->classify(input, context); },
        [&] { return model->class_logits(model->hidden(input, context), context); });
  }
}

TEST(Encoder, SelectedRowsEqualTheFullHiddenStates) {
  for (const auto family :
       {family_named("bert"), family_named("roberta"), family_named("distilbert"),
        family_named("electra"), family_named("modernbert")}) {
    const auto model = encoder_model_of(test::tiny_options(family, Head::kMaskedLm));
    const auto context = test::context_of({0, 3, 4, 6});
    const models::TextInput input = encoder_ids({2, 7, 3, 2, 9, 5});
    for (const auto& rows : std::vector<std::vector<int64_t>>{{0, 2, 4}, {3}, {1, 1, 5}, {}}) {
      const auto selection = nn::RowSelection::from_rows(rows, context, 0);
      expect_same(
          *model, [&] { return model->selected_hidden_states(input, context, selection); },
          [&] { return selection.select(model->hidden(input, context)); });
    }
  }
}

TEST(Encoder, DropoutCountsTheSelectedRows) {
  auto options = test::tiny_options(family_named("bert"), Head::kMaskedLm);
  options.dropout = 0.5;
  const auto model = encoder_model_of(options);
  const auto [whole, second] = step_and_its_end();
  const auto rows = nn::RowSelection::from_rows({1, 2, 4}, whole, 0);
  const auto rest = nn::RowSelection::from_rows({1}, second, 2);
  EXPECT_TRUE(test::near(
      model->selected_hidden_states(encoder_ids({2, 7, 3, 2, 9}), whole, rows).slice(0, 2),
      model->selected_hidden_states(encoder_ids({2, 9}), second, rest)));
}

TEST(Encoder, RowsAreChosenOfTokensThatAreThere) {
  const auto context = test::context_of({0, 3, 5});
  EXPECT_THROW(nn::RowSelection::from_rows({1, 5}, context, 0), c10::Error);
  EXPECT_THROW(nn::RowSelection::from_rows({4, 1, 2}, context, 0), c10::Error);
  EXPECT_THROW(nn::RowSelection::from_rows({-1, 2}, context, 0), c10::Error);
}

TEST(Encoder, ClassifierDropoutDependsOnTheSequence) {
  auto options = test::tiny_options(family_named("bert"), Head::kSequence);
  options.dropout = 0.5;
  const auto model = encoder_model_of(options);
  const auto [whole, second] = step_and_its_end();
  EXPECT_TRUE(test::near(model->classify(encoder_ids({2, 7, 3, 2, 9}), whole).slice(0, 1),
                         model->classify(encoder_ids({2, 9}), second)));
}

TEST(Encoder, MissingHeadsAreReported) {
  const auto model = encoder_model_of(test::tiny_options());
  const auto context = test::context_of({0, 1});
  const auto hidden = model->hidden(encoder_ids({2}), context);
  EXPECT_THROW(model->pooled(hidden, context), c10::Error);
  EXPECT_THROW(model->class_logits(hidden, context), c10::Error);
  EXPECT_THROW(make_model(test::tiny_options(family_named("roberta"), Head::kPretraining), 1),
               c10::Error);
}

}  // namespace
}  // namespace weft::models
