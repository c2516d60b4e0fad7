#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/datasets/language_source.h"
#include "data/store/token_store.h"

namespace weft::test {

/// Documents of sentences of ids, held in memory.
class FakeStore : public data::TokenStore {
 public:
  using Documents = std::vector<std::vector<std::vector<int64_t>>>;

  explicit FakeStore(const Documents& documents, uint64_t fingerprint = 1)
      : fingerprint_(fingerprint) {
    for (const auto& document : documents) {
      for (const auto& sentence : document) {
        ids_.insert(ids_.end(), sentence.begin(), sentence.end());
        tokens_.push_back(static_cast<int64_t>(ids_.size()));
      }
      sentences_.push_back(static_cast<int64_t>(tokens_.size()) - 1);
    }
  }

  int64_t documents() const override { return static_cast<int64_t>(sentences_.size()) - 1; }
  int64_t sentences() const override { return static_cast<int64_t>(tokens_.size()) - 1; }
  int64_t tokens() const override { return static_cast<int64_t>(ids_.size()); }
  int64_t first_sentence(int64_t document) const override {
    return sentences_.at(static_cast<std::size_t>(document));
  }
  int64_t first_token(int64_t sentence) const override {
    return tokens_.at(static_cast<std::size_t>(sentence));
  }
  void read(int64_t begin, int64_t end, std::vector<int64_t>& ids) const override {
    ids.insert(ids.end(), ids_.begin() + begin, ids_.begin() + end);
  }
  uint64_t fingerprint() const override { return fingerprint_; }
  const std::string& path() const override { return path_; }

 private:
  std::vector<int64_t> ids_;
  std::vector<int64_t> tokens_{0};
  std::vector<int64_t> sentences_{0};
  uint64_t fingerprint_;
  std::string path_ = "fake";
};

inline data::LanguageSource source(const FakeStore::Documents& documents,
                                   double weight = 1,
                                   const std::string& name = "fake.txt") {
  data::LanguageSource result;
  result.store = std::make_shared<FakeStore>(documents);
  result.weight = weight;
  result.name = name;
  return result;
}

/// Documents with random numbers of sentences (from 1) and tokens, whose ids count up from 5 and so
/// show where they came from.
inline FakeStore::Documents counted_documents(int64_t count,
                                              uint64_t most_sentences,
                                              uint64_t most_tokens,
                                              uint64_t seed = 1) {
  FakeStore::Documents documents(static_cast<std::size_t>(count));
  Random random(seed, RandomPurpose::kSample, 0, 0);
  int64_t id = 5;
  for (auto& document : documents) {
    document.resize(1 + random.uniform_int(most_sentences));
    for (auto& sentence : document) {
      sentence.resize(1 + random.uniform_int(most_tokens));
      for (int64_t& token : sentence) {
        token = id++;
      }
    }
  }
  return documents;
}

}  // namespace weft::test
