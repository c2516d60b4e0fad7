#include "data/datasets/parallel_dataset.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/random.h"
#include "base/string_util.h"
#include "data/datasets/corruption.h"
#include "data/datasets/sequence_template.h"
#include "data/error.h"
#include "data/mixture.h"
#include "data/remark.h"
#include "data/rows/parallel_text.h"

namespace weft::data {

namespace {

constexpr uint64_t kParallelMixtureSeed =
    0x706172616c6c;  // fixed: weights select the same pairs in every run

/// Replaces the text's single language token by the id.
bool replace_language_token(std::vector<int64_t>& ids, const Tokenizer& tokenizer, int64_t id) {
  const auto special = tokenizer.special_token_ids();
  for (auto& token_id : ids) {
    const bool is_boundary_token = token_id == special.bos || token_id == special.eos ||
                                   token_id == special.cls || token_id == special.sep;
    if (!is_boundary_token) {
      token_id = id;
      return true;
    }
  }
  return false;
}

class ParallelDataset : public Dataset {
 public:
  ParallelDataset(const std::vector<DataItem>& items,
                  const DataOptions& options,
                  const ParallelSettings& settings,
                  const Tokenizer& tokenizer,
                  const ProgressVisitor& progress)
      : settings_(settings) {
    std::vector<MixturePart> mixture_parts;
    for (const auto& item : items) {
      Part& part = parts_.emplace_back();
      part.name = item.path;
      set_language_tokens(part, item, tokenizer);
      check(part);
      part.pairs =
          open_parallel_text(item, options, settings.prefix, tokenizer, progress, part.remarks);
      select_pairs(part);
      mixture_parts.push_back({part.size(), item.weight});
    }
    mixture_.emplace(mixture_parts, kParallelMixtureSeed);
    if (mixture_->size() == 0) {
      throw Error(str_cat(parts_.empty() ? "data" : parts_.front().name,
                          ": no text pairs left with at most ", settings.length,
                          " tokens per side"));
    }
    fingerprint_ = hash(items);
  }

  int64_t size(int64_t /*epoch*/) const override { return mixture_->size(); }

  int64_t length(int64_t epoch, int64_t item) const override {
    const auto entry = mixture_->locate(epoch, item);
    const Part& part = parts_[entry.part];
    const int64_t pair = part.pair(entry.index);
    const auto [source, target] = truncated_lengths(part, pair);
    const int64_t last = settings_.is_joined ? 1 : 0;  // is a target, not an input
    return source + part.source.size() + target + part.target.size() - last;
  }

  Example example(int64_t epoch, int64_t item) const override {
    const auto entry = mixture_->locate(epoch, item);
    const Part& part = parts_[entry.part];
    const int64_t pair = part.pair(entry.index);
    const auto [source, target] = truncated_lengths(part, pair);
    const auto append = [](std::vector<int64_t>& ids, const std::vector<int64_t>& more) {
      ids.insert(ids.end(), more.begin(), more.end());
    };
    Example result;
    result.source_ids = part.source.before;
    part.pairs->read_source(pair, source, result.source_ids);
    append(result.source_ids, part.source.after);
    result.targets = part.target.before;
    part.pairs->read_target(pair, target, result.targets);
    append(result.targets, part.target.after);
    if (settings_.is_joined) {
      return joined(std::move(result));
    }
    const int64_t start = settings_.start_id >= 0 ? settings_.start_id : result.targets.back();
    return make_shifted_example(std::move(result.source_ids), std::move(result.targets), start);
  }

  std::string location(int64_t epoch, int64_t item) const override {
    const auto entry = mixture_->locate(epoch, item);
    const Part& part = parts_[entry.part];
    return part.pairs->location(part.pair(entry.index));
  }

  uint64_t fingerprint() const override { return fingerprint_; }

