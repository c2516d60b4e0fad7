#include "inference/score_task.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/codepoints.h"
#include "base/error.h"
#include "base/string_util.h"
#include "base/utf8.h"

namespace weft::inference {
namespace {

constexpr std::array<std::string_view, 4> kFilters{"strip", "without_end", "lower_first",
                                                   "upper_first"};

std::u32string upper_case(char32_t code) {
  // Handles ASCII and Latin-1 and leaves the rest as is: no shipped task needs more.
  const bool is_small =
      (code >= U'a' && code <= U'z') || (code >= 0xE0 && code <= 0xFE && code != 0xF7);
  return std::u32string(1, is_small ? code - 0x20 : code);
}

std::string apply_filter(const std::string& raw, const std::string& filter) {
  auto value = utf8::decode(raw);
  if (filter == "strip") {
    const auto is_text = [](char32_t code) { return !is_python_space(code); };
    value.erase(value.begin(), std::find_if(value.begin(), value.end(), is_text));
    value.erase(std::find_if(value.rbegin(), value.rend(), is_text).base(), value.end());
  } else if (!value.empty() && filter == "without_end") {
    value.pop_back();
  } else if (!value.empty() && filter == "lower_first") {
    value = python_lower(value.substr(0, 1)) + value.substr(1);
  } else if (!value.empty() && filter == "upper_first") {
    value = upper_case(value[0]) + value.substr(1);
  }
  return utf8::encode(value);
}

bool ends_in_space(std::string_view raw) {
  const auto value = utf8::decode(raw);
  return !value.empty() && is_python_space(value.back());
}

bool begins_in_space(std::string_view raw) {
  const auto value = utf8::decode(raw);
  return !value.empty() && is_python_space(value.front());
}

}  // namespace

std::string continuation_of(const ScoreItem& item, const std::string& choice) {
  if (item.delimiter) {
    return *item.delimiter + choice;
  }
  const bool is_apart =
      item.context.empty() || ends_in_space(item.context) || begins_in_space(choice);
  return (is_apart ? "" : " ") + choice;
}

std::size_t ScoreTask::column(const std::string& name) {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found != columns_.end()) {
    return static_cast<std::size_t>(found - columns_.begin());
  }
  columns_.push_back(name);
  return columns_.size() - 1;
}

ScoreTask::Template ScoreTask::parse(config::Section& section,
                                     std::string_view key,
                                     const std::string& raw) {
  Template pieces;
  std::string plain;
  for (std::size_t at = 0; at < raw.size(); ++at) {
    if ((raw[at] == '{' || raw[at] == '}') && at + 1 < raw.size() && raw[at + 1] == raw[at]) {
      plain += raw[at++];
      continue;
    }
    if (raw[at] != '{') {
      plain += raw[at];
      continue;
    }
    const auto end = raw.find('}', at);
    if (end == std::string::npos) {
      section.fail(key, "'" + raw + "' has an opening { without }");
    }
    const auto inside = raw.substr(at + 1, end - at - 1);
    const auto parts = split(inside, '|');
    TemplatePart part{.text = {}, .column = column(std::string(trim(parts[0]))), .filters = {}};
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const auto filter = std::string(trim(parts[i]));
      if (std::find(kFilters.begin(), kFilters.end(), filter) == kFilters.end()) {
        section.fail(key,
                     "'" + filter + "' is not one of " + join({kFilters.begin(), kFilters.end()}));
      }
      part.filters.push_back(filter);
    }
    pieces.push_back({.text = std::exchange(plain, {}), .column = {}, .filters = {}});
    pieces.push_back(std::move(part));
    at = end;
  }
  pieces.push_back({.text = plain, .column = {}, .filters = {}});
  return pieces;
}

