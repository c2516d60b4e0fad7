#include "data/text/near_duplicates.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/random.h"
#include "base/stop.h"
#include "base/text.h"
#include "base/threads.h"
#include "data/text/text_shingles.h"

namespace weft::data {

namespace {

constexpr double kLeastSimilarity = 0.8;
constexpr int64_t kNearDuplicateRowsAtOnce = 8192;
constexpr int64_t kNearDuplicateGrain = 256;
constexpr std::size_t kBands = 16;
constexpr std::size_t kRowsOfBand = TextPrint::kMinima / kBands;
// Rows with a similarity of 0.8 agree in 51 of 64 minima, with a standard deviation of 3.2.
constexpr int kLeastAgreeing = 38;
constexpr int kMostNeighbours = 64;   // looked at in one band of a row of training
constexpr int kMostComparisons = 64;  // of one row of the evaluation

using Keys = std::array<uint64_t, kBands + 1>;  // of the bands, then of the whole row

Keys keys_of(const TextPrint& print) {
  Keys keys{};
  for (std::size_t band = 0; band < kBands; ++band) {
    uint64_t key = band;
    for (std::size_t i = 0; i < kRowsOfBand; ++i) {
      key = mix(key, print.minima[band * kRowsOfBand + i]);
    }
    keys[band] = key;
  }
  keys[kBands] = mix(kBands, print.whole);
  return keys;
}

std::vector<TextPrint> prints_of(const ComparedRows& rows, int64_t begin, int64_t end) {
  std::vector<TextPrint> prints(static_cast<std::size_t>(end - begin));
  parallel_for(end - begin, kNearDuplicateGrain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      prints[static_cast<std::size_t>(i)] = print_of(rows.texts(begin + i));
    }
  });
  return prints;
}

/// Rows of the evaluation by their keys: chains in one table, in the order of the rows.
class KeyTable {
 public:
  explicit KeyTable(const std::vector<TextPrint>& prints) {
    std::size_t slots = 16;
    while (slots < 2 * prints.size() * kKeys) {
      slots *= 2;
    }
    heads_.assign(slots, kEnd);
    entries_.resize(prints.size() * kKeys);
    for (std::size_t row = prints.size(); row-- > 0;) {
      if (prints[row].whole == 0) {
        continue;
      }
      const Keys keys = keys_of(prints[row]);
      for (std::size_t k = 0; k < kKeys; ++k) {
        const std::size_t entry = row * kKeys + k;
        uint32_t& head = heads_[slot(keys[k])];
        entries_[entry] = {keys[k], head};
        head = static_cast<uint32_t>(entry);
      }
    }
  }

