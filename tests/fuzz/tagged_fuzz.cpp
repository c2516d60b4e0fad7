// One word a line with its tag, with and without CoNLL-U's comments and named columns.
#include "data/rows/tagged_rows.h"
#include "fuzz/target.h"
#include "fuzz/targets.h"

namespace weft::fuzz {

void tagged(std::string_view input) {
  for (const auto* name : {"input.conll", "input.conllu"}) {
    data::DataItem item;
    item.path = scratch_file(name, input);
    item.files = {item.path};
    try_reading([&] { data::read_tagged_rows(item); });
  }
}

}  // namespace weft::fuzz

WEFT_FUZZ_TARGET(tagged)
