#include "fuzz/table_reading.h"
#include "fuzz/target.h"
#include "fuzz/targets.h"

namespace weft::fuzz {

void tsv(std::string_view input) { read_table(scratch_file("input.tsv", input)); }

}  // namespace weft::fuzz

WEFT_FUZZ_TARGET(tsv)
