#pragma once

#include <cstdint>
#include <vector>

#include "data/tokenizer.h"
#include "data/tokenizers/json_fields.h"

namespace weft::data {

/// A step of a template: special tokens, or the first or second text.
struct TemplateStep {
  enum class Kind { kSpecial, kFirst, kSecond };
  Kind kind = Kind::kFirst;
  std::vector<int32_t> ids;  // special tokens
  int32_t type = 0;
};

/// What a tokenizer puts around one text and around two: the `post_processor` of a tokenizer.json,
/// whatever its kind.
struct SequenceSteps {
  std::vector<TemplateStep> single = {{TemplateStep::Kind::kFirst, {}, 0}};
  std::vector<TemplateStep> pair = {{TemplateStep::Kind::kFirst, {}, 0},
                                    {TemplateStep::Kind::kSecond, {}, 1}};
};

using MakeSteps = SequenceSteps (*)(const JsonFields& fields);

/// By the object's `type`, through the table in post_processor.cpp. Throws data::Error.
SequenceSteps make_steps(const JsonFields& fields);

/// The sequence that one of the two lists makes of one or two texts.
Sequence follow_steps(const std::vector<TemplateStep>& steps,
                      const std::vector<int32_t>& first,
                      const std::vector<int32_t>& second);

}  // namespace weft::data
