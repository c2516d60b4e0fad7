#pragma once

#include <string>

#include <gtest/gtest.h>

#include "support/program.h"

namespace weft::test {

inline constexpr const char* kPairConfig = R"(
model: {preset: bert-tiny, dim: 16, layers: 1, attention: {type: full, heads: 2},
        position: {type: learned, length: 32}, feed_forward: {width: 32}, dropout: 0}
tokenizer: {type: wordpiece, vocab_size: 42, train_on: data}
data: {train: [{path: WORK/train.tsv}], evaluate: [{path: WORK/train.tsv}], cache_dir: WORK/cache}
objective: {type: classify}
train:
  duration: 8 steps
  batch_sequences: 6
  optimizer: {type: adamw, lr: LR}
  precision: fp32
  evaluate_every: 4 steps
  save_every: 4 steps
  threads: 1
run: {directory: WORK/NAME, seed: 3}
)";

/// Two runs that differ in the learning rate, on pairs of texts; trained once.
class PairRuns {
 public:
  PairRuns() {
    write(work_ / "train.tsv",
          "label\ttext\ttext_pair\ngood\tfine film\tplay\nbad\tpoor film\tplay\n"
          "good\tfine play\tsong\nbad\tpoor play\tsong\ngood\tfine song\tfilm\n"
          "bad\tpoor song\tfilm\n");
    train("run", "1e-2");
    train("slow", "1e-5");
  }
  std::string path(const std::string& name) const { return work_ / name; }
  const std::string& directory() const { return work_.path(); }
  std::string model() const { return work_ / "run"; }
  std::string errors;

 private:
  void train(const std::string& name, const std::string& rate) {
    auto config = filled(kPairConfig, "WORK", work_.path());
    config = filled(filled(config, "NAME", name), "LR", rate);
    write(work_ / (name + ".yaml"), config);
    const auto done = weft({"train", work_ / (name + ".yaml")});
    errors += done.status == 0 ? "" : done.err;
  }

  TemporaryDirectory work_;
};

inline const PairRuns& pair_runs() {
  static const PairRuns runs;
  EXPECT_EQ(runs.errors, "");
  return runs;
}

}  // namespace weft::test
