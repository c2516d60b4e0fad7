#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/section.h"
#include "kernels/activation.h"
#include "nn/pooling/pooling.h"

namespace weft::models {

/// A linear layer after the pooling, stored in its own directory.
struct SentenceProjection {
  at::Tensor weight;  // (E', E)
  at::Tensor bias;    // (E'), or undefined
  std::optional<kernels::Activation> activation;
};

/// How a sentence is embedded.
struct SentenceOptions {
  std::optional<int64_t>
      length;               // maximum tokens including special ones; nullopt: the model's maximum
  bool lowercases = false;  // the text, before tokenization
  std::string prompt;       // prepended to every text
  std::vector<nn::SentencePooling> poolings = {
      nn::SentencePooling::kMean};  // concatenated in this order
  std::vector<SentenceProjection> projections;
  bool normalizes = false;  // to length 1
};

/// A sentence embedding model.
struct SentenceModel {
  std::string directory;     // with config.json, weights and tokenizer
  bool is_declared = false;  // a sentence-transformers directory; else a plain model with defaults
  SentenceOptions options;
};

/// Whether the directory was written by sentence-transformers: it has a modules.json.
bool is_sentence_directory(const std::string& path);

/// Reads a sentence-transformers directory (modules.json with Transformer, Pooling, Dense,
/// Normalize) or any model directory. Throws formats::Error naming file, key and what is allowed.
SentenceModel read_sentence_model(const std::string& path);

/// Values of `--pooling`.
const config::Choices<nn::SentencePooling>& poolings();

/// Files and module directories of a sentence-transformers directory other than the model itself.
/// Empty for other directories.
std::vector<std::string> sentence_files(const std::string& directory);

}  // namespace weft::models
