#include <utility>

#include "base/string_util.h"
#include "base/utf8.h"
#include "data/tokenizers/decoder.h"
#include "data/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace weft::data {

namespace {

enum class MetaspacePrepend { kAlways, kFirst, kNever };

MetaspacePrepend read_prepend(const JsonFields& fields) {
  if (!fields.has("prepend_scheme")) {
    return fields.boolean("add_prefix_space", true) ? MetaspacePrepend::kAlways
                                                    : MetaspacePrepend::kNever;
  }
  const std::string scheme = fields.text("prepend_scheme");
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    fields.fail("prepend_scheme",
                weft::str_cat("'", printable(scheme), "' is not one of always, first, never"));
  }
  return scheme == "always"
             ? MetaspacePrepend::kAlways
             : (scheme == "first" ? MetaspacePrepend::kFirst : MetaspacePrepend::kNever);
}

std::string read_replacement(const JsonFields& fields) {
  std::string replacement = fields.text("replacement", "\u2581");
  if (utf8::count(replacement) != 1) {
    fields.fail("replacement", "must be one character");
  }
  return replacement;
}

/// SentencePiece's handling of spaces: a visible marker at the beginning of each word.
class Metaspace : public PreTokenizer {
 public:
  explicit Metaspace(const JsonFields& fields)
      : replacement_(read_replacement(fields)),
        prepend_(read_prepend(fields)),
        splits_(fields.boolean("split", true)) {}

  void apply(Words& words) const override {
    AlignedText result(words.text.is_tracked());
    std::vector<TextRange> ranges;
    for (const TextRange& word : words.ranges) {
      const std::size_t begin = result.size();
      append_with_replacement(words, word, result);
      if (splits_) {
        split_at_replacement(result.view(), {begin, result.size()}, ranges);
      } else {
        ranges.push_back({begin, result.size()});
      }
    }
    words.text = std::move(result);
    words.ranges = std::move(ranges);
  }

 private:
  void append_with_replacement(const Words& words, TextRange word, AlignedText& result) const {
    const std::string_view text = words.text.view();
    const std::string_view bytes = text.substr(word.begin, word.end - word.begin);
    const bool is_wanted =
        prepend_ == MetaspacePrepend::kAlways ||
        (prepend_ == MetaspacePrepend::kFirst && words.is_first && word.begin == 0);
    if (is_wanted && !bytes.starts_with(replacement_) && !bytes.starts_with(' ')) {
      result.append_replaced(words.text, word.begin, word.begin, replacement_);
    }
    std::size_t done = word.begin;
    for (std::size_t at = bytes.find(' '); at != std::string_view::npos;
         at = bytes.find(' ', done - word.begin)) {
      result.append_unchanged(words.text, done, word.begin + at);
      result.append_replaced(words.text, word.begin + at, word.begin + at + 1, replacement_);
      done = word.begin + at + 1;
    }
    result.append_unchanged(words.text, done, word.end);
  }

  void split_at_replacement(std::string_view text,
                            TextRange word,
                            std::vector<TextRange>& ranges) const {
    std::size_t begin = word.begin;
    for (std::size_t at = text.find(replacement_, word.begin); at < word.end;
         at = text.find(replacement_, at + replacement_.size())) {
      if (begin < at) {
        ranges.push_back({begin, at});
      }
      begin = at;
    }
    if (begin < word.end) {
      ranges.push_back({begin, word.end});
    }
  }

  std::string replacement_;
  MetaspacePrepend prepend_;
  bool splits_;
};

class MetaspaceDecoder : public TokenDecoder {
 public:
  explicit MetaspaceDecoder(const JsonFields& fields)
      : replacement_(read_replacement(fields)), prepend_(read_prepend(fields)) {}

  void apply(std::vector<std::string>& pieces) const override {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const std::string_view space = i == 0 && prepend_ != MetaspacePrepend::kNever ? "" : " ";
      std::string result;
      std::size_t done = 0;
      for (std::size_t at = pieces[i].find(replacement_); at != std::string::npos;
           at = pieces[i].find(replacement_, done)) {
        result.append(pieces[i], done, at - done).append(space);
        done = at + replacement_.size();
      }
      pieces[i] = result.append(pieces[i], done);
    }
  }

 private:
  std::string replacement_;
  MetaspacePrepend prepend_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_metaspace(const JsonFields& fields) {
  return std::make_unique<Metaspace>(fields);
}

std::unique_ptr<TokenDecoder> make_metaspace_decoder(const JsonFields& fields) {
  return std::make_unique<MetaspaceDecoder>(fields);
}

}  // namespace weft::data
