#include "models/generator.h"

#include <filesystem>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "base/file.h"
#include "base/random.h"
#include "base/string_util.h"
#include "formats/safetensors.h"
#include "models/config/family.h"
#include "models/config/heads.h"
#include "models/encoder.h"
#include "models/weights/tensors.h"

namespace weft::models {

namespace {

/// Random stream of the generator, separate from the discriminator's.
constexpr uint64_t kGeneratorStream = 2;

Encoder& encoder_of(Model& discriminator) {
  auto* encoder = dynamic_cast<Encoder*>(&discriminator);
  TORCH_CHECK(encoder != nullptr && head_of(discriminator.options()).detects_replaced_tokens,
              architecture_of(discriminator.options()), " is not a discriminator");
  return *encoder;
}

constexpr auto kDeltaFile = "/embedding_delta.safetensors";
constexpr auto kDeltaTensor = "word";

/// Adds a generator to the discriminator, with another's weights except for the embeddings, which
/// are the discriminator's.
void attach_generator(Model& discriminator, const Model& generator, EmbeddingSharing sharing) {
  const at::NoGradGuard guard;
  const auto from = generator.named_parameters();
  const auto ours = discriminator.named_parameters();
  auto to =
      encoder_of(discriminator).add_generator(generator.options(), sharing).named_parameters();
  for (auto& parameter : to) {
    if (!is_shared_embedding(parameter.key())) {
      parameter.value().copy_(from[parameter.key()]);
    } else if (sharing == EmbeddingSharing::kGradientDisentangled) {
      parameter.value().copy_(ours[parameter.key()]);
    }
  }
  if (sharing == EmbeddingSharing::kGradientDisentangled) {
    auto delta = ours[kWordEmbeddings];
    delta.zero_();
  }
}

/// The same with all of the other's weights, and the difference of the word embeddings in `path`.
void attach_disentangled(Model& discriminator, const Model& generator, const std::string& path) {
  const at::NoGradGuard guard;
  attach_generator(discriminator, generator, EmbeddingSharing::kGradientDisentangled);
  auto to = generator_of(discriminator)->named_parameters();
  for (const auto& parameter : generator.named_parameters()) {
    to[parameter.key()].copy_(parameter.value());
  }
  auto delta = discriminator.named_parameters()[kWordEmbeddings];
  const formats::SafetensorsFile file(path);
  const auto& stored = file.at(kDeltaTensor);
  if (stored.shape != delta.sizes().vec()) {
    throw UserError(str_cat(path, ": ", kDeltaTensor, ": found ", shape_text(stored.shape),
                            ", must be ", shape_text(delta.sizes().vec())));
  }
  delta.copy_(tensor_of(stored));
}

/// Throws UserError where a size that both must share differs.
void expect_equal(const std::string& directory,
                  const char* what,
                  int64_t generator,
                  int64_t discriminator) {
  if (generator != discriminator) {
    throw UserError(str_cat(directory, ": ", what, " ", generator, ", but its discriminator has ",
                            discriminator, ": they share their embeddings"));
  }
}

ModelOptions options_in(const std::string& directory, const ModelOptions& discriminator) {
  auto options = read_model_config(directory);
  if (options.family != discriminator.family || !head_of(options).predicts_tokens) {
    auto wanted = discriminator;
    wanted.head = Head::kMaskedLm;
    throw UserError(str_cat(directory, ": ", architecture_of(options), ", the generator must be ",
                            architecture_of(wanted)));
  }
  expect_equal(directory, "vocabulary", options.vocabulary, discriminator.vocabulary);
  expect_equal(directory, "positions", options.length, discriminator.length);
  expect_equal(directory, "type_vocab_size", options.type_vocab_size,
               discriminator.type_vocab_size);
  expect_equal(directory, "embedding_size", embedding_width(options),
               embedding_width(discriminator));
  options.dropout = discriminator.dropout;
  options.attention_dropout = discriminator.attention_dropout;
  return options;
}

}  // namespace

bool is_shared_embedding(const std::string& parameter) {
  return parameter.starts_with("embeddings.");
}

int64_t count_unshared_parameters(const ModelOptions& generator, EmbeddingSharing sharing) {
  int64_t own = 0;
  for (const auto& tensor : weight_map(generator)) {
    if (sharing != EmbeddingSharing::kShared || !is_shared_embedding(tensor.parameter)) {
      own += tensor.elements();
    }
  }
  return own;
}

Model* generator_of(const Model& model) {
  return dynamic_cast<Model*>(find_module(model, kGenerator));
}

void make_generator(Model& discriminator,
                    const ModelOptions& options,
                    uint64_t seed,
                    EmbeddingSharing sharing) {
  attach_generator(discriminator, *make_model(options, hash_combine(seed, kGeneratorStream)),
                   sharing);
}

std::string generator_directory(const std::string& directory) {
  return str_cat(directory, "/", kGenerator);
}

bool has_generator(const std::string& directory) {
  std::error_code ignored;
  return std::filesystem::exists(generator_directory(directory) + "/config.json", ignored);
}

bool has_embedding_delta(const std::string& directory) {
  std::error_code ignored;
  return std::filesystem::exists(generator_directory(directory) + kDeltaFile, ignored);
}

void load_generator(Model& discriminator, const std::string& directory, EmbeddingSharing sharing) {
  const auto below = generator_directory(directory);
  if (!has_generator(directory)) {
    throw UserError(
        str_cat(below, ": model directory not found, must be the discriminator's generator"));
  }
  const auto loaded = load_model(below, options_in(below, discriminator.options()), 0);
  if (!loaded.missing_keys.empty()) {
    throw UserError(str_cat(below, ": missing keys: ", join(loaded.missing_keys)));
  }
  if (has_embedding_delta(directory)) {
    attach_disentangled(discriminator, *loaded.model, below + kDeltaFile);
    return;
  }
  const auto ours = discriminator.named_parameters();
  for (const auto& parameter : loaded.model->named_parameters()) {
    if (is_shared_embedding(parameter.key()) && !parameter.value().equal(ours[parameter.key()])) {
      throw UserError(str_cat(below, ": ", parameter.key(), " differs from that of ", directory,
                              ": both must have the same tokenizer"));
    }
  }
  attach_generator(discriminator, *loaded.model, sharing);
}

void save_generator(const std::string& directory,
                    const Model& discriminator,
                    formats::DType dtype,
                    const ParameterSource& parameter) {
  const auto* generator = generator_of(discriminator);
  if (generator == nullptr) {
    return;
  }
  const auto below = generator_directory(directory);
  make_directories(below);
  const ParameterSource ours = [&](const std::string& name) {
    return parameter(str_cat(kGeneratorPrefix, name));
  };
  save_model(below, *generator, dtype, parameter ? ours : ParameterSource());
  if (!discriminator.base_of(kWordEmbeddings).empty()) {
    const auto delta = to_dtype(
        parameter ? parameter(kWordEmbeddings) : discriminator.named_parameters()[kWordEmbeddings],
        dtype);
    formats::write_safetensors(below + kDeltaFile, {{kDeltaTensor, view_of(delta)}},
                               {{"format", "pt"}}, FileWriter::Mode::kPlain);
  }
}

}  // namespace weft::models
