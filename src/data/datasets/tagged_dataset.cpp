#include "data/datasets/tagged_dataset.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/file.h"
#include "base/random.h"
#include "base/string_util.h"
#include "data/datasets/sentence_encoder.h"
#include "data/datasets/sequence_template.h"
#include "data/error.h"
#include "data/labels.h"
#include "data/mixture.h"
#include "data/remark.h"
#include "data/rows/tagged_part.h"
#include "data/text/languages.h"

namespace weft::data {
namespace {

constexpr uint64_t kTaggedMixtureSeed =
    0x746167;  // fixed: weights select the same sentences in every run

constexpr uint64_t kDocumentsHash = 0x646f63;  // sets documents apart from sentences

/// For each tag, the tag of a word's further pieces.
std::vector<int32_t> inside_tags(const Labels& labels) {
  std::vector<int32_t> tag_ids;
  for (const std::string& name : labels.names()) {
    const auto own = static_cast<int32_t>(tag_ids.size());
    const auto inside = name.starts_with("B-") ? labels.find("I" + name.substr(1)) : std::nullopt;
    tag_ids.push_back(inside ? static_cast<int32_t>(*inside) : own);
  }
  return tag_ids;
}

class SentenceDataset : public TaggedDataset {
 public:
  SentenceDataset(const std::vector<DataItem>& items,
                  const TaggedSettings& settings,
                  const Tokenizer& tokenizer)
      : settings_(settings), tokenizer_hash_(tokenizer.fingerprint()), template_(tokenizer, false) {
    if (is_of_documents() && settings.truncation == Truncation::kSplit) {
      throw Error(
          "data.overflow: split is only for running text and tagged words, must be cut or drop for "
          "documents of tagged sentences");
    }
    for (const DataItem& item : items) {
      TaggedPart& part = parts_.emplace_back();
      part.name = item.path;
      part.language = language_id(item.language, settings.languages, item.path);
      part.rows =
          read_tagged_rows(item, is_of_documents() ? TaggedUnit::kSentence : TaggedUnit::kWord);
    }
    const bool is_known =
        !settings.labels.empty() &&
        (!settings.may_replace_labels || has_all_tags(Labels(settings.labels), parts_));
    labels_.emplace(is_known ? settings.labels : collect_tag_labels(parts_));
    inside_tags_ = inside_tags(*labels_);
    prepare_parts(items, tokenizer);
  }

  int64_t size(int64_t /*epoch*/) const override { return mixture_->size(); }

  int64_t length(int64_t epoch, int64_t item) const override {
    const auto entry = mixture_->locate(epoch, item);
    return sequence_at(entry).pieces + num_added_tokens();
  }

  Example example(int64_t epoch, int64_t item) const override {
    const auto entry = mixture_->locate(epoch, item);
    const TaggedPart& part = parts_[entry.part];
    const TaggedSequence& sequence = sequence_at(entry);
    const auto first = part.ids.begin() + sequence.first_piece;
    Example result;
    result.ids.assign(first, first + sequence.pieces);
    if (!is_of_documents()) {
      result.ids = template_.enclose(result.ids);
    }
    if (part.language) {
      set_language(result, *part.language);
    } else if (settings_.has_token_type_ids) {
      result.token_type_ids =
          template_.token_type_ids(std::ssize(result.ids) - template_.num_special_tokens());
    }
    if (is_of_documents()) {
      add_sentences(part, sequence, result);
    } else {
      add_targets(part, sequence, result);
    }
    return result;
  }

  std::string location(int64_t epoch, int64_t item) const override {
    const auto entry = mixture_->locate(epoch, item);
    return parts_[entry.part].rows.location(sequence_at(entry).first_word);
  }

  std::vector<int64_t> class_counts() const override {
    std::vector<int64_t> counts(labels_->names().size());
    for (const TaggedPart& part : parts_) {
      for (const TaggedSequence& sequence : part.sequences) {
        for (int64_t word = 0; word < sequence.words; ++word) {
          const int32_t tag = part.tags[static_cast<std::size_t>(sequence.first_word + word)];
          ++counts[static_cast<std::size_t>(tag)];
        }
      }
    }
    return counts;
  }

