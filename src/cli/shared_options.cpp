#include "cli/shared_options.h"

#include "base/string_util.h"
#include "train/run/device.h"

namespace weft::cli {

namespace {

at::ScalarType read_type(const Arguments& arguments, const at::Device& device) {
  using Type = std::optional<at::ScalarType>;
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

std::optional<int64_t> read_threads(const Arguments& arguments) {
  if (!arguments.has("threads")) {
    return std::nullopt;
  }
  return arguments.integer("threads", 1, 1, 1024);
}

void declare_inference(Arguments& arguments) {
  arguments.group("Performance")
      .value("threads", "N", "Number of CPU threads (default: all cores)")
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
