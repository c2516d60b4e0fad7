# The styles and the script of `weft report` as string literals of weft_report.
foreach(name page.css page.js figure.css)
  set(source ${CMAKE_SOURCE_DIR}/src/report/page/${name})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} asset)
  string(REPLACE "." "_" function ${name})
  set(${function} "${asset}")
endforeach()
file(CONFIGURE OUTPUT page_assets.cpp @ONLY CONTENT [[
#include "report/page/assets.h"

namespace weft::report {

std::string_view page_css() { return R"ASSET(@page_css@)ASSET"; }
std::string_view page_js() { return R"ASSET(@page_js@)ASSET"; }
std::string_view figure_css() { return R"ASSET(@figure_css@)ASSET"; }

}  // namespace weft::report
]])
target_sources(weft_report PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/page_assets.cpp)
