#include "fuzz/table_reading.h"
#include "fuzz/target.h"
#include "fuzz/targets.h"

namespace weft::fuzz {

void parquet(std::string_view input) { read_table(scratch_file("input.parquet", input)); }

}  // namespace weft::fuzz

WEFT_FUZZ_TARGET(parquet)
