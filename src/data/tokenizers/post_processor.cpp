#include "data/tokenizers/post_processor.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/string_util.h"

namespace weft::data {

namespace {

using PostKind = TemplateStep::Kind;

TemplateStep special(int32_t id, int32_t type) { return {PostKind::kSpecial, {id}, type}; }

/// `["[SEP]", 102]`.
int32_t named_id(const JsonFields& fields, std::string_view key) {
  const formats::Json& pair = fields.list(key);
  if (pair.size() != 2 || !pair[0].is_string()) {
    fields.fail(key, "must be a list of a token and its id");
  }
  return token_id(pair[1], fields.location() + "." + std::string(key));
}

PostProcessorTemplate bert_post_processor(const JsonFields& fields) {
  const int32_t cls = named_id(fields, "cls");
  const int32_t sep = named_id(fields, "sep");
  PostProcessorTemplate steps;
  steps.single = {special(cls, 0), {PostKind::kFirst, {}, 0}, special(sep, 0)};
  steps.pair = steps.single;
  steps.pair.push_back({PostKind::kSecond, {}, 1});
  steps.pair.push_back(special(sep, 1));
  return steps;
}

PostProcessorTemplate roberta_post_processor(const JsonFields& fields) {
  const int32_t cls = named_id(fields, "cls");
  const int32_t sep = named_id(fields, "sep");
  PostProcessorTemplate steps;
  steps.single = {special(cls, 0), {PostKind::kFirst, {}, 0}, special(sep, 0)};
  steps.pair = steps.single;
  steps.pair.push_back(special(sep, 0));
  steps.pair.push_back({PostKind::kSecond, {}, 0});
  steps.pair.push_back(special(sep, 0));
  return steps;
}

/// Only adjusts offsets, not ids.
PostProcessorTemplate byte_level_post_processor(const JsonFields&) { return {}; }

int32_t type_id(const JsonFields& fields) {
  const int64_t type = fields.integer("type_id", 0);
  if (type < 0 || type > 255) {
    fields.fail("type_id", "must be in 0 .. 255");
  }
  return static_cast<int32_t>(type);
}

std::vector<int32_t> template_ids(const JsonFields& fields, const std::string& name) {
  const JsonFields tokens = fields.fields("special_tokens");
  if (!tokens.has(name)) {
    fields.fail("special_tokens",
                weft::str_cat("no '", printable(name), "', which the template uses"));
  }
  std::vector<int32_t> ids;
  for (const formats::Json& id : tokens.fields(name).list("ids")) {
    ids.push_back(token_id(id, tokens.location()));
  }
  return ids;
}

std::vector<TemplateStep> read_template(const JsonFields& fields, std::string_view key) {
  std::vector<TemplateStep> steps;
  std::array<int, 2> uses = {0, 0};
  for (const formats::Json& item : fields.list(key)) {
    const JsonFields step(item, fields.location() + "." + std::string(key));
    if (step.has("Sequence")) {
      const JsonFields sequence = step.fields("Sequence");
      const std::string which = sequence.text("id");
      if (which != "A" && which != "B") {
        sequence.fail("id", weft::str_cat("'", printable(which), "' is not one of A, B"));
      }
      ++uses[which == "B" ? 1 : 0];
      steps.push_back({which == "A" ? PostKind::kFirst : PostKind::kSecond, {}, type_id(sequence)});
    } else {
      const JsonFields token = step.fields("SpecialToken");
      steps.push_back({PostKind::kSpecial, template_ids(fields, token.text("id")), type_id(token)});
    }
  }
  const bool is_pair = key == "pair";
  if (uses[0] != 1 || uses[1] != (is_pair ? 1 : 0)) {
    fields.fail(key, is_pair ? "both A and B must occur in it exactly once"
                             : "A must occur in it exactly once");
  }
  return steps;
}

PostProcessorTemplate template_post_processor(const JsonFields& fields) {
  return {read_template(fields, "single"), read_template(fields, "pair")};
}

/// Only one of several may add tokens; the others adjust offsets.
PostProcessorTemplate sequence_post_processor(const JsonFields& fields) {
  std::optional<PostProcessorTemplate> found;
  for (const formats::Json& item : fields.list("processors")) {
    const JsonFields part(item, fields.location() + ".processors");
    if (part.text("type", "") == "ByteLevel") {
      continue;
    }
    if (found) {
      fields.fail("processors", "more than one adds special tokens, at most one is allowed");
    }
    found = make_post_processor(part);
  }
  return found.value_or(PostProcessorTemplate{});
}

constexpr std::array<std::pair<std::string_view, MakePostProcessor>, 5> kProcessors = {{
    {"TemplateProcessing", template_post_processor},
    {"BertProcessing", bert_post_processor},
    {"RobertaProcessing", roberta_post_processor},
    {"ByteLevel", byte_level_post_processor},
    {"Sequence", sequence_post_processor},
}};

void append_ids(Sequence& result, const std::vector<int32_t>& ids, int32_t type, bool is_special) {
  result.ids.insert(result.ids.end(), ids.begin(), ids.end());
  result.token_type_ids.insert(result.token_type_ids.end(), ids.size(), type);
  result.is_special.insert(result.is_special.end(), ids.size(), is_special ? 1 : 0);
}

}  // namespace

PostProcessorTemplate make_post_processor(const JsonFields& fields) {
  return fields.choose("type", fields.text("type"), kProcessors)(fields);
}

Sequence apply_template(const std::vector<TemplateStep>& steps,
                        const std::vector<int32_t>& first,
                        const std::vector<int32_t>& second) {
  Sequence result;
  for (const TemplateStep& step : steps) {
    switch (step.kind) {
      case TemplateStep::Kind::kSpecial:
        append_ids(result, step.ids, step.type, true);
        break;
      case TemplateStep::Kind::kFirst:
        append_ids(result, first, step.type, false);
        break;
      case TemplateStep::Kind::kSecond:
        append_ids(result, second, step.type, false);
        break;
    }
  }
  return result;
}

}  // namespace weft::data
