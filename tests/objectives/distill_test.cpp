#include "objectives/distill.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "batches.h"
#include "kernels/linear.h"
#include "support/config.h"
#include "support/folder.h"

namespace weft::objectives {
namespace {

class DistillTest : public ::testing::Test {
 protected:
  /// A teacher of two layers that is stored in a directory of its own.
  std::shared_ptr<models::Model> teacher(models::Head head) {
    auto options = test::tiny_model(head);
    options.layers = 2;
    auto made = models::make_model(options, 5);
    models::save_model(folder_.path(), *made, formats::DType::kF32);
    return made;
  }

  ObjectiveOptions options(DistilledTask task) const {
    ObjectiveOptions made;
    made.type = ObjectiveType::kDistill;
    made.distill.task = task;
    made.distill.teacher = folder_.path();
    return made;
  }

  static std::vector<at::Tensor> losses(const Objective& objective,
                                        models::Model& model,
                                        const data::Batch& batch) {
    return objective.losses(model, batch, stage(batch, at::kCPU).pass);
  }

  static at::Tensor logits(models::Model& model, const data::Batch& batch) {
    const auto staged = stage(batch, at::kCPU);
    const auto rows = model.hidden(staged.input, staged.pass)
                          .index_select(0, at::tensor(batch.target_rows, at::kLong));
    return kernels::linear(model.token_features(rows), model.output_weight(), model.output_bias());
  }

  test::Folder folder_;
};

TEST_F(DistillTest, TermsAreThoseOfDistilBert) {
  const auto teaching = teacher(models::Head::kMaskedLm);
  const auto objective = make_objective(options(DistilledTask::kMlm));
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
  const auto staged = stage(batch, at::kCPU);
  const auto a = student->hidden(staged.input, staged.pass);
  const auto b = teaching->hidden(staged.input, staged.pass);
  const auto hidden = at::cosine_embedding_loss(a, b, at::ones({a.size(0)}), 0, at::Reduction::Sum);
  EXPECT_NEAR(found[2].item<double>(), hidden.item<double>(), 1e-3);
}

TEST_F(DistillTest, ATeacherThatIsTheStudentAgreesWithItself) {
  const auto teaching = teacher(models::Head::kMaskedLm);
  const auto objective = make_objective(options(DistilledTask::kMlm));
  const auto found = losses(*objective, *teaching, test::batch_of({1, 2}));
  EXPECT_NEAR(found[0].item<double>(), 0, 1e-4);
  EXPECT_NEAR(found[2].item<double>(), 0, 1e-4);
}

TEST_F(DistillTest, OnlyTheStudentHasGradients) {
  teacher(models::Head::kMaskedLm);
  const auto objective = make_objective(options(DistilledTask::kMlm));
  const auto student = models::make_model(test::tiny_model(models::Head::kMaskedLm), 3);
  const auto found = losses(*objective, *student, test::batch_of({1, 2}));
  (found[0] + found[1] + found[2]).backward();
  for (const auto& parameter : student->named_parameters()) {
    EXPECT_TRUE(parameter.value().grad().defined()) << parameter.key();
  }
}

TEST_F(DistillTest, ClassesAreTaughtToo) {
  teacher(models::Head::kSequence);
  const auto objective = make_objective(options(DistilledTask::kClassify));
  EXPECT_EQ(objective->terms(), (std::vector<std::string>{"soft", "hard"}));
  const auto student = models::make_model(test::tiny_model(models::Head::kSequence), 3);
  const auto batch = test::batch_of({1, 2, 3});
  const auto whole = losses(*objective, *student, batch);
  EXPECT_GT(whole[0].item<double>(), 0);
  EXPECT_NEAR(whole[0].item<double>(),
              losses(*objective, *student, test::batch_of({1}))[0].item<double>() +
                  losses(*objective, *student, test::batch_of({2, 3}))[0].item<double>(),
              1e-4);
  EXPECT_TRUE(test::evaluated(*objective, *student, {batch}).contains("eval_accuracy"));
}

TEST_F(DistillTest, ATeacherOfAnotherKindIsRefused) {
  teacher(models::Head::kMaskedLm);
  auto other = test::tiny_model(models::Head::kMaskedLm);
  other.vocabulary = 31;
  const auto objective = make_objective(options(DistilledTask::kMlm));
  const auto student = models::make_model(other, 3);
  EXPECT_NE(test::message_of<UserError>([&] {
              losses(*objective, *student, test::batch_of({1}));
            }).find("they must have the same tokenizer"),
            std::string::npos);
}

TEST_F(DistillTest, KeysAreChecked) {
  const auto message = [](const std::vector<std::pair<std::string, std::string>>& keys) {
    auto section = test::section("objective", keys);
    return test::message_of<config::Error>([&] { read_objective_options(section); });
  };
  EXPECT_NE(
      message({{"type", "distill"}}).find("objective.teacher: missing, must be a model directory"),
      std::string::npos);
  EXPECT_NE(
      message({{"type", "mlm"}, {"teacher", "x"}}).find("belongs to objectives of type distill"),
      std::string::npos);
}

}  // namespace
}  // namespace weft::objectives
