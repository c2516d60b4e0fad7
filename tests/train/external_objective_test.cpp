// An objective of a program that links Weft: registered, configured, trained and evaluated like
// those of Weft.
#include <stdexcept>

#include <gtest/gtest.h>

#include "base/log.h"
#include "objectives/masked_lm.h"
#include "objectives/objective_registry.h"
#include "support/config.h"
#include "train/small_run.h"
#include "train/step/evaluate_directory.h"

namespace weft::train {
namespace {

/// Masked language modelling whose loss is multiplied by a number.
class ScaledMaskedLm : public objectives::MaskedLmObjective {
 public:
  explicit ScaledMaskedLm(double scale) : MaskedLmObjective({}), scale_(scale) {}

  std::string_view name() const override { return "scaled_mlm"; }
  std::vector<std::string> terms() const override { return {"scaled"}; }
  std::vector<at::Tensor> losses(models::Model& model,
                                 const data::Batch& batch,
                                 const nn::ForwardContext& context) const override {
    return {MaskedLmObjective::losses(model, batch, context)[0] * scale_};
  }

 private:
  double scale_;
};

std::unique_ptr<objectives::Objective> read_scaled_mlm(config::Section& section) {
  double scale = 1;
  section.read("scale", scale, {.help = "Factor of the loss.", .range = config::above(0)});
  return std::make_unique<ScaledMaskedLm>(scale);
}

class ExternalObjective : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    log::set_level(log::Level::kError);
    objectives::register_objective({"scaled_mlm", "a scaled loss", read_scaled_mlm});
  }

  RunConfig config(const std::string& directory, const std::string& objective) const {
    return small_.config(
        "mlm", directory,
        {"objective=" + objective, "train.log_every=1 steps", "train.save_every=8 steps"});
  }

  test::SmallRun small_;
};

TEST_F(ExternalObjective, TrainsAndEvaluatesLikeOneOfWeft) {
  run_training(config("plain", "{type: mlm}"), {});
  run_training(config("scaled", "{type: scaled_mlm, scale: 3}"), {});
  const auto plain = small_.values("plain", "train/loss");
  const auto scaled = small_.values("scaled", "train/loss");
  ASSERT_EQ(scaled.size(), 8U);
  EXPECT_NEAR(scaled.at(1), 3 * plain.at(1), 1e-4);
  const auto metrics = evaluate_directory(small_.path("scaled"), {small_.path("held_out.txt")}, {});
  EXPECT_GT(metrics.at("eval_loss"), 0);
}

TEST_F(ExternalObjective, ItsKeysAreItsOwn) {
  EXPECT_NE(test::message_of<config::Error>([&] {
              config("run", "{type: mlm, scale: 3}");
            }).find("objective.scale: belongs to objectives of type scaled_mlm, this one is mlm"),
            std::string::npos);
  EXPECT_NE(test::message_of<config::Error>([&] {
              config("run", "{type: scaled_mlm, scale: 0}");
            }).find("objective.scale"),
            std::string::npos);
  EXPECT_THROW(objectives::register_objective({"scaled_mlm", "again", read_scaled_mlm}),
               std::invalid_argument);
}

}  // namespace
}  // namespace weft::train
