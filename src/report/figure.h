#pragma once

#include <string>

#include "formats/json.h"

namespace weft::report {

/// A figure of a page: a static picture, and the data from which page.js makes it interactive.
class Figure {
 public:
  explicit Figure(std::string title) : title_(std::move(title)) {}
  virtual ~Figure() = default;

  const std::string& title() const { return title_; }
  /// Class of its element in the page: `line`, `heatmap`, ...
  virtual std::string kind() const = 0;
  /// What the page shows, also without scripts: an `svg` element or other markup.
  virtual std::string markup() const = 0;
  /// Data of the figure; null for one that is not interactive. `axes`: shared by the figures of a
  /// page, which add those that they need.
  virtual formats::Json json(formats::Json& /*axes*/) const { return nullptr; }

 private:
  std::string title_;
};

}  // namespace weft::report
