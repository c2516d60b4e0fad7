#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include <ATen/core/grad_mode.h>

#include "batching/device_batch.h"
#include "data/batch.h"
#include "models/directory.h"
#include "objectives/objective.h"
#include "support/tensors.h"

namespace weft::test {

inline models::ModelOptions tiny_model(models::Head head) {
  models::ModelOptions options;
  options.head = head;
  options.vocabulary = 30;
  options.dim = 16;
  options.layers = 1;
  options.heads = 2;
  options.width = 24;
  options.length = 12;
  options.init_std = 0.2;
  if (head == models::Head::kSequence) {
    options.labels = {"no", "perhaps", "yes"};
  }
  return options;
}

/// The same size as an XLM of two languages, with embeddings large enough to distinguish them.
inline models::ModelOptions tiny_xlm(models::Head head) {
  auto options = tiny_model(head);
  options.family = models::family_named("xlm");
  options.xlm.languages = {"de", "en"};
  options.xlm.embedding_init_std = 1.0;
  if (head == models::Head::kToken) {
    options.labels = {"B-X", "O"};
  }
  return options;
}

/// Sequences of differing lengths with targets and labels: the same for the same number.
inline data::Example example(int64_t number) {
  data::Example example;
  const int64_t length = 3 + number % 5;
  for (int64_t i = 0; i < length; ++i) {
    example.ids.push_back(5 + (number * 7 + i * 3) % 25);
    example.token_type_ids.push_back(i >= length / 2 ? 1 : 0);
  }
  example.target_positions = {1, 2};
  example.targets = {5 + number % 25, 5 + (number * 11) % 25};
  example.label = number % 2;
  return example;
}

inline data::Batch batch_of(const std::vector<int64_t>& numbers) {
  data::Batch batch;
  for (const auto number : numbers) {
    batch.add(number, example(number));
  }
  return batch;
}

/// The same with the numbers that a regression is to find.
inline data::Batch regression_batch_of(const std::vector<int64_t>& numbers) {
  auto batch = batch_of(numbers);
  for (const auto number : numbers) {
    batch.values.push_back(std::sin(static_cast<double>(number)));
  }
  return batch;
}

inline double loss_sum(const std::vector<at::Tensor>& losses) {
  double sum = 0;
  for (const auto& loss : losses) {
    sum += loss.item<double>();
  }
  return sum;
}

/// Metrics after evaluating the batches one at a time.
inline std::map<std::string, double> evaluate(const objectives::Objective& objective,
                                              models::Model& model,
                                              const std::vector<data::Batch>& batches) {
  const at::NoGradGuard guard;
  const auto evaluation = objective.evaluation();
  for (const auto& batch : batches) {
    evaluation->add(model, batch, batching::to_device(batch, at::kCPU).context);
  }
  return evaluation->result();
}

}  // namespace weft::test
