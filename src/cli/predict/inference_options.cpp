#include "cli/predict/inference_options.h"

#include "base/string_util.h"
#include "cli/shared_options.h"

namespace weft::cli {
namespace {

at::ScalarType read_type(const Arguments& arguments, const at::Device& device) {
  const auto word = arguments.get("precision", "fp32");
  if (word == "fp32") {
    return at::kFloat;
  }
  if (word == "bf16") {
    return at::kBFloat16;
  }
  if (word == "auto") {
    return models::fast_type(device);
  }
  throw UsageError(str_cat("--precision: '", word, "' is not one of fp32, bf16, auto"));
}

}  // namespace

void declare_inference(Arguments& arguments) {
  arguments
      .value("precision", "FORMAT",
             "fp32 (default, reproducible), bf16 (precise to two or three digits, several times "
             "faster), or auto: bf16 where the CPU or GPU supports it in hardware, else fp32")
      .flag("int8",
            "Quantize the weights of linear layers to int8 (CPU only): faster, with a small loss "
            "of accuracy; measure it with `weft evaluate MODEL --data FILE --int8`")
      .value("device", "DEVICE", "auto (default), cpu or cuda");
}

models::InferenceOptions read_inference(const Arguments& arguments) {
  const auto device = read_device(arguments);
  return {.device = device,
          .type = read_type(arguments, device),
          .is_quantized = arguments.has("int8")};
}

}  // namespace weft::cli
