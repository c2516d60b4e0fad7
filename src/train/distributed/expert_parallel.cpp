#include "train/distributed/expert_parallel.h"

#include <numeric>

namespace weft::train {

std::map<std::string, int, std::less<>> expert_owners(const torch::nn::Module& model, int ranks) {
  std::map<std::string, int, std::less<>> owners;
  for (const auto& item : model.named_modules()) {
    if (const auto* const expert = dynamic_cast<const nn::Expert*>(item.value().get())) {
      int owner = 0;
      while (nn::first_expert(owner + 1, expert->experts(), ranks) <= expert->index()) {
        ++owner;
      }
      owners[item.key()] = owner;
    }
  }
  return owners;
}

ExpertParallel::ExpertParallel(const torch::nn::Module& model, ProcessGroup& group)
    : group_(group.shard_group()) {
  for (const auto& module : model.modules()) {
    modules_.insert(module.get());
  }
}

at::Tensor ExpertParallel::exchange(const at::Tensor& rows,
                                    const std::vector<int64_t>& sent,
                                    const std::vector<int64_t>& received) {
  const auto width = rows.size(1);
  const auto elements = [&](std::vector<int64_t> counts) {
    for (auto& count : counts) {
      count *= width;
    }
    return counts;
  };
  const auto count = std::accumulate(received.begin(), received.end(), int64_t{0});
  return group_.all_to_all(rows.view({-1}), elements(sent), elements(received))
      .view({count, width});
}

}  // namespace weft::train
