#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "data/data_options.h"

namespace weft::data {

/// Amount of text, independent of the tokenizer. Words are separated by white space.
struct TextCounts {
  double words = 0;
  double characters = 0;
  double bytes = 0;

  void add(std::string_view text);
};

/// Conversion to and from the `values` of an example, in the order of the fields.
inline constexpr std::size_t kTextCounts = 3;
std::array<double, kTextCounts> values_of(const TextCounts& counts);
TextCounts text_counts(const std::array<double, kTextCounts>& values);

/// Counts the texts of an item, read with these options. Throws data::Error, FileError, Stopped.
TextCounts count_texts(const DataItem& item, const DataOptions& options);

}  // namespace weft::data
