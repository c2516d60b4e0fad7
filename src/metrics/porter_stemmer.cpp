#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "metrics/rouge.h"

namespace weft::metrics {
namespace {

using StemView = std::string_view;

/// Whether each letter is a consonant; `y` after a consonant is a vowel.
std::vector<bool> consonants_of(StemView word) {
  std::vector<bool> result;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool is_vowel = StemView("aeiou").find(word[i]) != StemView::npos;
    result.push_back(word[i] == 'y' ? i == 0 || !result[i - 1] : !is_vowel);
  }
  return result;
}

/// The paper's m: how often a vowel is followed by a consonant.
int64_t measure(StemView stem) {
  const auto consonants = consonants_of(stem);
  int64_t count = 0;
  for (std::size_t i = 1; i < consonants.size(); ++i) {
    count += !consonants[i - 1] && consonants[i] ? 1 : 0;
  }
  return count;
}

bool has_vowel(StemView stem) {
  for (const bool is_consonant : consonants_of(stem)) {
    if (!is_consonant) {
      return true;
    }
  }
  return false;
}

bool ends_double(StemView word) {
  return word.size() >= 2 && word.back() == word[word.size() - 2] && consonants_of(word).back();
}

/// The paper's *o, which NLTK extends to two-letter words.
bool ends_short(StemView word) {
  const auto consonants = consonants_of(word);
  const auto size = word.size();
  if (size == 2) {
    return !consonants[0] && consonants[1];
  }
  return size >= 3 && consonants[size - 3] && !consonants[size - 2] && consonants[size - 1] &&
         StemView("wxy").find(word.back()) == StemView::npos;
}

struct Rule {
  StemView suffix;
  StemView replacement;
};

StemView without(StemView word, StemView suffix) {
  return word.substr(0, word.size() - suffix.size());
}

/// Only the first rule with a matching suffix counts; it applies if m of the stem exceeds `least`.
std::string apply_rules(StemView word, std::span<const Rule> rules, int64_t least) {
  for (const auto& [suffix, replacement] : rules) {
    if (word.ends_with(suffix)) {
      const auto stem = without(word, suffix);
      return measure(stem) > least ? std::string(stem) + std::string(replacement)
                                   : std::string(word);
    }
  }
  return std::string(word);
}

std::string step_1a(StemView word) {
  if (word.size() == 4 && word.ends_with("ies")) {
    return std::string(without(word, "s"));
  }
  constexpr std::array<Rule, 4> kRules{{{"sses", "ss"}, {"ies", "i"}, {"ss", "ss"}, {"s", ""}}};
  return apply_rules(word, kRules, -1);
}

std::string restore_stem(std::string stem) {
  for (const StemView suffix : {"at", "bl", "iz"}) {
    if (stem.ends_with(suffix)) {
      return stem + "e";
    }
  }
  if (ends_double(stem)) {
    if (StemView("lsz").find(stem.back()) == StemView::npos) {
      stem.pop_back();
    }
    return stem;
  }
  return measure(stem) == 1 && ends_short(stem) ? stem + "e" : stem;
}

std::string step_1b(StemView word) {
  if (word.ends_with("ied")) {
    return std::string(without(word, word.size() == 4 ? StemView("d") : StemView("ed")));
  }
  if (word.ends_with("eed")) {
    return std::string(measure(without(word, "eed")) > 0 ? without(word, "d") : word);
  }
  for (const StemView suffix : {"ed", "ing"}) {
    if (word.ends_with(suffix) && has_vowel(without(word, suffix))) {
      return restore_stem(std::string(without(word, suffix)));
    }
  }
  return std::string(word);
}

std::string step_1c(StemView word) {
  if (!word.ends_with("y")) {
    return std::string(word);
  }
  const auto stem = without(word, "y");
  const bool turns = stem.size() > 1 && consonants_of(stem).back();
  return std::string(stem) + (turns ? "i" : "y");
}

std::string step_2(StemView word) {
  if (word.ends_with("alli") && measure(without(word, "alli")) > 0) {
    return step_2(without(word, "li"));
  }
  constexpr std::array<Rule, 21> kRules{{
      {"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"},   {"anci", "ance"},
      {"izer", "ize"},    {"bli", "ble"},     {"alli", "al"},     {"entli", "ent"},
      {"eli", "e"},       {"ousli", "ous"},   {"ization", "ize"}, {"ation", "ate"},
      {"ator", "ate"},    {"alism", "al"},    {"iveness", "ive"}, {"fulness", "ful"},
      {"ousness", "ous"}, {"aliti", "al"},    {"iviti", "ive"},   {"biliti", "ble"},
      {"fulli", "ful"},
  }};
  if (word.ends_with("logi")) {
    return std::string(measure(without(word, "ogi")) > 0 ? without(word, "i") : word);
  }
  return apply_rules(word, kRules, 0);
}

std::string step_3(StemView word) {
  constexpr std::array<Rule, 7> kRules{{{"icate", "ic"},
                                        {"ative", ""},
                                        {"alize", "al"},
                                        {"iciti", "ic"},
                                        {"ical", "ic"},
                                        {"ful", ""},
                                        {"ness", ""}}};
  return apply_rules(word, kRules, 0);
}

std::string step_4(StemView word) {
  constexpr std::array<Rule, 11> kFirst{{{"al", ""},
                                         {"ance", ""},
                                         {"ence", ""},
                                         {"er", ""},
                                         {"ic", ""},
                                         {"able", ""},
                                         {"ible", ""},
                                         {"ant", ""},
                                         {"ement", ""},
                                         {"ment", ""},
                                         {"ent", ""}}};
  constexpr std::array<Rule, 7> kRest{
      {{"ou", ""}, {"ism", ""}, {"ate", ""}, {"iti", ""}, {"ous", ""}, {"ive", ""}, {"ize", ""}}};
  if (word.ends_with("ion")) {
    const auto stem = without(word, "ion");
    const bool goes = measure(stem) > 1 && (stem.back() == 's' || stem.back() == 't');
    return std::string(goes ? stem : word);
  }
  for (const auto& rule : kFirst) {
    if (word.ends_with(rule.suffix)) {
      return apply_rules(word, kFirst, 1);
    }
  }
  return apply_rules(word, kRest, 1);
}

std::string step_5(StemView word) {
  if (word.ends_with("e")) {
    const auto stem = without(word, "e");
    const auto m = measure(stem);
    if (m > 1 || (m == 1 && !ends_short(stem))) {
      word = stem;
    }
  }
  if (word.ends_with("ll") && measure(without(word, "l")) > 1) {
    word = without(word, "l");
  }
  return std::string(word);
}

/// Irregular forms, from errors found over the years.
StemView irregular_stem(StemView word) {
  constexpr std::array<std::pair<StemView, StemView>, 15> kForms{{
      {"sky", "sky"},
      {"skies", "sky"},
      {"dying", "die"},
      {"lying", "lie"},
      {"tying", "tie"},
      {"news", "news"},
      {"innings", "inning"},
      {"inning", "inning"},
      {"outings", "outing"},
      {"outing", "outing"},
      {"cannings", "canning"},
      {"canning", "canning"},
      {"howe", "howe"},
      {"proceed", "proceed"},
      {"exceed", "exceed"},
  }};
  for (const auto& [form, stem] : kForms) {
    if (form == word) {
      return stem;
    }
  }
  return word == "succeed" ? word : StemView();
}

}  // namespace

std::string porter_stem(StemView word) {
  if (const auto form = irregular_stem(word); !form.empty()) {
    return std::string(form);
  }
  if (word.size() <= 2) {
    return std::string(word);
  }
  return step_5(step_4(step_3(step_2(step_1c(step_1b(step_1a(word)))))));
}

}  // namespace weft::metrics
