#include "train/distributed/step_exchange.h"

#include <algorithm>

#include "formats/json.h"

namespace weft::train {

namespace {

using formats::Json;

// CBOR keeps every bit of a double, and values that are not finite.
std::string encode(const StepOutcome& outcome) {
  Json json = {{"micro_batches", Json::array()}, {"is_stopped", outcome.is_stopped}};
  for (const auto& each : outcome.micro_batches) {
    json["micro_batches"].push_back(
        {each.index, each.loss, Json(each.auxiliary_losses), Json(each.running_sums)});
  }
  if (const auto& shortage = outcome.shortage) {
    json["shortage"] = {shortage->requested_bytes.value_or(-1), shortage->tokens,
                        shortage->sequences};
  }
  std::string bytes;
  Json::to_cbor(json, bytes);
  return bytes;
}

void add(const std::string& bytes, StepOutcome& all) {
  const auto json = Json::from_cbor(bytes);
  for (const auto& each : json["micro_batches"]) {
    all.micro_batches.push_back(
        {.index = each[0], .loss = each[1], .auxiliary_losses = each[2], .running_sums = each[3]});
  }
  all.is_stopped |= json["is_stopped"].get<bool>();
  if (json.contains("shortage")) {
    const auto& shortage = json["shortage"];
    const int64_t tokens = shortage[1];
    if (!all.shortage || tokens < all.shortage->tokens) {
      const int64_t bytes_requested = shortage[0];
      all.shortage = {
          .requested_bytes = bytes_requested < 0 ? std::nullopt : std::optional(bytes_requested),
          .tokens = tokens,
          .sequences = shortage[2]};
    }
  }
}

}  // namespace

StepOutcome exchange_outcomes(ProcessGroup& group, const StepOutcome& mine) {
  StepOutcome all;
  for (const auto& bytes : group.gather(encode(mine))) {
    add(bytes, all);
  }
  std::sort(all.micro_batches.begin(), all.micro_batches.end(),
            [](const auto& a, const auto& b) { return a.index < b.index; });
  return all;
}

}  // namespace weft::train
