#include "models/inference.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "models/directory.h"
#include "nn/linear.h"
#include "support/folder.h"
#include "tiny.h"

namespace weft::models {
namespace {

std::shared_ptr<Model> inference_model_of(Family family, Head head) {
  auto options = test::tiny_options(family, head);
  options.dim = 64;
  options.width = 96;
  options.heads = 4;
  options.init_std = 0.1;
  return make_model(options, 3);
}

void visit(torch::nn::Module& part,
           const std::string& path,
           const std::function<void(const std::string&, nn::LinearImpl&)>& seen) {
  if (auto* linear = dynamic_cast<nn::LinearImpl*>(&part)) {
    seen(path, *linear);
  }
  for (const auto& item : part.named_children()) {
    visit(*item.value(), path + "/" + item.key(), seen);
  }
}

at::Tensor logits(Model& model) {
  const at::NoGradGuard no_grad;
  const auto ids = at::tensor({5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, at::kLong);
  return model.classify({.ids = ids, .types = {}}, test::context_of({0, 4, 10})).to(at::kFloat);
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).norm().item<double>() / b.norm().item<double>();
}

TEST(Inference, RefusesWeightsThatAreNotFinite) {
  const auto model = inference_model_of(test::transformers().front(), Head::kSequence);
  {
    const at::NoGradGuard no_grad;
    model->parameters().back().fill_(std::numeric_limits<float>::infinity());
  }
  EXPECT_THROW(prepare_for_inference(*model, {}), UserError);
}

void save(const std::string& directory, const Model& model) {
  save_model(directory, model, formats::DType::kF32);
}

TEST(Inference, LoadingInPartsEqualsPreparingALoadedModel) {
  for (const auto family : test::transformers()) {
    const test::Folder folder;
    const auto model = inference_model_of(family, Head::kSequence);
    save(folder.path(), *model);
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      for (const bool is_quantized : {false, true}) {
        const InferenceOptions options{.type = type, .is_quantized = is_quantized};
        const auto whole = load_model(folder.path(), model->options(), 0).model;
        prepare_for_inference(*whole, options);
        const auto parts = load_for_inference(folder.path(), model->options(), options).model;
        const auto expected = whole->named_parameters();
        for (const auto& parameter : parts->named_parameters()) {
          EXPECT_TRUE(at::equal(parameter.value(), expected[parameter.key()]))
              << word_of(family) << " " << parameter.key();
        }
        EXPECT_TRUE(at::equal(logits(*parts), logits(*whole))) << word_of(family) << type;
      }
    }
  }
}

TEST(Inference, LoadingInPartsPreparesANewHeadToo) {
  const test::Folder folder;
  const auto family = family_named("bert");
  save(folder.path(), *inference_model_of(family, Head::kMaskedLm));
  const auto wanted = inference_model_of(family, Head::kSequence)->options();
  const auto loaded = load_for_inference(folder.path(), wanted, {.type = at::kBFloat16});
  EXPECT_FALSE(loaded.missing_keys.empty());
  for (const auto& parameter : loaded.model->named_parameters()) {
    EXPECT_EQ(parameter.value().scalar_type(), at::kBFloat16) << parameter.key();
    EXPECT_TRUE(parameter.value().isfinite().all().item<bool>()) << parameter.key();
  }
}

TEST(Inference, LoadingInPartsRefusesWeightsThatAreNotFinite) {
  const test::Folder folder;
  const auto model = inference_model_of(family_named("bert"), Head::kSequence);
  {
    const at::NoGradGuard no_grad;
    model->named_parameters()["layers.1.attention.qkv.weight"][0][0] = NAN;
  }
  save(folder.path(), *model);
  try {
    load_for_inference(folder.path(), model->options(), {.is_quantized = true});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("layers.1.attention.qkv.weight"), std::string::npos)
        << error.what();
  }
}

TEST(Inference, OutputsStayCloseToFp32) {
  for (const auto family : test::transformers()) {
    const auto exact = logits(*inference_model_of(family, Head::kSequence));
    for (const auto type : {at::kFloat, at::kBFloat16}) {
      for (const bool is_quantized : {false, true}) {
        const auto model = inference_model_of(family, Head::kSequence);
        prepare_for_inference(*model, {.type = type, .is_quantized = is_quantized});
        const double error = distance(logits(*model), exact);
        const bool is_same = type == at::kFloat && !is_quantized;
        EXPECT_LT(error, is_same ? 1e-6 : 0.08) << word_of(family) << " " << type << is_quantized;
        EXPECT_EQ(error > 1e-6, !is_same) << word_of(family) << " " << type << is_quantized;
      }
    }
  }
}

TEST(Inference, EveryLinearLayerIsQuantisedButTheOutputOverTheVocabulary) {
  for (const auto family : test::transformers()) {
    for (const auto head : {Head::kSequence, Head::kMaskedLm}) {
      auto options = test::tiny_options(family, head);
      options.tie_word_embeddings = false;
      const auto model = make_model(options, 3);
      prepare_for_inference(*model, {.is_quantized = true});
      int64_t count = 0;
      visit(*model, "", [&](const std::string& path, nn::LinearImpl& linear) {
        EXPECT_EQ(linear.is_quantized(), path != "/head/decoder") << word_of(family) << path;
        EXPECT_EQ(linear.weight().numel() == 0, linear.is_quantized()) << path;
        ++count;
      });
      EXPECT_GE(count, 2 * 4);
    }
  }
}

TEST(Inference, DecodingIsInInt8IfTheLayersAre) {
  const at::NoGradGuard no_grad;
  const auto input = at::randn({3, 64});
  const auto decoded = [&](bool is_quantized) {
    const auto model = inference_model_of(family_named("gpt2"), Head::kCausalLm);
    prepare_for_inference(*model, {.is_quantized = is_quantized});
    const auto wanted = model->lm_logits(input);
    const auto output = prepare_for_decoding(*model);
    EXPECT_EQ(output.quantized.has_value(), is_quantized);
    return distance(output.logits(*model, input), wanted);
  };
  EXPECT_EQ(decoded(false), 0);
  const double error = decoded(true);
  EXPECT_GT(error, 0);
  EXPECT_LT(error, 0.02);
}

TEST(Inference, RefusesInt8WhereItCannotWork) {
  const auto model = inference_model_of(family_named("bert"), Head::kSequence);
  EXPECT_THROW(
      prepare_for_inference(*model, {.device = at::Device(at::kCUDA, 0), .is_quantized = true}),
      UserError);
  auto bag = test::tiny_options(family_named("bag_of_words"), Head::kSequence);
  const auto words = make_model(bag, 3);
  EXPECT_THROW(prepare_for_inference(*words, {.is_quantized = true}), UserError);
}

TEST(Inference, QuantizedModelDoesNotTrain) {
  const auto model = inference_model_of(family_named("bert"), Head::kSequence);
  prepare_for_inference(*model, {.is_quantized = true});
  const auto ids = at::tensor({5, 6, 7}, at::kLong);
  EXPECT_THROW(model->classify({.ids = ids, .types = {}}, test::context_of({0, 3})), c10::Error);
}

}  // namespace
}  // namespace weft::models
