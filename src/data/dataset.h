#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/batch.h"

namespace weft::data {

/// Random-access data set. All functions are pure functions of their arguments (and of the seed
/// given at construction) and may be called by many threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;

  /// Number of items in an epoch.
  virtual int64_t size(int64_t epoch) const = 0;
  /// Number of tokens of the item's example, including special tokens, without building it.
  virtual int64_t length(int64_t epoch, int64_t item) const = 0;
  /// Returns the item as the model sees it in this epoch.
  virtual Example example(int64_t epoch, int64_t item) const = 0;
  /// Whether the items are streams, which continue from step to step in their order
  /// (Example::stream).
  virtual bool continues() const { return false; }
  /// Source location of the item, for messages: `train.txt, document 12`. Depends on the epoch,
  /// because weights below 1 select different texts in each.
  virtual std::string location(int64_t epoch, int64_t item) const = 0;
  /// Hash of content and settings; a resumed run rejects data with another fingerprint.
  virtual uint64_t fingerprint() const = 0;
  /// What was dropped, truncated or repaired, one message each, for the log: `12 texts longer than
  /// 128 tokens were truncated`.
  virtual std::vector<std::string> remarks() const { return {}; }
};

}  // namespace weft::data
