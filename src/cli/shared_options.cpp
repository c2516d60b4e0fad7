#include "cli/shared_options.h"

#include "base/string_util.h"
#include "train/run/device.h"

namespace weft::cli {

c10::Device read_device(const Arguments& arguments) {
  const auto word = arguments.get("device", "auto");
  if (word == "auto") {
    return train::choose_device(train::DeviceChoice::kAuto);
  }
  if (word == "cpu") {
    return train::choose_device(train::DeviceChoice::kCpu);
  }
  if (word == "cuda") {
    return train::choose_device(train::DeviceChoice::kCuda);
  }
  throw UsageError(str_cat("--device: '", word, "' is not one of auto, cpu, cuda"));
}

std::optional<int64_t> read_threads(const Arguments& arguments) {
  if (!arguments.has("threads")) {
    return std::nullopt;
  }
  return arguments.integer("threads", 1, 1, 1024);
}

}  // namespace weft::cli
