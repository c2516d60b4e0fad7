#include "train/log/tensorboard_content.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "base/string_util.h"
#include "config/yaml.h"
#include "data/images/image_dataset.h"
#include "formats/tensorboard_values.h"
#include "models/config/family_definition.h"
#include "train/log/metrics_log.h"
#include "train/step/evaluation_driver.h"

namespace weft::train {

namespace {

namespace tensorboard = formats::tensorboard;
using Hyperparameters = std::vector<std::pair<std::string, tensorboard::HyperparameterValue>>;

constexpr int64_t kExamples = 8;
constexpr int64_t kBins = 64;

tensorboard::HyperparameterValue value_of(const config::Node& node) {
  const auto& text = node.scalar;
  if (node.is_plain && (text == "true" || text == "false")) {
    return text == "true";
  }
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool is_number = node.is_plain && !text.empty() && *end == '\0' && std::isfinite(number);
  return is_number ? tensorboard::HyperparameterValue(number)
                   : tensorboard::HyperparameterValue(text);
}

/// All single values of the config, by their dotted keys; paths and lists are not hyperparameters.
void add_hyperparameters(const config::Node& node,
                         const std::string& prefix,
                         Hyperparameters& values) {
  for (const auto& [key, location, value] : node.entries) {
    const auto name = prefix.empty() ? key : str_cat(prefix, ".", key);
    if (value.kind == config::Node::Kind::kMap) {
      add_hyperparameters(value, name, values);
    } else if (value.kind == config::Node::Kind::kScalar && name != "run.directory") {
      values.emplace_back(name, value_of(value));
    }
  }
}

std::vector<std::string> example_values(const RunConfig& config, const RunComponents& components) {
  const auto& dataset = *components.data.train;
  const auto count = std::min(dataset.size(0), kExamples);
  std::vector<std::string> values;
  std::string texts;
  for (int64_t item = 0; item < count; ++item) {
    const auto example = dataset.example(0, item);
    if (models::reads_images(config.model)) {
      values.push_back(tensorboard::image(
          str_cat("train/examples/", item),
          data::example_image(example, config.model.vision.patch_size,
                              data::preprocessor_config_of(*components.tokenizer))));
      continue;
    }
    for (const auto* ids : {&example.source_ids, &example.ids}) {
      const auto& tokenizer = ids == &example.ids && !example.source_ids.empty()
                                  ? components.tokenizer->target()
                                  : *components.tokenizer;
      texts += ids->empty()
                   ? ""
                   : str_cat("    ", tokenizer.decode({ids->begin(), ids->end()}, false), "\n");
    }
    texts += "\n";
  }
  if (!trim(texts).empty()) {
    values.push_back(tensorboard::text("train/examples", texts));
  }
  return values;
}

double number_of(const at::Tensor& scalar) { return scalar.item<double>(); }

}  // namespace

std::vector<std::string> start_values(const RunConfig& config, const RunComponents& components) {
  Hyperparameters hyperparameters;
  add_hyperparameters(config::parse_yaml(config.resolved, "config.yaml"), "", hyperparameters);
  std::vector<std::string> tags = {"train/loss"};
  if (components.data.evaluate) {
    tags.push_back(evaluation_tag(metric_for_best_model(config.train, *components.objective)));
  }
  const auto now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  auto values = tensorboard::hyperparameters(hyperparameters, tags, now);
  values.push_back(tensorboard::text("config", "```\n" + config.resolved + "```\n"));
  for (auto& value : example_values(config, components)) {
    values.push_back(std::move(value));
  }
  return values;
}

std::vector<std::string> histogram_values(
    const std::vector<std::pair<std::string, at::Tensor>>& tensors) {
  const at::NoGradGuard guard;
  std::vector<std::string> values;
  for (const auto& [tag, tensor] : tensors) {
    const auto numbers = tensor.detach().to(at::kCPU, at::kFloat).flatten();
    if (numbers.numel() == 0 || !numbers.isfinite().all().item<bool>()) {
      continue;
    }
    const auto wide = numbers.to(at::kDouble);
    tensorboard::Histogram histogram{.min = number_of(wide.min()),
                                     .max = number_of(wide.max()),
                                     .count = static_cast<double>(wide.numel()),
                                     .sum = number_of(wide.sum()),
                                     .sum_of_squares = number_of(wide.square().sum()),
                                     .limits = {},
                                     .counts = {}};
    const double width = std::max((histogram.max - histogram.min) / kBins, 1e-30);
    const auto counts =
        at::histc(wide, kBins, histogram.min, histogram.min + width * kBins).contiguous();
    for (int64_t bin = 0; bin < kBins; ++bin) {
      histogram.limits.push_back(histogram.min + width * static_cast<double>(bin + 1));
      histogram.counts.push_back(counts.const_data_ptr<double>()[bin]);
    }
    values.push_back(tensorboard::histogram(tag, histogram));
  }
  return values;
}

}  // namespace weft::train
