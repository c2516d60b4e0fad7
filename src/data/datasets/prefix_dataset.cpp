#include <utility>

#include "base/random.h"
#include "data/datasets/causal_dataset.h"

namespace weft::data {

namespace {

class PrefixDataset : public Dataset {
 public:
  PrefixDataset(std::shared_ptr<const Dataset> whole, uint64_t seed)
      : base_(std::move(whole)), seed_(seed) {}

  int64_t size(int64_t epoch) const override { return base_->size(epoch); }
  int64_t length(int64_t epoch, int64_t item) const override { return base_->length(epoch, item); }

  Example example(int64_t epoch, int64_t item) const override {
    auto result = base_->example(epoch, item);
    Random random(seed_, RandomPurpose::kCorruption, static_cast<uint64_t>(epoch),
                  static_cast<uint64_t>(item));
    result.prefix_length = 1 + static_cast<int64_t>(random.uniform_int(result.ids.size()));
    const auto prefix_targets =
        result.prefix_length - 1;  // the last prefix token predicts the first of the rest
    result.targets.erase(result.targets.begin(), result.targets.begin() + prefix_targets);
    result.target_positions.erase(result.target_positions.begin(),
                                  result.target_positions.begin() + prefix_targets);
    return result;
  }

  std::string location(int64_t epoch, int64_t item) const override {
    return base_->location(epoch, item);
  }
  uint64_t fingerprint() const override { return hash_combine(base_->fingerprint(), 0x93EF1C); }
  std::vector<std::string> remarks() const override { return base_->remarks(); }

 private:
  std::shared_ptr<const Dataset> base_;
  uint64_t seed_;
};

}  // namespace

std::shared_ptr<const Dataset> make_prefix_dataset(std::shared_ptr<const Dataset> whole,
                                                   uint64_t seed) {
  return std::make_shared<PrefixDataset>(std::move(whole), seed);
}

}  // namespace weft::data
