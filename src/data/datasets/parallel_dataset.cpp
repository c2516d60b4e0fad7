#include "data/datasets/parallel_dataset.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "data/datasets/sequence_template.h"
#include "data/error.h"
#include "data/mixture.h"
#include "data/rows/parallel_text.h"

namespace weft::data {

namespace {

constexpr uint64_t kParallelMixtureSeed =
    0x706172616c6c;  // weights draw pairs the same way in every run

/// Puts the id in the place of the one token that is the language's.
bool exchange(std::vector<int64_t>& ids, const Tokenizer& tokenizer, int64_t id) {
  const auto special = tokenizer.special();
  for (auto& one : ids) {
    const bool is_border = one == special.begin || one == special.end || one == special.classify ||
                           one == special.separate;
    if (!is_border) {
      one = id;
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
    std::vector<MixturePart> shares;
    for (const auto& item : items) {
      Part& part = parts_.emplace_back();
      part.name = item.path;
      enclose(part, item, tokenizer);
      check(part);
      part.pairs =
          open_parallel_text(item, options, settings.prefix, tokenizer, progress, part.remarks);
      choose(part);
      shares.push_back({part.size(), item.weight});
    }
    mixture_.emplace(shares, kParallelMixtureSeed);
    if (mixture_->size() == 0) {
      throw Error(text(parts_.empty() ? "data" : parts_.front().name,
                       ": no pair of texts of at most ", settings.length,
                       " tokens each, nothing is left"));
    }
    fingerprint_ = hash(items);
  }

  int64_t size(int64_t /*epoch*/) const override { return mixture_->size(); }

  int64_t length(int64_t epoch, int64_t item) const override {
    const auto place = mixture_->locate(epoch, item);
    const Part& part = parts_[place.part];
    const int64_t pair = part.pair(place.index);
    const auto [source, target] = kept_tokens(part, pair);
    const int64_t last = settings_.is_joined ? 1 : 0;  // is guessed, not read
    return source + part.source.size() + target + part.target.size() - last;
  }

  Example example(int64_t epoch, int64_t item) const override {
    const auto place = mixture_->locate(epoch, item);
    const Part& part = parts_[place.part];
    const int64_t pair = part.pair(place.index);
    const auto [source, target] = kept_tokens(part, pair);
    const auto append = [](std::vector<int64_t>& ids, const std::vector<int64_t>& more) {
      ids.insert(ids.end(), more.begin(), more.end());
    };
    Example made;
    made.source_ids = part.source.before;
    part.pairs->read_source(pair, source, made.source_ids);
    append(made.source_ids, part.source.after);
    made.targets = part.target.before;
    part.pairs->read_target(pair, target, made.targets);
    append(made.targets, part.target.after);
    if (settings_.is_joined) {
      return joined(std::move(made));
    }
    made.ids.reserve(made.targets.size());
    made.ids.push_back(settings_.start_id >= 0 ? settings_.start_id : made.targets.back());
    made.ids.insert(made.ids.end(), made.targets.begin(), made.targets.end() - 1);
    made.target_positions.resize(made.targets.size());
    for (std::size_t i = 0; i < made.targets.size(); ++i) {
      made.target_positions[i] = static_cast<int64_t>(i);
    }
    return made;
  }

  std::string place(int64_t epoch, int64_t item) const override {
    const auto place = mixture_->locate(epoch, item);
    const Part& part = parts_[place.part];
    return part.pairs->place(part.pair(place.index));
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
      remark(part.cut, text(too_long(), settings_.length, " tokens were cut"));
      remark(part.dropped, text(too_long(), settings_.length, " tokens were left out"));
    }
    return remarks;
  }

 private:
  struct Part {
    std::string name;
    Enclosure source = {};
    Enclosure target = {};
    std::shared_ptr<const ParallelText> pairs;
    std::optional<std::vector<int64_t>> kept;  // nothing: all
    std::vector<std::string> remarks;
    int64_t empty = 0;
    int64_t cut = 0;
    int64_t dropped = 0;

    int64_t size() const { return kept ? static_cast<int64_t>(kept->size()) : pairs->pairs(); }
    int64_t pair(int64_t index) const {
      return kept ? (*kept)[static_cast<std::size_t>(index)] : index;
    }
  };

  /// What stands around the item's texts: their languages, where it names them, before the
  /// objective's.
  void enclose(Part& part, const DataItem& item, const Tokenizer& tokenizer) const {
    const bool is_source_told = settings_.takes_item_languages && !item.language.empty();
    const bool is_target_told = settings_.takes_item_languages && !item.target_language.empty();
    part.source = is_source_told ? enclosure_of(tokenizer, item.language, item.path + ": language")
                                 : enclosure_of(tokenizer, settings_.source_language,
                                                "objective.source_language");
    const Tokenizer& target = tokenizer.target();
    part.target =
        is_target_told
            ? enclosure_of(target, item.target_language, item.path + ": target_language")
            : enclosure_of(target, settings_.target_language, "objective.target_language");
    if (settings_.is_joined) {
      part.source.after = {joining_id(tokenizer)};
      part.target = {.before = {}, .after = part.source.after};
    }
  }

  int64_t source_room(const Part& part) const { return settings_.length - part.source.size(); }
  int64_t target_room(const Part& part) const { return settings_.length - part.target.size(); }
  /// Of both texts of a joined pair, whose last token is not read.
  int64_t joined_room(const Part& part) const {
    return settings_.length + 1 - part.source.size() - part.target.size();
  }

  std::string_view too_long() const {
    return settings_.is_joined ? "pairs longer than " : "pairs with a text longer than ";
  }

  bool fits(const Part& part, int64_t source, int64_t target) const {
    return settings_.is_joined ? source + target <= joined_room(part)
                               : source <= source_room(part) && target <= target_room(part);
  }

  /// Tokens of the pair's source and target that are kept.
  std::pair<int64_t, int64_t> kept_tokens(const Part& part, int64_t pair) const {
    const int64_t source = part.pairs->source_size(pair);
    const int64_t target = part.pairs->target_size(pair);
    return settings_.is_joined ? cut_pair(source, target, joined_room(part))
                               : std::pair(std::min(source, source_room(part)),
                                           std::min(target, target_room(part)));
  }

  /// The source and all of the target but its last token, of which the target is guessed.
  static Example joined(Example made) {
    made.prefix = static_cast<int64_t>(made.source_ids.size());
    made.ids = std::move(made.source_ids);
    made.source_ids.clear();
    made.ids.insert(made.ids.end(), made.targets.begin(), made.targets.end() - 1);
    made.target_positions.resize(made.targets.size());
    std::iota(made.target_positions.begin(), made.target_positions.end(), made.prefix - 1);
    return made;
  }

  void check(const Part& part) const {
    if (settings_.overflow == Overflow::kSplit) {
      throw Error(
          "data.overflow: split is for running text, of pairs of texts must be cut or drop");
    }
    if (settings_.is_joined && joined_room(part) < 2) {
      throw Error(text("data.length: ", settings_.length, " tokens leave no room for two texts"));
    }
    if (std::min(source_room(part), target_room(part)) < 1) {
      throw Error(text("data.length: ", settings_.length, " tokens, must be more than the ",
                       std::max(part.source.size(), part.target.size()), " special ones"));
    }
    if (settings_.start_id < 0 && part.target.size() == 0) {
      throw Error(
          "the decoder begins with the last special token of its text, but the tokenizer "
          "adds none");
    }
  }

  /// Counts what is empty or too long, and lists what is kept where that is not all.
  void choose(Part& part) const {
    const auto is_left_out = [&](int64_t pair, bool counts) {
      const int64_t source = part.pairs->source_size(pair);
      const int64_t target = part.pairs->target_size(pair);
      const bool is_empty = source == 0 || target == 0;
      const bool is_long = !is_empty && !fits(part, source, target);
      const bool drops = settings_.overflow == Overflow::kDrop;
      if (counts) {
        part.empty += is_empty ? 1 : 0;
        part.dropped += is_long && drops ? 1 : 0;
        part.cut += is_long && !drops ? 1 : 0;
      }
      return is_empty || (is_long && drops);
    };
    for (int64_t pair = 0; pair < part.pairs->pairs(); ++pair) {
      is_left_out(pair, true);
    }
    if (part.empty + part.dropped == 0) {
      return;
    }
    part.kept.emplace();
    part.kept->reserve(static_cast<std::size_t>(part.pairs->pairs() - part.empty - part.dropped));
    for (int64_t pair = 0; pair < part.pairs->pairs(); ++pair) {
      if (!is_left_out(pair, false)) {
        part.kept->push_back(pair);
      }
    }
  }

  uint64_t hash(const std::vector<DataItem>& items) const {
    uint64_t value =
        mix(static_cast<uint64_t>(settings_.length), static_cast<uint64_t>(settings_.start_id));
    value = mix(value, settings_.overflow == Overflow::kDrop ? 1 : 0);
    value = settings_.is_joined ? mix(value, 0x101ED) : value;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Part& part = parts_[i];
      const bool is_as_before =
          i > 0 && part.source == parts_[i - 1].source && part.target == parts_[i - 1].target;
      if (!is_as_before) {
        for (const auto* ids :
             {&part.source.before, &part.source.after, &part.target.before, &part.target.after}) {
          value = digest(ids->data(), ids->size() * sizeof(int64_t), mix(value, ids->size()));
        }
      }
      value = mix(value, part.pairs->fingerprint());
      value = mix(value, std::bit_cast<uint64_t>(items[i].weight));
    }
    return value;
  }

  ParallelSettings settings_;
  uint64_t fingerprint_ = 0;
  std::vector<Part> parts_;
  std::optional<Mixture> mixture_;
};

}  // namespace

Enclosure enclosure_of(const Tokenizer& tokenizer,
                       const std::string& language,
                       const std::string& key) {
  const SequenceTemplate around(tokenizer, false);
  Enclosure found{.before = around.before(), .after = around.after()};
  if (language.empty()) {
    return found;
  }
  const auto id = tokenizer.id(language);
  if (!id) {
    throw Error(text(key, ": '", language, "' is no token of the tokenizer"));
  }
  if (!exchange(found.before, tokenizer, *id) && !exchange(found.after, tokenizer, *id)) {
    throw Error(text(key, ": '", language, "', but the tokenizer puts no language beside a text"));
  }
  return found;
}

int64_t joining_id(const Tokenizer& tokenizer) {
  const SequenceTemplate around(tokenizer, false);
  const int64_t end = around.after().empty() ? tokenizer.special().end : around.after().back();
  if (end < 0) {
    throw Error(
        "the tokenizer has no token that ends a text: nothing would stand between a source and its "
        "target");
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
