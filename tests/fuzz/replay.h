#pragma once

#include <string>
#include <string_view>

namespace weft::fuzz {

/// Gives the target its seeds and damage to them (WEFT_TORTURE: a hundred times as much), and fails
/// the test if something other than a UserError is thrown, or an input takes seconds.
void replay(const std::string& name, void (*target)(std::string_view));

}  // namespace weft::fuzz
