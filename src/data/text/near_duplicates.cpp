#include "data/text/near_duplicates.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/random.h"
#include "base/stop.h"
#include "base/string_util.h"
#include "base/threads.h"
#include "data/text/text_shingles.h"

namespace weft::data {

namespace {

constexpr double kMinSimilarity = 0.8;
constexpr int64_t kNearDuplicateRowsAtOnce = 8192;
constexpr int64_t kNearDuplicateGrain = 256;
constexpr std::size_t kBands = 16;
constexpr std::size_t kHashesPerBand = MinHashSignature::kNumHashes / kBands;
// Rows of similarity 0.8 agree in 51 of 64 hashes on average (standard deviation 3.2).
constexpr int kMinMatchingHashes = 38;
constexpr int kMaxNeighbours = 64;   // examined per band of a training row
constexpr int kMaxComparisons = 64;  // per evaluation row

using Keys = std::array<uint64_t, kBands + 1>;  // of the bands, then of the whole row

Keys band_keys(const MinHashSignature& signature) {
  Keys keys{};
  for (std::size_t band = 0; band < kBands; ++band) {
    uint64_t key = band;
    for (std::size_t i = 0; i < kHashesPerBand; ++i) {
      key = hash_combine(key, signature.min_hashes[band * kHashesPerBand + i]);
    }
    keys[band] = key;
  }
  keys[kBands] = hash_combine(kBands, signature.whole);
  return keys;
}

std::vector<MinHashSignature> compute_signatures(const RowTexts& rows, int64_t begin, int64_t end) {
  std::vector<MinHashSignature> signatures(static_cast<std::size_t>(end - begin));
  parallel_for(end - begin, kNearDuplicateGrain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      signatures[static_cast<std::size_t>(i)] = minhash_signature(rows.texts(begin + i));
    }
  });
  return signatures;
}

/// Evaluation rows by their keys: chained hash table, in row order.
class LshTable {
 public:
  explicit LshTable(const std::vector<MinHashSignature>& signatures) {
    std::size_t slots = 16;
    while (slots < 2 * signatures.size() * kKeys) {
      slots *= 2;
    }
    heads_.assign(slots, kEnd);
    entries_.resize(signatures.size() * kKeys);
    for (std::size_t row = signatures.size(); row-- > 0;) {
      if (signatures[row].whole == 0) {
        continue;
      }
      const Keys keys = band_keys(signatures[row]);
      for (std::size_t k = 0; k < kKeys; ++k) {
        const std::size_t entry = row * kKeys + k;
        uint32_t& head = heads_[slot(keys[k])];
        entries_[entry] = {keys[k], head};
        head = static_cast<uint32_t>(entry);
      }
    }
  }

  /// Calls visit(row) for at most `max_rows` rows of the key; rows that are `is_closed` are
  /// unlinked.
  template <class IsClosed, class Visit>
  void visit(uint64_t key, int max_rows, const IsClosed& is_closed, const Visit& visit) {
    uint32_t* link = &heads_[slot(key)];
    while (*link != kEnd && max_rows > 0) {
      Entry& entry = entries_[*link];
      const auto row = static_cast<int64_t>(*link / kKeys);
      if (entry.key == key && is_closed(row)) {
        *link = entry.next;
        continue;
      }
      if (entry.key == key) {
        visit(row);
        --max_rows;
      }
      link = &entry.next;
    }
  }

 private:
  static constexpr std::size_t kKeys = kBands + 1;
  static constexpr uint32_t kEnd = 0xFFFFFFFFU;
  struct Entry {
    uint64_t key = 0;
    uint32_t next = kEnd;
  };

  std::size_t slot(uint64_t key) const { return key & (heads_.size() - 1); }

  std::vector<uint32_t> heads_;
  std::vector<Entry> entries_;
};

using Shingles = std::vector<std::vector<uint32_t>>;

Shingles row_shingles(const RowTexts& rows, int64_t row) {
  Shingles shingles;
  for (const std::string& text : rows.texts(row)) {
    shingles.push_back(make_shingles(normalize_text(text)));
  }
  return shingles;
}

/// Compares text by text: pairs that only share their longer text are not duplicates.
bool are_near_duplicates(const Shingles& a, const Shingles& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i >= b.size() || jaccard(a[i], b[i]) < kMinSimilarity) {
      return false;
    }
  }
  return a.size() == b.size();
}

class DuplicateFinder {
 public:
  using SameLabel = std::function<bool(int64_t, int64_t)>;

  DuplicateFinder(const RowTexts& train, const RowTexts& evaluate, const SameLabel& same_label)
      : train_(train),
        evaluate_(evaluate),
        same_label_(same_label),
        signatures_(compute_signatures(evaluate, 0, evaluate.size)),
        table_(signatures_),
        found_(signatures_.size()) {}

  std::vector<NearDuplicate> run() {
    for (int64_t begin = 0; begin < train_.size; begin += kNearDuplicateRowsAtOnce) {
      throw_if_stopped("searching the training data for evaluation rows");
      const int64_t end = std::min(begin + kNearDuplicateRowsAtOnce, train_.size);
      const std::vector<MinHashSignature> signatures = compute_signatures(train_, begin, end);
      for (int64_t row = begin; row < end; ++row) {
        look_up(row, signatures[static_cast<std::size_t>(row - begin)]);
      }
    }
    std::vector<NearDuplicate> duplicates;
    for (std::size_t row = 0; row < found_.size(); ++row) {
      const Found& found = found_[row];
      if (found.train >= 0) {
        duplicates.push_back(
            {static_cast<int64_t>(row), found.train, found.is_exact, found.has_same_label});
      }
    }
    return duplicates;
  }