  std::vector<std::string> remarks() const override {
    std::vector<std::string> remarks;
    for (const Part& part : parts_) {
      remarks.insert(remarks.end(), part.remarks.begin(), part.remarks.end());
      const std::string longer = str_cat(settings_.is_joined ? "" : "with a text ", "longer than ",
                                         settings_.length, " tokens");
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
    LanguageTokens source = {};
    LanguageTokens target = {};
    std::shared_ptr<const ParallelText> pairs;
    std::optional<std::vector<int64_t>> kept;  // nullopt: all
    std::vector<std::string> remarks;
    int64_t empty = 0;
    int64_t truncated = 0;
    int64_t dropped = 0;

    int64_t size() const { return kept ? static_cast<int64_t>(kept->size()) : pairs->pairs(); }
    int64_t pair(int64_t index) const {
      return kept ? (*kept)[static_cast<std::size_t>(index)] : index;
    }
  };

  /// Sets the special tokens for the item's languages, which override the objective's.
  void set_language_tokens(Part& part, const DataItem& item, const Tokenizer& tokenizer) const {
    const bool has_source_language = settings_.takes_item_languages && !item.language.empty();
    const bool has_target_language =
        settings_.takes_item_languages && !item.target_language.empty();
    part.source =
        has_source_language
            ? language_tokens(tokenizer, item.language, item.path + ": language")
            : language_tokens(tokenizer, settings_.source_language, "objective.source_language");
    const Tokenizer& target = tokenizer.target();
    part.target =
        has_target_language
            ? language_tokens(target, item.target_language, item.path + ": target_language")
            : language_tokens(target, settings_.target_language, "objective.target_language");
    if (settings_.is_joined) {
      part.source.after = {separator_id(tokenizer)};
      part.target = {.before = {}, .after = part.source.after};
    }
  }

  int64_t max_source_tokens(const Part& part) const {
    return settings_.length - part.source.size();
  }
  int64_t max_target_tokens(const Part& part) const {
    return settings_.length - part.target.size();
  }
  /// Maximum tokens of both texts of a joined pair, whose last token is not an input.
  int64_t max_joined_tokens(const Part& part) const {
    return settings_.length + 1 - part.source.size() - part.target.size();
  }

  bool fits(const Part& part, int64_t source, int64_t target) const {
    return settings_.is_joined
               ? source + target <= max_joined_tokens(part)
               : source <= max_source_tokens(part) && target <= max_target_tokens(part);
  }

  /// Number of source and target tokens that are kept.
  std::pair<int64_t, int64_t> truncated_lengths(const Part& part, int64_t pair) const {
    const int64_t source = part.pairs->source_size(pair);
    const int64_t target = part.pairs->target_size(pair);
    return settings_.is_joined ? truncate_pair(source, target, max_joined_tokens(part))
                               : std::pair(std::min(source, max_source_tokens(part)),
                                           std::min(target, max_target_tokens(part)));
  }

  /// Concatenates the source and the target without its last token; only the target is predicted.
  static Example joined(Example result) {
    result.prefix_length = static_cast<int64_t>(result.source_ids.size());
    result.ids = std::move(result.source_ids);
    result.source_ids.clear();
    result.ids.insert(result.ids.end(), result.targets.begin(), result.targets.end() - 1);
    result.target_positions.resize(result.targets.size());
    std::iota(result.target_positions.begin(), result.target_positions.end(),
              result.prefix_length - 1);
    return result;
  }

  void check(const Part& part) const {
    if (settings_.truncation == Truncation::kSplit) {
      throw Error(
          "data.overflow: split is only for running text, must be cut or drop for text pairs");
    }
    if (settings_.is_joined && max_joined_tokens(part) < 2) {
      throw Error(
          str_cat("data.length: ", settings_.length, " tokens leave no space for two texts"));
    }
    if (std::min(max_source_tokens(part), max_target_tokens(part)) < 1) {
      throw Error(str_cat("data.length: ", settings_.length,
                          " tokens, must be larger than the number of special tokens (",
                          std::max(part.source.size(), part.target.size()), ")"));
    }
    if (settings_.start_id < 0 && part.target.size() == 0) {
      throw Error(
          "the decoder start token is the last special token of the target, but the tokenizer adds "
          "no special tokens");
    }
  }

  /// Counts pairs that are empty or too long, and lists the kept ones unless all are kept.
  void select_pairs(Part& part) const {
    const auto is_skipped = [&](int64_t pair, bool counts) {
      const int64_t source = part.pairs->source_size(pair);
      const int64_t target = part.pairs->target_size(pair);
      const bool is_empty = source == 0 || target == 0;
      const bool is_long = !is_empty && !fits(part, source, target);
      const bool drops = settings_.truncation == Truncation::kDrop;
      if (counts) {
        part.empty += is_empty ? 1 : 0;
        part.dropped += is_long && drops ? 1 : 0;
        part.truncated += is_long && !drops ? 1 : 0;
      }
      return is_empty || (is_long && drops);
    };
    for (int64_t pair = 0; pair < part.pairs->pairs(); ++pair) {
      is_skipped(pair, true);
    }
    if (part.empty + part.dropped == 0) {
      return;
    }
    part.kept.emplace();
    part.kept->reserve(static_cast<std::size_t>(part.pairs->pairs() - part.empty - part.dropped));
    for (int64_t pair = 0; pair < part.pairs->pairs(); ++pair) {
      if (!is_skipped(pair, false)) {
        part.kept->push_back(pair);
      }
    }
  }

  uint64_t hash(const std::vector<DataItem>& items) const {
    uint64_t value = hash_combine(static_cast<uint64_t>(settings_.length),
                                  static_cast<uint64_t>(settings_.start_id));
    value = hash_combine(value, settings_.truncation == Truncation::kDrop ? 1 : 0);
    value = settings_.is_joined ? hash_combine(value, 0x101ED) : value;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Part& part = parts_[i];
      const bool is_unchanged =
          i > 0 && part.source == parts_[i - 1].source && part.target == parts_[i - 1].target;
      if (!is_unchanged) {
        for (const auto* ids :
             {&part.source.before, &part.source.after, &part.target.before, &part.target.after}) {
          value =
              digest(ids->data(), ids->size() * sizeof(int64_t), hash_combine(value, ids->size()));
        }
      }
      value = hash_combine(value, part.pairs->fingerprint());
      value = hash_combine(value, std::bit_cast<uint64_t>(items[i].weight));
    }
    return value;
  }

