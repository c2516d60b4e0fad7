#pragma once

#include <string_view>

namespace weft::report {

// The files of this folder, which scripts/cmake/PageAssets.cmake builds in.

/// The style and the script that every page contains.
std::string_view page_css();
std::string_view page_js();
/// The style of a figure in an SVG file of its own.
std::string_view figure_css();

}  // namespace weft::report
