#include "train/sweep/halving.h"

#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/string_util.h"
#include "formats/json.h"

namespace weft::train {

namespace {

std::string key_of(double share, const std::string& run) { return str_cat(share, " ", run); }

}  // namespace

std::vector<HalvingRound> halving_rounds(std::size_t settings, int64_t factor) {
  std::vector<HalvingRound> rounds{{.settings = settings, .share = 1}};
  if (factor < 2) {
    return rounds;
  }
  const auto divisor = static_cast<std::size_t>(factor);
  while (rounds.back().settings >= divisor) {
    rounds.push_back({.settings = rounds.back().settings / divisor, .share = 1});
  }
  for (std::size_t i = rounds.size(); i-- > 1;) {
    rounds[i - 1].share = rounds[i].share / static_cast<double>(factor);
  }
  return rounds;
}

HalvingRecord::HalvingRecord(std::string path, std::string config, bool is_kept)
    : path_(std::move(path)), config_(std::move(config)) {
  if (!is_kept || !std::filesystem::exists(path_)) {
    return;
  }
  const auto json = formats::Json::parse(read_file(path_), nullptr, false);
  if (!json.is_object() || json.value("config", "") != config_ || !json.contains("runs")) {
    return;
  }
  for (const auto& [key, run] : json.at("runs").items()) {
    runs_[key] = {.step = run.at("step").get<int64_t>(),
                  .metrics = run.at("metrics").get<Metrics>()};
  }
}

std::optional<RunMetrics> HalvingRecord::find(double share, const std::string& run) const {
  const auto found = runs_.find(key_of(share, run));
  return found == runs_.end() ? std::nullopt : std::optional(found->second);
}

void HalvingRecord::add(double share, const std::string& run, const RunMetrics& metrics) {
  runs_[key_of(share, run)] = metrics;
  formats::Json json;
  json["config"] = config_;
  json["runs"] = formats::Json::object();
  for (const auto& [key, value] : runs_) {
    json["runs"][key] = {{"step", value.step}, {"metrics", value.metrics}};
  }
  write_file(path_, json.dump(-1, ' ', false, formats::Json::error_handler_t::replace) + "\n");
}

}  // namespace weft::train
