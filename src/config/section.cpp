#include "config/section.h"

#include <algorithm>
#include <stdexcept>

#include "base/text.h"
#include "config/emit.h"
#include "config/scalar.h"
#include "config/state.h"

namespace weft::config {

namespace {

/// How a key of one type is read from a node, written and described. All of it per type stands
/// here.
struct Reader {
  const Section::State& state;
  std::string_view key;
  const Key& about;

  [[noreturn]] void fail(const Node& node, std::string_view message) const {
    state.fail_at(node, key, message);
  }

  const Node& scalar(const Node& node, std::string_view kind) const {
    if (node.kind != Node::Kind::kScalar) {
      state.fail_kind(node, key, kind);
    }
    return node;
  }

  /// `an integer >= 1`.
  std::string allowed(std::string_view kind) const {
    const std::string range = to_string(about.range);
    return text(kind, range.empty() ? "" : " ", range);
  }

  template <class Number>
  Number number(const Node& node, const ParsedNumber<Number>& parsed, std::string_view kind) const {
    const std::string must_be = ", must be " + allowed(kind);
    switch (parsed.fault) {
      case NumberFault::kNone:
        break;
      case NumberFault::kNotANumber:
        fail(node,
             text(quote(node.scalar), " is not ", kind, about.range == Range{} ? "" : must_be));
      case NumberFault::kLeadingZero:
        fail(node, quote(node.scalar) + " begins with a zero" + must_be + " without leading zeros");
      case NumberFault::kQuoted:
        fail(node, quote(node.scalar) + " stands in quotes and so is text" + must_be);
      case NumberFault::kTooLarge:
        fail(node, quote(node.scalar) + " is too large" + must_be);
      case NumberFault::kNotFinite:
        fail(node, quote(node.scalar) + " is not finite" + must_be);
    }
    if (!holds(about.range, static_cast<double>(parsed.value))) {
      fail(node, text(one_line(node.scalar), ", must be ", allowed(kind)));
    }
    return parsed.value;
  }

  void from(const Node& node, bool& value) const {
    const auto parsed = parse_boolean(scalar(node, "true or false"));
    if (!parsed) {
      const bool is_quoted = !node.is_plain && (node.scalar == "true" || node.scalar == "false");
      fail(node, quote(node.scalar) +
                     (is_quoted ? " stands in quotes and so is text, must be true or false"
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
      value = parse_duration(node.scalar, about.range.min == 0 && !about.range.excludes_min);
    } catch (const std::invalid_argument& error) {
      fail(node, error.what());
    }
  }

  template <class Value>
  void from(const Node& node, std::vector<Value>& values) const {
    if (node.kind != Node::Kind::kList) {
      state.fail_kind(node, key, "a list, as in [a, b]");
    }
    values.clear();
    for (const auto& item : node.items) {
      Value value{};
      from(item, value);
      values.push_back(value);
    }
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
                     const Key& about) {
  return {.path = state.path_of(key),
          .type = type,
          .is_required = about.is_required,
          .default_value = {},
          .help = std::string(about.help),
          .unit = std::string(about.unit),
          .only = std::string(about.only),
          .range = about.range,
          .choices = {}};
}

template <class Value>
void read_value(Section::State& state, std::string_view key, Value& value, const Key& about) {
  if (state.described) {
    Declaration declaration;
    if constexpr (IsOptional<Value>::value) {
      declaration = declared(state, key, type_for(typename IsOptional<Value>::Inner{}), about);
      declaration.takes_none = true;
    } else {
      declaration = declared(state, key, type_for(value), about);
    }
    declaration.default_value = section_written(value);
    state.described->add(std::move(declaration));
    return;
  }
  if (const Node* node = state.ask(key)) {
    Reader{state, key, about}.from(*node, value);
  } else if (about.is_required) {
    state.demand(key);
  }
  state.record->at(key).value = section_written(value);
}

}  // namespace

void Section::read(std::string_view key, bool& value, const Key& about) {
  read_value(*state_, key, value, about);
}
void Section::read(std::string_view key, int64_t& value, const Key& about) {
  read_value(*state_, key, value, about);
}
void Section::read(std::string_view key, double& value, const Key& about) {
  read_value(*state_, key, value, about);
}
void Section::read(std::string_view key, std::string& value, const Key& about) {
  read_value(*state_, key, value, about);
}
void Section::read(std::string_view key, Duration& value, const Key& about) {
  read_value(*state_, key, value, about);
}
void Section::read(std::string_view key, std::vector<double>& value, const Key& about) {
  read_value(*state_, key, value, about);
}
void Section::read(std::string_view key, std::vector<std::string>& value, const Key& about) {
  read_value(*state_, key, value, about);
}
void Section::read(std::string_view key, std::optional<int64_t>& value, const Key& about) {
  read_value(*state_, key, value, about);
}
void Section::read(std::string_view key, std::optional<double>& value, const Key& about) {
  read_value(*state_, key, value, about);
}
void Section::read(std::string_view key, std::optional<std::string>& value, const Key& about) {
  read_value(*state_, key, value, about);
}
void Section::read(std::string_view key, std::optional<Duration>& value, const Key& about) {
  read_value(*state_, key, value, about);
}

void Section::read(std::string_view key,
                   NamedNumbers& value,
                   const std::vector<std::string>& words,
                   const Key& about) {
  if (state_->described) {
    Declaration declaration = declared(*state_, key, KeyType::kNamedNumbers, about);
    declaration.default_value = section_written(value);
    declaration.takes_none = true;
    declaration.choices = words;
    state_->described->add(std::move(declaration));
    return;
  }
  if (const Node* node = state_->ask(key)) {
    value = {};
    const Reader reader{*state_, key, about};
    if (node->kind == Node::Kind::kMap) {
      for (const auto& entry : node->entries) {
        value.numbers.emplace_back(entry.key, 0.0);
        reader.from(entry.value, value.numbers.back().second);
      }
    } else if (!is_none(*node)) {
      if (node->kind != Node::Kind::kScalar ||
          std::find(words.begin(), words.end(), node->scalar) == words.end()) {
        state_->fail_kind(*node, key, join(words) + ", none or a map of numbers");
      }
      value.word = node->scalar;
    }
  }
  state_->record->at(key).value = section_written(value);
}

std::size_t Section::read_word(std::string_view key,
                               const std::vector<std::string>& words,
                               std::size_t chosen,
                               const Key& about) {
  if (state_->described) {
    Declaration declaration = declared(*state_, key, KeyType::kWord, about);
    declaration.default_value = words[chosen];
    declaration.choices = words;
    state_->described->add(std::move(declaration));
    return chosen;
  }
  if (const Node* node = state_->ask(key)) {
    if (node->kind != Node::Kind::kScalar) {
      state_->fail_kind(*node, key, "one of " + join(words));
    }
    const auto at = std::find(words.begin(), words.end(), node->scalar);
    if (at == words.end()) {
      constexpr std::size_t kFew = 8;  // so many can be looked through without help
      const std::string near = words.size() > kFew ? nearest(node->scalar, words) : std::string();
      state_->fail_at(*node, key,
                      text(quote(node->scalar), " is not one of ", join(words),
                           near.empty() ? "" : ", did you mean " + quote(near) + "?"));
    }
    chosen = static_cast<std::size_t>(at - words.begin());
  } else if (about.is_required) {
    state_->demand(key);
  }
  state_->record->at(key).value = yaml_text(words[chosen]);
  return chosen;
}

}  // namespace weft::config
