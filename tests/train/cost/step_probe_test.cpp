// Measured and extrapolated costs of steps against larger steps, and against counts by hand.
#include "train/cost/step_probe.h"

#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/log.h"
#include "models/directory.h"
#include "support/folder.h"
#include "train/step/out_of_memory.h"
#include "train/step/run_components.h"

namespace weft::train {
namespace {

constexpr auto kSizes =
    ", dim: 64, layers: 3, attention: {heads: 4}, position: {length: 64}, "
    "feed_forward: {width: 256}}";

struct ProbeCase {
  std::string name;
  std::string model;  // ends with the sizes, unless it has its own
  std::string objective;
  std::string data = "train.txt";
  std::string train = {};
  bool has_lora = false;
  bool has_teacher = false;
};

std::string with_sizes(const std::string& model) {
  return model.ends_with('}') ? model : model + kSizes;
}

std::ostream& operator<<(std::ostream& stream, const ProbeCase& given) {
  return stream << given.name;
}

/// A run's probe, and all that it refers to.
class Probe {
 public:
  Probe(RunConfig config, int64_t vocabulary, const StepProbeOptions& options)
      : config_(completed(std::move(config), vocabulary)),
        model_(make_untrained_model(config_)),
        shadow_(models::make_uninitialized_model(config_.model)),
        flat_(*shadow_, at::kFloat, DecayOn::kAll),
        optimizer_({}, flat_),
        probe_(config_, *model_, optimizer_, options) {}

  StepProbe& operator*() { return probe_; }
  StepProbe* operator->() { return &probe_; }
  const RunConfig& config() const { return config_; }

 private:
  static RunConfig completed(RunConfig config, int64_t vocabulary) {
    config.model.vocabulary = vocabulary;
    config.model = options_without_data(config);
    return config;
  }

  RunConfig config_;
  std::shared_ptr<models::Model> model_;
  std::shared_ptr<models::Model> shadow_;  // only for the optimizer, which is not used
  FlatParameters flat_;
  Optimizer optimizer_;
  StepProbe probe_;
};

class StepProbeTest : public ::testing::Test {
 protected:
  StepProbeTest() {
    log::set_level(log::Level::kError);
    for (const auto* name : {"train.txt", "train.tsv", "train.conll", "train.csv"}) {
      folder_.write(name, "text\tlabel\n");
    }
  }

  RunConfig config(const ProbeCase& given) const {
    const bool is_image = given.data.ends_with(".csv");
    const auto yaml = "model: " + with_sizes(given.model) +
                      (is_image ? "" : "\ntokenizer: {type: wordpiece, vocab_size: 1000}") +
                      "\ndata: {train: [" + item(given.data) + "]}\nobjective: " + given.objective +
                      "\ntrain: {batch_sequences: 32" + given.train + "}\n";
    auto result = read_run_config(config::Document::parse(yaml, "probe.yaml"));
    if (given.has_lora) {
      result.train.lora = models::LoraOptions{.rank = 8, .dropout = 0.1};
    }
    return result;
  }

  /// Writes a model for the same objective with twice the layers to the directory `teacher`.
  void write_teacher(const std::string& model, const std::string& objective) const {
    auto taught = config({.name = "", .model = model, .objective = objective});
    taught.model.vocabulary = 1000;
    taught.model = options_without_data(taught);
    taught.model.layers *= 2;
    std::filesystem::create_directories(folder_.path("teacher"));
    models::save_model(folder_.path("teacher"), *models::make_model(taught.model, 1),
                       formats::DType::kF32);
  }

  std::string item(const std::string& data) const {
    return data == "pairs" ? "{source: " + folder_.path("train.txt") +
                                 ", target: " + folder_.path("train.txt") + "}"
                           : "{path: " + folder_.path(data) + "}";
  }

