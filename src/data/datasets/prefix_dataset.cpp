#include "data/datasets/prefix_dataset.h"

#include <utility>

#include "base/random.h"

namespace weft::data {

namespace {

class PrefixDataset : public Dataset {
 public:
  PrefixDataset(std::shared_ptr<const Dataset> whole, uint64_t seed)
      : whole_(std::move(whole)), seed_(seed) {}

  int64_t size(int64_t epoch) const override { return whole_->size(epoch); }
  int64_t length(int64_t epoch, int64_t item) const override { return whole_->length(epoch, item); }

  Example example(int64_t epoch, int64_t item) const override {
    auto made = whole_->example(epoch, item);
    Random random(seed_, Purpose::kNoise, static_cast<uint64_t>(epoch),
                  static_cast<uint64_t>(item));
    made.prefix = 1 + static_cast<int64_t>(random.below(made.ids.size()));
    const auto shown = made.prefix - 1;  // the last token of the prefix tells the first of the rest
    made.targets.erase(made.targets.begin(), made.targets.begin() + shown);
    made.target_positions.erase(made.target_positions.begin(),
                                made.target_positions.begin() + shown);
    return made;
  }

  std::string place(int64_t epoch, int64_t item) const override {
    return whole_->place(epoch, item);
  }
  uint64_t fingerprint() const override { return mix(whole_->fingerprint(), 0x93EF1C); }
  std::vector<std::string> remarks() const override { return whole_->remarks(); }

 private:
  std::shared_ptr<const Dataset> whole_;
  uint64_t seed_;
};

}  // namespace

std::shared_ptr<const Dataset> make_prefix_dataset(std::shared_ptr<const Dataset> whole,
                                                   uint64_t seed) {
  return std::make_shared<PrefixDataset>(std::move(whole), seed);
}

}  // namespace weft::data
