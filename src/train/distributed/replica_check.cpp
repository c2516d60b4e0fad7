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
    const auto& unit = layout.units()[layout.ranges()[i].unit];
    if (!flat_parameters.shards_weights() || unit.name.empty()) {
      result = digest_of(flat_parameters.weights(i), result);
    }
  }
  return result;
}

}  // namespace

void check_replicas(const FlatParameters& flat_parameters, ProcessGroup& group) {
  if (group.size() == 1) {
    return;
  }
  const auto digests = group.gather(std::to_string(digest_of_weights(flat_parameters)));
  std::map<std::string, int64_t> counts;
  for (const auto& each : digests) {
    ++counts[each];
  }
  if (counts.size() == 1) {
    return;
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<std::string> different;
  for (std::size_t rank = 0; rank < digests.size(); ++rank) {
    if (digests[rank] != most->first) {
      different.push_back(std::to_string(rank));
    }
  }
  const bool has_majority = 2 * most->second > static_cast<int64_t>(digests.size());
  throw DistributedError(str_cat(
      has_majority
          ? str_cat("the weights of rank ", join(different), " are not those of the other ranks")
          : std::string("the weights of the ranks are not the same"),
      ": its memory may be faulty. Nothing was saved since the last checkpoint, from which the "
      "same "
      "command resumes"));
}

}  // namespace weft::train
