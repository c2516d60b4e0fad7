#pragma once

#include <string>
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

/// A config that is being written: comments about the data, then keys.
class Draft {
 public:
  explicit Draft(const InitRequest& request) : request_(request) {}

  using Item = std::vector<std::pair<std::string, std::string>>;  // keys and YAML values

  void add_fact(const std::string& fact) { facts_.push_back(fact); }
  /// Rows and format of a table, behind its path.
  void describe(const std::string& path, const data::TableProfile& table);

  /// `init_from:`, or these lines if the model is trained from scratch.
  void write_model(const std::string& from_scratch);
  /// Data of one item, whose first values are its paths. Without data to evaluate on, `split` is
  /// written.
  void write_data(const Item& item, const std::string& split);
  /// `train:` of a small encoder, if it is trained from scratch on labelled data.
  void write_encoder_training();
  void write(const std::string& lines) { keys_ += lines; }
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
