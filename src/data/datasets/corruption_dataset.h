#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/datasets/corruption.h"
#include "data/datasets/packing.h"

namespace weft::data {

/// Running text, packed as for masked language modelling, with a corruption that derives encoder
/// input and decoder target. The corruption is a function of (seed, epoch, item).
class CorruptedDataset : public Dataset {
 public:
  CorruptedDataset(const std::vector<LanguageSource>& sources,
                   const LanguagePacking& packing,
                   const LanguageSettings& settings,
                   const Tokenizer& tokenizer,
                   std::unique_ptr<Corruption> corruption);

  int64_t size(int64_t /*epoch*/) const override { return text_.size(); }
  int64_t length(int64_t epoch, int64_t item) const override;
  Example example(int64_t epoch, int64_t item) const override;
  std::string location(int64_t epoch, int64_t item) const override {
    return text_.location(epoch, item);
  }
  uint64_t fingerprint() const override { return fingerprint_; }
  std::vector<std::string> remarks() const override { return text_.remarks(max_tokens_); }

 private:
  Random item_random(int64_t epoch, const Mixture::Entry& entry) const;

  uint64_t seed_;
  std::unique_ptr<Corruption> corruption_;
  int64_t max_tokens_;
  uint64_t fingerprint_;
  PackedText text_;
};

}  // namespace weft::data
