#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/program.h"

/// Every attention type in the commands, and other parts of layers: a model has a layer of each of
/// several types.
namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

struct AttentionModel {
  std::string name;
  std::string model;  // of `model:`, without the braces
  bool is_causal = false;
};

void PrintTo(const AttentionModel& model, std::ostream* out) { *out << model.name; }

class AttentionCommands : public ::testing::TestWithParam<AttentionModel> {
 protected:
  AttentionCommands() {
    test::write(directory_ / "config.yaml",
                "model: {dim: 32, dropout: 0.1, position: {length: 64}, " + GetParam().model +
                    "}\n"
                    "tokenizer: {type: byte_level_bpe, vocab_size: 400}\n"
                    "data: {train: [{path: " WEFT_SOURCE_DIR "/data/" +
                    std::string(GetParam().is_causal ? "corpus/*.txt" : "spam/train.tsv") +
                    "}]}\n"
                    "objective: {type: " +
                    std::string(GetParam().is_causal ? "causal" : "classify") +
                    "}\n"
                    "train: {duration: 3 steps, batch_tokens: 512, optimizer: {lr: 1e-2}}\n"
                    "run: {directory: " +
                    run_ + ", seed: 1}\n");
  }

  test::ProcessResult weft(std::vector<std::string> arguments) const {
    const auto done = test::weft(arguments);
    EXPECT_EQ(done.status, 0) << arguments[0] << ": " << done.err;
    return done;
  }

  test::TemporaryDirectory directory_;
  std::string run_ = directory_ / "run";
};

TEST_P(AttentionCommands, TrainInspectAndUseTheModel) {
  const auto expected =
      Json::parse(weft({"bench", directory_ / "config.yaml", "--steps", "2", "--warmup", "1"}).out);
  const auto& memory = expected.at("memory_mib");
  // `inspect` expects what a step keeps; sequences of other lengths differ a little.
  EXPECT_NEAR(
      memory.at("activations_expected").get<double>() / memory.at("activations").get<double>(), 1,
      0.25);
  weft({"train", directory_ / "config.yaml"});
  EXPECT_NE(weft({"inspect", run_}).out.find("layers"), std::string::npos);
  if (GetParam().is_causal) {
    const std::vector<std::string> generate{"generate",  run_, "--prompt", "The river",
                                            "--max-new", "12", "--greedy"};
    const auto text = weft(generate).out;
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(weft(generate).out, text);
    for (const std::string option : {"--precision=bf16", "--int8"}) {
      auto other = generate;
      other.push_back(option);
      EXPECT_FALSE(weft(other).out.empty());
    }
    return;
  }
  for (const std::string option : {"--precision=fp32", "--precision=bf16", "--int8"}) {
    const auto found =
        weft({"predict", run_, "free prize call now", "see you at home", option}).out;
    EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 2) << found;
  }
}

