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

  int64_t size(int64_t epoch) const override;
  int64_t length(int64_t epoch, int64_t item) const override;
  Example example(int64_t epoch, int64_t item) const override;
  std::string location(int64_t epoch, int64_t item) const override;
  uint64_t fingerprint() const override;
  std::vector<std::string> remarks() const override;

 private:
  struct Part {
    LanguageSource source;
    PackedSequences packed;
    std::optional<int64_t> language;  // language id, if the model uses language ids
  };
  const PackedRange& range(const Mixture::Entry& entry) const;
  void read(const Part& part, const PackedRange& range, std::vector<int64_t>& ids) const;

  LanguagePacking packing_;
  LanguageSettings settings_;
  SequenceTemplate template_;
  std::optional<int64_t> separator_;  // between documents of a stream
  std::optional<Masker> masker_;
  uint64_t fingerprint_;
  std::vector<Part> parts_;
  std::optional<Mixture> mixture_;
};

}  // namespace weft::data
