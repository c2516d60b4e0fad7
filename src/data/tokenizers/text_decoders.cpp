#include <algorithm>
#include <array>
#include <utility>

#include "base/string_util.h"
#include "base/utf8.h"
#include "data/tokenizers/decoder.h"
#include "data/tokenizers/pre_tokenizers/pattern.h"

namespace weft::data {

namespace {

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), with);
    at += with.size();
  }
}

class WordPieceDecoder : public TokenDecoder {
 public:
  explicit WordPieceDecoder(const JsonFields& fields)
      : prefix_(fields.text("prefix", "##")), cleans_up_(fields.boolean("cleanup", true)) {}

  void apply(std::vector<std::string>& pieces) const override {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (i > 0) {
        pieces[i] =
            pieces[i].starts_with(prefix_) ? pieces[i].substr(prefix_.size()) : " " + pieces[i];
      }
      if (cleans_up_) {
        clean_up(pieces[i]);
      }
    }
  }

 private:
  static void clean_up(std::string& text) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> repairs = {
        {{" .", "."},
         {" ?", "?"},
         {" !", "!"},
         {" ,", ","},
         {" ' ", "'"},
         {" n't", "n't"},
         {" 'm", "'m"},
         {" do not", " don't"},
         {" 's", "'s"},
         {" 've", "'ve"},
         {" 're", "'re"}}};
    for (const auto& [found, repaired] : repairs) {
      replace_all(text, found, repaired);
    }
  }

  std::string prefix_;
  bool cleans_up_;
};

class ReplaceDecoder : public TokenDecoder {
 public:
  explicit ReplaceDecoder(const JsonFields& fields)
      : pattern_(fields.fields("pattern")), content_(fields.text("content")) {}

  void apply(std::vector<std::string>& pieces) const override {
    for (std::string& piece : pieces) {
      std::string result;
      for (const PatternPart& part : pattern_.split(piece)) {
        result += part.is_match ? std::string_view(content_)
                                : std::string_view(piece).substr(part.range.begin,
                                                                 part.range.end - part.range.begin);
      }
      piece = std::move(result);
    }
  }

 private:
  Pattern pattern_;
  std::string content_;
};

/// Returns the byte named by `<0x41>`, or -1.
int byte_of(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') {
    return -1;
  }
  int byte = 0;
  for (const char character : piece.substr(3, 2)) {
    const std::size_t digit = std::string_view("0123456789ABCDEFabcdef").find(character);
    if (digit == std::string_view::npos) {
      return -1;
    }
    byte = byte * 16 + static_cast<int>(digit < 16 ? digit : digit - 6);
  }
  return byte;
}

class ByteFallbackDecoder : public TokenDecoder {
 public:
  void apply(std::vector<std::string>& pieces) const override {
    std::vector<std::string> result;
    std::string bytes;
    const auto flush = [&] {
      if (!utf8::first_invalid(bytes)) {
        result.push_back(bytes);
      } else {
        result.insert(result.end(), bytes.size(), "\uFFFD");
      }
      bytes.clear();
    };
    for (std::string& piece : pieces) {
      const int byte = byte_of(piece);
      if (byte >= 0) {
        bytes.push_back(static_cast<char>(byte));
        continue;
      }
      if (!bytes.empty()) {
        flush();
      }
      result.push_back(std::move(piece));
    }
    if (!bytes.empty()) {
      flush();
    }
    pieces = std::move(result);
  }
};

class FuseDecoder : public TokenDecoder {
 public:
  void apply(std::vector<std::string>& pieces) const override { pieces = {join(pieces, "")}; }
};

/// Strips up to a maximum number of characters from the ends of each piece.
class StripDecoder : public TokenDecoder {
 public:
  explicit StripDecoder(const JsonFields& fields)
      : content_(fields.text("content")),
        start_(fields.integer("start", 0)),
        stop_(fields.integer("stop", 0)) {
    if (content_.empty()) {
      fields.fail("content", "must not be empty");
    }
  }

  void apply(std::vector<std::string>& pieces) const override {
    for (std::string& piece : pieces) {
      std::string_view left = piece;
      for (int64_t i = 0; i < start_ && left.starts_with(content_); ++i) {
        left.remove_prefix(content_.size());
      }
      for (int64_t i = 0; i < stop_ && left.ends_with(content_); ++i) {
        left.remove_suffix(content_.size());
      }
      piece = std::string(left);
    }
  }

 private:
  std::string content_;
  int64_t start_;
  int64_t stop_;
};

/// A suffix ends words: it becomes a space, or is removed from the last piece.
class SuffixDecoder : public TokenDecoder {
 public:
  explicit SuffixDecoder(const JsonFields& fields) : suffix_(fields.text("suffix", "</w>")) {
    if (suffix_.empty()) {
      fields.fail("suffix", "must not be empty");
    }
  }

  void apply(std::vector<std::string>& pieces) const override {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      replace_all(pieces[i], suffix_, i + 1 < pieces.size() ? " " : "");
    }
  }

 private:
  std::string suffix_;
};

}  // namespace

std::unique_ptr<TokenDecoder> make_word_piece_decoder(const JsonFields& fields) {
  return std::make_unique<WordPieceDecoder>(fields);
}

std::unique_ptr<TokenDecoder> make_replace_decoder(const JsonFields& fields) {
  return std::make_unique<ReplaceDecoder>(fields);
}

std::unique_ptr<TokenDecoder> make_byte_fallback_decoder(const JsonFields&) {
  return std::make_unique<ByteFallbackDecoder>();
}

std::unique_ptr<TokenDecoder> make_fuse_decoder(const JsonFields&) {
  return std::make_unique<FuseDecoder>();
}

std::unique_ptr<TokenDecoder> make_strip_decoder(const JsonFields& fields) {
  return std::make_unique<StripDecoder>(fields);
}

std::unique_ptr<TokenDecoder> make_suffix_decoder(const JsonFields& fields) {
  return std::make_unique<SuffixDecoder>(fields);
}

}  // namespace weft::data
