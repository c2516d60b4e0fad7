#include <stdexcept>
#include <string>

#include "formats/json.h"
#include "fuzz/target.h"
#include "fuzz/targets.h"

namespace weft::fuzz {

void json(std::string_view input) {
  try_reading([&] {
    const auto tree = formats::parse_json(input, "fuzzed.json");
    if (formats::parse_json(tree.dump(), "again.json") != tree) {
      throw std::logic_error("what was written reads back to something else");
    }
  });
}

}  // namespace weft::fuzz

WEFT_FUZZ_TARGET(json)
