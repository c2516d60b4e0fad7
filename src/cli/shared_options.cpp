#include "cli/shared_options.h"

#include <set>
#include <string_view>

#include "base/string_util.h"
#include "models/config/layer_type_keys.h"
#include "train/run/device.h"

namespace weft::cli {

namespace {

at::ScalarType read_type(const Arguments& arguments, const at::Device& device) {
  using Type = std::optional<at::ScalarType>;
  if (arguments.get("precision", "") == "int8") {
    arguments.fail("--precision: int8 is an option of its own: use --int8");
  }
  const auto type = arguments.choice("precision", Type(at::kFloat),
                                     {{"fp32", at::kFloat}, {"bf16", at::kBFloat16}, {"auto", {}}});
  return type ? *type : models::fast_type(device);
}

}  // namespace

c10::Device read_device(const Arguments& arguments) {
  return train::choose_device(arguments.choice("device", train::DeviceChoice::kAuto,
                                               {{"auto", train::DeviceChoice::kAuto},
                                                {"cpu", train::DeviceChoice::kCpu},
                                                {"cuda", train::DeviceChoice::kCuda}}));
}

std::vector<int64_t> read_layers(const Arguments& arguments,
                                 const std::string& option,
                                 int64_t layers) {
  std::set<int64_t> chosen;
  if (!arguments.has(option)) {
    return {};
  }
  const auto list = arguments.get(option);
  for (const std::string_view word : split(list, ',')) {
    auto range = models::parse_layer_range(word);
    if (word == "all") {
      range = {0, layers - 1};
    } else if (word == "last") {
      range = {layers - 1, layers - 1};
    }
    if (!range || range->second >= layers) {
      throw UsageError(
          str_cat("--", option, ": '", word,
                  "' is not a layer, allowed is all, last, or layer numbers from 0 to ", layers - 1,
                  ", comma-separated"));
    }
    for (auto layer = range->first; layer <= range->second; ++layer) {
      chosen.insert(layer);
    }
  }
  return {chosen.begin(), chosen.end()};
}

std::optional<int64_t> read_threads(const Arguments& arguments) {
  if (!arguments.has("threads")) {
    return std::nullopt;
  }
  return arguments.integer("threads", 1, 1, 1024);
}

void declare_batch_tokens(Arguments& arguments) {
  arguments.value("batch-tokens", "N",
                  "Tokens per batch (default: 512; on a GPU: 4096); does not change results");
}

std::optional<int64_t> read_batch_tokens(const Arguments& arguments) {
  if (!arguments.has("batch-tokens")) {
    return std::nullopt;
  }
  return arguments.integer("batch-tokens", 0, 1, int64_t{1} << 30);
}

void declare_early_exit(Arguments& arguments) {
  arguments.value("early-exit", "RULE",
                  "Rule of a model with early exits, in place of its own: "
                  "'{type: entropy, threshold: 0.3}' or '{type: patience, patience: 2}'");
}

void declare_inference(Arguments& arguments) {
  arguments.group("Conditional computation", HelpLevel::kHelpAll)
      .value("budget", "SHARE",
             "Of a model with gates (model.residual.gate): the share of its sub-layers to compute, "
             "one of its budgets, in place of its own");
  arguments.group("Performance")
      .value("threads", "N", "Number of CPU threads (default: all cores)")
      .value(
          "precision", "FORMAT",
          "fp32 (default), bf16 (two or three digits, several times faster), or auto: bf16 where "
          "the hardware supports it, else fp32")
      .flag("int8",
            "Quantize linear layers to int8 (CPU only): faster, slightly less accurate; measure it "
            "with `weft evaluate MODEL --data FILE --int8`")
      .value("device", "DEVICE", "auto (default), cpu or cuda");
}

models::InferenceOptions read_inference(const Arguments& arguments) {
  const auto device = read_device(arguments);
  return {.device = device,
          .type = read_type(arguments, device),
          .is_quantized = arguments.has("int8"),
          .budget = arguments.has("budget") ? std::optional(arguments.number("budget", 1, 0, 1))
                                            : std::nullopt};
}

}  // namespace weft::cli