void ScoreTask::read_verbalizers(config::Section& section) {
  std::vector<std::string> words;
  section.read("words", words,
               {.help = "Replacement words for column values, each as `column:value=word`."});
  for (const auto& entry : words) {
    const auto colon = entry.find(':');
    const auto equals = entry.find('=');
    if (colon == std::string::npos || equals == std::string::npos || equals < colon) {
      section.fail("words", "'" + entry + "' is not of the form column:value=word");
    }
    verbalizers_[{entry.substr(0, colon), entry.substr(colon + 1, equals - colon - 1)}] =
        entry.substr(equals + 1);
  }
}

ScoreTask ScoreTask::read(config::Section& section) {
  ScoreTask task;
  section.read(
      "data", task.data_,
      {.help = "Tables with the examples (csv, tsv, jsonl, parquet), scored in this order."});
  std::string context;
  std::vector<std::string> choices;
  std::optional<std::string> continuation;
  std::optional<std::string> whole;
  std::optional<std::string> label;
  section.read("context", context, {.help = "Template of the context."});
  section.read("choices", choices, {.help = "Templates of the choices."});
  section.read("continuation", continuation,
               {.help = "Template of a single continuation, instead of choices."});
  section.read("text", whole,
               {.help = "Template of a whole text, instead of context and choices."});
  section.read("delimiter", task.delimiter_, {.help = "Delimiter between context and choice."});
  section.read("label", label,
               {.help = "Column with the correct choice as its index, counted from 0."});
  section.read(
      "labels", task.labels_,
      {.help = "Values of the label column in the order of the choices, if they are not indices."});
  task.read_verbalizers(section);
  section.reject_unread();
  const int forms = (choices.empty() ? 0 : 1) + (continuation ? 1 : 0) + (whole ? 1 : 0);
  if (forms != 1) {
    section.fail("choices", "must have exactly one of choices, continuation, text");
  }
  if (!task.labels_.empty() && task.labels_.size() != choices.size()) {
    section.fail("labels",
                 str_cat(task.labels_.size(), " values for ", choices.size(), " choices"));
  }
  task.context_ = task.parse(section, "context", context);
  for (const auto& choice : choices) {
    task.choices_.push_back(task.parse(section, "choices", choice));
  }
  if (continuation) {
    task.continuation_ = task.parse(section, "continuation", *continuation);
  }
  if (whole) {
    task.text_ = task.parse(section, "text", *whole);
  }
  if (label) {
    task.label_ = task.column(*label);
  }
  return task;
}

std::string ScoreTask::render(const Template& pieces,
                              const std::vector<std::string>& values) const {
  std::string result;
  for (const auto& piece : pieces) {
    if (!piece.column) {
      result += piece.text;
      continue;
    }
    auto value = values.at(*piece.column);
    if (const auto found = verbalizers_.find({columns_[*piece.column], value});
        found != verbalizers_.end()) {
      value = found->second;
    }
    for (const auto& filter : piece.filters) {
      value = apply_filter(value, filter);
    }
    result += value;
  }
  return result;
}

ScoreItem ScoreTask::item(const std::vector<std::string>& values) const {
  ScoreItem item{.context = {}, .choices = {}, .delimiter = delimiter_};
  if (text_) {
    item.text = render(*text_, values);
    return item;
  }
  item.context = render(context_, values);
  if (continuation_) {
    item.choices = {render(*continuation_, values)};
    return item;
  }
  for (const auto& choice : choices_) {
    item.choices.push_back(render(choice, values));
  }
  if (!label_) {
    return item;
  }
  const auto& value = values.at(*label_);
  if (!labels_.empty()) {
    const auto found = std::find(labels_.begin(), labels_.end(), value);
    if (found == labels_.end()) {
      throw UserError("label '" + value + "' is not one of " + join(labels_));
    }
    item.label = found - labels_.begin();
    return item;
  }
  int64_t number = 0;
  const auto end = value.data() + value.size();
  if (std::from_chars(value.data(), end, number).ptr != end || value.empty() || number < 0 ||
      number >= static_cast<int64_t>(choices_.size())) {
    throw UserError(str_cat("label '", value, "' is not a number from 0 to ", choices_.size() - 1));
  }
  item.label = number;
  return item;
}

}  // namespace weft::inference
