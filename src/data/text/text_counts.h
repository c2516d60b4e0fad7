#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "data/data_options.h"

namespace weft::data {

/// How much text there is, whatever a tokenizer makes of it. Words are what stands between white
/// space.
struct TextCounts {
  double words = 0;
  double characters = 0;
  double bytes = 0;

  void add(std::string_view text);
};

/// The same as the `values` of an example, in this order.
inline constexpr std::size_t kTextCounts = 3;
std::array<double, kTextCounts> values_of(const TextCounts& counts);
TextCounts text_counts(const std::array<double, kTextCounts>& values);

/// Of the texts of an item, read as the options say. Throws data::Error, FileError, Stopped.
TextCounts count_texts(const DataItem& item, const DataOptions& options);

}  // namespace weft::data
