#include "data/tokenizers/sentencepiece/sentencepiece_trainer.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <sentencepiece_trainer.h>

#include "base/text.h"
#include "base/utf8.h"

namespace weft::data {

namespace {

/// Expected counts are summed thread by thread, so their number is fixed: results must not depend
/// on the machine.
constexpr const char* kThreads = "4";

class Sentences : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(const std::vector<std::string>& texts) : texts_(texts) { read(); }

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
    value_ = utf8::repaired(texts_[at_]);
    std::replace(value_.begin(), value_.end(), '\n', ' ');
    std::replace(value_.begin(), value_.end(), '\0', ' ');
  }

  const std::vector<std::string>& texts_;
  std::size_t at_ = 0;
  std::string value_;
};

using Arguments = std::unordered_map<std::string, std::string>;

bool has(const SpecialLayout& layout, const std::string& token) {
  return std::find(layout.first.begin(), layout.first.end(), token) != layout.first.end();
}

/// Special tokens that the tokenizer has and the model has not.
int64_t added_later(const SpecialLayout& layout) {
  const bool has_pad = layout.pad.empty() || has(layout, layout.pad);
  return (has_pad ? 0 : 1) + static_cast<int64_t>(layout.last.size());
}

Arguments arguments_of(const TokenizerOptions& options, const SpecialLayout& layout) {
  const auto place = [&](const std::string& token) {
    const auto found = std::find(layout.first.begin(), layout.first.end(), token);
    return found == layout.first.end() ? "-1" : std::to_string(found - layout.first.begin());
  };
  Arguments arguments = {
      {"model_type", options.type == TokenizerType::kBpe ? "bpe" : "unigram"},
      {"vocab_size", std::to_string(options.vocab_size - added_later(layout))},
      {"character_coverage", shortest(options.character_coverage)},
      {"byte_fallback", options.byte_fallback ? "true" : "false"},
      {"normalization_rule_name", options.normalization},
      {"max_sentence_length", std::to_string(4 * kLongestSentence)},
      {"num_threads", kThreads},
      {"minloglevel", "3"},
      {"pad_id", place(layout.pad)},
      {"pad_piece", layout.pad},
      {"unk_id", place(layout.unknown)},
      {"unk_piece", layout.unknown},
      {"bos_id", place(layout.classify)},
      {"eos_id", place(layout.separate)},
      {"eos_piece", layout.separate},
  };
  if (!layout.classify.empty()) {
    arguments["bos_piece"] = layout.classify;
  }
  if (!layout.mask.empty() && has(layout, layout.mask)) {
    arguments["control_symbols"] = layout.mask;
  }
  return arguments;
}

/// The number after `mark` in a message of the library, or nothing.
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
  if (const auto most = number_after(message, "value <= ")) {
    throw Error(text("tokenizer.vocab_size: ", options.vocab_size,
                     " is too many, these texts give at most ", *most + more, " pieces"));
  }
  if (message.find("smaller than required_chars") != std::string::npos) {
    const auto least = number_after(message, " vs ");
    throw Error(text("tokenizer.vocab_size: ", options.vocab_size,
                     " is too few, the characters of these texts alone need ",
                     least ? text(*least + more, " pieces") : std::string("more"),
                     ", or a lower character_coverage"));
  }
  throw Error(text("tokenizer: libsentencepiece cannot train on these texts: ", shown(message)));
}

}  // namespace

std::string train_sentencepiece(const TokenizerOptions& options,
                                const SpecialLayout& layout,
                                const std::vector<std::string>& texts) {
  Sentences sentences(texts);
  std::string bytes;
  const auto status =
      sentencepiece::SentencePieceTrainer::Train(arguments_of(options, layout), &sentences, &bytes);
  if (!status.ok()) {
    explain(status.ToString(), options, added_later(layout));
  }
  return bytes;
}

}  // namespace weft::data
