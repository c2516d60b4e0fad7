#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include <ATen/Functions.h>

#include "base/string_util.h"
#include "formats/line_reader.h"
#include "models/config/family.h"
#include "models/ngram/arpa.h"

namespace weft::models {

namespace {

constexpr double kLeastLog10 = -98;  // lower ones stand for probability 0
constexpr std::size_t kMostArpaOrder = 7;
constexpr uint32_t kUnknown = 0;
constexpr uint32_t kBegin = 1;
constexpr uint32_t kEnd = 2;

float natural_log(double log10) {
  return log10 < kLeastLog10 ? -std::numeric_limits<float>::infinity()
                             : static_cast<float>(log10 * std::numbers::ln10);
}

/// The n-grams of one order, as they are in the file.
struct ArpaOrder {
  std::vector<uint32_t> tokens;  // k per n-gram
  std::vector<float> log_probability;
  std::vector<float> backoff;
};

class ArpaReader {
 public:
  explicit ArpaReader(const std::string& path) : reader_(path) {}

  std::vector<ArpaOrder> read() {
    read_header();
    std::vector<ArpaOrder> orders;
    for (std::size_t k = 1; k <= counts_.size(); ++k) {
      if (line_ != str_cat("\\", k, "-grams:")) {
        fail(str_cat("must be \\", k, "-grams:"));
      }
      orders.push_back(read_order(k));
    }
    if (line_ != "\\end\\") {
      fail("must be \\end\\");
    }
    return orders;
  }

  std::vector<std::string> words() { return std::move(words_); }
  bool has_end() const { return has_end_; }

 private:
  [[noreturn]] void fail(const std::string& allowed) const {
    throw formats::Error(
        str_cat(reader_.location(), ": found ", quoted_text(line_), ", ", allowed));
  }

  /// The next line that is not empty; false at the end.
  bool next() {
    while (reader_.next(line_)) {
      line_ = trim(line_);
      if (!line_.empty()) {
        return true;
      }
    }
    line_ = {};
    return false;
  }

  void read_header() {
    while (next() && line_ != "\\data\\") {
    }
    if (line_ != "\\data\\") {
      fail("but the file ends without \\data\\: not an ARPA file");
    }
    while (next() && line_.starts_with("ngram ")) {
      const auto equals = line_.find('=');
      const auto order = integer(trim(line_.substr(6, equals == line_.npos ? 0 : equals - 6)));
      const auto count = integer(trim(line_.substr(equals == line_.npos ? 0 : equals + 1)));
      if (!order || !count || *order != counts_.size() + 1 || *order > kMostArpaOrder) {
        fail(str_cat("must be ngram ", counts_.size() + 1, "=COUNT, orders are at most ",
                     kMostArpaOrder));
      }
      counts_.push_back(*count);
    }
    if (counts_.empty()) {
      fail("must be ngram 1=COUNT");
    }
  }

  static std::optional<uint64_t> integer(std::string_view text) {
    uint64_t value = 0;
    const auto* const end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    return result.ec == std::errc() && result.ptr == end ? std::optional(value) : std::nullopt;
  }

  double number(std::string_view text) const {
    double value = 0;
    text.remove_prefix(text.starts_with('+') ? 1 : 0);
    const auto* const end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    if (result.ptr != end || std::isnan(value)) {
      fail(str_cat("'", printable(text.substr(0, 40)), "' must be a number"));
    }
    return value;
  }

  ArpaOrder read_order(std::size_t k) {
    ArpaOrder order;
    uint64_t count = 0;
    while (next() && !line_.starts_with('\\')) {
      split_fields(line_, fields_);
      if (fields_.size() != k + 1 && fields_.size() != k + 2) {
        fail(str_cat("must be a log probability, ", k, k == 1 ? " word" : " words",
                     " and maybe a back-off weight"));
      }
      const double log10 = number(fields_[0]);
      if (log10 > 1e-4) {
        fail("the log probability must not be positive");
      }
      for (std::size_t i = 1; i <= k; ++i) {
        order.tokens.push_back(k == 1 ? add_word(fields_[i]) : find_word(fields_[i]));
      }
      // <s> only begins texts, whatever its probability in the file.
      const bool is_begin = k == 1 && order.tokens.back() == kBegin;
      order.log_probability.push_back(is_begin ? -std::numeric_limits<float>::infinity()
                                               : natural_log(std::min(log10, 0.0)));
      const double backoff = fields_.size() == k + 2 ? number(fields_[k + 1]) : 0;
      if (backoff > -kLeastLog10) {
        fail("the back-off weight is too large");
      }
      order.backoff.push_back(natural_log(backoff));
      ++count;
    }
    if (count != counts_[k - 1]) {
      fail(str_cat("but the header announces ", counts_[k - 1], " ", k, "-grams, and ", count,
                   " were found"));
    }
    return order;
  }

  uint32_t add_word(std::string_view word) {
    if (word == "<unk>" || word == "<UNK>") {
      return add_special(has_unknown_, kUnknown);
    }
    if (word == "<s>") {
      return add_special(has_begin_, kBegin);
    }
    if (word == "</s>") {
      return add_special(has_end_, kEnd);
    }
    const auto id = static_cast<uint32_t>(words_.size()) + kEnd + 1;
    if (!ids_.emplace(word, id).second) {
      fail("the word is repeated");
    }
    words_.emplace_back(word);
    return id;
  }

  uint32_t add_special(bool& has_it, uint32_t id) const {
    if (std::exchange(has_it, true)) {
      fail("the word is repeated");
    }
    return id;
  }

