#include "metrics/mecab.h"

#include <cstdlib>
#include <string_view>

#include <dlfcn.h>

#include "base/error.h"
#include "base/string_util.h"

namespace weft::metrics {
namespace {

// IPA dictionary 2.7.0: sacreBLEU's version, and Debian's, which adds the era Reiwa.
constexpr unsigned kDictionaryWords = 392126;
constexpr unsigned kDebianDictionaryWords = 392127;

constexpr std::string_view kRemedy =
    " (Debian package mecab-ipadic-utf8, or MECABRC=FILE with a line `dicdir = DIRECTORY`)";

/// Layout of mecab_dictionary_info_t in libmecab.so.2.
struct Dictionary {
  const char* file;
  const char* encoding;
  unsigned words;
  int type;
  unsigned left_attributes;
  unsigned right_attributes;
  unsigned short version;
  const Dictionary* next;
};

template <class Function>
Function* function(void* library, const char* name) {
  auto* found = reinterpret_cast<Function*>(::dlsym(library, name));
  if (found == nullptr) {
    throw UserError(str_cat("MeCab: libmecab.so.2 has no ", name));
  }
  return found;
}

void check(const Dictionary* dictionary) {
  const auto is_one = [&] {
    const std::string_view encoding = dictionary->encoding;
    return (encoding == "utf8" || encoding == "UTF-8") && dictionary->next == nullptr &&
           (dictionary->words == kDictionaryWords || dictionary->words == kDebianDictionaryWords);
  };
  if (dictionary == nullptr || !is_one()) {
    throw UserError(str_cat("MeCab: ", dictionary == nullptr ? "no dictionary" : dictionary->file,
                            " is not the IPA dictionary in UTF-8 or not the only dictionary",
                            kRemedy));
  }
}

}  // namespace

Mecab::Mecab() {
  void* library = ::dlopen("libmecab.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw UserError(
        str_cat("MeCab, which segments Japanese text, is not installed (Debian packages libmecab2 "
                "and mecab-ipadic-utf8): ",
                ::dlerror()));
  }
  tagger_ = function<void*(const char*)>(library, "mecab_new2")("-Owakati");
  if (tagger_ == nullptr) {
    const char* settings = std::getenv("MECABRC");
    throw UserError(str_cat("MeCab finds no dictionary",
                            settings == nullptr ? "" : str_cat(" with MECABRC=", settings),
                            kRemedy));
  }
  const auto* dictionary =
      function<const Dictionary*(void*)>(library, "mecab_dictionary_info")(tagger_);
  check(dictionary);
  tokenize_ =
      function<const char*(void*, const char*, std::size_t)>(library, "mecab_sparse_tostr2");
  signature_ = str_cat(function<const char*()>(library, "mecab_version")(), "-IPA");
  if (dictionary->words != kDictionaryWords) {
    signature_ += str_cat("-", dictionary->words);
  }
}

const Mecab& Mecab::instance() {
  static const Mecab mecab;
  return mecab;
}

std::string Mecab::tokenize(const std::string& line) const {
  const auto* words = tokenize_(tagger_, line.data(), line.size());
  if (words == nullptr) {
    throw UserError(str_cat("MeCab: a line of ", line.size(), " bytes cannot be segmented"));
  }
  return words;
}

}  // namespace weft::metrics
