#include "objectives/replaced_token_options.h"

#include <algorithm>
#include <cmath>

#include "base/string_util.h"
#include "models/config/family.h"
#include "models/directory.h"
#include "models/generator.h"
#include "objectives/masked_lm.h"

namespace weft::objectives {

namespace {

/// Whether the generator may be narrower than the embeddings that it shares.
bool shrinks(const models::ModelOptions& discriminator) {
  return models::capabilities_of(discriminator.family).has_embedding_projection;
}

/// Sizes of the generators (arXiv:2003.10555, table 6): a third for ELECTRA-Base, a quarter for
/// Small and Large. DeBERTa's are as wide as the discriminator and half as deep (arXiv:2111.09543,
/// section 3.1).
double published_generator_size(const models::ModelOptions& discriminator) {
  constexpr int64_t kBase = 768;
  if (!shrinks(discriminator)) {
    return 1;
  }
  return discriminator.dim == kBase ? 1.0 / 3 : 0.25;
}

void read_size(config::Section& section,
               std::string_view key,
               std::optional<int64_t>& value,
               std::string_view help) {
  section.read(key, value, {.help = help, .range = config::between(1, int64_t{1} << 20U)});
}

GeneratorOptions read_generator(config::Section section) {
  GeneratorOptions options;
  section.read(
      "size_ratio", options.size_ratio,
      {.help = "Generator width, heads and feed-forward width as a fraction of the "
               "discriminator's. null: 1/3 at a width of 768, else 1/4, as published; 1 where "
               "embeddings cannot be wider than the model.",
       .range = {.min = 0, .max = 1, .is_min_exclusive = true}});
  read_size(section, "dim", options.dim,
            "Hidden size of the generator; a multiple of its heads. null: from size_ratio.");
  read_size(section, "heads", options.heads,
            "Number of attention heads of the generator. null: from size_ratio.");
  read_size(section, "width", options.width,
            "Intermediate size of the generator's feed-forward layer. null: from size_ratio.");
  read_size(section, "layers", options.layers,
            "Number of generator layers. null: same as the discriminator; half of it where "
            "the generator cannot be narrower.");
  using models::EmbeddingSharing;
  auto sharing = EmbeddingSharing::kShared;
  section.read_choice("embedding_sharing", sharing,
                      {{"shared", EmbeddingSharing::kShared},
                       {"gradient_disentangled", EmbeddingSharing::kGradientDisentangled}},
                      {.help = "shared: generator and discriminator have the same embeddings. "
                               "gradient_disentangled: the discriminator adds a table of its own "
                               "to the generator's word embeddings, which it does not train "
                               "(DeBERTa-v3, arXiv:2111.09543)."});
  if (section.has("embedding_sharing")) {
    options.sharing = sharing;
  }
  section.reject_unread();
  return options;
}

}  // namespace

ReplacedTokenOptions read_replaced_token_options(config::Section& section) {
  ReplacedTokenOptions options;
  read_mask_options(section, options.mask);
  section.read("discriminator_weight", options.weight,
               {.help = "Weight of the discriminator loss relative to the generator loss.",
                .range = {.min = 0, .max = 1e6, .is_min_exclusive = true}});
  options.generator = read_generator(section.section(
      "generator",
      {.help =
           "ELECTRA generator that proposes replacement tokens; it shares the discriminator's "
           "embeddings. With init_from, the directory `generator` in it is used if it exists."}));
  return options;
}

models::ModelOptions generator_options(const GeneratorOptions& wanted,
                                       const models::ModelOptions& discriminator) {
  const double size_ratio = wanted.size_ratio.value_or(published_generator_size(discriminator));
  const auto scaled = [&](int64_t size) {
    return std::max<int64_t>(1, std::llround(size_ratio * static_cast<double>(size)));
  };
  auto options = discriminator;
  options.head = models::Head::kMaskedLm;
  options.labels.clear();
  options.embedding_size = models::embedding_width(discriminator);
  options.heads = wanted.heads.value_or(scaled(discriminator.heads));
  const double head_dim =
      size_ratio * static_cast<double>(discriminator.dim) / static_cast<double>(options.heads);
  options.dim = wanted.dim.value_or(options.heads * std::max<int64_t>(1, std::llround(head_dim)));
  options.width = wanted.width.value_or(scaled(discriminator.width));
  const bool has_blocks = models::capabilities_of(discriminator.family).has_layer_blocks;
  options.layers = wanted.layers.value_or(shrinks(discriminator) || has_blocks
                                              ? discriminator.layers
                                              : std::max<int64_t>(1, discriminator.layers / 2));
  return options;
}

std::optional<Incompatibility> generator_incompatibility(const GeneratorOptions& wanted,
                                                         const models::ModelOptions& model) {
  if (const auto& embedding = model.layer_types.embedding) {
    return Incompatibility{
        "type",
        str_cat("replaced_token is not possible with model.embedding.type: ", embedding->type,
                ": generator and discriminator share a "
                "table of words")};
  }
  const auto generator = generator_options(wanted, model);
  if (generator.dim % generator.heads != 0) {
    return Incompatibility{"generator", str_cat("dim ", generator.dim, " with ", generator.heads,
                                                " heads, must be a multiple of them")};
  }
  if (models::capabilities_of(model.family).has_layer_blocks && generator.layers != model.layers) {
    return Incompatibility{"generator",
                           str_cat("layers ", generator.layers, ", must be ", model.layers,
                                   ": it has the blocks of the discriminator")};
  }
  if (!shrinks(model) && generator.dim != model.dim) {
    return Incompatibility{
        "generator", str_cat("dim ", generator.dim, ", must be ", model.dim, ", the width of ",
                             models::word_of(model.family), "'s embeddings")};
  }
  return std::nullopt;
}

void match_stored_generator(const config::Section& section,
                            const std::string& directory,
                            GeneratorOptions& generator) {
  if (!models::has_generator(directory)) {
    return;
  }
  const auto stored = models::read_model_config(models::generator_directory(directory));
  const auto match = [&](const char* key, std::optional<int64_t>& wanted, int64_t found) {
    if (wanted.value_or(found) != found) {
      section.report("generator", str_cat(key, " ", *wanted, ", but that of init_from has ", found,
                                          ": omit it"));
    }
    wanted = found;
  };
  if (generator.size_ratio) {
    section.report("generator", "size_ratio: init_from brings its own generator: omit it");
  }
  if (models::has_embedding_delta(directory)) {
    constexpr auto kFound = models::EmbeddingSharing::kGradientDisentangled;
    if (generator.sharing.value_or(kFound) != kFound) {
      section.report("generator",
                     "embedding_sharing: shared, but that of init_from has "
                     "gradient_disentangled: omit it");
    }
    generator.sharing = kFound;
  }
  match("dim", generator.dim, stored.dim);
  match("heads", generator.heads, stored.heads);
  match("width", generator.width, stored.width);
  match("layers", generator.layers, stored.layers);
}

}  // namespace weft::objectives
