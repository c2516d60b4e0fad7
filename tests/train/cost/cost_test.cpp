#include "train/cost/cost.h"

#include <gtest/gtest.h>

#include "models/config/modernbert.h"
#include "objectives/classify.h"

namespace weft::train {
namespace {

models::ModelOptions small(models::ModelOptions options) {
  options.head = models::Head::kSequence;
  options.labels = {"no", "yes"};
  options.vocabulary = 20;
  options.dim = 8;
  options.heads = 2;
  options.layers = 4;
  options.width = 12;
  options.length = 200;
  return options;
}

Cost cost(const models::ModelOptions& model, int64_t length) {
  TrainOptions train;
  train.batch_tokens = 1000;
  return cost_of(model, *objectives::make_classify(), train, length, false);
}

TEST(Cost, CountsTheProductsOfAToken) {
  // A layer: 2 (4 D^2 + 2 D F) + 4 L D = 2 (256 + 192) + 3200; the pooler once in 100 tokens. The
  // last layer has keys and values of all tokens, 2 x 2 D^2, and all the rest of the first.
  EXPECT_NEAR(cost(small({}), 100).forward_flops,
              4 * (896 + 3200) + 1.28 - 0.99 * (896 - 256 + 3200), 1e-6);
}

TEST(Cost, KnowsGatesAndWindows) {
  auto model = small(models::modernbert_defaults());
  model.modern.window = 4;
  model.modern.global_attention_every = 2;
  // A layer: 2 (4 D^2 + 3 D F); two layers see 100 keys, two see 5. In the last layer the first
  // token alone goes on behind attention, to 2 (D^2 + 3 D F).
  const auto found = cost(model, 100);
  EXPECT_NEAR(found.forward_flops,
              4 * 2 * (256 + 288) + 4 * 8 * (2 * 100 + 2 * 5) + 1.28 - 0.99 * 2 * (64 + 288), 1e-6);
  // A window never reaches beyond the sequence.
  EXPECT_NEAR(cost(model, 3).forward_flops,
              4 * 2 * (256 + 288) + 4 * 8 * 12 + 128.0 / 3 - 2.0 / 3 * 2 * (64 + 288), 1e-6);
}

}  // namespace
}  // namespace weft::train
