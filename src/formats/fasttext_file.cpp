#include "formats/fasttext_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>

#include "base/file.h"
#include "base/string_util.h"

namespace weft::formats {

namespace {

constexpr int32_t kMagic = 793712314;
constexpr int32_t kVersion = 12;
constexpr int32_t kVersionWithoutSubwords = 11;  // a classifier of that version used none
constexpr int32_t kSupervised = 3;
constexpr int32_t kMostDimensions = 1 << 16;
constexpr int32_t kMostRows = 1 << 30;
constexpr int32_t kMostNgram = 1000;
constexpr int32_t kMostPartSize = 64;  // bounds the memory that a small file can ask for
constexpr int64_t kMostTexts = 100'000'000'000'000;
constexpr std::string_view kLabelPrefix = "__label__";

/// Reads little-endian values from a mapped file.
class FastTextReader {
 public:
  explicit FastTextReader(const std::string& path) : path_(path), file_(path) {
    rest_ = file_.text();
  }

  FastTextFile read() {
    if (number<int32_t>("magic number", std::numeric_limits<int32_t>::min()) != kMagic) {
      fail("not a fastText model");
    }
    version_ = number<int32_t>("version");
    if (version_ != kVersion && version_ != kVersionWithoutSubwords) {
      fail(str_cat("found version ", version_, ", can read only version ", kVersionWithoutSubwords,
                   " and ", kVersion));
    }
    FastTextFile result;
    read_arguments(result);
    read_dictionary(result);
    const bool is_quantized = number<uint8_t>("quantization flag", 0, 1) == 1;
    const auto words = static_cast<int64_t>(result.words.size());
    const auto ngrams =
        result.is_pruned ? static_cast<int64_t>(result.bucket_rows.size()) : result.buckets;
    const auto labels = static_cast<int64_t>(result.labels.size());
    result.input = matrix(is_quantized, "input matrix", words + ngrams);
    const bool is_output_quantized = number<uint8_t>("quantization flag", 0, 1) == 1;
    result.output = matrix(is_quantized && is_output_quantized, "output matrix", labels);
    if (!rest_.empty()) {
      fail(str_cat("has ", rest_.size(), " bytes after its end"));
    }
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw Error(str_cat(path_, ": ", message));
  }

  std::string_view take(std::size_t size, std::string_view what) {
    if (rest_.size() < size) {
      fail(str_cat("damaged: ends within the ", what));
    }
    const auto bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  template <class T>
  T number(std::string_view what,
           T least = 0,
           std::type_identity_t<T> most = std::numeric_limits<T>::max()) {
    T value{};
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    if (value < least || value > most) {
      fail(str_cat("damaged: the ", what, " is ", +value, ", must be ", +least, " to ", +most));
    }
    return value;
  }

  std::vector<float> floats(int64_t count, std::string_view what) {
    const auto bytes = take(static_cast<std::size_t>(count) * sizeof(float), what);
    std::vector<float> values(static_cast<std::size_t>(count));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
      fail(str_cat("damaged: the ", what, " has values that are not finite"));
    }
    return values;
  }

  void read_arguments(FastTextFile& result) {
    dimensions_ = number<int32_t>("dimension", 1, kMostDimensions);
    for (const auto* what : {"window", "epochs", "minimum count", "negative samples"}) {
      number<int32_t>(what, std::numeric_limits<int32_t>::min());
    }
    result.word_ngrams = number<int32_t>("word n-grams", 0, kMostNgram);
    result.loss = static_cast<FastTextLoss>(number<int32_t>("loss", 1, 4));
    const auto kind = number<int32_t>("kind of model", 1, kSupervised);
    if (kind != kSupervised) {
      fail(str_cat("holds word vectors (", kind == 1 ? "CBOW" : "skip-gram",
                   "), not a classifier; pretrained_embeddings reads the .vec file that "
                   "fastText writes beside it"));
    }
    result.buckets = number<int32_t>("number of buckets", 0, kMostRows);
    result.min_chars = number<int32_t>("minimum of character n-grams", 0, kMostNgram);
    result.max_chars = number<int32_t>("maximum of character n-grams", 0, kMostNgram);
    if (version_ == kVersionWithoutSubwords) {
      result.max_chars = 0;
    }
    number<int32_t>("learning rate update rate", std::numeric_limits<int32_t>::min());
    take(sizeof(double), "sampling threshold");
  }

  void read_dictionary(FastTextFile& result) {
    const auto size = number<int32_t>("size of the dictionary", 1);
    const auto words = number<int32_t>("number of words", 0, size);
    const auto labels = number<int32_t>("number of labels", 1, size);
    if (words + int64_t{labels} != size) {
      fail(str_cat("damaged: ", words, " words and ", labels, " labels are not the ", size,
                   " entries of the dictionary"));
    }
    number<int64_t>("number of tokens");
    const auto pruned = number<int64_t>("number of pruned n-grams", -1, kMostRows);
    int64_t texts = 0;
    for (int32_t i = 0; i < size; ++i) {
      const auto end = rest_.find('\0');
      auto name = take(end == std::string_view::npos ? rest_.size() + 1 : end, "dictionary");
      take(1, "dictionary");
      const auto count = number<int64_t>("count of a word", 0, kMostTexts);
      const bool is_label = number<uint8_t>("type of a dictionary entry", 0, 1) == 1;
      if (is_label != (i >= words)) {
        fail(str_cat("damaged: '", printable(name), "' of the dictionary is not a ",
                     i >= words ? "label" : "word"));
      }
      if (is_label) {
        texts += count;
        if (texts > kMostTexts) {
          fail("damaged: the counts of the labels are too large");
        }
        name.remove_prefix(name.starts_with(kLabelPrefix) ? kLabelPrefix.size() : 0);
        result.labels.push_back({std::string(name), count});
      } else {
        result.words.emplace_back(name);
      }
    }
    read_pruned_ngrams(pruned, result);
  }

