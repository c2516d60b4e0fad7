#include "config/section.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/string_util.h"
#include "config/scalar.h"
#include "config/state.h"
#include "config/yaml.h"

namespace weft::config {

namespace {

/// Reads, writes and describes keys. All type-specific code is here.
struct Reader {
  const Section::State& state;
  std::string_view key;
  const KeySpec& spec;

  [[noreturn]] void fail(const Node& node, std::string_view message) const {
    state.fail_at(node, key, message);
  }

  const Node& scalar(const Node& node, std::string_view kind) const {
    if (node.kind != Node::Kind::kScalar) {
      state.fail_type(node, key, kind);
    }
    return node;
  }

  /// Describes the allowed values: `an integer >= 1`.
  std::string allowed(std::string_view kind) const {
    const std::string range = to_string(spec.range);
    return str_cat(kind, range.empty() ? "" : " ", range);
  }

  template <class Number>
  Number number(const Node& node, const ParsedNumber<Number>& parsed, std::string_view kind) const {
    const std::string must_be = ", must be " + allowed(kind);
    switch (parsed.error) {
      case NumberError::kNone:
        break;
      case NumberError::kNotANumber:
        fail(node,
             str_cat(quote(node.scalar), " is not ", kind, spec.range == Range{} ? "" : must_be));
      case NumberError::kLeadingZero:
        fail(node, quote(node.scalar) + " has leading zeros" + must_be + " without leading zeros");
      case NumberError::kQuoted:
        fail(node, quote(node.scalar) + " is quoted and therefore text" + must_be);
      case NumberError::kTooLarge:
        fail(node, quote(node.scalar) + " is too large" + must_be);
      case NumberError::kNotFinite:
        fail(node, quote(node.scalar) + " is not finite" + must_be);
    }
    if (!contains(spec.range, static_cast<double>(parsed.value))) {
      fail(node, str_cat(one_line(node.scalar), ", must be ", allowed(kind)));
    }
    return parsed.value;
  }

  void from(const Node& node, bool& value) const {
    const auto parsed = parse_boolean(scalar(node, "true or false"));
    if (!parsed) {
      const bool is_quoted = !node.is_plain && (node.scalar == "true" || node.scalar == "false");
      fail(node,
           quote(node.scalar) + (is_quoted ? " is quoted and therefore text, must be true or false"
                                           : " is not true or false"));
    }
    value = *parsed;
  }
  void from(const Node& node, int64_t& value) const {
    value = number(node, parse_integer(scalar(node, allowed("an integer"))), "an integer");
  }
  void from(const Node& node, double& value) const {
    value = number(node, parse_number(scalar(node, allowed("a number"))), "a number");
  }
  void from(const Node& node, std::string& value) const { value = scalar(node, "text").scalar; }

  void from(const Node& node, Duration& value) const {
    scalar(node, "a duration such as 2000 steps");
    try {
      value = parse_duration(node.scalar, spec.range.min == 0 && !spec.range.is_min_exclusive);
    } catch (const std::invalid_argument& error) {
      fail(node, error.what());
    }
  }

  void from(const Node& node, RelativeDuration& value) const {
    scalar(node, "a duration such as 100 steps, or a fraction of the run such as 10%");
    try {
      value = parse_relative_duration(node.scalar);
    } catch (const std::invalid_argument& error) {
      fail(node, error.what());
    }
  }

  template <class Value>
  void from(const Node& node, std::vector<Value>& values) const {
    if (node.kind != Node::Kind::kList) {
      state.fail_type(node, key, "a list, as in [a, b]");
    }
    values.clear();
    for (const auto& item : node.items) {
      Value value{};
      from(item, value);
      values.push_back(value);
    }
  }

  NamedNumbers named_numbers(const Node& node, const std::vector<std::string>& words) const {
    NamedNumbers value;
    if (node.kind == Node::Kind::kMap) {
      for (const auto& entry : node.entries) {
        value.numbers.emplace_back(entry.key, 0.0);
        from(entry.value, value.numbers.back().second);
      }
    } else if (!is_none(node)) {
      if (node.kind != Node::Kind::kScalar ||
          std::ranges::find(words, node.scalar) == words.end()) {
        state.fail_type(node, key, join(words) + ", null or a map of numbers");
      }
      value.word = node.scalar;
    }
    return value;
  }

