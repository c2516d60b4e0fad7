#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "batches.h"
#include "batching/device_batch.h"
#include "formats/image.h"
#include "kernels/linear/linear.h"
#include "models/config/family_definition.h"
#include "objectives/loss/attention_distillation.h"
#include "objectives/loss/teacher.h"
#include "objectives/objective_registry.h"
#include "objectives/objectives.h"
#include "support/config.h"
#include "support/folder.h"

namespace weft::objectives {
namespace {

class DistillTest : public ::testing::Test {
 protected:
  /// A teacher with two layers, stored in its own directory.
  std::shared_ptr<models::Model> teacher(models::Head head) {
    auto options = test::tiny_model(head);
    options.layers = 2;
    auto made = models::make_model(options, 5);
    models::save_model(folder_.path(), *made, formats::DType::kF32);
    return made;
  }

  DistillOptions options(StudentObjective task) const {
    return {.student_objective = task, .teacher = folder_.path()};
  }

  static std::vector<at::Tensor> losses(const Objective& objective,
                                        models::Model& model,
                                        const data::Batch& batch) {
    return objective.losses(model, batch, batching::to_device(batch, at::kCPU).context);
  }

  static at::Tensor logits(models::Model& model, const data::Batch& batch) {
    const auto device_batch = batching::to_device(batch, at::kCPU);
    const auto rows = model.hidden(device_batch.input, device_batch.context)
                          .index_select(0, at::tensor(batch.target_rows, at::kLong));
    return kernels::linear(model.token_features(rows), model.output_weight(), model.output_bias());
  }