const AttentionModel kModels[] = {
    {"patterns",
     "type: bert, layers: 8, attention: [{heads: 2, type: window, window: 4}, {type: block_local, "
     "block: 5}, {type: strided}, {type: dilated}, {type: sparse_transformer, stride: 4}, {type: "
     "multi_scale}, {type: big_bird, block: 2}, {type: hybrid, patterns: [{type: window, window: "
     "2}, "
     "{type: global}]}]"},
    {"scores",
     "type: bert, layers: 6, attention: [{heads: 2, type: talking_heads}, {type: gaussian}, {type: "
     "realformer}, {type: synthesizer}, {type: longformer, window: 4}, {type: scored}]"},
    {"fewer_keys",
     "type: bert, layers: 9, attention: [{heads: 2, type: linformer, landmarks: 4, length: 64}, "
     "{type: nystrom, landmarks: 4}, {type: memory_compressed}, {type: induced, points: 4}, {type: "
     "clustered, clusters: 4, top: 2}, {type: routing, clusters: 3}, {type: informer, factor: 1}, "
     "{type: lite_transformer}, "
     "{type: "
     "reformer, chunk: 4}]"},
    {"causal_patterns",
     "type: gpt2, layers: 6, attention: [{heads: 2, type: block_local, block: 5, look_back: 1}, "
     "{type: strided, stride: 3}, {type: dilated}, {type: sparse_transformer, stride: 4, mix: "
     "merged}, "
     "{type: multi_scale}, {type: hybrid, patterns: [{type: window, window: 2}, {type: global}]}]",
     true},
    {"causal_scores",
     "type: gpt2, layers: 4, attention: [{heads: 2, type: talking_heads}, {type: gaussian}, {type: "
     "realformer}, {type: synthesizer, length: 64}]",
     true},
    {"causal_linear",
     "type: gpt2, layers: 6, attention: [{heads: 2, type: linear}, {type: performer}, {type: "
     "reformer, chunk: 4, buckets: 4}, {type: routing, clusters: 3, window: 4}, {type: "
     "memory_compressed}, {type: lite_transformer}]",
     true},
    {"conformer",
     "type: roberta, layers: 2, attention: {heads: 2}, block: favfn, residual: {type: constant}, "
     "norm: {place: sandwich}"},
    {"mixture_of_experts",
     "type: bert, layers: 4, attention: {heads: 2}, residual: {type: layer_scale}, feed_forward: "
     "[{type: maxout}, {type: mixture_of_experts, experts: 4}]"},
    {"causal_blocks",
     "type: gpt2, layers: 4, attention: {heads: 2}, block: a av vf f, residual: {type: rezero}, "
     "norm: {place: none}",
     true},
    {"reversible",
     "type: gpt2, layers: 4, attention: [{heads: 2, type: reformer, chunk: 4, buckets: 4}, {type: "
     "full}], residual: {type: reversible, merge: concatenate}, tie_word_embeddings: false",
     true},
    {"reversible_encoder",
     "type: bert, layers: 2, attention: {heads: 2}, residual: {type: reversible}, norm: {place: "
     "pre}"},
    {"distilling",
     "type: bert, layers: 4, attention: {heads: 2, type: informer}, block: afd*3 af, distilling: "
     "{norm: instance}, classifier_pooling: mean"},
    {"delight",
     "type: bert, layers: 3, attention: {heads: 1, type: delight, groups: 4, dextra_dropout: 0.1}, "
     "feed_forward: {width: 8, activation: silu}"},
    {"causal_delight",
     "type: gpt2, layers: 3, attention: {heads: 2, type: delight, depth: [2, 4]}, feed_forward: "
     "{width: 8}",
     true},
    // With vectors of edges its memory depends on the squares of the lengths.
    {"binary_tree",
     "type: bert, layers: 2, attention: {heads: 2, type: binary_tree, neighbours: 2, relative: "
     "false}"},
    {"mix_of_layers",
     "type: bert, layers: 2, attention: {heads: 2}, norm: {place: pre}, mix: {type: transparent}"},
    {"causal_mix_of_layers",
     "type: gpt2, layers: 2, attention: {heads: 2}, mix: {type: transparent}", true},
    {"gates",
     "type: bert, layers: 2, attention: [{heads: 2, type: full}, {type: window, window: 4}], "
     "residual: {gate: "
     "{hidden: 8, budgets: [0.25, 1]}}"},
    {"causal_gates",
     "type: gpt2, layers: 2, attention: {heads: 2}, residual: {gate: {hidden: 8, budgets: [0.5]}}",
     true},
    {"shared_layers", "type: gpt2, layers: 4, attention: {heads: 2}, sharing: {layers: 2}", true},
    {"shared_attention",
     "type: gpt2, layers: 4, attention: {heads: 2}, sharing: {layers: 2, sublayers: [attention]}",
     true},
    {"causal_experts",
     "type: gpt2, layers: 2, attention: {heads: 2}, feed_forward: {type: mixture_of_experts, "
     "width: 48, experts: 4}",
     true},
};

INSTANTIATE_TEST_SUITE_P(Models,
                         AttentionCommands,
                         ::testing::ValuesIn(kModels),
                         [](const auto& model) { return model.param.name; });

}  // namespace
}  // namespace weft::cli
