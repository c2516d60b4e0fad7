#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/error.h"
#include "base/file.h"
#include "base/string_util.h"
#include "kernels/cross_entropy.h"
#include "kernels/linear/linear.h"
#include "kernels/to_device.h"
#include "nn/output/output_layer.h"

namespace weft::nn {

namespace {

struct ClassOptions {
  std::optional<int64_t> classes = {};  // nullopt: sqrt(V)
  std::string file = {};                // of tokens and their classes; empty: by frequency
};

/// The class of each token.
using TokenClasses = std::vector<int64_t>;

/// Classes of consecutive frequency ranks, with about the same sum of sqrt(count) each, so that
/// frequent tokens are in small classes.
TokenClasses classes_by_frequency(const std::vector<int64_t>& counts, int64_t classes) {
  const auto root = [&](int64_t token) {
    return std::sqrt(static_cast<double>(counts[static_cast<std::size_t>(token)]) + 1);
  };
  double total = 0;
  for (std::size_t token = 0; token < counts.size(); ++token) {
    total += root(static_cast<int64_t>(token));
  }
  TokenClasses result(counts.size());
  double sum = 0;
  int64_t current = 0;
  auto remaining = static_cast<int64_t>(counts.size());
  for (const auto token : by_frequency(counts)) {
    const auto wanted = static_cast<int64_t>(sum / total * static_cast<double>(classes));
    const bool is_first = remaining == static_cast<int64_t>(counts.size());
    if (!is_first && (wanted > current || classes - current > remaining)) {
      current = std::min(current + 1, classes - 1);  // no class stays empty
    }
    result[static_cast<std::size_t>(token)] = current;
    sum += root(token);
    --remaining;
  }
  return result;
}

/// Reads `TOKEN CLASS` lines. Tokens that are not listed have a class of their own, the last.
TokenClasses classes_of_file(const std::string& path,
                             const TokenStatistics& statistics,
                             int64_t classes) {
  const auto text = read_file(path);
  std::map<std::string, int64_t, std::less<>> class_of_token;
  std::map<std::string, int64_t, std::less<>> names;
  int64_t number = 0;
  for (const auto line : split(text, '\n')) {
    ++number;
    const auto content = trim(line);
    const auto space = content.find_last_of(" \t");
    if (content.empty()) {
      continue;
    }
    if (space == std::string_view::npos) {
      throw UserError(str_cat(path, ":", number, ": found one word, must be TOKEN and CLASS"));
    }
    const auto name = names.try_emplace(std::string(content.substr(space + 1)),
                                        static_cast<int64_t>(names.size()));
    class_of_token[std::string(trim(content.substr(0, space)))] = name.first->second;
  }
  const auto listed = static_cast<int64_t>(names.size());
  TokenClasses result(statistics.counts.size());
  std::vector<bool> is_used(names.size() + 1);
  for (std::size_t id = 0; id < result.size(); ++id) {
    const auto found = class_of_token.find(statistics.token(static_cast<int64_t>(id)));
    result[id] = found == class_of_token.end() ? listed : found->second;
    is_used[static_cast<std::size_t>(result[id])] = true;
  }
  const auto used = std::count(is_used.begin(), is_used.end(), true);
  if (used != classes) {
    throw UserError(str_cat(path, ": the tokens of the vocabulary have ", used, " classes",
                            is_used.back() ? ", one of them for all that are not listed" : "",
                            ", but model.output.classes is ", classes));
  }
  std::vector<int64_t> compact(is_used.size());  // without classes that no token has
  std::transform_exclusive_scan(is_used.begin(), is_used.end(), compact.begin(), int64_t{0},
                                std::plus<>(), [](bool is) { return is ? 1 : 0; });
  for (auto& value : result) {
    value = compact[static_cast<std::size_t>(value)];
  }
  return result;
}

/// P(token) = P(class) P(token | class), two softmax layers.
class ClassOutput : public OutputLayer {
 public:
  ClassOutput(const OutputOptions& options, ClassOptions own)
      : vocabulary_(options.vocabulary), own_(std::move(own)) {
    classes_ = own_.classes.value_or(
        std::max<int64_t>(1, std::llround(std::sqrt(static_cast<double>(vocabulary_)))));
    if (classes_ > vocabulary_) {
      throw UserError(str_cat("model.output.classes: ", classes_, ", must be at most ", vocabulary_,
                              ", the size of the vocabulary"));
    }
    class_weight_ = register_parameter("class_weight", at::empty({classes_, options.width}));
    class_bias_ = register_parameter("class_bias", at::empty({classes_}));
    weight_ = register_parameter("weight", at::empty({vocabulary_, options.width}));
    bias_ = register_parameter("bias", at::empty({vocabulary_}));
    tokens_ = register_buffer("tokens", at::empty({vocabulary_}, at::kLong));
    sizes_ = register_buffer("sizes", at::empty({classes_}, at::kLong));
    set_classes(classes_by_frequency(std::vector<int64_t>(static_cast<std::size_t>(vocabulary_), 0),
                                     classes_));
  }

  at::Tensor logits(const TokenStates& input, const OutputMatrix& /*matrix*/) override;
  at::Tensor loss(const TokenStates& input,
                  const at::Tensor& targets,
                  const OutputMatrix& /*matrix*/,
                  const ForwardContext& /*context*/) override;
  bool needs_statistics() const override { return true; }
  void fit(const TokenStatistics& statistics) override {
    set_classes(own_.file.empty() ? classes_by_frequency(statistics.counts, classes_)
                                  : classes_of_file(own_.file, statistics, classes_));
  }
  void finish_loading() override;

