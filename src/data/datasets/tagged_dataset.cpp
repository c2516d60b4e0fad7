#include "data/datasets/tagged_dataset.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "data/datasets/sequence_template.h"
#include "data/error.h"
#include "data/labels.h"
#include "data/mixture.h"
#include "data/rows/tagged_part.h"
#include "data/text/languages.h"

namespace weft::data {
namespace {

constexpr uint64_t kTaggedMixtureSeed =
    0x746167;  // weights draw sentences the same way in every run

/// For each tag the one that stands on a word's further pieces.
std::vector<int32_t> inner_tags(const Labels& labels) {
  std::vector<int32_t> inner;
  for (const std::string& name : labels.names()) {
    const auto own = static_cast<int32_t>(inner.size());
    const auto inside = name.starts_with("B-") ? labels.find("I" + name.substr(1)) : std::nullopt;
    inner.push_back(inside ? static_cast<int32_t>(*inside) : own);
  }
  return inner;
}

class SentenceDataset : public TaggedDataset {
 public:
  SentenceDataset(const std::vector<DataItem>& items,
                  const TaggedSettings& settings,
                  const Tokenizer& tokenizer)
      : settings_(settings), tokenizer_hash_(tokenizer.fingerprint()), template_(tokenizer, false) {
    for (const DataItem& item : items) {
      TaggedPart& part = parts_.emplace_back();
      part.name = item.path;
      part.language = language_id(item.language, settings.languages, item.path);
      part.rows = read_tagged_rows(item);
    }
    labels_.emplace(settings.labels.empty() ? labels_of_tags(parts_) : settings.labels);
    inner_ = inner_tags(*labels_);
    fit_parts(items, tokenizer);
  }

  int64_t size(int64_t /*epoch*/) const override { return mixture_->size(); }

  int64_t length(int64_t epoch, int64_t item) const override {
    const auto place = mixture_->locate(epoch, item);
    return sequence_at(place).pieces + template_.added();
  }

  Example example(int64_t epoch, int64_t item) const override {
    const auto place = mixture_->locate(epoch, item);
    const TaggedPart& part = parts_[place.part];
    const TaggedSequence& sequence = sequence_at(place);
    Example made;
    made.ids.reserve(static_cast<std::size_t>(sequence.pieces + template_.added()));
    made.ids.insert(made.ids.end(), template_.before().begin(), template_.before().end());
    const auto first = part.ids.begin() + sequence.first_piece;
    made.ids.insert(made.ids.end(), first, first + sequence.pieces);
    made.ids.insert(made.ids.end(), template_.after().begin(), template_.after().end());
    if (part.language) {
      set_language(made, *part.language);
    } else if (settings_.has_types) {
      made.types = template_.types(sequence.pieces);
    }
    add_targets(part, sequence, made);
    return made;
  }

  std::string place(int64_t epoch, int64_t item) const override {
    const auto place = mixture_->locate(epoch, item);
    return parts_[place.part].rows.place(sequence_at(place).first_word);
  }

  std::vector<std::string> words(int64_t epoch, int64_t item) const override {
    const auto place = mixture_->locate(epoch, item);
    const TaggedPart& part = parts_[place.part];
    const TaggedSequence& sequence = sequence_at(place);
    std::vector<std::string> found;
    int64_t piece = 0;
    for (int64_t word = sequence.first_word; word < sequence.first_word + sequence.words; ++word) {
      const int64_t count = part.counts[static_cast<std::size_t>(word)];
      if (count > 0 && piece < sequence.pieces) {
        found.emplace_back(part.rows.word(word));
      }
      piece += count;
    }
    return found;
  }

  const std::vector<std::string>& labels() const override { return labels_->names(); }
  uint64_t fingerprint() const override { return fingerprint_; }
  std::vector<std::string> remarks() const override;

 private:
  const TaggedSequence& sequence_at(const Mixture::Place& place) const {
    return parts_[place.part].sequences[static_cast<std::size_t>(place.index)];
  }

