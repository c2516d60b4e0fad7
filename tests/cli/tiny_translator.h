#pragma once

#include <string>

#include "models/config/family.h"
#include "models/config/presets.h"
#include "models/directory.h"
#include "support/program.h"

namespace weft::test {

/// The smallest useful sizes of a family that reads a source.
inline models::ModelOptions tiny_translator_options(models::Family family, int64_t vocabulary) {
  auto options = models::family_defaults(family);
  options.head = models::Head::kConditional;
  options.vocabulary = vocabulary;
  options.dim = 16;
  options.layers = options.decoder.layers = 1;
  options.heads = options.decoder.heads = 2;
  options.width = options.decoder.width = 32;
  options.length = 64;
  options.init_std = 0.5;
  return options;
}

/// Trains a small model for two steps in WORK/run, on a table of sources and targets.
inline ProcessResult train_tiny_translator(const TemporaryDirectory& work,
                                           const std::string& model,
                                           const std::string& pairs) {
  constexpr const char* kConfig = R"(
model: MODEL
tokenizer: {type: word_level, min_frequency: 1}
data: {train: [{path: WORK/pairs.tsv}], cache_dir: WORK/cache}
objective: {type: seq2seq}
train:
  duration: 2 steps
  batch_sequences: 2
  schedule: {type: constant, warmup: 0 steps}
  evaluate_every: never
  threads: 1
run: {directory: WORK/run, seed: 3}
)";
  write(work / "pairs.tsv", pairs);
  write(work / "run.yaml", filled(filled(kConfig, "MODEL", model), "WORK", work.path()));
  return weft({"train", work / "run.yaml"});
}

}  // namespace weft::test
