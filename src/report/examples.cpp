#include "report/examples.h"

#include <algorithm>
#include <cmath>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include "base/string_util.h"
#include "batching/device_batch.h"
#include "batching/hidden_states.h"
#include "data/images/image_dataset.h"
#include "report/markup.h"

namespace weft::report {

namespace {

constexpr int64_t kScannedItems = 5000;
constexpr int64_t kFewestTokens = 3;

/// The first tokens of an example, with their targets.
data::Example cut_to(data::Example example, std::size_t longest) {
  const auto cut = [longest](auto& values) { values.resize(std::min(values.size(), longest)); };
  for (auto* values :
       {&example.ids, &example.source_ids, &example.token_type_ids, &example.positions}) {
    cut(*values);
  }
  const auto length = static_cast<int64_t>(example.ids.size());
  const auto kept =
      std::ranges::lower_bound(example.target_positions, length) - example.target_positions.begin();
  example.target_positions.resize(static_cast<std::size_t>(kept));
  example.targets.resize(static_cast<std::size_t>(kept));
  example.prefix_length = std::min(example.prefix_length, length);
  int64_t sentences = 0;
  for (auto& sentence : example.sentence_lengths) {
    sentence = std::min(sentence, length - sentences);
    sentences += sentence;
  }
  std::erase(example.sentence_lengths, 0);
  return example;
}

}  // namespace

std::vector<data::Example> short_examples(const data::Dataset& dataset,
                                          int64_t count,
                                          int64_t longest) {
  std::vector<data::Example> examples;
  const auto add = [&](bool are_short) {
    for (int64_t item = 0; item < std::min(dataset.size(0), kScannedItems) &&
                           static_cast<int64_t>(examples.size()) < count;
         ++item) {
      const auto length = dataset.length(0, item);
      if (length >= kFewestTokens && (length <= longest) == are_short) {
        examples.push_back(cut_to(dataset.example(0, item), static_cast<std::size_t>(longest)));
      }
    }
  };
  add(true);
  add(false);
  return examples;
}

data::Batch batch_of(const data::Example& example) {
  data::Batch batch;
  batch.add(0, example);
  return batch;
}

std::string shown_token(const data::Tokenizer& tokenizer, int64_t id) {
  const auto token = static_cast<int32_t>(id);
  auto piece = tokenizer.piece(token);
  auto text = tokenizer.decode({token}, false);
  const bool has_space = piece.starts_with("Ġ") || piece.starts_with("▁");
  const bool is_readable = !trim(text).empty() && text.find("\xef\xbf\xbd") == std::string::npos;
  if (!is_readable) {
    return piece;
  }
  if (has_space) {
    return str_cat("▁", trim(text));
  }
  return piece.starts_with("##") ? piece : text;
}

std::vector<std::string> shown_tokens(const data::Tokenizer& tokenizer,
                                      const std::vector<int64_t>& ids) {
  std::vector<std::string> pieces;
  pieces.reserve(ids.size());
  for (const auto id : ids) {
    pieces.push_back(shown_token(tokenizer, id));
  }
  return pieces;
}

std::string text_of(const data::Tokenizer& tokenizer,
                    const std::vector<int64_t>& ids,
                    std::size_t most) {
  return shortened(tokenizer.decode({ids.begin(), ids.end()}), most);
}

std::vector<double> values_of(const at::Tensor& x) {
  const auto values = x.to(at::kCPU, at::kDouble).contiguous();
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

std::vector<std::vector<double>> rows_of(const at::Tensor& x) {
  std::vector<std::vector<double>> rows;
  for (const auto& row : x.to(at::kCPU, at::kDouble).unbind(0)) {
    rows.push_back(values_of(row));
  }
  return rows;
}

std::string label_name(const LoadedRun& run, int64_t label) {
  const auto index = static_cast<std::size_t>(label);
  return label < 0 ? "–" : index < run.labels.size() ? run.labels[index] : str_cat("class ", label);
}

at::Tensor hidden_states_of(const LoadedRun& run,
                            const data::Batch& batch,
                            nn::AttentionRecorder* recorder) {
  const at::NoGradGuard guard;
  auto context = batching::context_of(batch, run.model->device());
  context.attention_recorder = recorder;
  return batching::hidden_states(*run.model, batch, context);
}

formats::Image image_of(const data::Example& example, const LoadedRun& run, bool shows_hidden) {
  return data::example_image(example, run.model->options().vision.patch_size,
                             data::preprocessor_config_of(*run.tokenizer), shows_hidden);
}

std::string data_url(const formats::Image& image) {
  return "data:image/png;base64," + to_base64(formats::encode_png(image));
}

at::Tensor principal_components(const at::Tensor& x) {
  const auto rows = x.to(at::kCPU, at::kDouble);
  const auto centered = rows - rows.mean(0, true);
  const auto decomposition = at::linalg_svd(centered, false);
  const auto& left = std::get<0>(decomposition);
  const auto kept = std::min<int64_t>(2, left.size(1));
  auto components = left.narrow(1, 0, kept) * std::get<1>(decomposition).narrow(0, 0, kept);
  const auto largest = components.gather(0, components.abs().argmax(0, true));  // (1, 2)
  components = components * at::where(largest < 0, -1.0, 1.0);
  return kept == 2 ? components : at::cat({components, at::zeros_like(components)}, 1);
}

}  // namespace weft::report
