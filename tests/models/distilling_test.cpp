#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "models/directory.h"
#include "models/tiny.h"
#include "nn/pooling/sequence_pooling.h"
#include "nn/sublayer.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/tensors.h"

/// Encoders with layers that halve the lengths of texts (nn/sublayer.h).
namespace weft::models {
namespace {

ModelOptions distilling_options(Head head, const std::string& pooling = "") {
  auto options = test::tiny_options(family_named("bert"), head);
  auto& types = options.layer_types;
  options.layers = 3;
  types.block = "afd afd af";
  auto section = test::section("model.distilling");
  types.sublayers["distilling"].cycle = {nn::read_component(section, *nn::find_sublayer('d'))};
  if (!pooling.empty()) {
    types.pooling = nn::default_component(nn::sequence_poolings(), pooling);
  }
  return options;
}

std::shared_ptr<Model> distilling_model(const std::string& pooling) {
  auto model = make_model(distilling_options(Head::kSequence, pooling), 1);
  test::fill_parameters(*model);
  return model;
}

TextInput texts_of(int64_t first, int64_t count) {
  return {.ids = at::arange(first, first + count, at::kLong) * 7 % 17 + 1};
}

const std::vector<int64_t> kTexts = {0, 8, 9, 11, 14, 19};

TEST(DistillingEncoder, ClassifiesTheRemainingRows) {
  for (const auto* pooling : {"", "mean", "max", "last", "attention", "multihead_attention"}) {
    const auto model = distilling_model(pooling);
    const auto context = test::context_of(kTexts);
    const auto hidden = model->hidden(texts_of(0, 19), context);
    EXPECT_EQ(model->hidden_layout(context.layout).offsets,
              (std::vector<int64_t>{0, 2, 3, 4, 5, 7}));
    EXPECT_EQ(hidden.size(0), 7);
    const auto logits = model->classify(texts_of(0, 19), context);
    EXPECT_TRUE(test::near(logits, model->class_logits(hidden, context))) << pooling;
    for (std::size_t b = 0; b + 1 < kTexts.size(); ++b) {
      const auto length = kTexts[b + 1] - kTexts[b];
      const auto alone =
          model->classify(texts_of(kTexts[b], length), test::context_of({0, length}));
      EXPECT_TRUE(test::near(logits[static_cast<int64_t>(b)], alone[0])) << pooling << ", " << b;
    }
  }
}

TEST(DistillingEncoder, IsStoredWithItsKeys) {
  const auto model = distilling_model("");
  const test::Folder folder;
  save_model(folder.path(), *model, formats::DType::kF32);
  const auto loaded = load_model(folder.path(), read_model_config(folder.path()), 9);
  EXPECT_TRUE(loaded.missing_keys.empty() && loaded.unexpected_keys.empty());
  EXPECT_EQ(loaded.model->options().layer_types, model->options().layer_types);
  const auto context = test::context_of(kTexts);
  EXPECT_TRUE(at::equal(loaded.model->classify(texts_of(0, 19), context),
                        model->classify(texts_of(0, 19), context)));
}

TEST(DistillingEncoder, HeadsThatReadAllTokensAreRefused) {
  for (const auto head : {Head::kMaskedLm, Head::kToken, Head::kSpan, Head::kNone}) {
    EXPECT_NE(test::message_of<config::Error>([&] {
                make_model(distilling_options(head), 1);
              }).find("model.block: only classifiers of whole texts"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace weft::models
