#include "data/tokenizers/training/text_sample.h"

#include <algorithm>

#include "base/random.h"

namespace weft::data {

TextSample::TextSample(uint64_t seed, int64_t max_texts, int64_t max_bytes)
    : seed_(seed), max_texts_(max_texts), max_bytes_(max_bytes) {}

void TextSample::offer(std::string_view text) {
  const int64_t position = offered_++;
  const uint64_t rank =
      Random(seed_, RandomPurpose::kTokenizer, 0, static_cast<uint64_t>(position)).bits64();
  if (rank > limit_) {
    return;
  }
  kept_.push_back({rank, position, std::string(text)});
  bytes_ += static_cast<int64_t>(text.size());
  // Shrinks only after exceeding the limits by a quarter, so that shrinking is rare.
  if (static_cast<int64_t>(kept_.size()) > max_texts_ + max_texts_ / 4 + 16 ||
      bytes_ > max_bytes_ + max_bytes_ / 4) {
    shrink(max_texts_, max_bytes_);
  }
}

void TextSample::shrink(int64_t texts, int64_t bytes) {
  std::sort(kept_.begin(), kept_.end(),
            [](const Kept& a, const Kept& b) { return a.rank < b.rank; });
  std::size_t stays = 0;
  bytes_ = 0;
  while (stays < kept_.size() && static_cast<int64_t>(stays) < texts &&
         bytes_ + static_cast<int64_t>(kept_[stays].text.size()) <= bytes) {
    bytes_ += static_cast<int64_t>(kept_[stays].text.size());
    ++stays;
  }
  if (stays < kept_.size()) {
    limit_ = kept_[stays].rank;
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(stays), kept_.end());
    kept_.shrink_to_fit();
  }
}

std::vector<std::string> TextSample::take() {
  shrink(max_texts_, max_bytes_);
  std::sort(kept_.begin(), kept_.end(),
            [](const Kept& a, const Kept& b) { return a.position < b.position; });
  std::vector<std::string> texts;
  texts.reserve(kept_.size());
  for (Kept& kept : kept_) {
    texts.push_back(std::move(kept.text));
  }
  kept_.clear();
  return texts;
}

}  // namespace weft::data
