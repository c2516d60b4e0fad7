#include "base/percent.h"

#include <iomanip>

#include "base/string_util.h"

namespace weft {

std::string format_percent(int64_t part, int64_t whole) {
  const double share =
      whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return str_cat(std::fixed, std::setprecision(share > 0 && share < 0.1 ? 4 : 2), share, " %");
}

}  // namespace weft