  uint32_t find_word(std::string_view word) const {
    if (word == "<unk>" || word == "<UNK>") {
      return kUnknown;
    }
    if (word == "<s>" || word == "</s>") {
      return word == "<s>" ? kBegin : kEnd;
    }
    const auto found = ids_.find(std::string(word));
    if (found == ids_.end()) {
      fail(str_cat("the word '", printable(word.substr(0, 40)), "' is not one of the 1-grams"));
    }
    return found->second;
  }

  formats::LineReader reader_;
  std::string_view line_;
  std::vector<std::string_view> fields_;
  std::vector<uint64_t> counts_;
  std::vector<std::string> words_;
  std::unordered_map<std::string, uint32_t> ids_;
  bool has_unknown_ = false;
  bool has_begin_ = false;
  bool has_end_ = false;
};

template <class Value>
at::Tensor tensor_from(const std::vector<Value>& values, at::ScalarType type) {
  auto tensor = at::empty({static_cast<int64_t>(values.size())}, type);
  std::copy(values.begin(), values.end(), static_cast<Value*>(tensor.data_ptr()));
  return tensor;
}

/// Sorted n-grams of one order, k tokens each.
class SortedOrder {
 public:
  SortedOrder(ArpaOrder order, std::size_t k, const std::string& path) : k_(k) {
    std::vector<uint32_t> ranks(order.log_probability.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    const auto ngram_at = [&](uint32_t index) {
      return std::span<const uint32_t>(order.tokens).subspan(index * k, k);
    };
    std::ranges::sort(ranks, [&](uint32_t a, uint32_t b) {
      return std::ranges::lexicographical_compare(ngram_at(a), ngram_at(b));
    });
    for (const auto rank : ranks) {
      const auto ngram = ngram_at(rank);
      if (!tokens_.empty() && std::ranges::equal(ngram, this->ngram(size() - 1))) {
        throw formats::Error(str_cat(path, ": a ", k, "-gram is repeated"));
      }
      tokens_.insert(tokens_.end(), ngram.begin(), ngram.end());
      log_probability.push_back(order.log_probability[rank]);
      backoff.push_back(order.backoff[rank]);
    }
  }

  std::size_t size() const { return tokens_.size() / k_; }
  std::span<const uint32_t> ngram(std::size_t index) const {
    return std::span<const uint32_t>(tokens_).subspan(index * k_, k_);
  }
  std::vector<int32_t> last_tokens() const {
    std::vector<int32_t> result;
    result.reserve(size());
    for (std::size_t i = 0; i < size(); ++i) {
      result.push_back(static_cast<int32_t>(ngram(i).back()));
    }
    return result;
  }

  /// For each n-gram of this order, its first continuation in `next`.
  std::vector<int32_t> first_children(const SortedOrder& next, const std::string& path) const {
    std::vector<int32_t> result;
    result.reserve(size() + 1);
    std::size_t at = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      result.push_back(static_cast<int32_t>(at));
      while (at < next.size() && std::ranges::equal(next.ngram(at).first(k_), ngram(i))) {
        ++at;
      }
    }
    result.push_back(static_cast<int32_t>(at));
    if (at < next.size()) {
      throw formats::Error(str_cat(path, ": the first ", k_, " words of a ", k_ + 1,
                                   "-gram are not one of the ", k_, "-grams"));
    }
    return result;
  }

  std::vector<float> log_probability;
  std::vector<float> backoff;

 private:
  std::size_t k_;
  std::vector<uint32_t> tokens_;
};

/// Order 1 with an entry for every token, in order.
ArpaOrder with_all_tokens(ArpaOrder order, std::size_t vocabulary) {
  ArpaOrder result{
      .tokens = std::vector<uint32_t>(vocabulary),
      .log_probability = std::vector<float>(vocabulary, -std::numeric_limits<float>::infinity()),
      .backoff = std::vector<float>(vocabulary)};
  std::iota(result.tokens.begin(), result.tokens.end(), 0);
  for (std::size_t i = 0; i < order.tokens.size(); ++i) {
    result.log_probability[order.tokens[i]] = order.log_probability[i];
    result.backoff[order.tokens[i]] = order.backoff[i];
  }
  return result;
}

}  // namespace

ArpaModel read_arpa(const std::string& path) {
  ArpaReader reader(path);
  auto read = reader.read();
  if (!reader.has_end()) {
    throw formats::Error(path + ": \\1-grams: has no </s>, with which texts end");
  }
  ArpaModel result{.model = {}, .words = reader.words()};
  const auto vocabulary = result.words.size() + kEnd + 1;
  read[0] = with_all_tokens(std::move(read[0]), vocabulary);
  std::vector<SortedOrder> sorted;
  for (std::size_t i = 0; i < read.size(); ++i) {
    sorted.emplace_back(std::exchange(read[i], {}), i + 1, path);
  }
  std::vector<NgramOrder> orders;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    NgramOrder order;
    order.log_probability = tensor_from(sorted[i].log_probability, at::kFloat);
    if (i > 0) {
      order.tokens = tensor_from(sorted[i].last_tokens(), at::kInt);
    }
    if (i + 1 < sorted.size()) {
      order.backoff = tensor_from(sorted[i].backoff, at::kFloat);
      order.first_child = tensor_from(sorted[i].first_children(sorted[i + 1], path), at::kInt);
    }
    orders.push_back(std::move(order));
  }
  auto options = family_defaults(family_named("ngram"));
  options.head = Head::kCausalLm;
  options.vocabulary = static_cast<int64_t>(vocabulary);
  options.bos_id = kBegin;
  options.eos_id = kEnd;
  options.ngram.order = static_cast<int64_t>(orders.size());
  options.ngram.smoothing = "";
  result.model = std::make_shared<NgramModel>(options);
  result.model->set_tables({orders});
  return result;
}

}  // namespace weft::models
