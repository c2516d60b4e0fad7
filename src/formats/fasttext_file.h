#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "formats/error.h"

namespace weft::formats {

/// A row-major matrix.
struct FloatMatrix {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<float> values = {};
};

enum class FastTextLoss { kHierarchicalSoftmax = 1, kNegativeSampling, kSoftmax, kOneVsAll };

struct FastTextLabel {
  std::string name;   // without the prefix `__label__`
  int64_t count = 0;  // of texts in its training data
};

/// A classifier of fastText (arXiv:1607.01759).
struct FastTextFile {
  FastTextLoss loss = FastTextLoss::kSoftmax;
  int64_t word_ngrams = 1;  // words of the longest n-gram
  int64_t min_chars = 0;    // characters of the shortest and the longest character n-gram
  int64_t max_chars = 0;    // 0: none
  int64_t buckets = 0;      // hash values of n-grams
  /// Hash values of the n-grams that have a row, in the order of the rows. Without `is_pruned` all
  /// have one.
  std::vector<int64_t> bucket_rows = {};
  bool is_pruned = false;
  std::vector<std::string> words = {};     // may be ill-formed UTF-8
  std::vector<FastTextLabel> labels = {};  // the most frequent first
  FloatMatrix input = {};                  // of the words, then of the n-grams
  FloatMatrix output = {};                 // of the labels, or of the inner nodes of their tree
};

/// Reads a `.bin` file, or an `.ftz` file, whose matrices are product-quantized
/// (arXiv:1612.03651). Throws Error: damaged, of another version, or not a classifier.
FastTextFile read_fasttext_file(const std::string& path);

}  // namespace weft::formats
