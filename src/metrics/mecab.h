#pragma once

#include <string>

namespace weft::metrics {

/// Splits Japanese into words with MeCab (Kudo et al., EMNLP 2004) and the IPA dictionary. The
/// library is not part of Weft: it is loaded on first use. The dictionary is chosen by MeCab's
/// settings, or by those in the file named by MECABRC. Not thread-safe.
class Mecab {
 public:
  /// Throws UserError if the library or that dictionary is missing.
  static const Mecab& instance();

  /// Returns the words of a line of well-formed UTF-8, separated by spaces, with a final line feed.
  std::string tokenize(const std::string& line) const;

  /// As in sacreBLEU signatures: `0.996-IPA`, followed by the word count if the dictionary's size
  /// differs from that of sacreBLEU.
  const std::string& signature() const { return signature_; }

 private:
  Mecab();

  void* tagger_ = nullptr;
  const char* (*tokenize_)(void* tagger, const char* text, std::size_t bytes) = nullptr;
  std::string signature_;
};

}  // namespace weft::metrics
