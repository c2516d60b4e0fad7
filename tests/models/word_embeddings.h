// Models with word embeddings of their own, for the tests of model.embedding.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include "every_head.h"
#include "models/config/family.h"
#include "models/config/layer_types.h"
#include "models/directory.h"
#include "nn/embedding/token_embedding.h"
#include "support/tensors.h"

namespace weft::models::word_embeddings {

inline constexpr auto kClusterKeys = "cutoffs: [4, 9], factor: 2";

struct WordCase {
  const char* family;
  Head head;
};

inline void PrintTo(const WordCase& value, std::ostream* out) { *out << value.family; }

template <class Definition>
typename Definition::Choice choice_of(const Definition& definition, const std::string& keys) {
  auto section = config::Document::parse("{" + keys + "}", "keys").root();
  return nn::read_component(section, definition);
}

inline ModelOptions options_with_words(const WordCase& wanted,
                                       const std::string& embedding = "adaptive") {
  auto options = test::smallest_options(family_named(wanted.family), wanted.head);
  options.decoder.width = options.width;  // as T5 has it
  const bool has_clusters = nn::token_embeddings().at(embedding).has_clusters;
  options.layer_types.embedding =
      choice_of(nn::token_embeddings().at(embedding),
                has_clusters ? kClusterKeys : "filter_widths: [1], filters: [4], highways: 1");
  options.tie_word_embeddings = false;
  options.decoder.share_encoder_decoder_embeddings = options.family == family_named("t5");
  return options;
}

inline void tie(ModelOptions& options, const std::string& keys = "") {
  options.tie_word_embeddings = true;
  options.decoder.share_encoder_decoder_embeddings = true;
  options.feed_forward_lm.tie = EmbeddingTie::kAlways;
  options.layer_types.output =
      choice_of(output_types().at("adaptive"), std::string(kClusterKeys) + keys);
}

/// With counts of which no two are the same.
inline std::shared_ptr<Model> fitted(const ModelOptions& options) {
  auto model = make_model(options, 3);
  const auto visit_all = [&](const auto& visit) {
    for (int64_t token = 0; token < options.vocabulary; ++token) {
      const std::vector<int64_t> ids(static_cast<std::size_t>((token * 7) % 20), token);
      visit({.ids = ids, .targets = ids, .source = ids});
    }
  };
  model->fit({.visit = visit_all, .directory = "", .token = [](int64_t id) {
                return std::string(1, static_cast<char>('a' + id));
              }});
  test::fill_parameters(*model);
  return model;
}

inline nn::TokenStates word_states(Model& model) {
  auto result = test::states_of_two_sequences(model);
  if (head_of(model.options()).predicts_neighbours) {
    result.states = result.states.narrow(1, 0, result.states.size(1) / 2);  // of one direction
  }
  return result;
}

inline at::Tensor weighted_sum(const at::Tensor& x) {
  return (x * at::arange(x.numel(), at::kFloat).view_as(x).sin()).sum();
}

/// Where an adaptive model has the table that is this parameter of a plain model, and how its
/// parameters begin: `embeddings.word.`.
inline std::string path_of_table(std::string name, const Model& adaptive) {
  for (const std::string ending : {"", ".weight", ".words"}) {
    if (name.ends_with(ending)) {
      const auto path = name.substr(0, name.size() - ending.size()) + ".";
      if (adaptive.named_buffers().contains(path + "tokens") && path != ".") {
        return path;
      }
    }
  }
  return "";
}

struct Cluster {
  at::Tensor tokens;
  at::Tensor words;
  at::Tensor projection;
};

inline std::vector<Cluster> clusters_at(const std::string& path, const Model& model) {
  const auto parameters = model.named_parameters();
  const auto order = model.named_buffers()[path + "tokens"];
  std::vector<Cluster> result;
  int64_t first = 0;
  for (const std::string cluster : {"", "_2", "_3"}) {
    const auto words = parameters[path + "words" + cluster];
    result.push_back({order.narrow(0, first, words.size(0)), words,
                      parameters[path + "projection" + cluster + ".weight"]});
    first += words.size(0);
  }
  return result;
}

/// The path of the embeddings that the output is tied to.
inline std::string tied_path(const Model& model) {
  std::string result;
  for (const auto& parameter : model.named_parameters()) {
    const auto end = parameter.key().find(".projection.weight");
    if (end != std::string::npos) {
      result = parameter.key().substr(0, end + 1);
    }
  }
  return result;
}

}  // namespace weft::models::word_embeddings
