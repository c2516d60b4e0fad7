#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "data/tokenizers/decoder.h"
#include "data/tokenizers/pre_tokenizers/pre_tokenizer.h"

namespace weft::data {

namespace {

enum class MetaspacePrepend { kAlways, kFirst, kNever };

MetaspacePrepend read_prepend(const JsonFields& fields) {
  if (!fields.has("prepend_scheme")) {
    return fields.truth("add_prefix_space", true) ? MetaspacePrepend::kAlways
                                                  : MetaspacePrepend::kNever;
  }
  const std::string scheme = fields.text("prepend_scheme");
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    fields.fail("prepend_scheme",
                weft::text("'", shown(scheme), "' is not one of always, first, never"));
  }
  return scheme == "always"
             ? MetaspacePrepend::kAlways
             : (scheme == "first" ? MetaspacePrepend::kFirst : MetaspacePrepend::kNever);
}

std::string read_replacement(const JsonFields& fields) {
  std::string sign = fields.text("replacement", "\u2581");
  if (utf8::count(sign) != 1) {
    fields.fail("replacement", "must be one character");
  }
  return sign;
}

/// SentencePiece's way with spaces: a visible sign at the head of each word.
class Metaspace : public PreTokenizer {
 public:
  explicit Metaspace(const JsonFields& fields)
      : sign_(read_replacement(fields)),
        prepend_(read_prepend(fields)),
        splits_(fields.truth("split", true)) {}

  void apply(Words& words) const override {
    AlignedText made(words.text.is_tracked());
    std::vector<TextRange> cut;
    for (const TextRange& word : words.ranges) {
      const std::size_t begin = made.size();
      append_with_signs(words, word, made);
      if (splits_) {
        cut_at_signs(made.view(), {begin, made.size()}, cut);
      } else {
        cut.push_back({begin, made.size()});
      }
    }
    words.text = std::move(made);
    words.ranges = std::move(cut);
  }

 private:
  void append_with_signs(const Words& words, TextRange word, AlignedText& made) const {
    const std::string_view text = words.text.view();
    const std::string_view bytes = text.substr(word.begin, word.end - word.begin);
    const bool is_wanted =
        prepend_ == MetaspacePrepend::kAlways ||
        (prepend_ == MetaspacePrepend::kFirst && words.is_first && word.begin == 0);
    if (is_wanted && !bytes.starts_with(sign_) && !bytes.starts_with(' ')) {
      made.append_changed(words.text, word.begin, word.begin, sign_);
    }
    std::size_t done = word.begin;
    for (std::size_t at = bytes.find(' '); at != std::string_view::npos;
         at = bytes.find(' ', done - word.begin)) {
      made.append_kept(words.text, done, word.begin + at);
      made.append_changed(words.text, word.begin + at, word.begin + at + 1, sign_);
      done = word.begin + at + 1;
    }
    made.append_kept(words.text, done, word.end);
  }

  void cut_at_signs(std::string_view text, TextRange word, std::vector<TextRange>& cut) const {
    std::size_t begin = word.begin;
    for (std::size_t at = text.find(sign_, word.begin); at < word.end;
         at = text.find(sign_, at + sign_.size())) {
      if (begin < at) {
        cut.push_back({begin, at});
      }
      begin = at;
    }
    if (begin < word.end) {
      cut.push_back({begin, word.end});
    }
  }

  std::string sign_;
  MetaspacePrepend prepend_;
  bool splits_;
};

class MetaspaceDecoder : public TokenDecoder {
 public:
  explicit MetaspaceDecoder(const JsonFields& fields)
      : sign_(read_replacement(fields)), prepend_(read_prepend(fields)) {}

  void apply(std::vector<std::string>& pieces) const override {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const std::string_view space = i == 0 && prepend_ != MetaspacePrepend::kNever ? "" : " ";
      std::string made;
      std::size_t done = 0;
      for (std::size_t at = pieces[i].find(sign_); at != std::string::npos;
           at = pieces[i].find(sign_, done)) {
        made.append(pieces[i], done, at - done).append(space);
        done = at + sign_.size();
      }
      pieces[i] = made.append(pieces[i], done);
    }
  }

 private:
  std::string sign_;
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