  ParallelSettings settings_;
  uint64_t fingerprint_ = 0;
  std::vector<Part> parts_;
  std::optional<Mixture> mixture_;
};

}  // namespace

LanguageTokens language_tokens(const Tokenizer& tokenizer,
                               const std::string& language,
                               const std::string& key) {
  const SequenceTemplate sequence_template(tokenizer, false);
  LanguageTokens found{.before = sequence_template.before(), .after = sequence_template.after()};
  if (language.empty()) {
    return found;
  }
  const auto id = tokenizer.id(language);
  if (!id) {
    throw Error(str_cat(key, ": '", language, "' is not a token of the tokenizer"));
  }
  if (!replace_language_token(found.before, tokenizer, *id) &&
      !replace_language_token(found.after, tokenizer, *id)) {
    throw Error(
        str_cat(key, ": '", language, "', but the tokenizer adds no language token to texts"));
  }
  return found;
}

int64_t separator_id(const Tokenizer& tokenizer) {
  const SequenceTemplate sequence_template(tokenizer, false);
  const int64_t end = sequence_template.after().empty() ? tokenizer.special_token_ids().eos
                                                        : sequence_template.after().back();
  if (end < 0) {
    throw Error("the tokenizer has no end-of-text token to separate source and target");
  }
  return end;
}

std::shared_ptr<const Dataset> make_parallel_dataset(const std::vector<DataItem>& items,
                                                     const DataOptions& options,
                                                     const ParallelSettings& settings,
                                                     std::shared_ptr<const Tokenizer> tokenizer,
                                                     const ProgressVisitor& progress) {
  return std::make_shared<ParallelDataset>(items, options, settings, *tokenizer, progress);
}

}  // namespace weft::data
