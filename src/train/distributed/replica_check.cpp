#include "train/distributed/replica_check.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/string_util.h"

namespace weft::train {

namespace {

uint64_t digest_of(const at::Tensor& tensor, uint64_t seed) {
  return digest(tensor.const_data_ptr(), tensor.nbytes(), seed);
}

uint64_t digest_of_weights(const FlatParameters& flat_parameters) {
  const auto& layout = flat_parameters.layout();
  uint64_t result = layout.is_sharded() ? 0 : digest_of(flat_parameters.master(), 0);
  for (std::size_t i = 0; i < layout.ranges().size(); ++i) {
    const auto& range = layout.ranges()[i];
    const bool is_on_all_ranks =
        !flat_parameters.shards_weights() || layout.units()[range.unit].name.empty();
    if (is_on_all_ranks && !range.owner) {
      result = digest_of(flat_parameters.weights(i), result);
    }
  }
  return result;
}

/// Throws unless the ranks p, p + parts, p + 2 parts, ... have the same digest, for each part p.
void require_equal(const std::vector<std::string>& digests, std::size_t parts) {
  std::vector<std::string> different;
  bool has_majority = true;
  for (std::size_t part = 0; part < parts; ++part) {
    std::map<std::string, std::size_t> counts;
    for (auto rank = part; rank < digests.size(); rank += parts) {
      ++counts[digests[rank]];
    }
    const auto most =
        std::max_element(counts.begin(), counts.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    has_majority &= 2 * most->second * parts > digests.size();
    for (auto rank = part; rank < digests.size(); rank += parts) {
      if (digests[rank] != most->first) {
        different.push_back(std::to_string(rank));
      }
    }
  }
  if (different.empty()) {
    return;
  }
  throw DistributedError(str_cat(
      has_majority
          ? str_cat("the weights of rank ", join(different), " are not those of the other ranks")
          : std::string("the weights of the ranks are not the same"),
      ": its memory may be faulty. Nothing was saved since the last checkpoint, from which the "
      "same command resumes"));
}

}  // namespace

void check_replicas(const FlatParameters& flat_parameters, ProcessGroup& group) {
  if (group.size() == 1) {
    return;
  }
  require_equal(group.gather(std::to_string(digest_of_weights(flat_parameters))), 1);
  if (flat_parameters.layout().is_sharded() && group.replica_group().size() > 1) {
    require_equal(group.gather(std::to_string(digest_of(flat_parameters.master(), 0))),
                  static_cast<std::size_t>(group.shard_group().size()));
  }
}

}  // namespace weft::train
