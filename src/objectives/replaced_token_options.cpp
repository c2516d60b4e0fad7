#include <algorithm>
#include <cmath>

#include "objectives/replaced_token.h"

namespace weft::objectives {

namespace {

constexpr std::string_view kReplacedTokenOnly = "type: replaced_token";

/// Sizes of the generators (arXiv:2003.10555, table 6): a third for ELECTRA-Base, a quarter for
/// Small and Large.
double published_generator_size(const models::ModelOptions& discriminator) {
  constexpr int64_t kBase = 768;
  return discriminator.dim == kBase ? 1.0 / 3 : 0.25;
}

void read_size(config::Section& section,
               std::string_view key,
               std::optional<int64_t>& value,
               std::string_view help) {
  section.read(key, value,
               {.help = help,
                .range = config::between(1, int64_t{1} << 20U),
                .only_if = kReplacedTokenOnly});
}

GeneratorOptions read_generator(config::Section section) {
  GeneratorOptions options;
  section.read("size_ratio", options.size_ratio,
               {.help = "Generator width, heads and feed-forward width as a fraction of the "
                        "discriminator's. null: 1/3 at a width of 768, else 1/4, as published.",
                .range = {.min = 0, .max = 1, .is_min_exclusive = true},
                .only_if = kReplacedTokenOnly});
  read_size(section, "dim", options.dim,
            "Hidden size of the generator; a multiple of its heads. null: from size_ratio.");
  read_size(section, "heads", options.heads,
            "Number of attention heads of the generator. null: from size_ratio.");
  read_size(section, "width", options.width,
            "Intermediate size of the generator's feed-forward layer. null: from size_ratio.");
  read_size(section, "layers", options.layers,
            "Number of generator layers. null: same as the discriminator.");
  section.reject_unread();
  return options;
}

}  // namespace

void read_replaced_token(config::Section& section, ReplacedTokenOptions& options) {
  section.read("discriminator_weight", options.weight,
               {.help = "Weight of the discriminator loss relative to the generator loss.",
                .range = {.min = 0, .max = 1e6, .is_min_exclusive = true},
                .only_if = kReplacedTokenOnly});
  options.generator = read_generator(section.section(
      "generator",
      {.help = "ELECTRA generator that proposes replacement tokens; it shares the discriminator's "
               "embeddings. With init_from, the directory `generator` in it is used if it exists.",
       .only_if = kReplacedTokenOnly}));
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
  options.layers = wanted.layers.value_or(discriminator.layers);
  return options;
}

std::optional<models::ModelOptions> generator_model_options(const models::ModelOptions& model,
                                                            const ObjectiveOptions& objective) {
  return objective.type == ObjectiveType::kReplacedToken
             ? std::optional(generator_options(objective.replaced_token.generator, model))
             : std::nullopt;
}

}  // namespace weft::objectives
