#include <algorithm>

#include "base/string_util.h"
#include "data/tokenizers/json_fields.h"
#include "data/tokenizers/special_token_layout.h"

namespace weft::data {

namespace {

/// Tokens match anywhere in a text, so a plain word would also match inside longer ones.
bool is_valid_code(const std::string& code) {
  const auto is_space = [](char byte) { return static_cast<unsigned char>(byte) <= 0x20; };
  const auto is_punctuation = [](char byte) {
    const auto value = static_cast<unsigned char>(byte);
    const auto letter = static_cast<unsigned char>(value | 0x20U);
    return value < 0x80 && !(value >= '0' && value <= '9') && !(letter >= 'a' && letter <= 'z');
  };
  return std::none_of(code.begin(), code.end(), is_space) &&
         std::any_of(code.begin(), code.end(), is_punctuation);
}

}  // namespace

const std::vector<std::string>& mbart_language_codes() {
  static const std::vector<std::string> codes = {
      "ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN",
      "hi_IN", "it_IT", "ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP",
      "nl_XX", "ro_RO", "ru_RU", "si_LK", "tr_TR", "vi_VN", "zh_CN"};
  return codes;
}

std::vector<std::string> mbart_language_codes(const LanguageCodes& languages) {
  std::vector<std::string> codes = mbart_language_codes();
  std::vector<std::string> named = {languages.source, languages.target};
  named.insert(named.end(), languages.others.begin(), languages.others.end());
  for (const std::string& code : named) {
    if (code.empty() || std::find(codes.begin(), codes.end(), code) != codes.end()) {
      continue;
    }
    if (!is_valid_code(code)) {
      throw Error(str_cat("language: '", printable(code),
                          "' cannot be a language token because it would also match inside words; "
                          "mbart language codes look like en_XX"));
    }
    codes.push_back(code);
  }
  return codes;
}

}  // namespace weft::data