  /// Calls visit(row) for at most `most` rows of the key; of those that `is_closed` the key is
  /// forgotten.
  template <class IsClosed, class Visit>
  void visit(uint64_t key, int most, const IsClosed& is_closed, const Visit& visit) {
    uint32_t* link = &heads_[slot(key)];
    while (*link != kEnd && most > 0) {
      Entry& entry = entries_[*link];
      const auto row = static_cast<int64_t>(*link / kKeys);
      if (entry.key == key && is_closed(row)) {
        *link = entry.next;
        continue;
      }
      if (entry.key == key) {
        visit(row);
        --most;
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

Shingles shingles_of_row(const ComparedRows& rows, int64_t row) {
  Shingles shingles;
  for (const std::string& text : rows.texts(row)) {
    shingles.push_back(shingles_of(compared_form(text)));
  }
  return shingles;
}

/// Each text by itself: pairs that share their longer text alone are not alike.
bool are_near(const Shingles& a, const Shingles& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i >= b.size() || jaccard(a[i], b[i]) < kLeastSimilarity) {
      return false;
    }
  }
  return a.size() == b.size();
}

class Finder {
 public:
  using SameLabel = std::function<bool(int64_t, int64_t)>;

  Finder(const ComparedRows& train, const ComparedRows& evaluate, const SameLabel& same_label)
      : train_(train),
        evaluate_(evaluate),
        same_label_(same_label),
        prints_(prints_of(evaluate, 0, evaluate.size)),
        table_(prints_),
        found_(prints_.size()) {}

  std::vector<NearDuplicate> run() {
    for (int64_t begin = 0; begin < train_.size; begin += kNearDuplicateRowsAtOnce) {
      leave_if_stopped("looking for evaluation rows in training");
      const int64_t end = std::min(begin + kNearDuplicateRowsAtOnce, train_.size);
      const std::vector<TextPrint> prints = prints_of(train_, begin, end);
      for (int64_t row = begin; row < end; ++row) {
        look_up(row, prints[static_cast<std::size_t>(row - begin)]);
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

    /// Whether no other row can be better: of all, or of those that are only near.
    bool is_closed() const {
      return (is_exact && has_same_label) || comparisons >= kMostComparisons;
    }
    bool is_settled() const { return is_closed() || (train >= 0 && (is_exact || has_same_label)); }
  };

  Found& found(int64_t row) { return found_[static_cast<std::size_t>(row)]; }

  void look_up(int64_t row, const TextPrint& print) {
    if (print.whole == 0) {
      return;
    }
    const Keys keys = keys_of(print);
    table_.visit(
        keys[kBands], kMostComparisons,
        [&](int64_t candidate) { return found(candidate).is_closed(); },
        [&](int64_t candidate) {
          ++found(candidate).comparisons;
          note(candidate, row, true);
        });
    Shingles shingles;
    for (std::size_t band = 0; band < kBands; ++band) {
      table_.visit(
          keys[band], kMostNeighbours,
          [&](int64_t candidate) { return found(candidate).is_settled(); },
          [&](int64_t candidate) { compare(candidate, row, print, shingles); });
    }
  }

  void compare(int64_t candidate, int64_t row, const TextPrint& print, Shingles& shingles) {
    Found& known = found(candidate);
    const TextPrint& other = prints_[static_cast<std::size_t>(candidate)];
    if (other.whole == print.whole || known.train == row ||
        print.agreeing(other) < kLeastAgreeing) {
      return;
    }
    ++known.comparisons;
    if (shingles.empty()) {
      shingles = shingles_of_row(train_, row);
    }
    if (are_near(shingles_of_row(evaluate_, candidate), shingles)) {
      note(candidate, row, false);
    }
  }

  /// The nearer row wins, of those alike one with the same label, of those alike the first.
  void note(int64_t evaluate, int64_t train, bool is_exact) {
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

  const ComparedRows& train_;
  const ComparedRows& evaluate_;
  const SameLabel& same_label_;
  std::vector<TextPrint> prints_;
  KeyTable table_;
  std::vector<Found> found_;
};

bool has_label(const Example& example) {
  return example.label != kIgnored || !example.values.empty();
}

}  // namespace

std::vector<NearDuplicate> find_near_duplicates(
    const ComparedRows& train,
    const ComparedRows& evaluate,
    const std::function<bool(int64_t evaluate, int64_t train)>& has_same_label) {
  return Finder(train, evaluate, has_same_label).run();
}

std::optional<std::string> near_duplicate_warning(const LabelledDataset& train,
                                                  const LabelledDataset& evaluate) {
  const auto rows_of = [](const LabelledDataset& dataset) {
    return ComparedRows{.size = dataset.size(0),
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
    return text(" (e.g. ", evaluate.place(0, one.evaluate), " and ", train.place(0, one.train),
                ")");
  };
  const auto count = static_cast<int64_t>(found.size());
  const int64_t exact = std::count_if(found.begin(), found.end(),
                                      [](const NearDuplicate& one) { return one.is_exact; });
  std::string warning =
      text(with_commas(count), " of ", with_commas(evaluate.size(0)),
           " evaluation rows stand in training, ", with_commas(exact), " word for word and ",
           with_commas(count - exact), " almost", example(found.front()));
  const auto differs = [](const NearDuplicate& one) { return !one.has_same_label; };
  const int64_t others = std::count_if(found.begin(), found.end(), differs);
  if (others > 0) {
    warning += text("; ", with_commas(others), " of them with another label",
                    example(*std::find_if(found.begin(), found.end(), differs)));
  }
  return warning;
}

}  // namespace weft::data
