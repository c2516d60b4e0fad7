#include "train/run/run_record.h"

#include <filesystem>

#include <ATen/core/Tensor.h>

#include "base/error.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/string_util.h"
#include "formats/json.h"
#include "kernels/cpu/kernel_table.h"
#include "train/run/device.h"

namespace weft::train {

namespace {

using formats::Json;

constexpr int kRecordFormat = 1;
constexpr auto kName = "/run.json";

Json to_json(const RunMachine& machine) {
  return {{"weft", machine.weft},      {"libtorch", machine.libtorch}, {"kernels", machine.kernels},
          {"cpu", machine.cpu},        {"features", machine.features}, {"device", machine.device},
          {"threads", machine.threads}};
}

RunMachine machine_of(const Json& json) {
  return {.weft = json.at("weft"),
          .libtorch = json.at("libtorch"),
          .kernels = json.at("kernels"),
          .cpu = json.at("cpu"),
          .features = json.at("features"),
          .device = json.at("device"),
          .threads = json.at("threads")};
}

uint64_t checksum_of(const Json& json, const char* key) {
  const auto digits = json.at(key).get<std::string>();
  std::size_t used = 0;
  const auto value = std::stoull(digits, &used, 16);
  if (used != digits.size()) {
    throw formats::Error(str_cat(key, ": '", digits, "' is not a hexadecimal number"));
  }
  return value;
}

RunRecord parse_record(const Json& json) {
  if (json.at("format").get<int>() != kRecordFormat) {
    throw formats::Error(
        str_cat("format ", json.at("format").get<int>(), ", must be ", kRecordFormat));
  }
  RunRecord record{.machine = machine_of(json.at("machine")),
                   .precision = json.at("precision"),
                   .directory = json.at("directory"),
                   .config = checksum_of(json, "config"),
                   .data = checksum_of(json, "data"),
                   .evaluation_data = checksum_of(json, "evaluation_data"),
                   .tokenizer = checksum_of(json, "tokenizer"),
                   .weights = checksum_of(json, "weights")};
  for (const auto& item : json.at("continued")) {
    record.resumes.push_back({.step = item.at("step"),
                              .config = checksum_of(item, "config"),
                              .machine = machine_of(item.at("machine"))});
  }
  return record;
}

}  // namespace

RunMachine describe_machine(const std::string& device, int64_t threads) {
  const auto machine = read_machine();
  return {.weft = WEFT_VERSION,
          .libtorch = versions(),
          .kernels = kernels::cpu::kernel_table().name,
          .cpu = machine.cpu,
          .features = join(machine.features, " "),
          .device = device,
          .threads = threads};
}

std::string to_text(const RunMachine& machine) {
  return str_cat("Weft ", machine.weft, ", ", machine.libtorch, ", kernels ", machine.kernels, "; ",
                 machine.cpu.empty() ? "an unknown processor" : machine.cpu, " (", machine.features,
                 "); ", machine.device, ", ", machine.threads, " threads");
}

void write_run_record(const std::string& run, const RunRecord& record) {
  Json json;
  json["format"] = kRecordFormat;
  json["machine"] = to_json(record.machine);
  json["precision"] = record.precision;
  json["directory"] = record.directory;
  json["config"] = to_hex(record.config);
  json["data"] = to_hex(record.data);
  json["evaluation_data"] = to_hex(record.evaluation_data);
  json["tokenizer"] = to_hex(record.tokenizer);
  json["weights"] = to_hex(record.weights);
  json["continued"] = Json::array();
  for (const auto& item : record.resumes) {
    json["continued"].push_back(
        {{"step", item.step}, {"config", to_hex(item.config)}, {"machine", to_json(item.machine)}});
  }
  write_file(run + kName, json.dump(2) + "\n");
}

RunRecord read_run_record(const std::string& run) {
  const auto path = run + kName;
  if (!std::filesystem::exists(path)) {
    throw UserError(path + ": not found; only a run with this file can be reproduced");
  }
  const auto json = formats::read_json(path);
  try {
    return parse_record(json);
  } catch (const std::exception& error) {
    throw formats::Error(path + ": " + error.what());
  }
}

void record_resume(const std::string& run, const ResumeRecord& resume) {
  if (std::filesystem::exists(run + kName)) {
    auto record = read_run_record(run);
    record.resumes.push_back(resume);
    write_run_record(run, record);
  }
}

uint64_t digest_of_weights(const models::Model& model) {
  uint64_t result = 0;
  for (const auto& tensors : {model.parameters(), model.buffers()}) {
    for (const auto& tensor : tensors) {
      const auto values = tensor.cpu().contiguous();
      result = digest(values.const_data_ptr(), values.nbytes(), result);
    }
  }
  return result;
}

}  // namespace weft::train
