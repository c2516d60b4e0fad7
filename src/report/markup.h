#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/json.h"

namespace weft::report {

/// Text as HTML or SVG: markup characters escaped, ill-formed UTF-8 and control characters replaced
/// by U+FFFD. Every text of a run, of its data or of a file name goes through this function.
std::string escape(std::string_view text);

/// Names and values of attributes, which are escaped.
using Attributes = std::vector<std::pair<std::string_view, std::string>>;

/// `<name attribute="value">content</name>`; `content` is markup. Without content `<name/>` in SVG
/// and for the empty elements of HTML.
std::string element(std::string_view name,
                    const Attributes& attributes,
                    std::string_view content = "");

/// At most `most` characters of the text, the last one an ellipsis if it is longer.
std::string shortened(std::string_view text, std::size_t most);

/// JSON for a script element: nothing in it ends the element.
std::string script_json(const formats::Json& json);

/// A number with at most `digits` significant digits, `1.5e-05`; a dash if it is not finite.
std::string number_text(double value, int digits = 6);

}  // namespace weft::report
