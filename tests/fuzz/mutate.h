#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::fuzz {

/// The seeds of a target, corpus/NAME, in the order of their names. Throws if there are none.
std::vector<std::string> seeds_of(const std::string& target);

/// Damage number `number` to the seeds: bits flipped, bytes and numbers replaced, parts cut,
/// repeated, moved and taken from other seeds. A pure function.
std::string damaged(const std::vector<std::string>& seeds, uint64_t number);

}  // namespace weft::fuzz
