#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "nn/feed_forward/expert_exchange.h"
#include "train/distributed/process_group.h"

namespace weft::train {

/// Divides the experts of each mixture evenly among the ranks: the rank of each expert, by the name
/// of its module.
std::map<std::string, int, std::less<>> expert_owners(const torch::nn::Module& model, int ranks);

/// Expert parallelism among the ranks of a shard group. Works in the thread that made it.
class ExpertParallel : private nn::ExpertExchange {
 public:
  /// `group` must outlive it.
  ExpertParallel(const torch::nn::Module& model, ProcessGroup& group);

 private:
  int rank() const override { return group_.rank(); }
  int ranks() const override { return group_.size(); }
  bool divides(const nn::Expert& expert) const override { return modules_.contains(&expert); }
  at::Tensor exchange(const at::Tensor& rows,
                      const std::vector<int64_t>& sent,
                      const std::vector<int64_t>& received) override;

  ProcessGroup& group_;
  std::set<const torch::nn::Module*> modules_;
};

}  // namespace weft::train
