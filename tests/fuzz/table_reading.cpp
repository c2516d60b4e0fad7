#include "fuzz/table_reading.h"

#include <optional>
#include <vector>

#include "data/label_form.h"
#include "data/rows/labelled_rows.h"
#include "data/rows/tagged_rows.h"
#include "data/text/text_source.h"
#include "formats/table_reader.h"
#include "fuzz/target.h"

namespace weft::fuzz {

void read_table(const std::string& path) {
  data::DataItem item;
  item.path = path;
  item.files = {path};
  try_reading([&] {
    const auto kind = formats::table_kind(path).value();
    const auto columns = formats::read_column_names(path, kind);
    for (const auto& lists : {std::vector<std::string>{}, columns}) {
      try_reading([&] {
        formats::TableReader reader(path, kind, columns, {.lists = lists});
        for (std::vector<std::optional<std::string>> fields; reader.next(fields);) {
        }
      });
    }
  });
  try_reading([&] {
    data::TextReader reader(item, {}, data::TextColumns::kAll);
    for (data::TextLine line; reader.next(line);) {
    }
  });
  try_reading([&] { data::read_labelled_rows(item, {}); });
  const auto kind = formats::table_kind(path);
  if (kind == formats::TableKind::kJsonl || kind == formats::TableKind::kParquet) {
    try_reading([&] { data::read_tagged_rows(item); });
  }
}

}  // namespace weft::fuzz
