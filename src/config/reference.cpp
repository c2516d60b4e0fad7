#include "config/reference.h"

#include <algorithm>

#include "base/string_util.h"
#include "config/scalar.h"
#include "config/state.h"

namespace weft::config {

namespace {

constexpr std::string_view kDurationForm =
    "duration (steps, epochs, tokens, seconds, minutes or hours)";

std::string reference_name_of(KeyType type) {
  switch (type) {
    case KeyType::kBoolean:
      return "true or false";
    case KeyType::kInteger:
      return "integer";
    case KeyType::kNumber:
      return "number";
    case KeyType::kText:
      return "text";
    case KeyType::kDuration:
      return std::string(kDurationForm);
    case KeyType::kRelativeDuration:
      return str_cat(kDurationForm, " or fraction of the run (10% or 0.1)");
    case KeyType::kIntegerList:
      return "list of integers";
    case KeyType::kNumberList:
      return "list of numbers";
    case KeyType::kTextList:
      return "list of texts";
    case KeyType::kChoice:
      return "one of ";
    case KeyType::kNamedNumbers:
      return "map of numbers or ";
    case KeyType::kGrid:
      return "map of config keys, each with a list of values";
    case KeyType::kSection:
      return "section";
    case KeyType::kNamedSections:
      return "map of sections";
    case KeyType::kSectionList:
      return "list of sections";
  }
  return {};
}

/// Whether `key` is a direct child of `section`, as `model.attention.heads` of `model.attention`.
bool is_directly_below(const Declaration& key, const Declaration& section) {
  const std::string prefix = section.path + (section.type == KeyType::kSectionList ? ".*." : ".");
  return key.path.starts_with(prefix) && key.path.find('.', prefix.size()) == std::string::npos;
}

std::string padded(std::string_view word, std::size_t width) {
  return std::string(word) + std::string(word.size() < width ? width - word.size() : 0, ' ');
}

std::string table_of(const std::vector<const Declaration*>& keys) {
  std::size_t path = 0;
  std::size_t value = 0;
  for (const auto* key : keys) {
    path = std::max(path, key->path.size());
    value = std::max(value, default_of(*key).size());
  }
  std::string lines;
  for (const auto* key : keys) {
    lines += str_cat("  ", padded(key->path, path + 2), padded(default_of(*key), value + 2),
                     key->help, "\n");
  }
  return lines;
}

std::string reference_explained(const Declarations& declarations, const Declaration& key) {
  std::string lines = str_cat(key.path, "\n  ", key.help, "\n  type: ", type_of(key), "\n");
  if (!default_of(key).empty()) {
    lines += key.is_required ? "  required\n" : str_cat("  default: ", default_of(key), "\n");
  }
  if (!key.only_if.empty()) {
    lines += str_cat("  only ", condition_of(key), "\n");
  }
  std::vector<const Declaration*> below;
  for (const auto& other : declarations.keys) {
    if (key.is_section() && is_directly_below(other, key)) {
      below.push_back(&other);
    }
  }
  return lines + (below.empty() ? "" : "  keys:\n" + table_of(below));
}

/// `data.train.0.path` and `data.train[0].path` mean `data.train.*.path`.
std::string with_wildcards(std::string_view key) {
  std::string dotted;
  for (const char character : key) {
    if (character == '[') {
      dotted += '.';
    } else if (character != ']') {
      dotted += character;
    }
  }
  std::vector<std::string> words;
  for (const auto word : split(dotted, '.')) {
    const bool is_number =
        !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
    words.emplace_back(is_number ? "*" : word);
  }
  return join(words, ".");
}

std::string without_stars(std::string_view path) {
  std::vector<std::string> words;
  for (const auto word : split(path, '.')) {
    if (word != "*") {
      words.emplace_back(word);
    }
  }
  return join(words, ".");
}

std::vector<const Declaration*> matches(const Declarations& declarations, const std::string& key) {
  if (const Declaration* exact = declarations.find(key)) {
    return {exact};
  }
  std::vector<const Declaration*> found;
  const std::string sought = without_stars(key);
  for (const auto& known : declarations.keys) {
    const std::string path = without_stars(known.path);
    if (path == sought || path.ends_with("." + sought)) {
      found.push_back(&known);
    }
  }
  return found;
}

}  // namespace

const Declaration* Declarations::find(std::string_view path) const {
  const auto at = std::find_if(keys.begin(), keys.end(),
                               [&](const Declaration& key) { return key.path == path; });
  return at == keys.end() ? nullptr : &*at;
}

void Declarations::add(Declaration declaration) {
  auto* known = const_cast<Declaration*>(find(declaration.path));
  if (known == nullptr) {
    keys.push_back(std::move(declaration));
    return;
  }
  if (declaration.is_of_variant && declaration.default_value != known->default_value) {
    known->help += str_cat(" With ", declaration.only_if, " the default is `",
                           declaration.default_value, "`.");
  }
  if (known->only_if.empty() || declaration.only_if.empty()) {
    known->only_if.clear();
  } else if (known->only_if.find(declaration.only_if) == std::string::npos) {
    known->only_if += " or " + declaration.only_if;
  }
}

Declarations collect_declarations(const std::function<void(Section)>& read_all) {
  const Section root = Section::for_documentation();
  read_all(root);
  return *root.state_->declarations;
}

std::string default_of(const Declaration& key) {
  if (key.is_required) {
    return "required";
  }
  if (key.is_section()) {
    return "";
  }
  return key.other_defaults.empty() ? key.default_value
                                    : str_cat(key.default_value, " (", key.other_defaults, ")");
}

std::string condition_of(const Declaration& key) {
  constexpr std::string_view kNo = "no ";
  return key.only_if.starts_with(kNo) ? "without " + key.only_if.substr(kNo.size())
                                      : "with " + key.only_if;
}

std::string type_of(const Declaration& key) {
  std::string result = reference_name_of(key.type) + join(key.choices);
  if (key.type != KeyType::kDuration && key.type != KeyType::kRelativeDuration) {
    const std::string range = to_string(key.range);
    result += range.empty() ? "" : " " + range;
  }
  if (!key.unit.empty()) {
    result += str_cat(" (", key.unit, ")");
  }
  if (key.may_be_list) {
    result += ", or a list of them";
  }
  if (key.is_nullable) {
    result += key.type == KeyType::kDuration ? ", or never" : ", or null";
  }
  return result;
}

std::string explain(const Declarations& declarations, std::string_view key) {
  const auto found = matches(declarations, with_wildcards(key));
  const auto* foreign = find_foreign_key(split(key, '.').back());
  const auto explain_foreign = [&](std::string_view name) {
    const bool has_note = !foreign->how.empty();
    return str_cat(name, " is called ", foreign->path, " here", has_note ? ": " : "", foreign->how,
                   "\n\n", explain(declarations, foreign->path));
  };
  if (found.empty() && foreign != nullptr) {
    return explain_foreign(key);
  }
  if (found.empty()) {
    std::vector<std::string> paths;
    std::vector<std::string> names;
    for (const auto& known : declarations.keys) {
      paths.push_back(known.path);
      names.emplace_back(split(known.path, '.').back());
    }
    const bool is_dotted = key.find('.') != std::string_view::npos;
    const std::string near = did_you_mean(key, is_dotted ? paths : names);
    throw Error(str_cat("config explain: unknown key ", quote(key),
                        near.empty() ? ", `weft config explain` without a key lists all keys"
                                     : ", did you mean " + quote(near) + "?"));
  }
  std::string lines;
  for (const auto* known : found) {
    lines += (lines.empty() ? "" : "\n") + reference_explained(declarations, *known);
  }
  if (foreign != nullptr && key == foreign->name &&
      std::ranges::find(found, foreign->path, &Declaration::path) == found.end()) {
    lines += "\n" + explain_foreign(str_cat(key, " of other programs"));
  }
  return lines;
}

std::string explain_all(const Declarations& declarations) {
  std::vector<const Declaration*> all;
  for (const auto& key : declarations.keys) {
    all.push_back(&key);
  }
  return table_of(all);
}

}  // namespace weft::config
