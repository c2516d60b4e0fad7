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

/// Special tokens around one text and around two: the `post_processor` of a tokenizer.json, of any
/// type.
struct PostProcessorTemplate {
  std::vector<TemplateStep> single = {{TemplateStep::Kind::kFirst, {}, 0}};
  std::vector<TemplateStep> pair = {{TemplateStep::Kind::kFirst, {}, 0},
                                    {TemplateStep::Kind::kSecond, {}, 1}};
};

using MakePostProcessor = PostProcessorTemplate (*)(const JsonFields& fields);

/// Created by the object's `type`, from the table in post_processor.cpp. Throws data::Error.
PostProcessorTemplate make_post_processor(const JsonFields& fields);

/// Applies one of the two lists of steps to one or two texts.
Sequence apply_template(const std::vector<TemplateStep>& steps,
                        const std::vector<int32_t>& first,
                        const std::vector<int32_t>& second);

}  // namespace weft::data
