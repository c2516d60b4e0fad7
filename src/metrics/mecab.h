#pragma once

#include <string>

namespace weft::metrics {

/// Cuts Japanese into words with MeCab (Kudo et al., EMNLP 2004) and the IPA dictionary. The
/// library is no part of Weft: it is loaded when it is first asked for. Which dictionary it reads
/// is said by its own settings, or those in the file that the variable MECABRC names. For one
/// thread at a time.
class Mecab {
 public:
  /// Throws UserError where the library or that dictionary is missing.
  static const Mecab& loaded();

  /// The words of a line of well-formed UTF-8, with spaces between and a line feed behind.
  std::string cut(const std::string& line) const;

  /// As in signatures of sacreBLEU, `0.996-IPA`; a dictionary of not quite as many words as the one
  /// it takes adds their number.
  const std::string& signature() const { return signature_; }

 private:
  Mecab();

  void* tagger_ = nullptr;
  const char* (*cut_)(void* tagger, const char* text, std::size_t bytes) = nullptr;
  std::string signature_;
};

}  // namespace weft::metrics