  void read_pruned_ngrams(int64_t count, FastTextFile& result) {
    result.is_pruned = count >= 0;
    constexpr std::size_t kBytes = 2 * sizeof(int32_t);
    if (count > 0 && rest_.size() / kBytes < static_cast<std::size_t>(count)) {
      fail("damaged: ends within the pruned n-grams");
    }
    result.bucket_rows.assign(static_cast<std::size_t>(std::max<int64_t>(count, 0)), -1);
    for (int64_t i = 0; i < count; ++i) {
      const auto bucket =
          number<int32_t>("hash of a pruned n-gram", 0, static_cast<int32_t>(result.buckets) - 1);
      const auto row =
          number<int32_t>("row of a pruned n-gram", 0, static_cast<int32_t>(count) - 1);
      auto& place = result.bucket_rows[static_cast<std::size_t>(row)];
      if (place >= 0) {
        fail(str_cat("damaged: two pruned n-grams have row ", row));
      }
      place = bucket;
    }
  }

  FloatMatrix matrix(bool is_quantized, std::string_view what, int64_t rows) {
    const bool has_norms = is_quantized && number<uint8_t>(what, 0, 1) == 1;
    FloatMatrix result{.rows = number<int64_t>(what), .columns = number<int64_t>(what)};
    if (result.rows != rows || result.columns != dimensions_) {
      fail(str_cat("damaged: the ", what, " is ", result.rows, " x ", result.columns, ", must be ",
                   rows, " x ", dimensions_));
    }
    result.values = is_quantized ? dequantized(result, has_norms, what)
                                 : floats(result.rows * result.columns, what);
    return result;
  }

  /// Centroids of a product quantizer: the vector's parts of `size` values, the last one of `last`,
  /// have 256 centroids each.
  struct Quantizer {
    int64_t parts = 0;
    int64_t size = 0;
    int64_t last = 0;
    std::vector<float> centroids = {};

    int64_t part_size(int64_t part) const { return part == parts - 1 ? last : size; }
    const float* centroid(int64_t part, uint8_t code) const {
      return centroids.data() + part * kCentroids * size + code * part_size(part);
    }
    static constexpr int64_t kCentroids = 256;
  };

  Quantizer quantizer(int64_t dimensions, std::string_view what) {
    Quantizer result;
    number<int32_t>(what, static_cast<int32_t>(dimensions), static_cast<int32_t>(dimensions));
    result.parts = number<int32_t>(what, 1, static_cast<int32_t>(dimensions));
    result.size = number<int32_t>(what, 1, kMostPartSize);
    result.last = number<int32_t>(what, 1, static_cast<int32_t>(result.size));
    if ((result.parts - 1) * result.size + result.last != dimensions) {
      fail(str_cat("damaged: the parts of the quantized ", what, " do not add up to ", dimensions));
    }
    result.centroids = floats(dimensions * Quantizer::kCentroids, what);
    return result;
  }

  std::vector<float> dequantized(const FloatMatrix& shape, bool has_norms, std::string_view what) {
    const auto code_bytes = number<int32_t>(what);
    const auto codes = take(static_cast<std::size_t>(code_bytes), what);
    const auto vectors = quantizer(shape.columns, what);
    if (code_bytes != shape.rows * vectors.parts) {
      fail(str_cat("damaged: the ", what, " has ", code_bytes, " codes, must be ",
                   shape.rows * vectors.parts));
    }
    std::string_view norm_codes;
    Quantizer norms;
    if (has_norms) {
      norm_codes = take(static_cast<std::size_t>(shape.rows), what);
      norms = quantizer(1, what);
    }
    std::vector<float> values;
    values.reserve(static_cast<std::size_t>(shape.rows * shape.columns));
    for (int64_t row = 0; row < shape.rows; ++row) {
      const auto at = static_cast<std::size_t>(row);
      const float norm =
          has_norms ? *norms.centroid(0, static_cast<uint8_t>(norm_codes[at])) : 1.0F;
      for (int64_t part = 0; part < vectors.parts; ++part) {
        const auto code =
            codes[at * static_cast<std::size_t>(vectors.parts) + static_cast<std::size_t>(part)];
        const auto* centroid = vectors.centroid(part, static_cast<uint8_t>(code));
        for (int64_t i = 0; i < vectors.part_size(part); ++i) {
          values.push_back(norm * centroid[i]);
        }
      }
    }
    return values;
  }

  std::string path_;
  MappedFile file_;
  std::string_view rest_;
  int32_t version_ = 0;
  int32_t dimensions_ = 0;
};

}  // namespace

FastTextFile read_fasttext_file(const std::string& path) { return FastTextReader(path).read(); }

}  // namespace weft::formats