 private:
  struct Found {
    int64_t train = -1;
    bool is_exact = false;
    bool has_same_label = false;
    int comparisons = 0;

    /// is_closed: no row can improve the match; is_settled: no inexact match can.
    bool is_closed() const {
      return (is_exact && has_same_label) || comparisons >= kMaxComparisons;
    }
    bool is_settled() const { return is_closed() || (train >= 0 && (is_exact || has_same_label)); }
  };

  Found& found(int64_t row) { return found_[static_cast<std::size_t>(row)]; }

  void look_up(int64_t row, const MinHashSignature& signature) {
    if (signature.whole == 0) {
      return;
    }
    const Keys keys = band_keys(signature);
    table_.visit(
        keys[kBands], kMaxComparisons,
        [&](int64_t candidate) { return found(candidate).is_closed(); },
        [&](int64_t candidate) {
          ++found(candidate).comparisons;
          record(candidate, row, true);
        });
    Shingles shingles;
    for (std::size_t band = 0; band < kBands; ++band) {
      table_.visit(
          keys[band], kMaxNeighbours,
          [&](int64_t candidate) { return found(candidate).is_settled(); },
          [&](int64_t candidate) { compare(candidate, row, signature, shingles); });
    }
  }

  void compare(int64_t candidate,
               int64_t row,
               const MinHashSignature& signature,
               Shingles& shingles) {
    Found& known = found(candidate);
    const MinHashSignature& other = signatures_[static_cast<std::size_t>(candidate)];
    if (other.whole == signature.whole || known.train == row ||
        signature.matching_hashes(other) < kMinMatchingHashes) {
      return;
    }
    ++known.comparisons;
    if (shingles.empty()) {
      shingles = row_shingles(train_, row);
    }
    if (are_near_duplicates(row_shingles(evaluate_, candidate), shingles)) {
      record(candidate, row, false);
    }
  }

  /// Prefers the nearer row, then one with the same label, then the first.
  void record(int64_t evaluate, int64_t train, bool is_exact) {
    Found& known = found(evaluate);
    const bool is_nearer = known.train < 0 || (is_exact && !known.is_exact);
    const bool is_as_near = known.train >= 0 && is_exact == known.is_exact;
    if (!is_nearer && (!is_as_near || known.has_same_label)) {
      return;
    }
    const bool has_same_label = same_label_(evaluate, train);
    if (is_nearer || has_same_label) {
      known.train = train;
      known.is_exact = is_exact;
      known.has_same_label = has_same_label;
    }
  }

  const RowTexts& train_;
  const RowTexts& evaluate_;
  const SameLabel& same_label_;
  std::vector<MinHashSignature> signatures_;
  LshTable table_;
  std::vector<Found> found_;
};

bool has_label(const Example& example) {
  return example.label != kIgnoreIndex || !example.values.empty();
}

}  // namespace

std::vector<NearDuplicate> find_near_duplicates(
    const RowTexts& train,
    const RowTexts& evaluate,
    const std::function<bool(int64_t evaluate, int64_t train)>& has_same_label) {
  return DuplicateFinder(train, evaluate, has_same_label).run();
}

std::optional<std::string> near_duplicate_warning(const LabelledDataset& train,
                                                  const LabelledDataset& evaluate) {
  const auto rows_of = [](const LabelledDataset& dataset) {
    return RowTexts{.size = dataset.size(0),
                    .texts = [&dataset](int64_t row) { return dataset.texts(0, row); }};
  };
  const auto found = find_near_duplicates(
      rows_of(train), rows_of(evaluate), [&](int64_t evaluate_row, int64_t train_row) {
        const Example a = evaluate.example(0, evaluate_row);
        const Example b = train.example(0, train_row);
        const bool has_labels = has_label(a) && has_label(b);
        return !has_labels || (a.label == b.label && a.values == b.values);
      });
  if (found.empty()) {
    return std::nullopt;
  }
  const auto example = [&](const NearDuplicate& one) {
    return str_cat(" (e.g. ", evaluate.location(0, one.evaluate), " and ",
                   train.location(0, one.train), ")");
  };
  const auto count = static_cast<int64_t>(found.size());
  const int64_t exact = std::count_if(found.begin(), found.end(),
                                      [](const NearDuplicate& one) { return one.is_exact; });
  std::string warning = str_cat(with_commas(count), " of ", with_commas(evaluate.size(0)),
                                " evaluation rows also occur in the training data, ",
                                with_commas(exact), " verbatim and ", with_commas(count - exact),
                                " nearly identical", example(found.front()));
  const auto differs = [](const NearDuplicate& one) { return !one.has_same_label; };
  const int64_t others = std::count_if(found.begin(), found.end(), differs);
  if (others > 0) {
    warning += str_cat("; ", with_commas(others), " of them with a different label",
                       example(*std::find_if(found.begin(), found.end(), differs)));
  }
  return warning;
}

}  // namespace weft::data