  std::vector<std::string> words(int64_t epoch, int64_t item) const override {
    const auto entry = mixture_->locate(epoch, item);
    const TaggedPart& part = parts_[entry.part];
    const TaggedSequence& sequence = sequence_at(entry);
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

  std::string_view unit() const override { return is_of_documents() ? "sentence" : "word"; }
  const std::vector<std::string>& labels() const override { return labels_->names(); }
  uint64_t fingerprint() const override { return fingerprint_; }
  std::vector<std::string> remarks() const override;

 private:
  bool is_of_documents() const { return settings_.sentences.has_value(); }
  std::string_view sequence_noun() const { return is_of_documents() ? "document" : "sentence"; }
  /// Special tokens that `example` adds to those of a part.
  int64_t num_added_tokens() const {
    return is_of_documents() ? 0 : template_.num_special_tokens();
  }
  const TaggedSequence& sequence_at(const Mixture::Entry& entry) const {
    return parts_[entry.part].sequences[static_cast<std::size_t>(entry.index)];
  }

  void add_targets(const TaggedPart& part, const TaggedSequence& sequence, Example& result) const {
    const auto begin = static_cast<int64_t>(template_.before().size());
    int64_t piece = 0;
    for (int64_t i = 0; i < sequence.words; ++i) {
      const auto word = static_cast<std::size_t>(sequence.first_word + i);
      const int64_t end = std::min(piece + part.counts[word], sequence.pieces);
      const bool is_all = settings_.label_all_tokens;
      const int64_t labelled = is_all ? end : std::min(end, piece + 1);
      for (int64_t at = piece; at < labelled; ++at) {
        const int32_t tag = part.tags[word];
        result.target_positions.push_back(begin + at);
        result.targets.push_back(at == piece ? tag : inside_tags_[static_cast<std::size_t>(tag)]);
      }
      piece = end;
    }
  }

  /// The sentences of a document, each with its tag at its last token.
  static void add_sentences(const TaggedPart& part,
                            const TaggedSequence& sequence,
                            Example& result) {
    const auto lengths = part.counts.begin() + sequence.first_word;
    add_sentence_targets({lengths, lengths + sequence.words}, result);
    const auto tags = part.tags.begin() + sequence.first_word;
    result.targets.assign(tags, tags + sequence.words);
  }

  void prepare_parts(const std::vector<DataItem>& items, const Tokenizer& tokenizer);
  uint64_t hash() const;
  void add_truncation_remarks(const TaggedPart& part, std::vector<std::string>& remarks) const;

  TaggedSettings settings_;
  uint64_t tokenizer_hash_;
  uint64_t fingerprint_ = 0;
  SequenceTemplate template_;
  std::vector<TaggedPart> parts_;
  std::optional<Labels> labels_;
  std::vector<int32_t> inside_tags_;
  std::optional<Mixture> mixture_;
};

void SentenceDataset::prepare_parts(const std::vector<DataItem>& items,
                                    const Tokenizer& tokenizer) {
  const int64_t max_tokens = settings_.length - template_.num_special_tokens();
  if (max_tokens < 1) {
    throw Error(str_cat("data.length: ", settings_.length,
                        " tokens, must be larger than the number of special tokens (",
                        template_.num_special_tokens(), ")"));
  }
  std::optional<SentenceEncoder> encoder;
  if (is_of_documents()) {
    encoder.emplace(tokenizer, *settings_.sentences);
  }
  std::vector<MixturePart> mixture_parts;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    read_tags(parts_[i], *labels_);
    if (encoder) {
      tokenize_documents(parts_[i], items[i], settings_, *encoder);
    } else {
      tokenize_and_truncate(parts_[i], items[i], settings_, max_tokens, tokenizer);
    }
    mixture_parts.push_back({static_cast<int64_t>(parts_[i].sequences.size()), items[i].weight});
  }
  mixture_.emplace(mixture_parts, kTaggedMixtureSeed);
  if (mixture_->size() == 0) {
    throw Error(str_cat(parts_.empty() ? "data" : parts_.front().name, ": no ",
                        is_of_documents() ? "documents" : "sentences", " left with 1 to ",
                        is_of_documents() ? settings_.length : max_tokens, " tokens"));
  }
  fingerprint_ = hash();
  for (const DataItem& item : items) {
    fingerprint_ = hash_combine(fingerprint_, std::bit_cast<uint64_t>(item.weight));
  }
}

uint64_t SentenceDataset::hash() const {
  uint64_t value = hash_combine(tokenizer_hash_, static_cast<uint64_t>(settings_.length));
  value = hash_combine(value, settings_.has_token_type_ids ? 1 : 0);
  value = hash_combine(value, static_cast<uint64_t>(settings_.truncation));
  value = hash_combine(value, static_cast<uint64_t>(settings_.label_all_tokens));
  value = is_of_documents() ? hash_combine(value, kDocumentsHash) : value;
  for (const std::string& name : labels_->names()) {
    value = digest(name, value);
  }
  for (const TaggedPart& part : parts_) {
    value = part.language ? hash_combine(value, static_cast<uint64_t>(*part.language)) : value;
    for (const auto* list : {&part.ids, &part.counts, &part.tags}) {
      value = digest(list->data(), list->size() * sizeof(int32_t), value);
    }
    value = digest(part.sequences.data(), part.sequences.size() * sizeof(TaggedSequence), value);
  }
  return value;
}

void SentenceDataset::add_truncation_remarks(const TaggedPart& part,
                                             std::vector<std::string>& remarks) const {
  const auto& limits = settings_.sentences;
  const std::string longer =
      limits ? str_cat("longer than ", limits->sentences, " sentences of ", limits->sentence_length,
                       " tokens, ", limits->length, " in all,")
             : str_cat("longer than ", settings_.length, " tokens");
  add_remark(remarks, part.name,
             {.count = part.truncated,
              .noun = sequence_noun(),
              .which = longer,
              .done = str_cat("truncated, ", counted(part.truncated_words, unit()), " ",
                              was_or_were(part.truncated_words), " dropped")});
  add_remark(remarks, part.name,
             {.count = part.split,
              .noun = sequence_noun(),
              .which = longer,
              .done = "split into several sequences"});
  add_remark(remarks, part.name,
             {.count = part.dropped, .noun = sequence_noun(), .which = longer, .done = "dropped"});
}

std::vector<std::string> SentenceDataset::remarks() const {
  std::vector<std::string> remarks;
  for (const TaggedPart& part : parts_) {
    add_truncation_remarks(part, remarks);
    add_remark(remarks, part.name,
               {.count = part.rows.blank_lines(), .noun = "blank line", .done = "ignored"});
    add_remark(remarks, part.name,
               {.count = part.rows.empty() + part.empty,
                .noun = sequence_noun(),
                .which = str_cat("without ", unit(), "s"),
                .done = "skipped"});
    add_remark(remarks, part.name, repaired_remark(part.rows.repaired(), unit()));
    add_remark(remarks, part.name,
               {.count = part.words_without_pieces,
                .noun = "word",
                .which = "without tokens after normalization",
                .done = "left out"});
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
