#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "data/tokenizer.h"

namespace weft::cli {

struct EncodeSettings {
  bool are_pairs = false;
  bool adds_special = true;
  bool has_offsets = false;
};

/// Encodes lines of standard input to JSON lines on standard output, on all cores, in order. Throws
/// data::Error naming the line if text is not UTF-8.
void encode_lines(const data::Tokenizer& tokenizer, const EncodeSettings& settings);

/// Decodes JSON lines `{"ids": [...]}` to lines of text.
void decode_lines(const data::Tokenizer& tokenizer);

/// Path given by `--model`, as accepted by load_tokenizer. Throws UsageError if missing.
std::string required_model(const Arguments& arguments, const std::string& command);

/// `weft tokenizer bench`: measures how fast one thread tokenizes the lines of files.
int run_tokenizer_bench(const std::vector<std::string>& arguments);

}  // namespace weft::cli
