#include "data/remark.h"

#include "base/string_util.h"

namespace weft::data {

Remark repaired_remark(int64_t count, std::string_view noun) {
  return {.count = count,
          .noun = noun,
          .which = "with invalid UTF-8",
          .done = "repaired: U+FFFD replaces the invalid bytes"};
}

Remark empty_side_remark(int64_t count) {
  return {.count = count, .noun = "pair", .which = "with an empty side", .done = "skipped"};
}

void add_remark(std::vector<std::string>& remarks, const std::string& name, const Remark& remark) {
  if (remark.count > 0) {
    remarks.push_back(str_cat(name, ": ", counted(remark.count, remark.noun),
                              remark.which.empty() ? "" : " ", remark.which, " ",
                              was_or_were(remark.count), " ", remark.done));
  }
}

void add_remarks(std::vector<std::string>& remarks,
                 const std::string& name,
                 const LongItems& items) {
  const auto add = [&](int64_t count, const std::string& done) {
    add_remark(remarks, name,
               {.count = count, .noun = items.noun, .which = items.which, .done = done});
  };
  add(items.truncated, "truncated");
  add(items.dropped, "dropped");
}

}  // namespace weft::data