  test::Folder folder_;
};

TEST_F(DistillTest, LayersThatShortenOrCutTextsHaveNoAttentionToCompare) {
  auto wanted = options(StudentObjective::kClassify);
  auto model = test::tiny_model(models::Head::kSequence);
  for (const auto* block : {"afd", "amf"}) {
    model.layer_types.block = block;
    wanted.alpha_attention = 0;
    EXPECT_FALSE(make_distill(wanted)->incompatibility(model)) << block;
    wanted.alpha_attention = 1;
    const auto wrong = make_distill(wanted)->incompatibility(model);
    ASSERT_TRUE(wrong) << block;
    EXPECT_EQ(wrong->key, "alpha_attention");
  }
}

TEST_F(DistillTest, TermsAreThoseOfDistilBert) {
  const auto teaching = teacher(models::Head::kMaskedLm);
  const auto objective = make_distill(options(StudentObjective::kMlm));
  EXPECT_EQ(objective->terms(), (std::vector<std::string>{"soft", "hard", "hidden"}));
  const auto student = models::make_model(test::tiny_model(models::Head::kMaskedLm), 3);
  const auto batch = test::batch_of({1, 2, 3});
  EXPECT_EQ(objective->counts(batch), (std::vector<int64_t>{6, 6, batch.tokens()}));
  const auto found = losses(*objective, *student, batch);
  const auto said = logits(*student, batch);
  const auto wanted = logits(*teaching, batch);
  const auto soft =
      at::kl_div(at::log_softmax(said / 2, -1), at::softmax(wanted / 2, -1), at::Reduction::Sum) *
      4;
  EXPECT_NEAR(found[0].item<double>(), 5 * soft.item<double>(), 1e-3);
  const auto hard =
      at::cross_entropy_loss(said, at::tensor(batch.targets, at::kLong), {}, at::Reduction::Sum);
  EXPECT_NEAR(found[1].item<double>(), 2 * hard.item<double>(), 1e-3);
  const auto device_batch = batching::to_device(batch, at::kCPU);
  const auto a = student->hidden(device_batch.input, device_batch.context);
  const auto b = teaching->hidden(device_batch.input, device_batch.context);
  const auto hidden = at::cosine_embedding_loss(a, b, at::ones({a.size(0)}), 0, at::Reduction::Sum);
  EXPECT_NEAR(found[2].item<double>(), hidden.item<double>(), 1e-3);
}

/// Attention of one layer by torch's operations, for each sequence (H, L, L).
std::vector<at::Tensor> attention_by_hand(models::Model& model,
                                          const data::Batch& batch,
                                          int64_t layer) {
  nn::AttentionRecorder recorder({layer});
  auto device_batch = batching::to_device(batch, at::kCPU);
  device_batch.context.attention_recorder = &recorder;
  model.hidden(device_batch.input, device_batch.context);
  return recorder.layers().at(layer);
}

TEST_F(DistillTest, AttentionIsComparedAsMiniLmDoes) {
  const auto teaching = teacher(models::Head::kMaskedLm);
  auto wanted = options(StudentObjective::kMlm);
  wanted.alpha_attention = 3;
  const auto objective = make_distill(wanted);
  EXPECT_EQ(objective->terms(), (std::vector<std::string>{"soft", "hard", "hidden", "attention"}));
  const auto student = models::make_model(test::tiny_model(models::Head::kMaskedLm), 3);
  const auto batch = test::batch_of({1, 2, 3});
  EXPECT_EQ(objective->counts(batch)[3], batch.tokens());
  const auto found = losses(*objective, *student, batch)[3];
  const auto own = attention_by_hand(*student, batch, 0);
  const auto right = attention_by_hand(*teaching, batch, 1);
  at::Tensor sum = at::zeros({});
  for (std::size_t b = 0; b < own.size(); ++b) {
    sum = sum + at::kl_div(own[b].log(), right[b], at::Reduction::Sum) / 2;  // heads
  }
  EXPECT_NEAR(found.item<double>(), 3 * sum.item<double>(), 1e-4);
  EXPECT_GT(found.item<double>(), 1e-2);
  found.backward();
  const auto name = "layers.0.attention.qkv.weight";
  const auto gradient = student->named_parameters()[name].grad().clone();
  student->named_parameters()[name].mutable_grad().zero_();
  (sum * 3).backward();
  EXPECT_TRUE(at::allclose(gradient, student->named_parameters()[name].grad(), 1e-4, 1e-6));
  EXPECT_GT(gradient.abs().max().item<double>(), 1e-4);
}

TEST_F(DistillTest, UniformLayersArePairedByDepth) {
  EXPECT_EQ(layer_pairs(LayerMap::kLast, 3, 12), (LayerPairs{{2, 11}}));
  EXPECT_EQ(layer_pairs(LayerMap::kUniform, 3, 12), (LayerPairs{{0, 3}, {1, 7}, {2, 11}}));
  EXPECT_EQ(test::message_of<UserError>([] { layer_pairs(LayerMap::kUniform, 5, 12); }),
            "objective.layer_map: uniform, but the number of student layers (5) does not divide "
            "that of the teacher (12), allowed is last");
}

TEST_F(DistillTest, AttentionOfOtherHeadsIsRefused) {
  teacher(models::Head::kMaskedLm);
  auto wanted = options(StudentObjective::kMlm);
  wanted.alpha_attention = 1;
  auto narrow = test::tiny_model(models::Head::kMaskedLm);
  narrow.heads = 4;
  const auto student = models::make_model(narrow, 3);
  EXPECT_NE(test::message_of<UserError>([&] {
              losses(*make_distill(wanted), *student, test::batch_of({1}));
            }).find("the student's 4 heads and the teacher's 2 cannot be compared"),
            std::string::npos);
}

TEST_F(DistillTest, ATeacherThatIsTheStudentAgreesWithItself) {
  const auto teaching = teacher(models::Head::kMaskedLm);
  const auto objective = make_distill(options(StudentObjective::kMlm));
  const auto found = losses(*objective, *teaching, test::batch_of({1, 2}));
  EXPECT_NEAR(found[0].item<double>(), 0, 1e-4);
  EXPECT_NEAR(found[2].item<double>(), 0, 1e-4);
}

TEST_F(DistillTest, ATeacherFollowsItsStudentsNumberFormat) {
  teacher(models::Head::kMaskedLm);
  const Teacher loaded(folder_.path());
  const auto student = models::make_model(test::tiny_model(models::Head::kMaskedLm), 3);
  const auto type = [&] {
    return loaded.model_for(*student).named_parameters().values().front().scalar_type();
  };
  EXPECT_EQ(type(), at::kFloat);
  for (auto& parameter : student->named_parameters().values()) {
    parameter.set_data(parameter.detach().to(at::kBFloat16));
  }
  EXPECT_EQ(type(), at::kBFloat16);
}

TEST_F(DistillTest, OnlyTheStudentHasGradients) {
  teacher(models::Head::kMaskedLm);
  const auto objective = make_distill(options(StudentObjective::kMlm));
  const auto student = models::make_model(test::tiny_model(models::Head::kMaskedLm), 3);
  const auto found = losses(*objective, *student, test::batch_of({1, 2}));
  (found[0] + found[1] + found[2]).backward();
  for (const auto& parameter : student->named_parameters()) {
    EXPECT_TRUE(parameter.value().grad().defined()) << parameter.key();
  }
}

TEST_F(DistillTest, ClassesAreDistilledToo) {
  teacher(models::Head::kSequence);
  const auto objective = make_distill(options(StudentObjective::kClassify));
  EXPECT_EQ(objective->terms(), (std::vector<std::string>{"soft", "hard"}));
  const auto student = models::make_model(test::tiny_model(models::Head::kSequence), 3);
  const auto batch = test::batch_of({1, 2, 3});
  const auto whole = losses(*objective, *student, batch);
  EXPECT_GT(whole[0].item<double>(), 0);
  EXPECT_NEAR(whole[0].item<double>(),
              losses(*objective, *student, test::batch_of({1}))[0].item<double>() +
                  losses(*objective, *student, test::batch_of({2, 3}))[0].item<double>(),
              1e-4);
  EXPECT_TRUE(test::evaluate(*objective, *student, {batch}).contains("eval_accuracy"));
}

/// Images of 2 x 2 patches for a DeiT, which adds two tokens.
data::Batch images(const std::vector<int64_t>& labels) {
  data::Batch batch;
  at::manual_seed(7);
  for (const auto label : labels) {
    data::Example image;
    image.ids = {formats::kClassToken, formats::kDistillationToken};
    for (int64_t place = 0; place < 4; ++place) {
      image.ids.push_back(formats::patch_id(place / 2, place % 2));
    }
    const auto pixels = at::randn({4, 12});
    image.patches.assign(pixels.const_data_ptr<float>(), pixels.const_data_ptr<float>() + 48);
    image.patch_width = 12;
    image.label = label;
    batch.add(label, image);
  }
  return batch;
}

models::ModelOptions tiny_vision(models::Family family, models::Head head) {
  auto options = models::family_defaults(family);
  options.head = head;
  options.dim = 16;
  options.layers = 1;
  options.heads = 2;
  options.width = 24;
  options.vision.image_size = 4;
  options.vision.patch_size = 2;
  options.init_std = 0.4;
  options.labels = {"no", "perhaps", "yes"};
  return options;
}

TEST_F(DistillTest, ADeitsSecondClassifierLearnsFromTheTeacher) {
  const auto teaching =
      models::make_model(tiny_vision(models::family_named("vit"), models::Head::kImage), 5);
  models::save_model(folder_.path(), *teaching, formats::DType::kF32);
  auto wanted = options(StudentObjective::kClassify);
  const auto batch = images({2, 0, 1});
  auto bare = tiny_vision(models::family_named("deit"), models::Head::kNone);
  EXPECT_FALSE(make_distill(wanted)->incompatibility(bare));
  bare.head = make_distill(wanted)->head(bare);
  ASSERT_EQ(bare.head, models::Head::kDistilledImage);
  const auto student = models::make_model(bare, 3);
  const auto device_batch = batching::to_device(batch, at::kCPU);
  const auto both = student->classifier_logits(device_batch.input, device_batch.context);
  ASSERT_EQ(both.size(), 2U);
  EXPECT_TRUE(at::allclose((both[0] + both[1]) / 2,
                           student->classify(device_batch.input, device_batch.context)));
  const auto plain =
      batching::to_device(with_special_tokens(batch, teaching->options().vision), at::kCPU);
  const auto said = teaching->classify(plain.input, plain.context);  // (B, C), by one token less
  const auto labels = at::tensor(batch.labels, at::kLong);
  const auto entropy = [](const at::Tensor& logits, const at::Tensor& right) {
    return at::cross_entropy_loss(logits, right, {}, at::Reduction::Sum).item<double>();
  };
  const auto soft = losses(*make_distill(wanted), *student, batch);
  const auto divergence =
      at::kl_div(at::log_softmax(both[1] / 2, -1), at::softmax(said / 2, -1), at::Reduction::Sum) *
      4;
  EXPECT_NEAR(soft[0].item<double>(), 5 * divergence.item<double>(), 1e-3);
  EXPECT_NEAR(soft[1].item<double>(), 2 * entropy(both[0], labels), 1e-3);
  wanted.distillation_type = DistillationType::kHard;
  const auto hard = losses(*make_distill(wanted), *student, batch);
  EXPECT_NEAR(hard[0].item<double>(), 5 * entropy(both[1], said.argmax(-1)), 1e-3);
  EXPECT_NEAR(hard[1].item<double>(), 2 * entropy(both[0], labels), 1e-3);
  wanted.label_smoothing = 0.1;
  const auto smooth = losses(*make_distill(wanted), *student, batch);
  EXPECT_NEAR(smooth[0].item<double>(), hard[0].item<double>(), 1e-4);
  EXPECT_NEAR(
      smooth[1].item<double>(),
      2 * at::cross_entropy_loss(both[0], labels, {}, at::Reduction::Sum, -100, 0.1).item<double>(),
      1e-3);
}

TEST_F(DistillTest, MixedImagesHaveSharesOfTheRightClasses) {
  const auto vision = tiny_vision(models::family_named("vit"), models::Head::kImage);
  models::save_model(folder_.path(), *models::make_model(vision, 5), formats::DType::kF32);
  const auto student = models::make_model(vision, 3);  // one classifier for both
  auto batch = images({2, 0});
  batch = with_special_tokens(batch, vision.vision);
  batch.values = {0.25, 0, 0.75, 1, 0, 0};
  const auto device_batch = batching::to_device(batch, at::kCPU);
  const auto logits = student->classify(device_batch.input, device_batch.context);
  const auto shares = at::tensor(batch.values).view({2, 3}).to(at::kFloat);
  const auto wanted = -(shares * at::log_softmax(logits, -1)).sum();
  const auto found = losses(*make_distill(options(StudentObjective::kClassify)), *student, batch);
  EXPECT_NEAR(found[1].item<double>(), 2 * wanted.item<double>(), 1e-4);
}

TEST_F(DistillTest, ATeacherOfOtherImagesIsRefused) {
  auto other = tiny_vision(models::family_named("vit"), models::Head::kImage);
  other.vision.image_size = 8;
  models::save_model(folder_.path(), *models::make_model(other, 5), formats::DType::kF32);
  const auto student = models::make_model(
      tiny_vision(models::family_named("deit"), models::Head::kDistilledImage), 3);
  EXPECT_NE(test::message_of<UserError>([&] {
              losses(*make_distill(options(StudentObjective::kClassify)), *student, images({0}));
            })
                .find("reads 3 x 8 x 8 pixels in patches of 2, but the student reads 3 x 4 x 4 "
                      "pixels in patches of 2: both must read the same images"),
            std::string::npos);
}

TEST_F(DistillTest, ATeacherOfAnotherKindIsRefused) {
  teacher(models::Head::kMaskedLm);
  auto other = test::tiny_model(models::Head::kMaskedLm);
  other.vocabulary = 31;
  const auto objective = make_distill(options(StudentObjective::kMlm));
  const auto student = models::make_model(other, 3);
  EXPECT_NE(test::message_of<UserError>([&] {
              losses(*objective, *student, test::batch_of({1}));
            }).find("both must have the same tokenizer"),
            std::string::npos);
}

TEST_F(DistillTest, ATeacherOfOtherLanguagesIsRefused) {
  teacher(models::Head::kMaskedLm);
  auto xlm = test::tiny_model(models::Head::kMaskedLm);
  xlm.family = models::family_named("xlm");
  xlm.xlm.languages = {"de", "en"};
  const auto objective = make_distill(options(StudentObjective::kMlm));
  const auto student = models::make_model(xlm, 3);
  EXPECT_NE(test::message_of<UserError>([&] {
              losses(*objective, *student, test::batch_of({1}));
            }).find("has the languages none; the student has de, en; both must have the same"),
            std::string::npos);
}

TEST_F(DistillTest, KeysAreChecked) {
  const auto message = [](const std::vector<std::pair<std::string, std::string>>& keys) {
    auto section = test::section("objective", keys);
    return test::message_of<config::Error>([&] { read_objective(section); });
  };
  EXPECT_NE(
      message({{"type", "distill"}}).find("objective.teacher: missing, must be a model directory"),
      std::string::npos);
  EXPECT_NE(
      message({{"type", "mlm"}, {"teacher", "x"}}).find("belongs to objectives of type distill"),
      std::string::npos);
  const std::vector<std::pair<std::string, std::string>> classes{
      {"type", "distill"}, {"teacher", "x"}, {"student_objective", "classify"}};
  const auto with = [&](const std::string& key, const std::string& value, bool classifies) {
    auto keys = classes;
    keys.resize(classifies ? 3 : 2);
    keys.emplace_back(key, value);
    return message(keys);
  };
  EXPECT_NE(with("alpha_attention", "1", true).find("only with a token-level student_objective"),
            std::string::npos);
  EXPECT_NE(with("layer_map", "uniform", false).find("only with alpha_attention above 0"),
            std::string::npos);
  for (const auto* const key : {"distillation_type", "label_smoothing"}) {
    EXPECT_NE(with(key, key[0] == 'd' ? "hard" : "0.1", false)
                  .find("only with student_objective: classify"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace weft::objectives
