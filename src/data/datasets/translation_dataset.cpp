#include "data/datasets/translation_dataset.h"

#include <bit>
#include <numeric>
#include <optional>

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "data/datasets/language_source.h"
#include "data/datasets/sequence_template.h"
#include "data/error.h"
#include "data/mixture.h"
#include "data/rows/parallel_text.h"
#include "data/text/languages.h"

namespace weft::data {

namespace {

/// What stands around a text and its translation. The second half begins after `middle`.
struct Halves {
  std::vector<int64_t> before;
  std::vector<int64_t> middle;
  std::vector<int64_t> again;  // before the translation, where its places begin anew
  std::vector<int64_t> after;

  int64_t added() const {
    return static_cast<int64_t>(before.size() + middle.size() + again.size() + after.size());
  }
};

/// Halves that begin anew are whole sequences, one after the other (arXiv:1901.07291, figure 1);
/// else they are the two texts of the tokenizer's pair.
Halves halves_of(const Tokenizer& tokenizer, bool restarts) {
  const SequenceTemplate around(tokenizer, !restarts);
  if (restarts) {
    return {around.before(), around.after(), around.before(), around.after()};
  }
  return {around.before(), around.between(), {}, around.after()};
}

class TranslationDataset : public Dataset {
 public:
  TranslationDataset(const std::vector<DataItem>& items,
                     const DataOptions& options,
                     const LanguageSettings& settings,
                     const Tokenizer& tokenizer,
                     const ProgressVisitor& progress)
      : settings_(settings),
        template_(tokenizer, true),
        halves_(halves_of(tokenizer, settings.restarts_positions)),
        room_(room_for_text(settings.length, halves_.added(), 2)),
        masker_(tokenizer, settings.mask.value_or(MaskOptions{})),
        fingerprint_(mix(tokenizer.fingerprint(), 0x71A3)) {
    const Overflow overflow = options.overflow.value_or(Overflow::kCut);
    if (overflow == Overflow::kSplit) {
      throw Error(
          "data.overflow: split is for running text, of pairs of texts must be cut or drop");
    }
    std::vector<MixturePart> shares;
    for (const DataItem& item : items) {
      Part& part = parts_.emplace_back();
      part.name = item.path;
      part.source_language = language_id(item.language, settings.languages, item.path);
      part.target_language =
          language_id(item.target_language, settings.languages, item.path, "target_language");
      part.pairs = open_parallel_text(item, options, "", tokenizer, progress, part.remarks);
      choose(part, overflow == Overflow::kDrop);
      shares.push_back({static_cast<int64_t>(part.kept.size()), item.weight});
      fingerprint_ =
          mix(mix(fingerprint_, part.pairs->fingerprint()), std::bit_cast<uint64_t>(item.weight));
      if (part.source_language) {
        fingerprint_ = digest(item.target_language, digest(item.language, fingerprint_));
      }
    }
    mixture_.emplace(shares, settings.seed);
    if (mixture_->size() == 0) {
      throw Error(
          text(parts_.empty() ? "data" : parts_.front().name, ": no pair of texts to learn from"));
    }
    fingerprint_ =
        mix(fingerprint_, language_fingerprint({}, {.overflow = overflow}, settings, tokenizer));
  }

  int64_t size(int64_t /*epoch*/) const override { return mixture_->size(); }

  int64_t length(int64_t epoch, int64_t item) const override {
    const auto place = mixture_->locate(epoch, item);
    const auto [first, second] = sizes(parts_[place.part], place.index);
    return first + second + halves_.added();
  }

