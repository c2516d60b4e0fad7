#include "data/tokenizers/training/text_sample.h"

#include <algorithm>

#include "base/random.h"

namespace weft::data {

TextSample::TextSample(uint64_t seed, int64_t most_texts, int64_t most_bytes)
    : seed_(seed), most_texts_(most_texts), most_bytes_(most_bytes) {}

void TextSample::offer(std::string_view text) {
  const int64_t place = offered_++;
  const uint64_t rank =
      Random(seed_, Purpose::kTokenizer, 0, static_cast<uint64_t>(place)).bits64();
  if (rank > limit_) {
    return;
  }
  kept_.push_back({rank, place, std::string(text)});
  bytes_ += static_cast<int64_t>(text.size());
  // A quarter more than asked for is held before the surplus goes, so that shrinking is seldom.
  if (static_cast<int64_t>(kept_.size()) > most_texts_ + most_texts_ / 4 + 16 ||
      bytes_ > most_bytes_ + most_bytes_ / 4) {
    shrink(most_texts_, most_bytes_);
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
  shrink(most_texts_, most_bytes_);
  std::sort(kept_.begin(), kept_.end(),
            [](const Kept& a, const Kept& b) { return a.place < b.place; });
  std::vector<std::string> texts;
  texts.reserve(kept_.size());
  for (Kept& kept : kept_) {
    texts.push_back(std::move(kept.text));
  }
  kept_.clear();
  return texts;
}

}  // namespace weft::data
