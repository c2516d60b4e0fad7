#pragma once

#include <string>
#include <vector>

#include "cli/verb.h"
#include "data/tokenizer.h"
#include "inference/generate.h"

namespace weft::cli {

/// The options that say how texts are generated.
void declare_generation(Arguments& arguments);
std::vector<std::string> generation_option_names();

/// Tokens of the languages of prompts and answers; empty: unknown.
struct TextLanguages {
  std::string source = {};
  std::string target = {};
};

/// What the options change of what the model's directory says in its generation_config.json and
/// weft.yaml. Throws UsageError for values out of
/// range and options that cannot go together. The tokenizer may be missing where no option names
/// words. `languages` are those of the texts at hand, which stand before those of weft.yaml.
void read_generation(const Arguments& arguments,
                     const std::string& directory,
                     const data::Tokenizer* tokenizer,
                     inference::GenerationSettings& settings,
                     const TextLanguages& languages = {});

}  // namespace weft::cli
