#include "data/mixture.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/random.h"
#include "base/string_util.h"

namespace weft::data {

Mixture::Mixture(const std::vector<MixturePart>& parts, uint64_t seed) : seed_(seed) {
  int64_t identities = 0;
  for (const MixturePart& part : parts) {
    const double whole = std::floor(part.weight);
    const auto items = static_cast<double>(part.items);
    const auto repeated = part.items * static_cast<int64_t>(whole);
    const auto extra = static_cast<int64_t>(std::llround((part.weight - whole) * items));
    parts_.push_back(
        {.items = part.items, .repeated = repeated, .begin = size_, .first_identity = identities});
    size_ += repeated + extra;
    identities += repeated + part.items;
  }
}

Mixture::Entry Mixture::locate(int64_t epoch, int64_t item) const {
  if (item < 0 || item >= size_) {
    throw std::out_of_range(str_cat("item ", item, " of an epoch with ", size_));
  }
  const auto after = std::upper_bound(parts_.begin(), parts_.end(), item,
                                      [](int64_t i, const Part& part) { return i < part.begin; });
  const auto number = static_cast<std::size_t>(after - parts_.begin()) - 1;
  const Part& part = parts_[number];
  const int64_t offset = item - part.begin;
  if (offset < part.repeated) {
    return {number, offset % part.items, part.first_identity + offset};
  }
  const Permutation permutation(part.items, seed_, RandomPurpose::kMixture,
                                hash_combine(static_cast<uint64_t>(epoch), number));
  const int64_t index = permutation(offset - part.repeated);
  return {number, index, part.first_identity + part.repeated + index};
}

}  // namespace weft::data
