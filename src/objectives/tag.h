#pragma once

#include <memory>

#include "config/section.h"
#include "objectives/objective.h"

namespace weft::objectives {

/// Type tag: one tag for each word, such as named entities or parts of speech. `label_all_tokens`:
/// in training every token of a word has its tag, else only the first.
std::unique_ptr<Objective> make_tag(bool label_all_tokens = false);
std::unique_ptr<Objective> read_tag(config::Section& section);

}  // namespace weft::objectives
