#include "models/baselines/bag_of_words.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>

#include "base/error.h"
#include "base/random.h"
#include "kernels/embedding.h"
#include "nn/pooling/pooling.h"

namespace weft::models {

namespace {

template <class Value>
at::Tensor copy_of(const std::vector<Value>& values, at::ScalarType type, const at::Device& to) {
  auto* data = const_cast<Value*>(values.data());  // never written to
  return at::from_blob(data, {static_cast<int64_t>(values.size())}, type)
      .to(to, type, /*non_blocking=*/false, /*copy=*/true);
}

/// What one more occurrence adds to the weight of a word that had `earlier` ones.
double occurrence_weight(Weighting weighting, int64_t earlier) {
  switch (weighting) {
    case Weighting::kCount:
    case Weighting::kTfidf:
      return 1;
    case Weighting::kBinary:
    case Weighting::kNaiveBayes:
      return earlier == 0 ? 1 : 0;
    case Weighting::kLog:
      return std::log1p(1 / static_cast<double>(earlier + 1));  // ln(2 + c) - ln(1 + c)
  }
  return 0;
}

/// The features of a text, each once.
std::vector<int64_t> distinct_features(const TrainingSequence& text, const ModelOptions& options) {
  const auto ids = text.ids;
  auto rows =
      bag_features({ids.begin(), ids.end()}, {0, static_cast<int64_t>(ids.size())}, options).rows;
  std::erase(rows, BagFeatures::kNone);
  std::ranges::sort(rows);
  const auto repeated = std::ranges::unique(rows);
  rows.erase(repeated.begin(), repeated.end());
  return rows;
}

}  // namespace

BagFeatures bag_features(const std::vector<int64_t>& ids,
                         const std::vector<int64_t>& offsets,
                         const ModelOptions& options) {
  const auto ngrams = options.bag.ngrams;
  BagFeatures result;
  result.rows.assign(ids.size() * static_cast<std::size_t>(ngrams), BagFeatures::kNone);
  for (std::size_t sequence = 0; sequence + 1 < offsets.size(); ++sequence) {
    int64_t words = 0;  // since the last special token, which n-grams do not span
    for (int64_t i = offsets[sequence]; i < offsets[sequence + 1]; ++i) {
      const auto id = ids[static_cast<std::size_t>(i)];
      if (id == options.pad_id || id == options.bos_id || id == options.eos_id) {
        words = 0;
        continue;
      }
      ++words;
      auto* entry = &result.rows[static_cast<std::size_t>(i * ngrams)];
      entry[0] = id;
      for (int64_t n = 2; n <= std::min(ngrams, words); ++n) {
        auto hash = static_cast<uint64_t>(ids[static_cast<std::size_t>(i - n + 1)]);
        for (auto at = i - n + 2; at <= i; ++at) {
          hash = hash_combine(hash, static_cast<uint64_t>(ids[static_cast<std::size_t>(at)]));
        }
        entry[n - 1] = options.vocabulary +
                       static_cast<int64_t>(hash % static_cast<uint64_t>(options.bag.buckets));
      }
    }
  }
  return result;
}

std::vector<float> bag_weights(const BagFeatures& features,
                               const std::vector<int64_t>& offsets,
                               const BagOptions& options,
                               const float* idf) {
  std::vector<float> weights(features.rows.size(), 0.0F);
  std::unordered_map<int64_t, int64_t> counts;
  for (std::size_t sequence = 0; sequence + 1 < offsets.size(); ++sequence) {
    const auto begin = static_cast<std::size_t>(offsets[sequence] * options.ngrams);
    const auto end = static_cast<std::size_t>(offsets[sequence + 1] * options.ngrams);
    counts.clear();
    double squares = 0;  // squared norm of the text's vector, feature by feature
    for (std::size_t i = begin; i < end; ++i) {
      const auto row = features.rows[i];
      if (row == BagFeatures::kNone) {
        continue;
      }
      const auto earlier = counts[row]++;
      const double value = options.weighting == Weighting::kTfidf ? idf[row] : 1.0;
      squares += value * value * static_cast<double>(2 * earlier + 1);  // (n + 1)^2 - n^2
      weights[i] = static_cast<float>(value * occurrence_weight(options.weighting, earlier));
    }
    if (options.weighting == Weighting::kTfidf && squares > 0) {
      const auto scale = static_cast<float>(1.0 / std::sqrt(squares));
      for (std::size_t i = begin; i < end; ++i) {
        weights[i] *= scale;
      }
    }
  }
  return weights;
}

BagOfWords::BagOfWords(const ModelOptions& options) : Baseline(options) {
  const auto rows = bag_rows(options);
  if (options.bag.weighting == Weighting::kTfidf) {
    idf_ = register_parameter("idf", at::ones({rows}), /*requires_grad=*/false);
  }
  if (options.bag.weighting == Weighting::kNaiveBayes) {
    ratios_ = register_parameter("log_count_ratios", at::empty({rows, head_outputs(options)}),
                                 /*requires_grad=*/false);
  }
  words_ = register_parameter("words", at::empty({rows, head_outputs(options)}));
  bias_ = register_parameter("bias", at::empty({head_outputs(options)}));
}

void BagOfWords::fit(const TrainingSequences& data) {
  if (idf_.defined()) {
    fit_idf(data);
  }
  if (ratios_.defined()) {
    fit_ratios(data);
  }
}

void BagOfWords::fit_idf(const TrainingSequences& data) {
  std::vector<double> counts(static_cast<std::size_t>(idf_.size(0)), 0.0);
  double texts = 0;
  data.visit([&](const TrainingSequence& sequence) {
    for (const auto row : distinct_features(sequence, options())) {
      ++counts[static_cast<std::size_t>(row)];
    }
    ++texts;
  });
  const at::NoGradGuard no_grad;
  for (auto& count : counts) {
    count = 1 + std::log((1 + texts) / (1 + count));
  }
  idf_.copy_(at::from_blob(counts.data(), {idf_.size(0)}, at::kDouble));
}

void BagOfWords::fit_ratios(const TrainingSequences& data) {
  const auto classes = ratios_.size(1);
  auto counts = at::zeros(ratios_.sizes(), at::kDouble);  // (rows, C)
  auto* values = counts.mutable_data_ptr<double>();
  data.visit([&](const TrainingSequence& sequence) {
    if (sequence.label < 0 || sequence.label >= classes) {
      throw UserError("model.weighting: naive_bayes is only possible with one class for each text");
    }
    for (const auto row : distinct_features(sequence, options())) {
      ++values[row * classes + sequence.label];
    }
  });
  const at::NoGradGuard no_grad;
  const auto all = counts.sum(1, /*keepdim=*/true);
  const auto seen = at::gt(all, 0);  // (rows, 1)
  const auto log_share = [&](const at::Tensor& of_features) {
    const auto smoothed = (of_features + options().bag.alpha) * seen;
    return (smoothed / smoothed.sum(0)).log();
  };
  ratios_.copy_((log_share(counts) - log_share(all - counts)).masked_fill(~seen, 0.0));
}

at::Tensor BagOfWords::hidden(const TextInput& input, const nn::ForwardContext& context) {
  const auto ids = input.ids.cpu().contiguous();
  const auto* data = ids.const_data_ptr<int64_t>();
  const auto& offsets = context.layout.offsets;
  auto features = bag_features({data, data + ids.numel()}, offsets, options());
  const auto idf = idf_.defined() ? idf_.detach().to(at::kCPU, at::kFloat) : at::Tensor();
  const auto weights = bag_weights(features, offsets, options().bag,
                                   idf.defined() ? idf.const_data_ptr<float>() : nullptr);
  for (auto& row : features.rows) {
    row = row == BagFeatures::kNone ? 0 : row;  // its weight is zero
  }
  const auto device = words_.device();
  const auto rows = kernels::embedding_sum(words_, copy_of(features.rows, at::kLong, device), {},
                                           {}, {}, {});  // (N * ngrams, C)
  auto parts = rows.to(at::kFloat) * copy_of(weights, at::kFloat, device).unsqueeze(1);
  if (ratios_.defined()) {
    parts = parts * ratios_.index_select(0, copy_of(features.rows, at::kLong, device));
  }
  return parts.view({ids.numel(), options().bag.ngrams, words_.size(1)}).sum(1);
}

at::Tensor BagOfWords::class_logits(const at::Tensor& hidden, const nn::ForwardContext& context) {
  return nn::segment_sum(hidden, context.layout) + bias_.to(at::kFloat);
}

int64_t bag_rows(const ModelOptions& options) {
  return options.vocabulary + (options.bag.ngrams > 1 ? options.bag.buckets : 0);
}

at::Tensor BagOfWords::token_class_weights() const {
  const auto weights = ratios_.defined() ? words_ * ratios_ : words_;
  return weights.narrow(0, 0, options().vocabulary);
}

}  // namespace weft::models
