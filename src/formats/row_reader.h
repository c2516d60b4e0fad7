#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::formats {

/// One kind of table behind TableReader.
class RowReader {
 public:
  virtual ~RowReader() = default;

  /// All columns that there are.
  virtual const std::vector<std::string>& columns() const = 0;
  /// Which of them `next` gives, in this order. Called once, before `next`, with names that exist.
  virtual void choose(const std::vector<std::string>& wanted) = 0;
  /// Which of the wanted ones may hold lists; only JSON has such.
  virtual void take_lists(const std::vector<std::string>& /*wanted*/) {}
  virtual bool next(std::vector<std::optional<std::string>>& fields) = 0;
  virtual std::string place() const = 0;
  virtual int64_t consumed() const = 0;
  /// Lines without anything, which are no rows, seen so far.
  virtual int64_t blank_lines() const = 0;
};

}  // namespace weft::formats
