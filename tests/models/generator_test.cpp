#include "models/generator.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/config.h"
#include "support/folder.h"
#include "support/tensors.h"
#include "tiny.h"

namespace weft::models {
namespace {

ModelOptions discriminator() {
  return test::tiny_options(family_named("electra"), Head::kReplacedToken);
}

ModelOptions generator() {
  auto options = discriminator();
  options.head = Head::kMaskedLm;
  options.embedding_size = embedding_width(discriminator());
  options.layers = 1;
  options.width = 6;
  return options;
}

/// A discriminator with a generator, both with weights that differ from any initialisation.
std::shared_ptr<Model> pair() {
  auto model = make_model(discriminator(), 3);
  make_generator(*model, generator(), 3);
  test::fill_parameters(*model);
  return model;
}

TEST(Generator, IsAPartOfItsDiscriminatorAndSharesItsEmbeddings) {
  EXPECT_EQ(generator_of(*make_model(discriminator(), 3)), nullptr);
  const auto model = pair();
  ASSERT_NE(generator_of(*model), nullptr);
  EXPECT_TRUE(generator_of(*model)->output_weight().is_same(
      model->named_parameters()["embeddings.word.weight"]));
}

TEST(Generator, UsesItsOwnRandomStream) {
  auto same = generator();
  same.layers = discriminator().layers;
  same.width = discriminator().width;
  const auto model = make_model(discriminator(), 3);
  make_generator(*model, same, 3);
  const auto parameters = model->named_parameters();
  EXPECT_FALSE(parameters["layers.0.attention.qkv.weight"].equal(
      parameters["generator.layers.0.attention.qkv.weight"]));
}

TEST(Generator, IsSavedBelowItsDiscriminatorAndComesBack) {
  const test::Folder folder;
  const auto model = pair();
  save_model(folder.path(), *model, formats::DType::kF32);
  EXPECT_FALSE(has_generator(folder.path()));
  save_generator(folder.path(), *model, formats::DType::kF32);
  ASSERT_TRUE(has_generator(folder.path()));
  const auto again = load_model(folder.path(), read_model_config(folder.path()), 1).model;
  load_generator(*again, folder.path());
  const auto found = again->named_parameters();
  for (const auto& parameter : model->named_parameters()) {
    EXPECT_TRUE(found[parameter.key()].equal(parameter.value())) << parameter.key();
  }
}

TEST(Generator, WithOtherTablesIsRefused) {
  const test::Folder folder;
  auto longer = discriminator();
  longer.length += 1;
  const auto other = make_model(longer, 3);
  auto its_own = generator();
  its_own.length = longer.length;
  make_generator(*other, its_own, 3);
  save_generator(folder.path(), *other, formats::DType::kF32);
  const auto model = make_model(discriminator(), 3);
  const auto message = test::message_of<UserError>([&] { load_generator(*model, folder.path()); });
  EXPECT_NE(message.find("positions"), std::string::npos) << message;
  EXPECT_EQ(generator_of(*model), nullptr);
  EXPECT_ANY_THROW(make_generator(*model, its_own, 3));
}

constexpr auto kDisentangled = EmbeddingSharing::kGradientDisentangled;

/// A discriminator whose word embeddings are those of its generator and a table.
std::shared_ptr<Model> disentangled_pair() {
  auto model = make_model(discriminator(), 3);
  make_generator(*model, generator(), 3, kDisentangled);
  test::fill_parameters(*model);
  return model;
}

at::Tensor discriminated(Model& model) {
  const auto context = test::context_of({0, 4, 9});
  const TextInput input{.ids = at::arange(9, at::kLong) * 5 % 19 + 1, .types = {}};
  return model.token_logits(model.hidden(input, context), context);
}

/// arXiv:2111.09543, section 3.3.
TEST(DisentangledEmbeddings, OfZeroAreThoseOfTheGenerator) {
  const auto shared = make_model(discriminator(), 3);
  make_generator(*shared, generator(), 3);
  const auto model = make_model(discriminator(), 3);
  make_generator(*model, generator(), 3, kDisentangled);
  const auto parameters = model->named_parameters();
  EXPECT_EQ(parameters[kWordEmbeddings].abs().max().item<float>(), 0);
  EXPECT_TRUE(parameters["generator.embeddings.word.weight"].equal(
      shared->named_parameters()[kWordEmbeddings]));
  EXPECT_TRUE(test::near(discriminated(*model), discriminated(*shared), 1e-6));
}

TEST(DisentangledEmbeddings, OfTheGeneratorGetNoGradientFromTheDiscriminator) {
  const auto model = disentangled_pair();
  const auto before = discriminated(*model);
  (before * at::arange(9, at::kFloat).view({9, 1}).cos()).sum().backward();
  for (const auto& parameter : model->named_parameters()) {
    const auto& gradient = parameter.value().grad();
    const bool is_moved = gradient.defined() && gradient.abs().max().item<float>() > 0;
    if (parameter.key().starts_with(kGeneratorPrefix)) {
      EXPECT_FALSE(is_moved) << parameter.key();
    } else if (parameter.key() == kWordEmbeddings) {
      EXPECT_TRUE(is_moved);
    }
  }
  const at::NoGradGuard guard;  // but it reads them
  model->named_parameters()["generator.embeddings.word.weight"].mul_(2);
  EXPECT_FALSE(test::near(discriminated(*model), before, 1e-5));
}

TEST(DisentangledEmbeddings, AreSavedAsCompleteModelsAndComeBack) {
  const test::Folder folder;
  const auto model = disentangled_pair();
  save_model(folder.path(), *model, formats::DType::kF32);
  save_generator(folder.path(), *model, formats::DType::kF32);
  ASSERT_TRUE(has_embedding_delta(folder.path()));
  const auto again = load_model(folder.path(), read_model_config(folder.path()), 1).model;
  EXPECT_TRUE(test::near(discriminated(*again), discriminated(*model), 1e-6));  // on its own
  load_generator(*again, folder.path());
  const auto found = again->named_parameters();
  for (const auto& parameter : model->named_parameters()) {
    EXPECT_TRUE(found[parameter.key()].equal(parameter.value())) << parameter.key();
  }
}

TEST(DisentangledEmbeddings, ContinueFromSharedOnes) {
  const test::Folder folder;
  const auto model = pair();
  save_model(folder.path(), *model, formats::DType::kF32);
  save_generator(folder.path(), *model, formats::DType::kF32);
  EXPECT_FALSE(has_embedding_delta(folder.path()));
  const auto again = load_model(folder.path(), read_model_config(folder.path()), 1).model;
  load_generator(*again, folder.path(), kDisentangled);
  EXPECT_FALSE(again->base_of(kWordEmbeddings).empty());
  EXPECT_TRUE(test::near(discriminated(*again), discriminated(*model), 1e-6));
}

}  // namespace
}  // namespace weft::models
