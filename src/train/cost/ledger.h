#pragma once

#include <algorithm>

namespace weft::train {

/// Bytes that are held while something is gone through in its order, and the most there were.
class Ledger {
 public:
  void hold(double bytes) {
    live_ += bytes;
    peak_ = std::max(peak_, live_);
  }
  void release(double bytes) { live_ -= bytes; }
  /// Held for a moment.
  void touch(double bytes) { peak_ = std::max(peak_, live_ + bytes); }

  double live() const { return live_; }
  double peak() const { return peak_; }

 private:
  double live_ = 0;
  double peak_ = 0;
};

}  // namespace weft::train
