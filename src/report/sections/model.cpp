#include <utility>

#include "base/string_util.h"
#include "models/config/family.h"
#include "models/config/family_definition.h"
#include "models/weights/weight_map.h"
#include "report/figures/charts.h"
#include "report/markup.h"
#include "report/sections/sections.h"

namespace weft::report {

void add_model(const ReportInput& input, Page& page) {
  if (!input.loaded) {
    return;
  }
  const auto& options = input.loaded->model->options();
  Table table{.caption = models::architecture_of(options), .columns = {"", "Value"}, .rows = {}};
  if (const auto& describe = options.family->describe) {
    for (const auto& [name, value] : describe(options)) {
      table.rows.push_back({name, value});
    }
  } else {
    table.rows = {{"layers", std::to_string(options.layers)},
                  {"dim", std::to_string(options.dim)},
                  {"heads", std::to_string(options.heads)},
                  {"feed-forward width", std::to_string(options.width)}};
  }
  if (!models::reads_images(options)) {
    table.rows.push_back({"vocabulary", with_commas(options.vocabulary)});
  }
  table.rows.push_back({"maximum length", with_commas(options.length)});
  std::vector<std::string> names;
  BarChart::Bars bars{.name = "parameters", .values = {}};
  int64_t total = 0;
  for (const auto& [name, size] : models::module_sizes(options)) {
    names.push_back(name);
    bars.values.push_back(static_cast<double>(size));
    total += size;
  }
  table.rows.push_back({"parameters", with_commas(total)});
  page.add(table);
  page.add(BarChart("Parameters of each module", "parameters", std::move(names), {bars}));
}

}  // namespace weft::report
