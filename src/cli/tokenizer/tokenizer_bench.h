#pragma once

#include <string>
#include <vector>

namespace weft::cli {

/// `weft tokenizer bench`: how fast one thread turns the lines of files into ids.
int run_tokenizer_bench(const std::vector<std::string>& arguments);

}  // namespace weft::cli
