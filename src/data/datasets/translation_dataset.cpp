#include "data/datasets/translation_dataset.h"

#include <bit>
#include <numeric>
#include <optional>

#include "base/file.h"
#include "base/random.h"
#include "base/string_util.h"
#include "data/datasets/language_source.h"
#include "data/datasets/sequence_template.h"
#include "data/error.h"
#include "data/mixture.h"
#include "data/remark.h"
#include "data/rows/parallel_text.h"
#include "data/text/languages.h"

namespace weft::data {

namespace {

/// Special tokens around a text and its translation. The second half begins after `middle`.
struct Halves {
  std::vector<int64_t> before;
  std::vector<int64_t> middle;
  std::vector<int64_t> second_prefix;  // before the translation, if positions restart
  std::vector<int64_t> after;

  int64_t num_special_tokens() const {
    return static_cast<int64_t>(before.size() + middle.size() + second_prefix.size() +
                                after.size());
  }
};

/// With restarting positions, the halves are complete sequences, one after the other
/// (arXiv:1901.07291, figure 1); otherwise they are the two texts of the tokenizer's pair.
Halves halves_of(const Tokenizer& tokenizer, bool restarts) {
  const SequenceTemplate sequence_template(tokenizer, !restarts);
  if (restarts) {
    return {sequence_template.before(), sequence_template.after(), sequence_template.before(),
            sequence_template.after()};
  }
  return {sequence_template.before(), sequence_template.between(), {}, sequence_template.after()};
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
        max_tokens_(max_text_tokens(settings.length, halves_.num_special_tokens(), 2)),
        masker_(tokenizer, settings.mask.value_or(MaskOptions{})),
        fingerprint_(hash_combine(tokenizer.fingerprint(), 0x71A3)) {
    const Truncation truncation = options.truncation.value_or(Truncation::kTruncate);
    if (truncation == Truncation::kSplit) {
      throw Error(
          "data.overflow: split is only for running text, must be cut or drop for text pairs");
    }
    std::vector<MixturePart> mixture_parts;
    for (const DataItem& item : items) {
      Part& part = parts_.emplace_back();
      part.name = item.path;
      part.source_language = language_id(item.language, settings.languages, item.path);
      part.target_language =
          language_id(item.target_language, settings.languages, item.path, "target_language");
      part.pairs = open_parallel_text(item, options, "", tokenizer, progress, part.remarks);
      select_pairs(part, truncation == Truncation::kDrop);
      mixture_parts.push_back({static_cast<int64_t>(part.kept.size()), item.weight});
      fingerprint_ = hash_combine(hash_combine(fingerprint_, part.pairs->fingerprint()),
                                  std::bit_cast<uint64_t>(item.weight));
      if (part.source_language) {
        fingerprint_ = digest(item.target_language, digest(item.language, fingerprint_));
      }
    }
    mixture_.emplace(mixture_parts, settings.seed);
    if (mixture_->size() == 0) {
      throw Error(
          str_cat(parts_.empty() ? "data" : parts_.front().name, ": no text pairs to train on"));
    }
    fingerprint_ = hash_combine(
        fingerprint_, language_fingerprint({}, {.truncation = truncation}, settings, tokenizer));
  }

  int64_t size(int64_t /*epoch*/) const override { return mixture_->size(); }

  int64_t length(int64_t epoch, int64_t item) const override {
    const auto entry = mixture_->locate(epoch, item);
    const auto [first, second] = sizes(parts_[entry.part], entry.index);
    return first + second + halves_.num_special_tokens();
  }

  Example example(int64_t epoch, int64_t item) const override {
    const auto entry = mixture_->locate(epoch, item);
    const Part& part = parts_[entry.part];
    const int64_t pair = part.kept[static_cast<std::size_t>(entry.index)];
    const auto [first, second] = sizes(part, entry.index);
    Example example;
    const auto add = [&](const std::vector<int64_t>& ids) {
      example.ids.insert(example.ids.end(), ids.begin(), ids.end());
    };
    add(halves_.before);
    part.pairs->read_source(pair, first, example.ids);
    add(halves_.middle);
    const std::size_t half = example.ids.size();
    add(halves_.second_prefix);
    part.pairs->read_target(pair, second, example.ids);
    add(halves_.after);
    mark_halves(part, half, example);
    if (settings_.has_token_type_ids) {
      example.token_type_ids = template_.token_type_ids(first, second);
    }
    masker_.mask(example, settings_.seed, epoch, entry.identity);
    return example;
  }

  std::string location(int64_t epoch, int64_t item) const override {
    const auto entry = mixture_->locate(epoch, item);
    const Part& part = parts_[entry.part];
    return part.pairs->location(part.kept[static_cast<std::size_t>(entry.index)]);
  }

  uint64_t fingerprint() const override { return fingerprint_; }

  std::vector<std::string> remarks() const override {
    std::vector<std::string> remarks;
    for (const Part& part : parts_) {
      remarks.insert(remarks.end(), part.remarks.begin(), part.remarks.end());
      const std::string longer = str_cat("longer than ", settings_.length, " tokens");
      add_remark(remarks, part.name, empty_side_remark(part.empty));
      add_remarks(
          remarks, part.name,
          {.noun = "pair", .which = longer, .truncated = part.truncated, .dropped = part.dropped});
    }
    return remarks;
  }

 private:
  struct Part {
    std::string name;
    std::optional<int64_t> source_language;  // ids, if the model uses language ids
    std::optional<int64_t> target_language;
    std::shared_ptr<const ParallelText> pairs;
    std::vector<int64_t> kept;
    std::vector<std::string> remarks;
    int64_t empty = 0;
    int64_t truncated = 0;
    int64_t dropped = 0;
  };

  std::pair<int64_t, int64_t> sizes(const Part& part, int64_t index) const {
    const int64_t pair = part.kept[static_cast<std::size_t>(index)];
    return truncate_pair(part.pairs->source_size(pair), part.pairs->target_size(pair), max_tokens_);
  }

  void mark_halves(const Part& part, std::size_t half, Example& example) const {
    const auto size = example.ids.size();
    if (part.source_language) {
      example.token_type_ids.assign(half, *part.source_language);
      example.token_type_ids.resize(size, *part.target_language);
    }
    if (settings_.restarts_positions) {
      example.positions.resize(size);
      const auto middle = example.positions.begin() + static_cast<std::ptrdiff_t>(half);
      std::iota(example.positions.begin(), middle, int64_t{0});
      std::iota(middle, example.positions.end(), int64_t{0});
    }
  }

  void select_pairs(Part& part, bool drops) const {
    for (int64_t pair = 0; pair < part.pairs->pairs(); ++pair) {
      const int64_t source = part.pairs->source_size(pair);
      const int64_t target = part.pairs->target_size(pair);
      if (source == 0 || target == 0) {
        ++part.empty;
      } else if (source + target > max_tokens_ && drops) {
        ++part.dropped;
      } else {
        part.truncated += source + target > max_tokens_ ? 1 : 0;
        part.kept.push_back(pair);
      }
    }
  }

  LanguageSettings settings_;
  SequenceTemplate template_;
  Halves halves_;
  int64_t max_tokens_;
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
