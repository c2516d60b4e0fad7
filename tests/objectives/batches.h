#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/grad_mode.h>

#include "batching/device_batch.h"
#include "data/batch.h"
#include "models/directory.h"
#include "nn/document/document_encoder.h"
#include "nn/pooling/sequence_pooling.h"
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

/// The same size for documents, which are read sentence by sentence.
inline models::ModelOptions tiny_document_model(models::Head head,
                                                const std::string& type = "hibert") {
  auto options = tiny_model(head);
  options.layers = 4;
  options.document.emplace();
  options.document->encoder = nn::default_component(nn::document_encoders(), type);
  options.document->sentences = 4;
  options.document->sentence_length = 5;
  options.document->sentence_vector = nn::default_component(nn::sequence_poolings(), "last");
  options.document->pooling = nn::default_component(nn::sequence_poolings(), "mean");
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

/// A document of one to three sentences, of which one is masked.
inline data::Example masked_document(int64_t number) {
  data::Example example;
  const auto sentences = 1 + number % 3;
  const auto id = [&](int64_t sentence, int64_t i) {
    return 5 + (number * 7 + sentence * 5 + i * 3) % 25;
  };
  for (int64_t sentence = 0; sentence < sentences; ++sentence) {
    const auto length = 2 + (number + sentence) % 3;
    for (int64_t i = 0; i < length; ++i) {
      const auto is_masked = sentence == number % sentences && i + 1 < length;
      example.ids.push_back(is_masked ? 4 : id(sentence, i));
    }
    example.sentence_lengths.push_back(length);
    if (sentence == number % sentences) {
      for (int64_t i = 0; i < length; ++i) {
        example.targets.push_back(id(sentence, i));
        example.target_positions.push_back(std::ssize(example.ids) - 1);
      }
    }
  }
  example.token_type_ids.resize(example.ids.size());
  return example;
}

inline data::Batch masked_documents(const std::vector<int64_t>& numbers) {
  data::Batch batch;
  for (const auto number : numbers) {
    batch.add(number, masked_document(number));
  }
  return batch;
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
