#include "train/optimizer/train_options.h"

namespace weft::train {

namespace {

const config::Choices<Determinism> kDeterminism = {
    {"auto", Determinism::kAuto}, {"always", Determinism::kAlways}, {"never", Determinism::kNever}};
const config::Choices<DeviceChoice> kDevices = {
    {"auto", DeviceChoice::kAuto}, {"cpu", DeviceChoice::kCpu}, {"cuda", DeviceChoice::kCuda}};

}  // namespace

RunOptions read_run_options(config::Section& section) {
  RunOptions options;
  section.read("directory", options.directory, {.help = "Run directory for logs and checkpoints."});
  if (options.directory.empty()) {
    section.report("directory", "'', must name a directory");
  }
  section.read("seed", options.seed,
               {.help = "Random seed for weight initialisation, data order, masking and dropout. "
                        "The same seed gives the same run.",
                .range = config::at_least(0)});
  section.read_choice("device", options.device, kDevices,
                      {.help = "Device. auto: the GPU if there is one, else the CPU."});
  section.read_choice(
      "deterministic", options.deterministic, kDeterminism,
      {.help = "Bitwise reproducible runs: independent of the number of threads on the CPU; with "
               "slower deterministic kernels on a GPU. auto: on for the CPU, off for a GPU."});
  auto keep = section.section("keep", {.help = "Number of checkpoints to keep."});
  keep.read("best", options.keep_best,
            {.help = "Number of best checkpoints to keep.",
             .unit = "checkpoints",
             .range = config::between(0, 1e9)});
  keep.read("last", options.keep_last,
            {.help = "Number of latest checkpoints to keep.",
             .unit = "checkpoints",
             .range = config::between(1, 1e9)});
  keep.reject_unread();
  section.read("report", options.report, {.help = "Write the page of `weft report` at the end."});
  section.reject_unread();
  return options;
}

}  // namespace weft::train
