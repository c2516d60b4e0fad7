// Section members for the section tree: nested sections, their location, unread keys.
#include <algorithm>
#include <utility>

#include "base/string_util.h"
#include "config/section.h"
#include "config/state.h"

namespace weft::config {

namespace {

constexpr std::string_view kExpectedMap = "a map of keys";

std::shared_ptr<Section::State> below(const std::shared_ptr<Section::State>& state,
                                      std::string_view name,
                                      const Node* node) {
  auto child = std::make_shared<Section::State>();
  child->root = state->root;
  child->declarations = state->declarations;
  child->errors = state->errors;
  child->parent = state;
  child->node = node;
  child->location = node == nullptr ? state->location : node->location;
  child->path = state->path_of(name);
  return child;
}

void declare_section(const Section::State& state,
                     std::string_view key,
                     KeyType type,
                     const KeySpec& spec) {
  Declaration declaration;
  declaration.path = state.path_of(key);
  declaration.type = type;
  declaration.is_required = spec.is_required;
  declaration.help = spec.help;
  declaration.only_if = state.only_if(spec);
  declaration.may_be_list = spec.may_be_list;
  state.declarations->add(std::move(declaration));
}

}  // namespace

Section Section::for_documentation() {
  auto state = std::make_shared<State>();
  state->declarations = std::make_shared<Declarations>();
  return Section(std::move(state));
}

Section Section::section(std::string_view key, const KeySpec& spec) {
  if (state_->declarations) {
    declare_section(*state_, key, KeyType::kSection, spec);
    return Section(below(state_, key, nullptr));
  }
  const Node* node = state_->lookup(key);
  const bool is_valid = state_->attempt(key, [&] {
    if (node == nullptr && spec.is_required) {
      state_->fail_missing(key);
    }
    if (node != nullptr && node->kind != Node::Kind::kMap) {
      state_->fail_type(*node, key, kExpectedMap);
    }
  });
  auto child = below(state_, key, is_valid ? node : nullptr);
  child->is_uncertain = !is_valid;
  state_->record->at(key).section = child->record;
  return Section(std::move(child));
}

std::vector<Section> Section::sections(std::string_view key, const KeySpec& spec) {
  if (state_->declarations) {
    declare_section(*state_, key, KeyType::kSectionList, spec);
    return {Section(below(state_, str_cat(key, ".*"), nullptr))};
  }
  const Node* node = state_->lookup(key);
  const bool is_valid = state_->attempt(key, [&] {
    if (node == nullptr && spec.is_required) {
      state_->fail_missing(key);
    }
    if (node != nullptr && node->kind != Node::Kind::kList) {
      state_->fail_type(*node, key, "a list of maps, as in [{path: a.txt}]");
    }
    if (node != nullptr && node->items.empty() && spec.is_required) {
      state_->fail_at(*node, key, "an empty list, must have at least one map");
    }
  });
  if (node == nullptr || !is_valid) {
    return {};
  }
  Record::Item& record = state_->record->at(key);
  record.is_list = true;
  record.list.clear();
  std::vector<Section> members;
  for (std::size_t index = 0; index < node->items.size(); ++index) {
    const Node& item = node->items[index];
    const std::string name = str_cat(key, ".", index);
    const bool is_map = state_->attempt(name, [&] {
      if (item.kind != Node::Kind::kMap) {
        state_->fail_type(item, name, kExpectedMap);
      }
    });
    if (is_map) {
      auto child = below(state_, name, &item);
      record.list.push_back(child->record);
      members.push_back(Section(std::move(child)));
    }
  }
  return members;
}

std::vector<std::pair<std::string, Section>> Section::named_sections(std::string_view key,
                                                                     const KeySpec& spec) {
  std::vector<std::pair<std::string, Section>> members;
  if (state_->declarations) {
    declare_section(*state_, key, KeyType::kNamedSections, spec);
    return members;
  }
  if (!has(key)) {
    state_->lookup(key);  // so that it counts as known
    return members;
  }
  auto whole = section(key, spec);
  if (whole.state_->node != nullptr) {
    for (const auto& entry : whole.state_->node->entries) {
      members.emplace_back(entry.key, whole.section(entry.key, {.help = ""}));
    }
  }
  return members;
}

void Section::omit(std::string_view key) {
  auto* record = state_->record.get();
  for (auto dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.')) {
    const auto found = std::ranges::find(record->items, key.substr(0, dot), &Record::Item::key);
    if (found == record->items.end() || !found->section) {
      return;
    }
    record = found->section.get();
    key.remove_prefix(dot + 1);
  }
  std::erase_if(record->items, [&](const Record::Item& item) { return item.key == key; });
}

void Section::reject_unused(std::string_view key, std::string_view message) {
  if (has(key)) {
    report(key, message);
  } else {
    omit(key);
  }
}

std::size_t Section::recorded() const { return state_->record->items.size(); }

std::string Section::json_since(std::size_t first) const {
  Record rest;
  rest.items.assign(state_->record->items.begin() + static_cast<std::ptrdiff_t>(first),
                    state_->record->items.end());
  return to_json(rest);
}

bool Section::is_list(std::string_view key) const {
  const Entry* entry = state_->node == nullptr ? nullptr : state_->node->find(key);
  return entry != nullptr && entry->value.kind == Node::Kind::kList;
}

Section Section::only_with(std::string_view condition) const {
  if (!state_->declarations) {
    return *this;
  }
  auto conditional = std::make_shared<State>(*state_);
  conditional->condition = condition;
  return Section(std::move(conditional));
}

bool Section::has(std::string_view key) const {
  const Node* node = state_->node == nullptr ? nullptr : state_->node->value_at(key);
  return node != nullptr && node->kind != Node::Kind::kNull;
}

bool Section::is_documenting() const { return state_->declarations != nullptr; }

void Section::declare(const Declarations& keys) {
  for (auto key : keys.keys) {
    key.path = state_->path_of(key.path);
    state_->declarations->add(std::move(key));
  }
}

std::string Section::path() const { return state_->path; }

void Section::report(std::string_view key, std::string_view message) const {
  state_->attempt(
      key, [&] { fail(key, message); }, false);
}

void Section::report_at(std::string_view key, std::string_view error) const {
  const auto end = error.find(": ");
  const auto place = error.substr(0, end == std::string_view::npos ? 0 : end);
  const bool has_place = state_->was_requested(split(place, '.').front());
  const auto dotted = has_place ? place : key;
  const Node* node = state_->node;
  SourceLocation location = state_->location;
  for (const auto word : split(dotted, '.')) {
    node = node == nullptr ? nullptr : node->value_at(word);
    location = node == nullptr ? location : node->location;
  }
  state_->attempt(
      dotted, [&] { state_->fail_at(location, dotted, has_place ? error.substr(end + 2) : error); },
      false);
}

void Section::attempt(const std::function<void()>& part) const { state_->attempt("", part, false); }

bool Section::is_valid(std::string_view key) const {
  return !state_->errors || !state_->errors->contains(state_->path_of(key));
}

void Section::fail(std::string_view key, std::string_view message) const {
  state_->throw_if_follow_up(key);
  const Entry* entry = state_->node == nullptr ? nullptr : state_->node->find(key);
  if (entry != nullptr) {
    state_->fail_at(entry->value, key, message);
  }
  if (!key.empty()) {
    state_->reject_misspelling(key);
  }
  state_->fail_at(state_->location, key, message);
}

void Section::reject_unread() {
  if (state_->node == nullptr || state_->has_uncertain_keys()) {
    return;
  }
  for (const auto& entry : state_->node->entries) {
    const auto& known = state_->misspelled_keys;
    if (!state_->was_requested(entry.key) && is_valid(entry.key) &&
        std::find(known.begin(), known.end(), entry.key) == known.end()) {
      state_->attempt(
          entry.key, [&] { state_->fail_unknown(entry); }, false);
    }
  }
}

}  // namespace weft::config
