#include "report/markup.h"

#include <cmath>

#include "base/string_util.h"
#include "base/utf8.h"

namespace weft::report {

namespace {

/// HTML allows no other control characters.
bool is_control(char32_t code) {
  return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code < 0xa0);
}

bool is_void(std::string_view name) { return name == "img" || name == "meta" || name == "br"; }

/// Elements without content that are written as such, `<td></td>`: HTML has no `<td/>`.
bool is_svg_shape(std::string_view name) {
  return name == "path" || name == "rect" || name == "line" || name == "circle" || name == "image";
}

}  // namespace

std::string escape(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size() + text.size() / 8);
  for (std::size_t at = 0; at < text.size();) {
    const auto code = utf8::next(text, at);
    switch (code) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        utf8::append(escaped, is_control(code) ? utf8::kReplacement : code);
    }
  }
  return escaped;
}

std::string element(std::string_view name, const Attributes& attributes, std::string_view content) {
  std::string markup = str_cat("<", name);
  for (const auto& [attribute, value] : attributes) {
    markup += str_cat(" ", attribute, "=\"", escape(value), "\"");
  }
  if (content.empty() && is_void(name)) {
    return markup + ">";
  }
  if (content.empty() && is_svg_shape(name)) {
    return markup + "/>";
  }
  return str_cat(markup, ">", content, "</", name, ">");
}

std::string shortened(std::string_view text, std::size_t most) {
  const auto letters = utf8::decode(text);
  return letters.size() <= most ? std::string(text)
                                : utf8::encode(letters.substr(0, most - 1)) + "…";
}

std::string script_json(const formats::Json& json) {
  const auto text = json.dump(-1, ' ', true, formats::Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string number_text(double value, int digits) {
  return std::isfinite(value) ? shortest_repr(round_to_digits(value, digits)) : "–";
}

}  // namespace weft::report
