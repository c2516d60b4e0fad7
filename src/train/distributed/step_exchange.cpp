#include "train/distributed/step_exchange.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "formats/json.h"

namespace weft::train {

namespace {

using formats::Json;

// CBOR keeps every bit of a double, and values that are not finite.
std::string encode(const StepOutcome& outcome) {
  Json json = {
      {"micro_batches", Json::array()}, {"norm", outcome.norm}, {"is_stopped", outcome.is_stopped}};
  for (const auto& each : outcome.micro_batches) {
    json["micro_batches"].push_back({each.index, each.loss, each.own_loss,
                                     Json(each.auxiliary_losses), Json(each.running_sums)});
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
    all.micro_batches.push_back({.index = each[0],
                                 .loss = each[1],
                                 .own_loss = each[2],
                                 .auxiliary_losses = each[3],
                                 .running_sums = each[4]});
  }
  const double norm = json["norm"];
  all.norm = std::isnan(norm) || norm > all.norm ? norm : all.norm;
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

std::vector<Share> shares_of(const std::vector<int64_t>& ranks,
                             const ProcessGroup& group,
                             bool are_equal) {
  std::vector<std::vector<Share>> by_rank(static_cast<std::size_t>(group.size()));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    by_rank.at(static_cast<std::size_t>(ranks[i])).push_back({.index = i});
  }
  auto shares = by_rank[static_cast<std::size_t>(group.rank())];
  const auto longest =
      std::max_element(by_rank.begin(), by_rank.end(),
                       [](const auto& a, const auto& b) { return a.size() < b.size(); });
  while (are_equal && shares.size() < longest->size()) {
    shares.push_back({.index = (*longest)[shares.size()].index, .is_own = false});
  }
  return shares;
}

void add_sums(const MicroBatchLosses& micro_batch,
              std::map<std::string, double>& auxiliary_losses,
              std::vector<double>& running_sums) {
  for (const auto& [name, loss] : micro_batch.auxiliary_losses) {
    auxiliary_losses[name] += loss;
  }
  running_sums.resize(std::max(running_sums.size(), micro_batch.running_sums.size()), 0);
  std::transform(micro_batch.running_sums.begin(), micro_batch.running_sums.end(),
                 running_sums.begin(), running_sums.begin(), std::plus<>());
}

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
