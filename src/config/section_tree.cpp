// The parts of Section that are about sections themselves: those below, their place, what is left
// unread.
#include <algorithm>

#include "base/text.h"
#include "config/section.h"
#include "config/state.h"

namespace weft::config {

namespace {

constexpr std::string_view kAMap = "a map of keys";

std::shared_ptr<Section::State> below(const std::shared_ptr<Section::State>& state,
                                      std::string_view name,
                                      const Node* node) {
  auto child = std::make_shared<Section::State>();
  child->root = state->root;
  child->described = state->described;
  child->parent = state;
  child->node = node;
  child->place = node == nullptr ? state->place : node->place;
  child->path = state->path_of(name);
  return child;
}

void describe_section(const Section::State& state,
                      std::string_view key,
                      KeyType type,
                      const Key& about) {
  Declaration declaration;
  declaration.path = state.path_of(key);
  declaration.type = type;
  declaration.is_required = about.is_required;
  declaration.help = about.help;
  declaration.only = about.only;
  state.described->add(std::move(declaration));
}

}  // namespace

Section Section::describing() {
  auto state = std::make_shared<State>();
  state->described = std::make_shared<Described>();
  return Section(std::move(state));
}

Section Section::section(std::string_view key, const Key& about) {
  if (state_->described) {
    describe_section(*state_, key, KeyType::kSection, about);
    return Section(below(state_, key, nullptr));
  }
  const Node* node = state_->ask(key);
  if (node == nullptr && about.is_required) {
    state_->demand(key);
  }
  if (node != nullptr && node->kind != Node::Kind::kMap) {
    state_->fail_kind(*node, key, kAMap);
  }
  auto child = below(state_, key, node);
  state_->record->at(key).section = child->record;
  return Section(std::move(child));
}

std::vector<Section> Section::sections(std::string_view key, const Key& about) {
  if (state_->described) {
    describe_section(*state_, key, KeyType::kSectionList, about);
    return {Section(below(state_, text(key, ".*"), nullptr))};
  }
  const Node* node = state_->ask(key);
  if (node == nullptr) {
    if (about.is_required) {
      state_->demand(key);
    }
    return {};
  }
  if (node->kind != Node::Kind::kList) {
    state_->fail_kind(*node, key, "a list of maps, as in [{path: a.txt}]");
  }
  if (node->items.empty() && about.is_required) {
    state_->fail_at(*node, key, "an empty list, must hold at least one map");
  }
  Record::Item& record = state_->record->at(key);
  record.is_list = true;
  record.list.clear();
  std::vector<Section> members;
  for (const auto& item : node->items) {
    const std::string name = text(key, ".", members.size());
    if (item.kind != Node::Kind::kMap) {
      state_->fail_kind(item, name, kAMap);
    }
    auto child = below(state_, name, &item);
    record.list.push_back(child->record);
    members.push_back(Section(std::move(child)));
  }
  return members;
}

bool Section::has(std::string_view key) const {
  const Entry* entry = state_->node == nullptr ? nullptr : state_->node->find(key);
  return entry != nullptr && entry->value.kind != Node::Kind::kNull;
}

bool Section::is_describing() const { return state_->described != nullptr; }

std::string Section::path() const { return state_->path; }

void Section::fail(std::string_view key, std::string_view message) const {
  const Entry* entry = state_->node == nullptr ? nullptr : state_->node->find(key);
  if (entry != nullptr) {
    state_->fail_at(entry->value, key, message);
  }
  if (!key.empty()) {
    state_->refuse_slip(key);
  }
  state_->fail_at(state_->place, key, message);
}

void Section::reject_unread() {
  if (state_->node == nullptr) {
    return;
  }
  for (const auto& entry : state_->node->entries) {
    if (state_->was_asked(entry.key)) {
      continue;
    }
    const std::string near = nearest(entry.key, state_->asked);
    const std::string meant = near.empty() ? "" : ", did you mean " + quote(near) + "?";
    const std::string allowed = state_->asked.empty() ? "none" : join(state_->asked);
    state_->fail_at(entry.place, one_line(entry.key),
                    text("unknown key ", quote(entry.key), meant,
                         meant.empty() ? ", allowed: " : " allowed: ", allowed));
  }
}

}  // namespace weft::config
