// Objectives on running text, corruption and distillation in complete runs: stopped and resumed
// bit for bit like an uninterrupted run, for any number of workers.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/log.h"
#include "train/run/train.h"
#include "train/small_run.h"

namespace weft::train {
namespace {

struct Kind {
  std::string name;
  std::string model;
  std::string tokenizer;
  std::string objective;
  std::string data = "train.txt";
  std::string more = {};  // keys of data
  std::string precision = "fp32";
};

const std::string kDecoder =
    "{type: gpt2, dim: 16, layers: 2, attention: {heads: 2}, position: {length: 32}}";
const std::string kEncoder =
    "{preset: bert-tiny, dim: 16, layers: 2, attention: {type: full, heads: 2}, "
    "position: {type: learned, length: 32}, feed_forward: {width: 32}}";
const std::string kXlm =
    "{type: xlm, dim: 16, layers: 2, attention: {heads: 2}, position: {length: 32}, "
    "languages: [de, en], embed_init_std: 0.05}";
const std::string kT5 = "{preset: t5-mini, dim: 16, layers: 1, attention: {heads: 2}}";
const std::string kBart =
    "{preset: bart-mini, dim: 16, layers: 1, attention: {heads: 2}, position: {length: 32}}";
const std::string kTransformer =
    "{type: transformer, dim: 16, layers: 1, attention: {heads: 2}, position: {length: 32}}";
const std::string kElectra =
    "{type: electra, dim: 16, embedding_size: 8, layers: 2, attention: {heads: 2}, "
    "position: {length: 32}, feed_forward: {width: 32}}";
const std::string kCharacters = "{type: characters, vocab_size: 80}";
const std::string kWords = "{type: wordpiece, vocab_size: 48}";

std::vector<Kind> kinds() {
  return {
      {"CausalDocuments", kDecoder, kCharacters, "{type: causal}"},
      {"CausalStream", kDecoder, kCharacters, "{type: causal}", "train.txt",
       ", pack: stream, document_boundary: file", "bf16"},
      {"SpanCorruption", kT5, "{type: wordpiece, vocab_size: 148}", "{type: span_corruption}",
       "train.txt", ", length: 24"},
      {"Denoise", kBart, kWords, "{type: denoise, rotate: 0.5, delete_fraction: 0.1}", "train.txt",
       "", "bf16"},
      {"Prefix", kT5, "{type: wordpiece, vocab_size: 148}", "{type: prefix_lm}", "train.txt",
       ", length: 24"},
      {"PrefixOfADecoder", kDecoder, kCharacters, "{type: prefix_lm}"},
      {"PrefixOfPairs", kDecoder, kCharacters, "{type: prefix_lm}",
       "pairs.tsv, source: source, target: target", "", "bf16"},
      {"TranslationLm", kEncoder, kWords, "{type: translation_lm}", "pairs.tsv"},
      {"TranslationLmOfLanguages", kXlm, kWords, "{type: translation_lm}",
       "pairs.tsv, language: en, target_language: de"},
      {"Seq2Seq", kTransformer, kWords, "{type: seq2seq, label_smoothing: 0.1}", "pairs.tsv"},
      {"Seq2SeqHalf", kT5, "{type: wordpiece, vocab_size: 148}",
       "{type: seq2seq, source_prefix: 'go '}", "pairs.tsv", ", length: 24", "bf16"},
      {"Languages", kEncoder, kWords, "{type: mlm}", "train.txt, language: en",
       ", sampling_alpha: 0.5"},
      {"LanguagesTold", kXlm, kWords, "{type: mlm}", "train.txt, language: de", "", "bf16"},
      {"ReplacedToken", kElectra, kWords, "{type: replaced_token, generator: {size_ratio: 0.5}}"},
      {"ReplacedTokenHalf", kElectra, kWords, "{type: replaced_token}", "train.txt", "", "bf16"},
      {"Distill", kEncoder, "", "{type: distill, teacher: TEACHER, alpha_cos: 1}"},
      {"DistillAttention", kEncoder, "",
       "{type: distill, teacher: TEACHER, alpha_attention: 2, alpha_cos: 0}"},
  };
}

class ObjectiveRun : public ::testing::TestWithParam<Kind> {
 protected:
  ObjectiveRun() {
    log::set_level(log::Level::kError);
    std::string rows = "source\ttarget\n";
    for (int i = 0; i < 40; ++i) {
      rows += "the red fox " + std::to_string(i % 7) + "\tder rote Fuchs " + std::to_string(i % 7) +
              " rennt\n";
    }
    small_.folder().write("pairs.tsv", rows);
  }

  RunConfig config(const std::string& directory, int workers) {
    Kind kind = GetParam();
    std::string begin = "model: " + kind.model + "\ntokenizer: " + kind.tokenizer + "\n";
    if (kind.name.starts_with("Distill")) {
      teach();
      kind.objective.replace(kind.objective.find("TEACHER"), 7, small_.path("teacher"));
      begin = "model: " + kind.model + "\ntokenizer: {file: " + small_.path("teacher/last") + "}\n";
    }
    const auto text = begin + "data: {train: [{path: " + small_.path(kind.data) +
                      "}], evaluate: [{path: " + small_.path(kind.data) +
                      "}], cache_dir: " + small_.path("cache") +
                      ", num_workers: " + std::to_string(workers) + kind.more +
                      "}\nobjective: " + kind.objective +
                      "\ntrain: {duration: 8 steps, batch_tokens: 96, micro_batch_tokens: 60, "
                      "optimizer: {lr: 1e-2}, log_every: 1 steps, evaluate_every: 4 steps, "
                      "save_every: 3 steps, threads: 1, precision: " +
                      kind.precision + "}\nrun: {directory: " + small_.path(directory) +
                      ", seed: 7, device: cpu, keep: {best: 1, last: 9}}\n";
    return read_run_config(config::Document::parse(text, "objective.yaml", {}));
  }

  void teach() {
    if (!taught_) {
      taught_ = true;
      run_training(small_.config("mlm", "teacher", {"model.layers=3"}), {});
    }
  }

  test::SmallRun small_;
  bool taught_ = false;
};

TEST_P(ObjectiveRun, ResumesBitForBitWithAnyNumberOfWorkers) {
  run_training(config("straight", 0), {});
  ASSERT_TRUE(test::train_until(config("parts", 2), 4));
  run_training(config("parts", 1), {});
  for (const auto* name : {"model.safetensors", "training/optimizer.safetensors"}) {
    const auto straight = small_.file(std::string("straight/checkpoint-8/") + name);
    EXPECT_FALSE(straight.empty()) << name;
    EXPECT_TRUE(straight == small_.file(std::string("parts/checkpoint-8/") + name)) << name;
  }
  const auto model = small_.file("straight/checkpoint-8/config.json");
  const auto of_decoder = GetParam().name.starts_with("PrefixOf");
  EXPECT_EQ(model.find("\"is_prefix_lm\": true") != std::string::npos, of_decoder);
  EXPECT_EQ(model.find("\"prefix_end_token_id\": 0") != std::string::npos,
            GetParam().name == "PrefixOfPairs");
  EXPECT_FALSE(small_.metrics("straight").empty());
  EXPECT_EQ(small_.metrics("straight"), small_.metrics("parts"));
  const auto losses = small_.values("straight", "train/loss");
  EXPECT_LT(losses.rbegin()->second, losses.begin()->second);
}

INSTANTIATE_TEST_SUITE_P(OfText,
                         ObjectiveRun,
                         ::testing::ValuesIn(kinds()),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace weft::train
