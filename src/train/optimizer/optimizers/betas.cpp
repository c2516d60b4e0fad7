#include <vector>

#include "base/string_util.h"
#include "train/optimizer/optimizers/optimizers.h"

namespace weft::train {

void read_betas(config::Section& section, std::array<double, 2>& betas, std::string_view help) {
  std::vector<double> values(betas.begin(), betas.end());
  section.read("betas", values, {.help = help, .range = config::half_open(0, 1)});
  if (values.size() != betas.size()) {
    section.fail("betas", str_cat("a list of ", values.size(), ", must have 2 numbers"));
  }
  betas = {values[0], values[1]};
}

}  // namespace weft::train
