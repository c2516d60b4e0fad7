#include "report/page/page.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/string_util.h"
#include "report/figures/plot.h"
#include "report/markup.h"
#include "report/page/assets.h"

namespace weft::report {

namespace {

using formats::Json;

// No request leaves the page, whatever its texts contain.
constexpr auto kContentPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

bool is_number(const std::string& text) {
  return !text.empty() &&
         (std::isdigit(static_cast<unsigned char>(text.back())) != 0 || text == "–" ||
          text.ends_with('%')) &&
         text.find_first_not_of("0123456789.,+-e%–") == std::string::npos;
}

/// `training-loss`: letters and digits of a title, for a file name.
std::string file_stem(const std::string& text) {
  std::string stem;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && std::isalnum(byte) != 0) {
      stem += static_cast<char>(std::tolower(byte));
    } else if (!stem.empty() && stem.back() != '-') {
      stem += '-';
    }
  }
  while (stem.ends_with('-')) {
    stem.pop_back();
  }
  return stem;
}

std::string span_markup(const TextSpan& span) {
  auto text = escape(span.text);
  switch (span.kind) {
    case TextSpan::Kind::kInserted:
      return element("ins", {}, text);
    case TextSpan::Kind::kDeleted:
      return element("del", {}, text);
    case TextSpan::Kind::kWeighted:
      return element(
          "span",
          {{"class", span.weight < 0 ? "token negative" : "token"},
           {"style", str_cat("--w:", number_text(std::min(std::abs(span.weight), 1.0), 3))},
           {"data-tip", number_text(span.weight)}},
          text);
    case TextSpan::Kind::kPlain:
      break;
  }
  return text;
}

}  // namespace

Page::Page(std::string title, std::vector<std::string> runs)
    : title_(std::move(title)), runs_(std::move(runs)) {}

void Page::section(const std::string& id, const std::string& title) {
  close_figures();
  sections_.push_back({.id = id, .title = title, .content = ""});
}

void Page::append(const std::string& markup) { sections_.back().content += markup + "\n"; }

void Page::close_figures() {
  if (is_in_figures_) {
    append("</div>");
    is_in_figures_ = false;
  }
}

void Page::heading(const std::string& text) {
  close_figures();
  append(element("h3", {}, escape(text)));
}

void Page::note(const std::string& text) {
  close_figures();
  append(element("p", {{"class", "note"}}, escape(text)));
}

void Page::warning(const std::string& text) {
  close_figures();
  append(element("p", {{"class", "note warning"}}, escape(text)));
}

void Page::add(const Figure& figure) {
  if (!is_in_figures_) {
    append("<div class=\"figures\">");
    is_in_figures_ = true;
  }
  const auto id = str_cat("figure-", ++figures_);
  const auto markup = figure.markup();
  append(element("figure", {{"id", id}, {"class", figure.kind()}},
                 element("figcaption", {}, escape(figure.title())) + markup));
  if (auto json = figure.json(axes_); !json.is_null()) {
    figure_data_[id] = std::move(json);
  }
  keep_svg(figure, markup);
}

void Page::keep_svg(const Figure& figure, const std::string& markup) {
  if (!markup.starts_with("<svg")) {
    return;
  }
  const auto stem = file_stem(str_cat(sections_.back().id, " ", figure.title()));
  auto name = stem + ".svg";
  for (int i = 2; svg_files_.contains(name); ++i) {
    name = str_cat(stem, "-", i, ".svg");
  }
  svg_files_[name] = svg_file(markup);
}

void Page::add(const Table& table) {
  close_figures();
  std::string head;
  for (const auto& column : table.columns) {
    head += element("th", {{"scope", "col"}}, escape(column));
  }
  std::string body;
  for (const auto& row : table.rows) {
    std::string cells;
    for (std::size_t i = 0; i < row.size(); ++i) {
      cells += i == 0 ? element("th", {{"scope", "row"}}, escape(row[i]))
                      : element("td", {{"class", is_number(row[i]) ? "number" : "text"}},
                                escape(row[i]));
    }
    body += element("tr", {}, cells);
  }
  append(element(
      "div", {{"class", "table"}},
      element("table", {{"class", "sortable"}},
              element("caption", {}, escape(table.caption)) +
                  element("thead", {}, element("tr", {}, head)) + element("tbody", {}, body))));
}

void Page::add_sample(const std::vector<SampleText>& texts) {
  close_figures();
  std::string list;
  for (const auto& text : texts) {
    std::string spans;
    for (const auto& span : text.spans) {
      spans += span_markup(span);
    }
    list += element("dt", {}, escape(text.name)) + element("dd", {}, spans);
  }
  append(element("div", {{"class", "samples"}}, element("dl", {}, list)));
}

void Page::add_details(const std::string& summary, const std::string& text) {
  close_figures();
  append(element("details", {},
                 element("summary", {}, escape(summary)) + element("pre", {}, escape(text))));
}

std::string Page::html() const {
  std::string links;
  std::string content;
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    const auto& [id, title, inner] = sections_[i];
    if (inner.empty()) {
      continue;
    }
    links += element("li", {}, element("a", {{"href", "#" + id}}, escape(title)));
    const bool is_open = is_in_figures_ && i + 1 == sections_.size();
    content +=
        element("section", {{"id", id}},
                str_cat(element("h2", {}, escape(title)), "\n", inner, is_open ? "</div>" : "")) +
        "\n";
  }
  const Json data = {{"runs", runs_}, {"axes", axes_}, {"figures", figure_data_}, {"data", data_}};
  std::string head =
      element("meta", {{"charset", "utf-8"}}) +
      element("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}}) +
      element("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", kContentPolicy}});
  if (refresh_seconds_ > 0) {
    head +=
        element("meta", {{"http-equiv", "refresh"}, {"content", std::to_string(refresh_seconds_)}});
  }
  head += element("title", {}, escape(title_)) + element("style", {}, page_css());
  const auto body =
      element("header", {},
              element("h1", {}, escape(title_)) + element("p", {}, escape(join(runs_)))) +
      element("nav", {{"aria-label", "Sections"}}, element("ul", {}, links)) +
      element("main", {}, content) +
      element("script", {{"type", "application/json"}, {"id", "report-data"}}, script_json(data)) +
      element("script", {}, page_js());
  return str_cat("<!doctype html>\n",
                 element("html", {{"lang", "en"}},
                         element("head", {}, head) + "\n" + element("body", {}, body)),
                 "\n");
}

}  // namespace weft::report
