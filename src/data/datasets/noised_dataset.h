#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/datasets/language_source.h"
#include "data/datasets/noiser.h"
#include "data/datasets/packing.h"
#include "data/mixture.h"

namespace weft::data {

/// Stretches of running text, cut as for masked language modelling, and a noise that makes of each
/// what an encoder reads and what a decoder writes. The noise is a function of (seed, epoch, item).
class NoisedDataset : public Dataset {
 public:
  NoisedDataset(const std::vector<LanguageSource>& sources,
                const LanguageShape& shape,
                const LanguageSettings& settings,
                const Tokenizer& tokenizer,
                std::unique_ptr<Noiser> noiser);

  int64_t size(int64_t epoch) const override;
  int64_t length(int64_t epoch, int64_t item) const override;
  Example example(int64_t epoch, int64_t item) const override;
  std::string place(int64_t epoch, int64_t item) const override;
  uint64_t fingerprint() const override { return fingerprint_; }
  std::vector<std::string> remarks() const override;

 private:
  struct Part {
    LanguageSource source;
    Packed packed;
  };
  const PackedRange& range(const Mixture::Place& place) const;
  Random chance(int64_t epoch, const Mixture::Place& place) const;

  LanguageShape shape_;
  uint64_t seed_;
  std::unique_ptr<Noiser> noiser_;
  int64_t room_;
  uint64_t fingerprint_;
  std::vector<Part> parts_;
  std::optional<Mixture> mixture_;
};

}  // namespace weft::data
