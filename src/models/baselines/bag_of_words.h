#pragma once

#include <cstdint>
#include <vector>

#include "models/baselines/baseline.h"

namespace weft::models {

/// Rows of the table of a bag of words: one per word, then the buckets.
int64_t bag_rows(const ModelOptions& options);

/// Features of each token of a packed batch: its word and the longer n-grams that it ends, by a
/// hash of their words. `ngrams` entries per token; special tokens have no features.
struct BagFeatures {
  static constexpr int64_t kNone = -1;
  std::vector<int64_t> rows;  // rows of the table, or kNone
};
BagFeatures bag_features(const std::vector<int64_t>& ids,
                         const std::vector<int64_t>& offsets,
                         const ModelOptions& options);

/// Weight of each entry. `idf` (rows of the table): read with tfidf only.
std::vector<float> bag_weights(const BagFeatures& features,
                               const std::vector<int64_t>& offsets,
                               const BagOptions& options,
                               const float* idf);

/// A linear classifier of word counts. Its hidden states are each token's logit contributions.
class BagOfWords : public Baseline {
 public:
  explicit BagOfWords(const ModelOptions& options);

  /// Fits the idf weights of tf-idf: 1 + ln((1 + texts) / (1 + texts that contain the feature)),
  /// smoothed as in scikit-learn. Or the log-count ratios of naive Bayes (Wang and Manning 2012):
  /// with p and q the numbers of texts of a class and of the others that contain each feature, plus
  /// alpha, ln(p / sum p) - ln(q / sum q) over the features of the training data, 0 for others.
  void fit(const TrainingSequences& data) override;
  at::Tensor hidden(const TextInput& input, const nn::ForwardContext& context) override;  // (N, C)
  at::Tensor class_logits(const at::Tensor& hidden, const nn::ForwardContext& context) override;
  at::Tensor token_class_weights() const override;

 private:
  void fit_idf(const TrainingSequences& data);
  void fit_ratios(const TrainingSequences& data);

  at::Tensor idf_;     // (rows), frozen: computed from the training data; undefined without tfidf
  at::Tensor ratios_;  // (rows, C), frozen too; undefined without naive_bayes
  at::Tensor words_;   // (rows, C)
  at::Tensor bias_;    // (C)
};

}  // namespace weft::models
