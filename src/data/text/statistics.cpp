#include "data/text/statistics.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/file.h"
#include "base/stop.h"

namespace weft::data {

void LengthCounts::add(int64_t length) {
  const auto bucket = static_cast<std::size_t>(std::bit_width(static_cast<uint64_t>(length)));
  ++buckets_[std::min(bucket, kBuckets - 1)];
  shortest_ = count_ == 0 ? length : std::min(shortest_, length);
  longest_ = std::max(longest_, length);
  total_ += length;
  ++count_;
}

double LengthCounts::mean() const {
  return count_ == 0 ? 0 : static_cast<double>(total_) / static_cast<double>(count_);
}

int64_t LengthCounts::bucket_min(std::size_t bucket) {
  return bucket == 0 ? 0 : int64_t{1} << (bucket - 1);
}

StoreStatistics store_statistics(const TokenStore& store, int64_t unknown) {
  StoreStatistics result;
  std::vector<uint64_t> hashes;
  hashes.reserve(static_cast<std::size_t>(store.sentences()));
  std::vector<int64_t> ids;
  for (int64_t document = 0; document < store.documents(); ++document) {
    throw_if_stopped("reading the token store");
    const int64_t first = store.first_sentence(document);
    const int64_t last = store.first_sentence(document + 1);
    result.documents.add(store.first_token(last) - store.first_token(first));
    for (int64_t sentence = first; sentence < last; ++sentence) {
      ids.clear();
      store.read(store.first_token(sentence), store.first_token(sentence + 1), ids);
      result.sentences.add(static_cast<int64_t>(ids.size()));
      result.unknown += std::count(ids.begin(), ids.end(), unknown);
      hashes.push_back(digest(ids.data(), ids.size() * sizeof(int64_t)));
    }
  }
  std::sort(hashes.begin(), hashes.end());
  const auto distinct = std::unique(hashes.begin(), hashes.end()) - hashes.begin();
  result.repeated = store.sentences() - distinct;
  return result;
}

DatasetStatistics dataset_statistics(const Dataset& dataset,
                                     int64_t epoch,
                                     int64_t unknown,
                                     int64_t max_examples) {
  DatasetStatistics result;
  const int64_t size = dataset.size(epoch);
  const int64_t taken = std::min(size, max_examples);
  for (int64_t i = 0; i < taken; ++i) {
    throw_if_stopped("reading the data");
    const auto fraction = static_cast<double>(i) / static_cast<double>(taken);
    const Example example = dataset.example(
        epoch, taken == size ? i : static_cast<int64_t>(fraction * static_cast<double>(size)));
    result.sequences.add(static_cast<int64_t>(example.source_ids.size() + example.ids.size()));
    for (const auto* ids : {&example.source_ids, &example.ids}) {
      result.unknown += std::count(ids->begin(), ids->end(), unknown);
    }
    result.targets += static_cast<int64_t>(example.targets.size());
    if (example.label != kIgnoreIndex) {
      ++result.labels[example.label];
    }
  }
  return result;
}

}  // namespace weft::data
