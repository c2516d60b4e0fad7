#include <algorithm>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "models/baselines/fasttext.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "models/config/layer_types.h"
#include "models/directory.h"

namespace weft::models {

namespace {

using formats::FastTextLoss;

at::Tensor tensor_of_matrix(const formats::FloatMatrix& matrix) {
  return at::from_blob(const_cast<float*>(matrix.values.data()),  // never written to
                       {matrix.rows, matrix.columns}, at::kFloat);
}

/// fastText's Huffman tree, for the buffer of Weft's: row r of its output matrix is node
/// (labels - 2 - r), so that the root comes first. It adds the leaves and nodes of the lowest
/// counts, a node before a leaf of the same count; the second of the two has probability sigmoid.
at::Tensor fasttext_tree(const std::vector<formats::FastTextLabel>& labels) {
  const auto leaves = std::ssize(labels);
  const auto inner = leaves - 1;
  constexpr int64_t kUnmade = 1'000'000'000'000'000;
  std::vector<int64_t> counts(static_cast<std::size_t>(leaves + inner), kUnmade);
  for (int64_t i = 0; i < leaves; ++i) {
    counts[static_cast<std::size_t>(i)] = labels[static_cast<std::size_t>(i)].count;
  }
  auto children = at::empty({inner, 2}, at::kLong);
  auto* data = children.data_ptr<int64_t>();
  int64_t leaf = leaves - 1;
  int64_t node = leaves;
  const auto count_of = [&](int64_t i) -> int64_t& { return counts[static_cast<std::size_t>(i)]; };
  const auto take = [&] { return leaf >= 0 && count_of(leaf) < count_of(node) ? leaf-- : node++; };
  const auto child = [&](int64_t i) { return i < leaves ? -1 - i : inner - 1 - (i - leaves); };
  for (int64_t made = 0; made < inner; ++made) {
    const auto first = take();
    const auto second = take();
    count_of(leaves + made) = count_of(first) + count_of(second);
    auto* pair = data + 2 * (inner - 1 - made);
    pair[0] = child(second);
    pair[1] = child(first);
  }
  return children;
}

ModelOptions options_of(const formats::FastTextFile& file) {
  auto options = family_defaults(family_named("fasttext"));
  options.head = Head::kSequence;
  options.vocabulary = file.input.rows;
  options.dim = file.input.columns;
  for (const auto& label : file.labels) {
    options.labels.push_back(label.name);
  }
  if (file.loss == FastTextLoss::kHierarchicalSoftmax && file.labels.size() > 1) {
    options.layer_types.output = nn::default_component(output_types(), "hierarchical");
  }
  options.is_multi_label =
      file.loss == FastTextLoss::kOneVsAll || file.loss == FastTextLoss::kNegativeSampling;
  return options;
}

}  // namespace

std::shared_ptr<FastText> fasttext_model(const formats::FastTextFile& file) {
  auto model = std::make_shared<FastText>(options_of(file));
  const at::NoGradGuard no_grad;
  auto parameters = model->named_parameters();
  parameters["words"].copy_(tensor_of_matrix(file.input));
  if (!model->options().layer_types.output) {
    parameters["output"].copy_(tensor_of_matrix(file.output));
    return model;
  }
  const auto inner = file.output.rows - 1;
  parameters["output_layer.weight"].copy_(
      tensor_of_matrix(file.output).narrow(0, 0, inner).flip(0));
  parameters["output_layer.bias"].zero_();
  model->named_buffers()["output_layer.children"].copy_(fasttext_tree(file.labels));
  model->finish_loading();
  return model;
}

}  // namespace weft::models
