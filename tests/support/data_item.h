#pragma once

#include <string>

#include "data/data_options.h"
#include "support/folder.h"

namespace weft::test {

/// A data item of one file, which is written to the folder.
inline data::DataItem data_item(const Folder& folder,
                                const std::string& name,
                                const std::string& content) {
  data::DataItem item;
  item.path = folder.write(name, content);
  item.files = {item.path};
  return item;
}

}  // namespace weft::test
