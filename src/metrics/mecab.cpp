#include "metrics/mecab.h"

#include <cstdlib>
#include <string_view>

#include <dlfcn.h>

#include "base/error.h"
#include "base/text.h"

namespace weft::metrics {
namespace {

// Of the IPA dictionary 2.7.0: as sacreBLEU takes it, and as Debian has it, with the era Reiwa.
constexpr unsigned kWords = 392126;
constexpr unsigned kWordsOfDebian = 392127;

constexpr std::string_view kRemedy =
    " (Debian's mecab-ipadic-utf8; else MECABRC=FILE with a line `dicdir = FOLDER`)";

/// What libmecab.so.2 calls mecab_dictionary_info_t.
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
    throw UserError(text("MeCab: libmecab.so.2 has no ", name));
  }
  return found;
}

void check(const Dictionary* dictionary) {
  const auto is_one = [&] {
    const std::string_view encoding = dictionary->encoding;
    return (encoding == "utf8" || encoding == "UTF-8") && dictionary->next == nullptr &&
           (dictionary->words == kWords || dictionary->words == kWordsOfDebian);
  };
  if (dictionary == nullptr || !is_one()) {
    throw UserError(text("MeCab: ", dictionary == nullptr ? "no dictionary" : dictionary->file,
                         " is not the IPA dictionary in UTF-8 alone", kRemedy));
  }
}

}  // namespace

Mecab::Mecab() {
  void* library = ::dlopen("libmecab.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw UserError(
        text("MeCab, which cuts Japanese into words, is not installed (Debian's "
             "libmecab2 and mecab-ipadic-utf8): ",
             ::dlerror()));
  }
  tagger_ = function<void*(const char*)>(library, "mecab_new2")("-Owakati");
  if (tagger_ == nullptr) {
    const char* settings = std::getenv("MECABRC");
    throw UserError(text("MeCab finds no dictionary",
                         settings == nullptr ? "" : text(" by MECABRC=", settings), kRemedy));
  }
  const auto* dictionary =
      function<const Dictionary*(void*)>(library, "mecab_dictionary_info")(tagger_);
  check(dictionary);
  cut_ = function<const char*(void*, const char*, std::size_t)>(library, "mecab_sparse_tostr2");
  signature_ = text(function<const char*()>(library, "mecab_version")(), "-IPA");
  if (dictionary->words != kWords) {
    signature_ += text("-", dictionary->words);
  }
}

const Mecab& Mecab::loaded() {
  static const Mecab mecab;
  return mecab;
}

std::string Mecab::cut(const std::string& line) const {
  const auto* words = cut_(tagger_, line.data(), line.size());
  if (words == nullptr) {
    throw UserError(text("MeCab: a line of ", line.size(), " bytes cannot be cut into words"));
  }
  return words;
}

}  // namespace weft::metrics
