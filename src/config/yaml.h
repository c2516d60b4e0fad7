#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"

namespace weft::config {

/// Limits that keep malicious files from exhausting memory or time.
inline constexpr int kMaxDepth = 64;      // nested lists and maps
inline constexpr int kMaxNodes = 10'000;  // including those repeated by aliases

/// Parses YAML strictly (see Document in config/section.h); `name` is the source name in the node
/// locations. An empty text gives null. Throws Error.
Node parse_yaml(std::string_view text, const std::string& name);

/// Parses the value of an override; every location is just `name`. Throws Error, with `key` as the
/// dotted key.
Node parse_override_value(std::string_view text, const std::string& name, const std::string& key);

/// Write scalars as YAML that this library and other YAML readers parse to the same value.
std::string yaml_text(std::string_view text);
std::string yaml_number(double value);
std::string yaml_list(const std::vector<std::string>& scalars);

/// Applies `dotted.key=value` to the tree. Missing maps are created; `data.train.0` is an item of a
/// list (one past the end appends). Throws Error with the location `--set dotted.key=value`.
void apply_override(Node& root, const std::string& assignment);

}  // namespace weft::config
