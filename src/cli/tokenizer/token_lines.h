#pragma once

#include <string>

#include "cli/verb.h"
#include "data/tokenizer.h"

namespace weft::cli {

struct EncodeSettings {
  bool are_pairs = false;
  bool adds_special = true;
  bool has_offsets = false;
};

/// Lines of standard input to JSON lines on standard output, on all cores, in order. Throws
/// data::Error naming the line for text that is not UTF-8.
void encode_lines(const data::Tokenizer& tokenizer, const EncodeSettings& settings);

/// JSON lines `{"ids": [...]}` to lines of text.
void decode_lines(const data::Tokenizer& tokenizer);

/// The path that `--model` names, as load_tokenizer takes it. Throws UsageError without one.
std::string required_model(const Arguments& arguments, const std::string& verb);

}  // namespace weft::cli
