// A Weft encoder as a module of a plain LibTorch program, with its own training loop.
//
// Task: does a sequence contain token 1? Sequences of different lengths are packed into one stream;
// nothing is padded.
#include <cstdint>
#include <iostream>
#include <random>
#include <vector>

#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adamw.h>

#include "kernels/layout.h"
#include "models/directory.h"
#include "nn/pooling/pooling.h"

namespace {

constexpr int64_t kVocabulary = 8;

struct Example {
  weft::models::TextInput input;
  weft::nn::ForwardContext context;
  at::Tensor labels;  // (B)
};

Example make_example(std::mt19937& random, int64_t sequences) {
  std::vector<int64_t> ids;
  std::vector<int64_t> offsets{0};
  std::vector<int64_t> labels;
  for (int64_t b = 0; b < sequences; ++b) {
    const auto length = 2 + static_cast<int64_t>(random() % 6);
    labels.push_back(static_cast<int64_t>(random() % 2));
    for (int64_t i = 0; i < length; ++i) {
      ids.push_back(2 + static_cast<int64_t>(random() % (kVocabulary - 2)));
    }
    if (labels.back() == 1) {
      ids[ids.size() - 1 - random() % static_cast<std::size_t>(length)] = 1;
    }
    offsets.push_back(static_cast<int64_t>(ids.size()));
  }
  Example example;
  example.input.ids = at::tensor(ids, at::kLong);
  example.context.layout = weft::kernels::Layout::from_offsets(offsets, at::kCPU);
  example.labels = at::tensor(labels, at::kLong);
  return example;
}

/// The encoder and a linear classifier of the first token.
class Classifier : public torch::nn::Module {
 public:
  explicit Classifier(const weft::models::ModelOptions& options) {
    encoder_ = register_module("encoder", weft::models::make_model(options, /*seed=*/1));
    output_ = register_module("output", torch::nn::Linear(options.dim, 2));
  }

  at::Tensor forward(const Example& example) {
    const auto hidden = encoder_->forward(example.input, example.context);            // (N, D)
    return output_->forward(weft::nn::first_tokens(hidden, example.context.layout));  // (B, 2)
  }

 private:
  std::shared_ptr<weft::models::Model> encoder_;
  torch::nn::Linear output_{nullptr};
};

}  // namespace

int main() {
  weft::models::ModelOptions options;  // a small BERT
  options.vocabulary = kVocabulary;
  options.dim = 32;
  options.layers = 2;
  options.heads = 4;
  options.width = 64;
  options.length = 8;
  Classifier model(options);
  std::mt19937 random(1);
  torch::optim::AdamW optimizer(model.parameters(), torch::optim::AdamWOptions(3e-3));
  for (int64_t step = 0; step < 200; ++step) {
    auto example = make_example(random, 64);
    example.context.is_training = true;  // dropout, drawn from seed and step
    example.context.step = static_cast<uint64_t>(step);
    optimizer.zero_grad();
    const auto loss = at::cross_entropy_loss(model.forward(example), example.labels);
    loss.backward();
    optimizer.step();
    if (step % 50 == 49) {
      std::cout << "step " << step + 1 << " loss " << loss.item<double>() << "\n";
    }
  }
  const auto test = make_example(random, 512);
  const auto accuracy =
      model.forward(test).argmax(1).eq(test.labels).to(at::kDouble).mean().item<double>();
  std::cout << "accuracy " << accuracy << "\n";
  return accuracy > 0.9 ? 0 : 1;
}
