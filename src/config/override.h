#pragma once

#include <string>

#include "config/node.h"

namespace weft::config {

/// Applies `dotted.key=value` to the tree. Missing maps are created; `data.train.0` is an item of a
/// list (one past the end appends). Throws Error with the location `--set dotted.key=value`.
void apply_override(Node& root, const std::string& assignment);

}  // namespace weft::config
