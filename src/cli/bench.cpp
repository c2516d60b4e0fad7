#include "train/cost/bench.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "base/log.h"
#include "base/string_util.h"
#include "cli/commands.h"
#include "config/section.h"
#include "formats/json.h"
#include "train/run/run_config.h"

namespace weft::cli {
namespace {

double bench_rounded(double value, double digits) {
  const double scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

double mib(double bytes) { return bench_rounded(bytes / (1 << 20), 2); }

/// Milliseconds by kind of operation, and the remainder of `all`.
formats::Json kinds_json(const kernels::OperationProfiler::Milliseconds& kinds, double all) {
  formats::Json parts = formats::Json::object();
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    parts[std::string(kernels::name_of(static_cast<kernels::Operation>(kind)))] =
        bench_rounded(kinds[kind], 2);
    all -= kinds[kind];
  }
  parts["other"] = bench_rounded(std::max(0.0, all), 2);
  return parts;
}

/// Memory counted by the CPU's allocator is omitted on other devices.
formats::Json memory_json(const train::BenchMemory& memory, bool is_on_cpu) {
  formats::Json json = {{"weights", mib(memory.weights)},
                        {"gradients", mib(memory.gradients)},
                        {"optimizer", mib(memory.optimizer)},
                        {"before", mib(memory.resident_before)}};
  if (is_on_cpu) {
    json["activations"] = mib(memory.activations);
    json["activations_expected"] = mib(memory.activations_expected);
  }
  return json;
}

formats::Json to_json(const train::BenchReport& report) {
  formats::Json line = formats::Json::object();
  line["precision"] = report.precision;
  line["device"] = report.device;
  line["threads"] = report.threads;
  line["parameters"] = report.parameters;
  line["steps"] = report.steps;
  line["tokens_per_step"] = bench_rounded(report.tokens_per_step, 1);
  line["sequences_per_step"] = bench_rounded(report.sequences_per_step, 1);
  line["real_tokens_per_s"] = bench_rounded(report.real_tokens_per_s, 1);
  line["ms_per_step_median"] = bench_rounded(report.ms_per_step_median, 2);
  line["padding_share"] = bench_rounded(report.padding_share, 3);
  line["peak_rss_mib"] = report.peak_rss_mib;
  if (report.peak_gpu_mib) {
    line["peak_gpu_mib"] = *report.peak_gpu_mib;
  }
  line["matrix_products_ms"] = bench_rounded(report.matrix_products_ms, 2);
  line["data_ms"] = bench_rounded(report.data_wait_ms, 2);
  line["forward_ms"] = bench_rounded(report.forward_ms, 2);
  line["backward_ms"] = bench_rounded(report.backward_ms, 2);
  line["optimizer_ms"] = bench_rounded(report.optimizer_ms, 2);
  line["other_ms"] = bench_rounded(report.other_ms, 2);
  line["loss"] = report.loss;
  line["forward_parts_ms"] = kinds_json(report.forward_by_operation, report.forward_ms);
  line["backward_parts_ms"] = kinds_json(report.backward_by_operation, report.backward_ms);
  line["idle_share"] = bench_rounded(report.idle_share, 3);
  const bool is_on_cpu = report.device == "cpu";
  line["memory_mib"] = memory_json(report.memory, is_on_cpu);
  if (is_on_cpu) {
    line["allocations"] = {{"count", std::llround(report.memory.allocations)},
                           {"mib", mib(report.memory.allocated)}};
  }
  return line;
}

constexpr auto kAbout =
    "Trains a few steps of a config in a temporary directory and prints one JSON object.\n\n"
    "  precision, device, threads, parameters, steps\n"
    "                       what was run\n"
    "  tokens_per_step, sequences_per_step, padding_share\n"
    "                       means; padding_share is always 0\n"
    "  real_tokens_per_s    tokens divided by the time of all measured steps\n"
    "  ms_per_step_median   of the whole step, followed by the medians of its parts:\n"
    "    data_ms            waiting for the next batch\n"
    "    forward_ms, backward_ms\n"
    "    optimizer_ms       including gradient norm and clipping\n"
    "    other_ms           the rest\n"
    "  forward_parts_ms, backward_parts_ms\n"
    "                       time by kind of operation: embedding, products (linear layers), "
    "attention, norm (with residual and dropout), activation, dropout, loss (with the output "
    "projection), other\n"
    "                       a GPU works on several parts at once: the parts are measured in up to "
    "5 more steps that wait for it after each, and add up to more than a step\n"
    "  matrix_products_ms   time of the matrix products of the linear layers alone\n"
    "  idle_share           fraction of the threads' time in which they did not run (a thread that "
    "spins while waiting counts as running)\n"
    "  memory_mib           tensors by kind: weights (with the bf16 copy), gradients, optimizer, "
    "and on the CPU activations (peak in a step) and activations_expected (as measured by weft "
    "inspect); before: the process without model and data\n"
    "  peak_rss_mib         peak resident memory of the process\n"
    "  peak_gpu_mib         peak memory of tensors on the GPU\n"
    "  allocations          tensor allocations per step (CPU): count and mib\n"
    "  loss                 of the last measured step";

}  // namespace

int run_bench(std::vector<std::string> raw) {
  Arguments arguments(
      {.usage = "weft bench CONFIG [--steps N] [--warmup N] [--set key=value ...]",
       .description = kAbout,
       .examples = {"weft bench configs/quickstart_pretrain.yaml --steps 20",
                    "weft bench configs/quickstart_pretrain.yaml --set train.precision=fp32"}},
      1, 1);
  arguments.value("steps", "N", "Number of measured steps (default: 20)")
      .value("warmup", "N", "Number of warm-up steps (default: 5)")
      .value("set", "KEY=VALUE", "Override a config key; may be repeated");
  if (!arguments.parse(raw)) {
    return 0;
  }
  const auto config = train::read_run_config(
      config::Document::load(arguments.positional()[0], arguments.all("set")));
  const auto report = train::bench(config, arguments.integer("steps", 20, 1, 1'000'000),
                                   arguments.integer("warmup", 5, 0, 1'000'000));
  std::cout << to_json(report).dump() << "\n";
  log::info(str_cat("[bench] ", with_commas(std::llround(report.real_tokens_per_s)),
                    " real tokens/s; the step takes ",
                    bench_rounded(report.ms_per_step_median / report.matrix_products_ms, 2),
                    " times as long as its matrix products"));
  return 0;
}

}  // namespace weft::cli
