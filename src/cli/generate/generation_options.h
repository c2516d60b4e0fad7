#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "data/tokenizer.h"
#include "inference/generate.h"

namespace weft::cli {

/// Declares the generation options. `level`: help that shows the usual ones; the rare ones are in
/// --help-all.
void declare_generation(Arguments& arguments, HelpLevel level);
std::vector<std::string> generation_option_names();

/// Language tokens of prompts and outputs; empty: unknown.
struct TextLanguages {
  std::string source = {};
  std::string target = {};
};

/// Applies the options on top of the model directory's generation_config.json and weft.yaml. Throws
/// UsageError for values out of range and options that exclude each other. The tokenizer may be
/// null if no option names words. `languages`: those of the texts at hand, which take precedence
/// over weft.yaml's.
void read_generation(const Arguments& arguments,
                     const std::string& directory,
                     const data::Tokenizer* tokenizer,
                     inference::GenerationSettings& settings,
                     const TextLanguages& languages = {});

}  // namespace weft::cli