  std::size_t choice(const Node& node, const std::vector<std::string>& words) const {
    if (node.kind != Node::Kind::kScalar) {
      state.fail_type(node, key, "one of " + join(words));
    }
    const auto at = std::ranges::find(words, node.scalar);
    if (at == words.end()) {
      constexpr std::size_t kFew = 8;  // short lists need no suggestion
      std::string near(find_foreign_value(state.path_of(key), node.scalar));
      if (near.empty() && (spec.suggests_nearest || words.size() > kFew)) {
        near = did_you_mean(node.scalar, words);
      }
      fail(node, str_cat(quote(node.scalar), " is not one of ", join(words),
                         near.empty() ? "" : ", did you mean " + quote(near) + "?"));
    }
    return static_cast<std::size_t>(at - words.begin());
  }

  template <class Value>
  void from(const Node& node, std::optional<Value>& value) const {
    const bool is_never =
        std::is_same_v<Value, Duration> && node.is_plain && node.scalar == "never";
    if (is_none(node) || is_never) {
      value.reset();
      return;
    }
    Value given{};
    from(node, given);
    value = given;
  }
};

std::string section_written(bool value) { return value ? "true" : "false"; }
std::string section_written(int64_t value) { return std::to_string(value); }
std::string section_written(double value) { return yaml_number(value); }
std::string section_written(const std::string& value) { return yaml_text(value); }
std::string section_written(const Duration& value) { return to_string(value); }
std::string section_written(const RelativeDuration& value) { return to_string(value); }
template <class Value>
std::string section_written(const std::vector<Value>& values) {
  std::vector<std::string> scalars;
  for (const auto& value : values) {
    scalars.push_back(section_written(value));
  }
  return yaml_list(scalars);
}
template <class Value>
std::string section_written(const std::optional<Value>& value) {
  return value ? section_written(*value) : "null";
}

std::string section_written(const NamedNumbers& value) {
  if (value.numbers.empty()) {
    return value.word.empty() ? "null" : yaml_text(value.word);
  }
  std::vector<std::string> entries;
  for (const auto& [name, number] : value.numbers) {
    entries.push_back(yaml_text(name) + ": " + section_written(number));
  }
  return "{" + join(entries) + "}";
}

constexpr KeyType type_for(const bool&) { return KeyType::kBoolean; }
constexpr KeyType type_for(const int64_t&) { return KeyType::kInteger; }
constexpr KeyType type_for(const double&) { return KeyType::kNumber; }
KeyType type_for(const std::string&) { return KeyType::kText; }
constexpr KeyType type_for(const Duration&) { return KeyType::kDuration; }
constexpr KeyType type_for(const RelativeDuration&) { return KeyType::kRelativeDuration; }
KeyType type_for(const std::vector<int64_t>&) { return KeyType::kIntegerList; }
KeyType type_for(const std::vector<double>&) { return KeyType::kNumberList; }
KeyType type_for(const std::vector<std::string>&) { return KeyType::kTextList; }

template <class Value>
struct IsOptional : std::false_type {};
template <class Value>
struct IsOptional<std::optional<Value>> : std::true_type {
  using Inner = Value;
};

Declaration declared(const Section::State& state,
                     std::string_view key,
                     KeyType type,
                     const KeySpec& spec) {
  return {.path = state.path_of(key),
          .type = type,
          .is_required = spec.is_required,
          .default_value = {},
          .help = std::string(spec.help),
          .unit = std::string(spec.unit),
          .only_if = state.only_if(spec),
          .is_of_variant = !state.condition.empty(),
          .range = spec.range,
          .choices = {}};
}

template <class Value>
void read_value(Section::State& state, std::string_view key, Value& value, const KeySpec& spec) {
  if (state.declarations) {
    Declaration declaration;
    if constexpr (IsOptional<Value>::value) {
      declaration = declared(state, key, type_for(typename IsOptional<Value>::Inner{}), spec);
      declaration.is_nullable = true;
    } else {
      declaration = declared(state, key, type_for(value), spec);
    }
    declaration.default_value = section_written(value);
    state.declarations->add(std::move(declaration));
    return;
  }
  const Node* node = state.lookup(key);
  state.attempt(key, [&] {
    if (node != nullptr) {
      Value given = value;
      Reader{state, key, spec}.from(*node, given);
      value = std::move(given);
    } else if (spec.is_required) {
      state.fail_missing(key);
    }
  });
  state.record->at(key).value = section_written(value);
}

}  // namespace

void Section::read(std::string_view key, bool& value, const KeySpec& spec) {
  read_value(*state_, key, value, spec);
}
void Section::read(std::string_view key, int64_t& value, const KeySpec& spec) {
  read_value(*state_, key, value, spec);
}
void Section::read(std::string_view key, double& value, const KeySpec& spec) {
  read_value(*state_, key, value, spec);
}
void Section::read(std::string_view key, std::string& value, const KeySpec& spec) {
  read_value(*state_, key, value, spec);
}
void Section::read(std::string_view key, Duration& value, const KeySpec& spec) {
  read_value(*state_, key, value, spec);
}
void Section::read(std::string_view key, RelativeDuration& value, const KeySpec& spec) {
  read_value(*state_, key, value, spec);
}
void Section::read(std::string_view key, std::vector<int64_t>& value, const KeySpec& spec) {
  read_value(*state_, key, value, spec);
}
void Section::read(std::string_view key, std::vector<double>& value, const KeySpec& spec) {
  read_value(*state_, key, value, spec);
}
void Section::read(std::string_view key, std::vector<std::string>& value, const KeySpec& spec) {
  read_value(*state_, key, value, spec);
}
void Section::read(std::string_view key, std::optional<int64_t>& value, const KeySpec& spec) {
  read_value(*state_, key, value, spec);
}
void Section::read(std::string_view key, std::optional<double>& value, const KeySpec& spec) {
  read_value(*state_, key, value, spec);
}
void Section::read(std::string_view key, std::optional<std::string>& value, const KeySpec& spec) {
  read_value(*state_, key, value, spec);
}
void Section::read(std::string_view key, std::optional<Duration>& value, const KeySpec& spec) {
  read_value(*state_, key, value, spec);
}

void Section::read(std::string_view key,
                   NamedNumbers& value,
                   const std::vector<std::string>& words,
                   const KeySpec& spec) {
  if (state_->declarations) {
    Declaration declaration = declared(*state_, key, KeyType::kNamedNumbers, spec);
    declaration.default_value = section_written(value);
    declaration.is_nullable = true;
    declaration.choices = words;
    state_->declarations->add(std::move(declaration));
    return;
  }
  if (const Node* node = state_->lookup(key)) {
    state_->attempt(key, [&] { value = Reader{*state_, key, spec}.named_numbers(*node, words); });
  }
  state_->record->at(key).value = section_written(value);
}

void Section::read_name(std::string_view key,
                        std::string& value,
                        const std::vector<std::string>& names,
                        const KeySpec& spec) {
  const auto found = std::find(names.begin(), names.end(), value);
  const auto chosen = found == names.end() ? 0 : found - names.begin();
  value = names[read_choice_index(key, names, static_cast<std::size_t>(chosen), spec)];
}

std::size_t Section::read_choice_index(std::string_view key,
                                       const std::vector<std::string>& words,
                                       std::size_t chosen,
                                       const KeySpec& spec) {
  if (state_->declarations) {
    Declaration declaration = declared(*state_, key, KeyType::kChoice, spec);
    declaration.default_value = words[chosen];
    declaration.choices = words;
    state_->declarations->add(std::move(declaration));
    return chosen;
  }
  const Node* node = state_->lookup(key);
  const bool is_valid = state_->attempt(key, [&] {
    if (node != nullptr) {
      chosen = Reader{*state_, key, spec}.choice(*node, words);
    } else if (spec.is_required) {
      state_->fail_missing(key);
    }
  });
  state_->is_uncertain = state_->is_uncertain || !is_valid;
  state_->record->at(key).value = yaml_text(words[chosen]);
  return chosen;
}

}  // namespace weft::config
