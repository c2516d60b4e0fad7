#include <algorithm>
#include <unordered_map>
#include <utility>

#include <sentencepiece_trainer.h>

#include "base/string_util.h"
#include "base/utf8.h"
#include "data/tokenizers/training/trainers.h"

namespace weft::data {

namespace {

/// Fixed, because expected counts are summed per thread and results must not depend on the machine.
constexpr const char* kThreads = "4";

class TextIterator : public sentencepiece::SentenceIterator {
 public:
  explicit TextIterator(const std::vector<std::string>& texts) : texts_(texts) { read(); }

  bool done() const override { return at_ >= texts_.size(); }
  void Next() override {
    ++at_;
    read();
  }
  const std::string& value() const override { return value_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  void read() {
    if (done()) {
      return;
    }
    value_ = utf8::replace_invalid(texts_[at_]);
    std::replace(value_.begin(), value_.end(), '\n', ' ');
    std::replace(value_.begin(), value_.end(), '\0', ' ');
  }

  const std::vector<std::string>& texts_;
  std::size_t at_ = 0;
  std::string value_;
};

using Arguments = std::unordered_map<std::string, std::string>;

bool has(const SpecialTokenLayout& layout, const std::string& token) {
  return std::find(layout.first.begin(), layout.first.end(), token) != layout.first.end();
}

/// Number of special tokens that the tokenizer has but the model lacks.
int64_t num_added_later(const SpecialTokenLayout& layout) {
  const bool has_pad = layout.pad.empty() || has(layout, layout.pad);
  return (has_pad ? 0 : 1) + static_cast<int64_t>(layout.last.size());
}

Arguments arguments_of(const TokenizerOptions& options,
                       const SpecialTokenLayout& layout,
                       int64_t vocab_size) {
  const auto token_position = [&](const std::string& token) {
    const auto found = std::find(layout.first.begin(), layout.first.end(), token);
    return found == layout.first.end() ? "-1" : std::to_string(found - layout.first.begin());
  };
  Arguments arguments = {
      {"model_type", options.type == TokenizerType::kBpe ? "bpe" : "unigram"},
      {"vocab_size", std::to_string(vocab_size - num_added_later(layout))},
      {"character_coverage", shortest_repr(options.character_coverage)},
      {"byte_fallback", options.byte_fallback ? "true" : "false"},
      {"normalization_rule_name", options.normalization},
      {"max_sentence_length", std::to_string(4 * kMaxSentenceBytes)},
      {"num_threads", kThreads},
      {"minloglevel", "3"},
      {"pad_id", token_position(layout.pad)},
      {"unk_id", token_position(layout.unk)},
      {"unk_piece", layout.unk},
      {"bos_id", token_position(layout.cls)},
      {"eos_id", token_position(layout.sep)},
      {"eos_piece", layout.sep},
  };
  if (!layout.pad.empty()) {
    arguments["pad_piece"] = layout.pad;
  }
  if (!layout.cls.empty()) {
    arguments["bos_piece"] = layout.cls;
  }
  if (!layout.mask.empty() && has(layout, layout.mask)) {
    arguments["control_symbols"] = layout.mask;
  }
  return arguments;
}

/// Parses the number after `mark` in a message of the library; nullopt if there is none.
std::optional<int64_t> number_after(const std::string& message, const std::string& mark) {
  const std::size_t found = message.find(mark);
  if (found == std::string::npos) {
    return std::nullopt;
  }
  int64_t number = 0;
  std::size_t at = found + mark.size();
  const std::size_t begin = at;
  for (; at < message.size() && message[at] >= '0' && message[at] <= '9' && number < 1'000'000'000;
       ++at) {
    number = number * 10 + (message[at] - '0');
  }
  return at > begin ? std::optional(number) : std::nullopt;
}

[[noreturn]] void explain(const std::string& message,
                          const TokenizerOptions& options,
                          int64_t more) {
  if (message.find("smaller than required_chars") != std::string::npos) {
    const auto min_pieces = number_after(message, " vs ");
    throw Error(str_cat("tokenizer.vocab_size: ", options.vocab_size,
                        " is too small, the characters of these texts alone need ",
                        min_pieces ? str_cat(*min_pieces + more, " pieces") : std::string("more"),
                        "; increase it or lower tokenizer.character_coverage"));
  }
  throw Error(
      str_cat("tokenizer: libsentencepiece cannot train on these texts: ", printable(message)));
}

}  // namespace

TrainedSentencePiece train_sentencepiece(const TokenizerOptions& options,
                                         const SpecialTokenLayout& layout,
                                         const std::vector<std::string>& texts) {
  const int64_t more = num_added_later(layout);
  TrainedSentencePiece model{.bytes = {}, .vocab_size = options.vocab_size};
  for (;;) {
    TextIterator sentences(texts);
    const auto status = sentencepiece::SentencePieceTrainer::Train(
        arguments_of(options, layout, model.vocab_size), &sentences, &model.bytes);
    if (status.ok()) {
      return model;
    }
    // The texts yield fewer pieces; the library says how many.
    const auto possible = number_after(status.ToString(), "value <= ");
    if (!possible || *possible + more >= model.vocab_size) {
      explain(status.ToString(), options, more);
    }
    model.vocab_size = *possible + more;
  }
}

}  // namespace weft::data
