#include "data/tokenizers/post_processor.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace weft::data {

namespace {

using PostKind = TemplateStep::Kind;

TemplateStep special(int32_t id, int32_t type) { return {PostKind::kSpecial, {id}, type}; }

/// `["[SEP]", 102]`.
int32_t named_id(const JsonFields& fields, std::string_view key) {
  const formats::Json& pair = fields.list(key);
  if (pair.size() != 2 || !pair[0].is_string()) {
    fields.fail(key, "a list of a token and its id is needed");
  }
  return token_id(pair[1], fields.place() + "." + std::string(key));
}

SequenceSteps bert_steps(const JsonFields& fields) {
  const int32_t classify = named_id(fields, "cls");
  const int32_t separate = named_id(fields, "sep");
  SequenceSteps steps;
  steps.single = {special(classify, 0), {PostKind::kFirst, {}, 0}, special(separate, 0)};
  steps.pair = steps.single;
  steps.pair.push_back({PostKind::kSecond, {}, 1});
  steps.pair.push_back(special(separate, 1));
  return steps;
}

SequenceSteps roberta_steps(const JsonFields& fields) {
  const int32_t classify = named_id(fields, "cls");
  const int32_t separate = named_id(fields, "sep");
  SequenceSteps steps;
  steps.single = {special(classify, 0), {PostKind::kFirst, {}, 0}, special(separate, 0)};
  steps.pair = steps.single;
  steps.pair.push_back(special(separate, 0));
  steps.pair.push_back({PostKind::kSecond, {}, 0});
  steps.pair.push_back(special(separate, 0));
  return steps;
}

/// It moves offsets only, not ids.
SequenceSteps byte_level_steps(const JsonFields&) { return {}; }

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
    fields.fail("special_tokens", weft::text("no '", shown(name), "', which the template names"));
  }
  std::vector<int32_t> ids;
  for (const formats::Json& id : tokens.fields(name).list("ids")) {
    ids.push_back(token_id(id, tokens.place()));
  }
  return ids;
}

std::vector<TemplateStep> template_steps(const JsonFields& fields, std::string_view key) {
  std::vector<TemplateStep> steps;
  std::array<int, 2> uses = {0, 0};
  for (const formats::Json& item : fields.list(key)) {
    const JsonFields step(item, fields.place() + "." + std::string(key));
    if (step.has("Sequence")) {
      const JsonFields sequence = step.fields("Sequence");
      const std::string which = sequence.text("id");
      if (which != "A" && which != "B") {
        sequence.fail("id", weft::text("'", shown(which), "' is not one of A, B"));
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
    fields.fail(key, is_pair ? "both A and B must stand in it once" : "A must stand in it once");
  }
  return steps;
}

SequenceSteps template_processing_steps(const JsonFields& fields) {
  return {template_steps(fields, "single"), template_steps(fields, "pair")};
}

/// Only one of several may put tokens around texts; the others move offsets.
SequenceSteps sequence_steps(const JsonFields& fields) {
  std::optional<SequenceSteps> found;
  for (const formats::Json& item : fields.list("processors")) {
    const JsonFields part(item, fields.place() + ".processors");
    if (part.text("type", "") == "ByteLevel") {
      continue;
    }
    if (found) {
      fields.fail("processors", "more than one adds special tokens, at most one may");
    }
    found = make_steps(part);
  }
  return found.value_or(SequenceSteps{});
}

constexpr std::array<std::pair<std::string_view, MakeSteps>, 5> kProcessors = {{
    {"TemplateProcessing", template_processing_steps},
    {"BertProcessing", bert_steps},
    {"RobertaProcessing", roberta_steps},
    {"ByteLevel", byte_level_steps},
    {"Sequence", sequence_steps},
}};

void append_ids(Sequence& made, const std::vector<int32_t>& ids, int32_t type, bool is_special) {
  made.ids.insert(made.ids.end(), ids.begin(), ids.end());
  made.types.insert(made.types.end(), ids.size(), type);
  made.is_special.insert(made.is_special.end(), ids.size(), is_special ? 1 : 0);
}

}  // namespace

SequenceSteps make_steps(const JsonFields& fields) {
  const std::string type = fields.text("type");
  std::vector<std::string> known;
  for (const auto& [name, make] : kProcessors) {
    if (name == type) {
      return make(fields);
    }
    known.emplace_back(name);
  }
  fields.fail("type", weft::text("'", shown(type), "' is not one of ", join(known)));
}

Sequence follow_steps(const std::vector<TemplateStep>& steps,
                      const std::vector<int32_t>& first,
                      const std::vector<int32_t>& second) {
  Sequence made;
  for (const TemplateStep& step : steps) {
    switch (step.kind) {
      case TemplateStep::Kind::kSpecial:
        append_ids(made, step.ids, step.type, true);
        break;
      case TemplateStep::Kind::kFirst:
        append_ids(made, first, step.type, false);
        break;
      case TemplateStep::Kind::kSecond:
        append_ids(made, second, step.type, false);
        break;
    }
  }
  return made;
}

}  // namespace weft::data