 private:
  void set_classes(const TokenClasses& classes);

  int64_t vocabulary_;
  int64_t classes_ = 0;
  ClassOptions own_;
  at::Tensor class_weight_;  // (C, E)
  at::Tensor class_bias_;    // (C)
  at::Tensor weight_;        // (V, E), rows in the order of tokens_
  at::Tensor bias_;          // (V)
  at::Tensor tokens_;        // (V), class by class
  at::Tensor sizes_;         // (C), tokens of each class

  // From the buffers.
  std::vector<int64_t> class_sizes_;
  std::vector<int64_t> class_of_token_;
  std::vector<int64_t> row_of_token_;
};

void ClassOutput::set_classes(const TokenClasses& classes) {
  std::vector<int64_t> tokens(classes.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  const auto class_of = [&](int64_t token) { return classes[static_cast<std::size_t>(token)]; };
  std::ranges::stable_sort(tokens, {}, class_of);
  std::vector<int64_t> sizes(static_cast<std::size_t>(classes_), 0);
  for (const auto value : classes) {
    ++sizes[static_cast<std::size_t>(value)];
  }
  tokens_.copy_(kernels::to_device(tokens, at::kCPU));
  sizes_.copy_(kernels::to_device(sizes, at::kCPU));
  finish_loading();
}

void ClassOutput::finish_loading() {
  const auto tokens = tokens_.cpu();
  const auto sizes = sizes_.cpu();
  const auto* ids = tokens.const_data_ptr<int64_t>();
  class_sizes_.assign(sizes.const_data_ptr<int64_t>(),
                      sizes.const_data_ptr<int64_t>() + sizes.numel());
  class_of_token_.assign(static_cast<std::size_t>(vocabulary_), -1);
  row_of_token_.assign(static_cast<std::size_t>(vocabulary_), -1);
  int64_t row = 0;
  for (std::size_t i = 0; i < class_sizes_.size(); ++i) {
    const bool fits = class_sizes_[i] > 0 && class_sizes_[i] <= vocabulary_ - row;
    for (const auto end = fits ? row + class_sizes_[i] : row; row < end; ++row) {
      const auto token = ids[row];
      if (token < 0 || token >= vocabulary_ ||
          row_of_token_[static_cast<std::size_t>(token)] >= 0) {
        break;
      }
      row_of_token_[static_cast<std::size_t>(token)] = row;
      class_of_token_[static_cast<std::size_t>(token)] = static_cast<int64_t>(i);
    }
  }
  if (std::ranges::find(row_of_token_, -1) != row_of_token_.end()) {
    throw UserError("model.safetensors: the classes of the class-based softmax are damaged");
  }
}

at::Tensor ClassOutput::logits(const TokenStates& input, const OutputMatrix& /*matrix*/) {
  const auto& features = input.states;
  const auto classes =
      at::log_softmax(kernels::linear(features, class_weight_, class_bias_), 1, at::kFloat);
  auto words = kernels::linear(features, weight_, bias_).split_with_sizes(class_sizes_, 1);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    words[i] = at::log_softmax(words[i], 1, at::kFloat) + classes.narrow(1, index, 1);
  }
  return at::cat(words, 1).index_select(1, kernels::to_device(row_of_token_, features.device()));
}

at::Tensor ClassOutput::loss(const TokenStates& input,
                             const at::Tensor& targets,
                             const OutputMatrix& /*matrix*/,
                             const ForwardContext& /*context*/) {
  const auto& features = input.states;
  const auto ids = targets.cpu();
  const auto* tokens = ids.const_data_ptr<int64_t>();
  const auto count = ids.numel();
  std::vector<int64_t> classes(static_cast<std::size_t>(count));
  std::vector<std::vector<int64_t>> rows(class_sizes_.size());    // of each class
  std::vector<std::vector<int64_t>> places(class_sizes_.size());  // of their targets in the class
  std::vector<int64_t> begins(class_sizes_.size());
  std::exclusive_scan(class_sizes_.begin(), class_sizes_.end(), begins.begin(), int64_t{0});
  for (int64_t row = 0; row < count; ++row) {
    const auto token = static_cast<std::size_t>(tokens[row]);
    const auto index = static_cast<std::size_t>(class_of_token_[token]);
    classes[static_cast<std::size_t>(row)] = class_of_token_[token];
    rows[index].push_back(row);
    places[index].push_back(row_of_token_[token] - begins[index]);
  }
  const auto device = features.device();
  auto sum = kernels::linear_cross_entropy(features, class_weight_, class_bias_,
                                           kernels::to_device(classes, device));
  const auto weights = weight_.split_with_sizes(class_sizes_);
  const auto biases = bias_.split_with_sizes(class_sizes_);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].empty() && class_sizes_[i] > 1) {
      sum = sum + kernels::linear_cross_entropy(
                      features.index_select(0, kernels::to_device(rows[i], device)), weights[i],
                      biases[i], kernels::to_device(places[i], device));
    }
  }
  return sum;
}

}  // namespace

OutputMaker read_class_output(config::Section& section) {
  constexpr double kMostClasses = 1 << 20;
  ClassOptions own;
  section.read("classes", own.classes,
               {.help = "Number of classes. null: the square root of the vocabulary size.",
                .unit = "classes",
                .range = config::between(1, kMostClasses)});
  section.read("class_file", own.file,
               {.help = "File with a token and its class on each line, read before training. "
                        "Empty: the classes follow from the counts of the tokens in the training "
                        "data."});
  return
      [own](const OutputOptions& options) { return std::make_shared<ClassOutput>(options, own); };
}

}  // namespace weft::nn
