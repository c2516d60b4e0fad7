#include "data/folds.h"

#include <cstddef>
#include <map>

#include "base/random.h"

namespace weft::data {

std::vector<int64_t> assign_folds(const std::vector<int64_t>& classes,
                                  int64_t count,
                                  uint64_t seed) {
  std::map<int64_t, std::vector<std::size_t>> rows;
  for (std::size_t row = 0; row < classes.size(); ++row) {
    rows[classes[row]].push_back(row);
  }
  std::vector<int64_t> folds(classes.size());
  int64_t next = 0;  // continues from class to class, so that the last rows of each are spread too
  uint64_t number = 0;
  for (const auto& [name, members] : rows) {
    const Permutation order(static_cast<int64_t>(members.size()), seed, RandomPurpose::kFolds,
                            number++);
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto row = members[static_cast<std::size_t>(order(static_cast<int64_t>(i)))];
      folds[row] = next++ % count;
    }
  }
  return folds;
}

}  // namespace weft::data