  test::Folder folder_;
};

class ActivationsTest : public StepProbeTest, public ::testing::WithParamInterface<ProbeCase> {};

// The line through steps of 4 and 8 sequences, at 32.
TEST_P(ActivationsTest, OfALargerMicroBatchAreAsTheLineStates) {
  auto given = GetParam();
  if (given.has_teacher) {
    const std::string student = given.objective;
    write_teacher(given.model, "{type: " + student + "}");
    given.objective = "{type: distill, student_objective: " + student +
                      ", teacher: " + folder_.path("teacher") + "}";
  }
  for (const auto precision : {at::kFloat, at::kBFloat16}) {
    Probe probe(config(given), 1000, {.length = 64, .precision = precision});
    const double max_flops = 8.5 * static_cast<double>(probe->run(1).flops);
    const auto cost = measure_step(*probe, probe.config().train, max_flops);
    const auto larger = probe->run(32);
    EXPECT_EQ(cost.micro_batch_tokens, larger.tokens);
    if (max_flops > 0) {  // a bag of words has no products
      EXPECT_EQ(4 * cost.measured_tokens, larger.tokens);
    }
    EXPECT_NEAR(cost.activation_bytes() / static_cast<double>(larger.activation_bytes), 1, 0.1)
        << precision << ": " << cost.activation_bytes() / 1e6 << " MB, measured "
        << static_cast<double>(larger.activation_bytes) / 1e6 << " MB";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Each,
    ActivationsTest,
    ::testing::Values(
        ProbeCase{"mlm", "{type: bert", "{type: mlm}"},
        ProbeCase{"pairs", "{type: bert", "{type: mlm, next_sentence: true}"},
        ProbeCase{"checkpointed", "{type: bert", "{type: mlm}", "train.txt",
                  ", gradient_checkpointing: layers"},
        ProbeCase{"reversible",
                  "{type: gpt2, residual: {type: reversible}, dim: 64, layers: 3, attention: "
                  "{heads: 4}, position: {length: 64}, feed_forward: {width: 256}}",
                  "{type: causal}"},
        ProbeCase{"modernbert", "{type: modernbert", "{type: mlm}"},
        ProbeCase{"causal", "{type: gpt2", "{type: causal}"},
        ProbeCase{"llama",
                  "{type: llama, dim: 64, layers: 3, attention: {heads: 4, key_value_heads: 2}, "
                  "position: {length: 64}, feed_forward: {width: 256}}",
                  "{type: causal}"},
        ProbeCase{"gru",
                  "{type: gpt2, dim: 64, layers: 3, attention: {heads: 4}, position: {length: 64}, "
                  "block: rf, recurrent: {cell: gru, reset: before}, feed_forward: {width: 256}}",
                  "{type: causal}"},
        ProbeCase{"memory_slots",
                  "{type: gpt2, memory: {slots: 8, segment: 16, unroll: 4}, block: amf",
                  "{type: causal}"},
        ProbeCase{"replayed_memory_slots",
                  "{type: gpt2, memory: {slots: 8, segment: 16, unroll: 4, replay: true, write: "
                  "gru}, block: amf",
                  "{type: causal}"},
        ProbeCase{"elmo",
                  "{type: elmo, dim: 64, layers: 2, recurrent: {cell: lstm, width: 96, projection: "
                  "32, cell_clip: 3, projection_clip: 3}}",
                  "{type: bidirectional_lm}"},
        ProbeCase{"span_corruption", "{type: t5", "{type: span_corruption}"},
        ProbeCase{"seq2seq", "{type: bart", "{type: seq2seq}", "pairs"},
        ProbeCase{"classify", "{type: bert", "{type: classify}", "train.tsv"},
        ProbeCase{"r_drop", "{type: bert", "{type: classify, r_drop: 1.0}", "train.tsv"},
        ProbeCase{"frozen", "{type: bert", "{type: classify}", "train.tsv",
                  ", freeze: [embeddings, layers.0]"},
        ProbeCase{"lora", "{type: bert", "{type: classify}", "train.tsv", "", true},
        ProbeCase{"tag", "{type: bert", "{type: tag}", "train.conll"},
        ProbeCase{"vit",
                  "{type: vit, image_size: 16, patch_size: 2, num_channels: 1, dim: 64, layers: 3, "
                  "attention: {heads: 4}, feed_forward: {width: 256}}",
                  "{type: classify}", "train.csv"},
        ProbeCase{"distill", "{type: bert", "mlm", "train.txt", "", false, true},
        ProbeCase{"replaced_token", "{type: electra, embedding_size: 32",
                  "{type: replaced_token, generator: {size_ratio: 0.5}}"},
        ProbeCase{"bag_of_words", "{type: bag_of_words}", "{type: classify}", "train.tsv"},
        ProbeCase{"decomposable_attention",
                  "{type: decomposable_attention, embedding_size: 32, dim: 64, hidden_dim: 64}",
                  "{type: classify}", "train.tsv"}),
    [](const auto& row) { return row.param.name; });

constexpr auto kTiny =
    ", dim: 16, layers: 2, attention: {heads: 2}, position: {length: 32}, "
    "feed_forward: {width: 32}}";

// In the counts below a product of (n, k) with (k, m) has n k m multiplications with their
// additions; each is two operations. The model has D = 16, F = 32, V = 70, N = 32 tokens.

TEST_F(StepProbeTest, FlopsOfBert) {
  Probe probe(config({.name = "",
                      .model = std::string("{type: bert") + kTiny,
                      .objective = "{type: mlm, mask_fraction: 0.25}"}),
              70, {.length = 32});
  // First layer: queries, keys, values, output: 4 D^2; feed-forward: 2 D F. Last layer: keys and
  // values of all tokens; the rest for the 8 masked ones.
  constexpr int64_t kLinear =
      32 * (4 * 16 * 16 + 2 * 16 * 32) + 32 * 2 * 16 * 16 + 8 * (2 * 16 * 16 + 2 * 16 * 32);
  // Scores and weighted values: 2 N^2 D, and 8 queries in the last layer.
  constexpr int64_t kAttention = 2 * (32 * 32 + 8 * 32) * 16;
  constexpr int64_t kHead = 8 * (16 * 16 + 16 * 70);  // transform and output matrix
  EXPECT_EQ(probe->forward_flops(), 2 * (kLinear + kAttention + kHead));
  // Backward: two products for each of a linear layer; five for two of attention.
  EXPECT_EQ(probe->run(3).flops, 3 * 2 * (3 * (kLinear + kHead) + kAttention * 7 / 2));
}

TEST_F(StepProbeTest, FlopsOfGpt2) {
  Probe probe(
      config(
          {.name = "", .model = std::string("{type: gpt2") + kTiny, .objective = "{type: causal}"}),
      70, {.length = 32});
  constexpr int64_t kLinear = 2 * 32 * (4 * 16 * 16 + 2 * 16 * 32);  // two layers
  constexpr int64_t kPairs = 32 * 33 / 2;                            // token i has i + 1 keys
  constexpr int64_t kAttention = 2 * 2 * kPairs * 16;
  constexpr int64_t kHead = 32 * 16 * 70;
  EXPECT_EQ(probe->forward_flops(), 2 * (kLinear + kAttention + kHead));
  EXPECT_EQ(probe->run(3).flops, 3 * 2 * (3 * (kLinear + kHead) + kAttention * 7 / 2));
}

/// 4 segments of 8 tokens with 4 slots, which are written after the first three.
TEST_F(StepProbeTest, FlopsOfMemorySlots) {
  const auto flops = [&](const std::string& keys) {
    Probe probe(config({.name = "",
                        .model = "{type: gpt2, block: amf, memory: {slots: 4, segment: 8" + keys +
                                 "}" + kTiny,
                        .objective = "{type: causal}"}),
                70, {.length = 32});
    return std::pair{probe->forward_flops(), probe->run(3).flops};
  };
  // Reading: queries and outputs of the tokens, keys and values of the slots of each segment.
  constexpr int64_t kLinear =
      2 * (32 * (6 * 16 * 16 + 2 * 16 * 32) + 4 * 4 * 2 * 16 * 16) + 32 * 16 * 70;
  constexpr int64_t kAttention = 2 * 2 * (4 * 8 * 9 / 2 + 32 * 4) * 16;
  // Writing: all four projections of the slots, keys and values of the tokens; the pairs of both.
  constexpr int64_t kWrite = 3 * (4 * 4 * 16 * 16 + 8 * 2 * 16 * 16 + 2 * 4 * 8 * 16);
  const auto [forward, training] = flops("");
  EXPECT_EQ(forward, 2 * (kLinear + kAttention + kWrite));
  // Slots without gradients: of the later segments only the matrices that read them get one.
  constexpr int64_t kNotNeeded = 2 * 3 * 4 * 2 * 16 * 16;
  EXPECT_EQ(training, 3 * 2 * (3 * kLinear - kNotNeeded + kAttention * 7 / 2 + kWrite));
  const auto [same, unrolled] = flops(", unroll: 4");
  EXPECT_EQ(same, forward);
  EXPECT_EQ(unrolled, 3 * 2 * (3 * (kLinear + kWrite) + kAttention * 7 / 2));
  // Each segment is computed again, without the head.
  EXPECT_EQ(flops(", unroll: 4, replay: true").second,
            unrolled + 3 * 2 * (kLinear - 32 * 16 * 70 + kAttention + kWrite));
}

TEST_F(StepProbeTest, FlopsOfT5) {
  Probe probe(config({.name = "",
                      .model = std::string("{type: t5, head_dim: 8") + kTiny,
                      .objective = "{type: span_corruption, noise_density: 0.2}"}),
              70, {.length = 32});
  EXPECT_EQ(probe->tokens_per_sequence(), 40);  // 32 of the source, a fifth of all is the target
  constexpr int64_t kLayer = 4 * 16 * 16 + 2 * 16 * 32;
  constexpr int64_t kEncoder = 2 * 32 * kLayer;
  // Attention to the source: queries and output of the target, keys and values of the source.
  constexpr int64_t kDecoder = 2 * (8 * kLayer + 8 * 2 * 16 * 16 + 32 * 2 * 16 * 16);
  constexpr int64_t kPairs = 32 * 32 + 8 * 9 / 2 + 8 * 32;
  constexpr int64_t kAttention = 2 * 2 * kPairs * 16;
  constexpr int64_t kHead = 8 * 16 * 70;
  constexpr int64_t kLinear = kEncoder + kDecoder + kHead;
  EXPECT_EQ(probe->forward_flops(), 2 * (kLinear + kAttention));
  EXPECT_EQ(probe->run(3).flops, 3 * 2 * (3 * kLinear + kAttention * 7 / 2));
}

TEST_F(StepProbeTest, FlopsFollowWhatIsTrained) {
  const auto flops = [&](const std::string& train, bool has_lora) {
    Probe probe(config({.name = "",
                        .model = std::string("{type: bert") + kTiny,
                        .objective = "{type: classify}",
                        .data = "train.tsv",
                        .train = train,
                        .has_lora = has_lora}),
                70, {.length = 32});
    return static_cast<double>(probe->run(1).flops) / static_cast<double>(probe->forward_flops());
  };
  const double whole = flops("", false);
  EXPECT_GT(whole, 3);
  EXPECT_LT(whole, 3.5);
  EXPECT_LT(flops(", freeze: [embeddings, layers.0]", false), 2.2);
  EXPECT_LT(flops("", true), whole);
  EXPECT_GT(flops(", gradient_checkpointing: layers", false), whole + 0.9);
}

TEST_F(StepProbeTest, ReversibleLayersKeepNoActivations) {
  const auto bytes = [&](const std::string& residual, int layers) {
    Probe probe(config({.name = "",
                        .model = "{type: gpt2, residual: {type: " + residual +
                                 "}, dim: 64, attention: {heads: 4}, position: {length: 64}, "
                                 "feed_forward: {width: 256}, layers: " +
                                 std::to_string(layers) + "}",
                        .objective = "{type: causal}"}),
                70, {.length = 64});
    return static_cast<double>(probe->run(8).activation_bytes);
  };
  const auto two = bytes("reversible", 2);
  EXPECT_LT(bytes("reversible", 16) / two, 1.01);
  EXPECT_GT(bytes("plain", 16) / bytes("plain", 2), 4);
}

TEST_F(StepProbeTest, TooLittleMemoryIsAnError) {
  Probe probe(config({.name = "", .model = "{type: bert", .objective = "{type: mlm}"}), 1000,
              {.length = 64, .max_activation_bytes = 1 << 16});
  EXPECT_THROW(probe->run(1), MicroBatchOutOfMemory);
}

}  // namespace
}  // namespace weft::train
