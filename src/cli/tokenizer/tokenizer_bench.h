#pragma once

#include <string>
#include <vector>

namespace weft::cli {

/// `weft tokenizer bench`: measures how fast one thread tokenizes the lines of files.
int run_tokenizer_bench(const std::vector<std::string>& arguments);

}  // namespace weft::cli
