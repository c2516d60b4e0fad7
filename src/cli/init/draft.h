#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/rows/table_profile.h"

namespace weft::cli {

/// What a user asks `weft init` for.
struct InitRequest {
  std::vector<std::string> paths;
  std::string from;                   // directory of a model; empty: a model trained from scratch
  std::vector<std::string> evaluate;  // as many as `paths`; empty: a part of the training data
  std::string directory;              // of the run
};

/// `data.split` of labelled data.
inline constexpr std::string_view kSplit =
    "  split: {evaluate: 0.1, test: 0.1}   # held out: for evaluation during training, and for the "
    "final test\n";

/// `train` of a small encoder on labelled data.
inline constexpr std::string_view kEncoderTraining =
    "train:\n"
    "  duration: 20 epochs\n"
    "  batch_sequences: 32\n"
    "  optimizer: {lr: 5e-4}\n"
    "  schedule: {type: linear, warmup: 10%}\n"
    "  evaluate_every: 1 epochs\n";

/// A config that is being written: comments about the data, then keys.
class Draft {
 public:
  explicit Draft(const InitRequest& request) : request_(request) {}

  using Item = std::vector<std::pair<std::string, std::string>>;  // keys and YAML values

  void add_fact(const std::string& fact) { facts_.push_back(fact); }
  /// Rows and format of a table, after its path.
  void describe(const std::string& path, const data::TableProfile& table);

  /// `init_from:`, or these lines if the model is trained from scratch.
  void write_model(const std::string& from_scratch);
  /// Data of one item, whose first values are its paths. Without data to evaluate on, `split` is
  /// written.
  void write_data(const Item& item, std::string_view split);
  /// `train:`, if the model is trained from scratch; fine-tuning has defaults of its own.
  void write_training(std::string_view from_scratch);
  void write(std::string_view lines) { keys_ += lines; }
  bool is_from_scratch() const { return request_.from.empty(); }

  /// The whole config, with the commands that use it.
  std::string text(const std::string& task) const;

 private:
  const InitRequest& request_;
  std::vector<std::string> facts_;
  std::string keys_;
};

/// `{path: a.csv, text: Text}`
std::string flow_map(const Draft::Item& item);

/// Lengths of the texts of a column, in words.
std::string describe_lengths(const data::ColumnProfile& column);
/// Rows of each class, most frequent first.
std::string describe_classes(const data::ColumnProfile& column);

/// Writes the config of a task. Throws UserError: the data do not have what the task needs.
void init_classify(const InitRequest& request, Draft& draft);
void init_regress(const InitRequest& request, Draft& draft);
void init_tag(const InitRequest& request, Draft& draft);
void init_seq2seq(const InitRequest& request, Draft& draft);
void init_mlm(const InitRequest& request, Draft& draft);
void init_causal(const InitRequest& request, Draft& draft);

}  // namespace weft::cli
