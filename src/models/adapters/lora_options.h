#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/section.h"
#include "models/config/options.h"

namespace weft::models {

/// `train.lora:` low-rank adapters of frozen matrices (arXiv:2106.09685).
struct LoraOptions {
  int64_t rank = 0;
  double alpha = 16;                      // the product is scaled by alpha / rank
  double dropout = 0;                     // on the input of the adapters
  std::vector<std::string> targets = {};  // names of linear layers; empty: query and value
  std::vector<std::string> modules_to_save = {"head"};  // trained in full with the adapters

  double scale() const { return alpha / static_cast<double>(rank); }
};

/// A linear layer that gets an adapter, under its name in transformers.
struct LoraLayer {
  std::string module;     // `bert.encoder.layer.0.attention.self.query`
  std::string name;       // its last word, `query`
  std::string linear;     // our layer that contains its rows, `layers.0.attention.qkv`
  int64_t first_row = 0;  // of that layer
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t interleaved_heads = 0;  // see StoredTensor; for the saved rows of B

  std::string a() const { return linear + ".lora_a_" + name; }
  std::string b() const { return linear + ".lora_b_" + name; }
  std::string weight() const { return linear + ".weight"; }
};

/// Layers of a model that the options select, in order of computation. A target is a suffix of a
/// layer's name in whole words: `query`, `attention.output.dense`; `all-linear` is every linear
/// layer of the stack. Throws std::invalid_argument naming the available targets.
std::vector<LoraLayer> lora_layers(const ModelOptions& model, const LoraOptions& options);

/// Reads `train.lora`; nullopt where its rank is null. Throws config::Error.
std::optional<LoraOptions> read_lora_options(config::Section section);

}  // namespace weft::models