  Example example(int64_t epoch, int64_t item) const override {
    const auto place = mixture_->locate(epoch, item);
    const Part& part = parts_[place.part];
    const int64_t pair = part.kept[static_cast<std::size_t>(place.index)];
    const auto [first, second] = sizes(part, place.index);
    Example example;
    const auto add = [&](const std::vector<int64_t>& ids) {
      example.ids.insert(example.ids.end(), ids.begin(), ids.end());
    };
    add(halves_.before);
    part.pairs->read_source(pair, first, example.ids);
    add(halves_.middle);
    const std::size_t half = example.ids.size();
    add(halves_.again);
    part.pairs->read_target(pair, second, example.ids);
    add(halves_.after);
    tell_halves(part, half, example);
    if (settings_.has_types) {
      example.types = template_.types(first, second);
    }
    masker_.mask(example, settings_.seed, epoch, place.identity);
    return example;
  }

  std::string place(int64_t epoch, int64_t item) const override {
    const auto place = mixture_->locate(epoch, item);
    const Part& part = parts_[place.part];
    return part.pairs->place(part.kept[static_cast<std::size_t>(place.index)]);
  }

  uint64_t fingerprint() const override { return fingerprint_; }

  std::vector<std::string> remarks() const override {
    std::vector<std::string> remarks;
    for (const Part& part : parts_) {
      remarks.insert(remarks.end(), part.remarks.begin(), part.remarks.end());
      const auto remark = [&](int64_t count, const std::string& what) {
        if (count > 0) {
          remarks.push_back(text(part.name, ": ", with_commas(count), " ", what));
        }
      };
      remark(part.empty, "pairs with an empty side were left out");
      remark(part.cut, text("pairs longer than ", settings_.length, " tokens were cut"));
      remark(part.dropped, text("pairs longer than ", settings_.length, " tokens were left out"));
    }
    return remarks;
  }

 private:
  struct Part {
    std::string name;
    std::optional<int64_t> source_language;  // ids, where the model tells languages apart
    std::optional<int64_t> target_language;
    std::shared_ptr<const ParallelText> pairs;
    std::vector<int64_t> kept;
    std::vector<std::string> remarks;
    int64_t empty = 0;
    int64_t cut = 0;
    int64_t dropped = 0;
  };

  std::pair<int64_t, int64_t> sizes(const Part& part, int64_t index) const {
    const int64_t pair = part.kept[static_cast<std::size_t>(index)];
    return cut_pair(part.pairs->source_size(pair), part.pairs->target_size(pair), room_);
  }

  void tell_halves(const Part& part, std::size_t half, Example& example) const {
    const auto size = example.ids.size();
    if (part.source_language) {
      example.types.assign(half, *part.source_language);
      example.types.resize(size, *part.target_language);
    }
    if (settings_.restarts_positions) {
      example.positions.resize(size);
      const auto middle = example.positions.begin() + static_cast<std::ptrdiff_t>(half);
      std::iota(example.positions.begin(), middle, int64_t{0});
      std::iota(middle, example.positions.end(), int64_t{0});
    }
  }

  void choose(Part& part, bool drops) const {
    for (int64_t pair = 0; pair < part.pairs->pairs(); ++pair) {
      const int64_t source = part.pairs->source_size(pair);
      const int64_t target = part.pairs->target_size(pair);
      if (source == 0 || target == 0) {
        ++part.empty;
      } else if (source + target > room_ && drops) {
        ++part.dropped;
      } else {
        part.cut += source + target > room_ ? 1 : 0;
        part.kept.push_back(pair);
      }
    }
  }

  LanguageSettings settings_;
  SequenceTemplate template_;
  Halves halves_;
  int64_t room_;
  Masker masker_;
  uint64_t fingerprint_;
  std::vector<Part> parts_;
  std::optional<Mixture> mixture_;
};

}  // namespace

std::shared_ptr<const Dataset> make_translation_dataset(const std::vector<DataItem>& items,
                                                        const DataOptions& options,
                                                        const LanguageSettings& settings,
                                                        const Tokenizer& tokenizer,
                                                        const ProgressVisitor& progress) {
  return std::make_shared<TranslationDataset>(items, options, settings, tokenizer, progress);
}

}  // namespace weft::data
