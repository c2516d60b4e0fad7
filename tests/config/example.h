#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/section.h"

namespace weft::config::example {

enum class Activation { kRelu, kGelu, kSilu };
enum class Kind { kMlm, kCausal };

/// A config with one key of each kind, read as the libraries above read theirs.
struct Example {
  int64_t dim = 64;
  int64_t layers = 2;
  double dropout = 0.1;
  Activation activation = Activation::kGelu;
  std::optional<std::string> init_from;
  struct Source {
    std::string path;
    double weight = 1.0;
  };
  std::vector<Source> train;
  Kind kind = Kind::kMlm;
  double mask_fraction = 0.15;
  bool next_sentence = false;
  Duration duration{.amount = 1000, .unit = DurationUnit::kSteps};
  Duration warmup{.amount = 0, .unit = DurationUnit::kSteps};
  std::optional<Duration> evaluate_every;
  std::optional<int64_t> batch_tokens = 8192;
  std::optional<double> clip_norm = 1.0;
  std::vector<double> betas = {0.9, 0.999};
  std::vector<std::string> columns = {"text"};
  std::string directory = "runs/example";
  int64_t seed = 1;
};

inline void read_model(Section section, Example& example) {
  static const Choices<Activation> kActivations = {
      {"relu", Activation::kRelu}, {"gelu", Activation::kGelu}, {"silu", Activation::kSilu}};
  section.read("dim", example.dim,
               {.help = "Width of the model.", .unit = "channels", .range = between(1, 65536)});
  section.read("layers", example.layers, {.help = "Number of blocks.", .range = at_least(1)});
  auto feed_forward = section.section("feed_forward", {.help = "The feed-forward part."});
  feed_forward.read_choice("activation", example.activation, kActivations,
                           {.help = "Function between the projections."});
  feed_forward.read("dropout", example.dropout,
                    {.help = "Share of values dropped.", .range = half_open(0, 1)});
  feed_forward.reject_unread();
  section.reject_unread();
}

inline void read_data(Section section, Example& example) {
  for (auto& item : section.sections("train", {.help = "Sources.", .is_required = true})) {
    Example::Source source;
    item.read("path", source.path, {.help = "A file or pattern.", .is_required = true});
    item.read("weight", source.weight, {.help = "Share in the mixture.", .range = above(0)});
    item.reject_unread();
    example.train.push_back(source);
  }
  section.read("columns", example.columns, {.help = "Columns to read."});
  section.reject_unread();
}

inline void read_objective(Section section, Example& example) {
  static const Choices<Kind> kKinds = {{"mlm", Kind::kMlm}, {"causal", Kind::kCausal}};
  section.read_choice("type", example.kind, kKinds,
                      {.help = "What is learnt.", .is_required = true});
  section.read("mask_fraction", example.mask_fraction,
               {.help = "Share of tokens chosen.", .range = between(0, 1), .only_if = "type: mlm"});
  section.read("next_sentence", example.next_sentence, {.help = "Whether pairs are judged."});
  section.reject_unread();
}

inline void read_train(Section section, Example& example) {
  section.read("duration", example.duration, {.help = "Length of the run."});
  section.read("warmup", example.warmup, {.help = "Rise of the rate.", .range = at_least(0)});
  section.read("evaluate_every", example.evaluate_every, {.help = "Pause between evaluations."});
  section.read("batch_tokens", example.batch_tokens,
               {.help = "Tokens of a step.", .unit = "tokens", .range = at_least(1)});
  section.read("clip_norm", example.clip_norm, {.help = "Longest gradient.", .range = above(0)});
  section.read("betas", example.betas, {.help = "Decays.", .range = half_open(0, 1)});
  section.reject_unread();
}

inline Example read_example(Section root) {
  Example example;
  root.read("init_from", example.init_from, {.help = "A model to start from."});
  read_model(root.section("model", {.help = "The model."}), example);
  read_data(root.section("data", {.help = "The data.", .is_required = true}), example);
  read_objective(root.section("objective", {.help = "The objective.", .is_required = true}),
                 example);
  read_train(root.section("train", {.help = "The training."}), example);
  auto run = root.section("run", {.help = "The run."});
  run.read("directory", example.directory, {.help = "Where the run goes."});
  run.read("seed", example.seed, {.help = "Source of chance.", .range = at_least(0)});
  run.reject_unread();
  root.reject_unread();
  return example;
}

/// A file that is right. Line 1 is `model:`.
inline std::string good_file() {
  return "model:\n"
         "  dim: 64\n"
         "  layers: 2\n"
         "  feed_forward: {activation: gelu, dropout: 0.1}\n"
         "data:\n"
         "  train: [{path: a.txt, weight: 2.0}]\n"
         "objective: {type: mlm, mask_fraction: 0.15, next_sentence: false}\n"
         "train:\n"
         "  duration: 100 steps\n"
         "  evaluate_every: 50 steps\n"
         "run: {directory: runs/a, seed: 1}\n";
}

}  // namespace weft::config::example