  void add_targets(const TaggedPart& part, const TaggedSequence& sequence, Example& made) const {
    const auto begin = static_cast<int64_t>(template_.before().size());
    int64_t piece = 0;
    for (int64_t i = 0; i < sequence.words; ++i) {
      const auto word = static_cast<std::size_t>(sequence.first_word + i);
      const int64_t end = std::min(piece + part.counts[word], sequence.pieces);
      const bool is_all = settings_.pieces == LabelPieces::kAll;
      const int64_t labelled = is_all ? end : std::min(end, piece + 1);
      for (int64_t at = piece; at < labelled; ++at) {
        const int32_t tag = part.tags[word];
        made.target_positions.push_back(begin + at);
        made.targets.push_back(at == piece ? tag : inner_[static_cast<std::size_t>(tag)]);
      }
      piece = end;
    }
  }

  void fit_parts(const std::vector<DataItem>& items, const Tokenizer& tokenizer);
  uint64_t hash() const;

  TaggedSettings settings_;
  uint64_t tokenizer_hash_;
  uint64_t fingerprint_ = 0;
  SequenceTemplate template_;
  std::vector<TaggedPart> parts_;
  std::optional<Labels> labels_;
  std::vector<int32_t> inner_;
  std::optional<Mixture> mixture_;
};

void SentenceDataset::fit_parts(const std::vector<DataItem>& items, const Tokenizer& tokenizer) {
  const int64_t room = settings_.length - template_.added();
  if (room < 1) {
    throw Error(text("data.length: ", settings_.length, " tokens, must be more than the ",
                     template_.added(), " special ones"));
  }
  std::vector<MixturePart> shares;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    fit_part(parts_[i], settings_, room, *labels_, tokenizer);
    shares.push_back({static_cast<int64_t>(parts_[i].sequences.size()), items[i].weight});
  }
  mixture_.emplace(shares, kTaggedMixtureSeed);
  if (mixture_->size() == 0) {
    throw Error(text(parts_.empty() ? "data" : parts_.front().name, ": no sentence of 1 to ", room,
                     " tokens, nothing is left"));
  }
  fingerprint_ = hash();
  for (const DataItem& item : items) {
    fingerprint_ = mix(fingerprint_, std::bit_cast<uint64_t>(item.weight));
  }
}

uint64_t SentenceDataset::hash() const {
  uint64_t value = mix(tokenizer_hash_, static_cast<uint64_t>(settings_.length));
  value = mix(value, settings_.has_types ? 1 : 0);
  value = mix(value, static_cast<uint64_t>(settings_.overflow));
  value = mix(value, static_cast<uint64_t>(settings_.pieces));
  for (const std::string& name : labels_->names()) {
    value = digest(name, value);
  }
  for (const TaggedPart& part : parts_) {
    value = part.language ? mix(value, static_cast<uint64_t>(*part.language)) : value;
    for (const auto* list : {&part.ids, &part.counts, &part.tags}) {
      value = digest(list->data(), list->size() * sizeof(int32_t), value);
    }
    value = digest(part.sequences.data(), part.sequences.size() * sizeof(TaggedSequence), value);
  }
  return value;
}

std::vector<std::string> SentenceDataset::remarks() const {
  std::vector<std::string> remarks;
  for (const TaggedPart& part : parts_) {
    const auto remark = [&](int64_t count, const std::string& what) {
      if (count > 0) {
        remarks.push_back(text(part.name, ": ", with_commas(count), " ", what));
      }
    };
    const std::string longer = text("sentences longer than ", settings_.length, " tokens ");
    remark(part.cut, text(longer, "were cut, ", with_commas(part.cut_words), " words are lost"));
    remark(part.split, longer + "go on in further sequences");
    remark(part.dropped, longer + "were left out");
    remark(part.rows.blank_lines(), "blank lines are no rows");
    remark(part.rows.empty() + part.empty, "sentences without words were left out");
    remark(part.rows.repaired(),
           "words are not UTF-8, read with U+FFFD for the bytes that are wrong");
    remark(part.no_pieces, "words of which the tokenizer leaves nothing");
  }
  return remarks;
}

}  // namespace

std::shared_ptr<const TaggedDataset> make_tagged_dataset(
    const std::vector<DataItem>& items,
    const TaggedSettings& settings,
    std::shared_ptr<const Tokenizer> tokenizer) {
  return std::make_shared<SentenceDataset>(items, settings, *tokenizer);
}

}  // namespace weft::data
