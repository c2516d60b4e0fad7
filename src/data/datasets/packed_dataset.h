#pragma once

#include <optional>

#include "data/datasets/language_source.h"
#include "data/datasets/masking.h"
#include "data/datasets/packing.h"
#include "data/datasets/sequence_template.h"
#include "data/mixture.h"

namespace weft::data {

/// One span of running text per sequence.
class PackedDataset : public Dataset {
 public:
  PackedDataset(const std::vector<LanguageSource>& sources,
                const LanguagePacking& packing,
                const LanguageSettings& settings,
                const Tokenizer& tokenizer);

  int64_t size(int64_t /*epoch*/) const override { return text_.size(); }
  int64_t length(int64_t epoch, int64_t item) const override;
  Example example(int64_t epoch, int64_t item) const override;
  std::string location(int64_t epoch, int64_t item) const override {
    return text_.location(epoch, item);
  }
  uint64_t fingerprint() const override { return fingerprint_; }
  std::vector<std::string> remarks() const override { return text_.remarks(settings_.length); }

 private:
  void read(const Mixture::Entry& entry, std::vector<int64_t>& ids) const;

  LanguageSettings settings_;
  SequenceTemplate template_;
  std::optional<int64_t> separator_;  // between documents of a stream
  std::optional<Masker> masker_;
  uint64_t fingerprint_;
  PackedText text_;
  std::vector<std::optional<int64_t>> languages_;  // of the sources, if the model uses language ids
};

}  // namespace weft::data
