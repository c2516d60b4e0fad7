#include "report/page/page.h"

#include <random>

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "formats/json.h"
#include "report/figures/charts.h"
#include "report/figures/line_chart.h"
#include "report/markup.h"

namespace weft::report {
namespace {

using formats::Json;

/// The text inside the element of the page's data.
Json data_of(const std::string& html) {
  const std::string begin = "id=\"report-data\">";
  const auto first = html.find(begin) + begin.size();
  return Json::parse(html.substr(first, html.find("</script>", first) - first));
}

TEST(Markup, EscapesEverythingThatIsMarkup) {
  EXPECT_EQ(escape("<b a=\"1\" b='2'>&"), "&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;");
  EXPECT_EQ(escape("a\x01\xff"), "a\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(escape("Zürich 中"), "Zürich 中");
  EXPECT_EQ(element("td", {{"class", "a\"b"}}), "<td class=\"a&quot;b\"></td>");
  EXPECT_EQ(element("rect", {}), "<rect/>");
}

TEST(Markup, JsonCannotEndItsScript) {
  const Json value = {{"text", "</script><script>alert(1)</script><!--"}};
  const auto text = script_json(value);
  EXPECT_EQ(text.find('<'), std::string::npos);
  EXPECT_EQ(Json::parse(text), value);
}

TEST(Page, RandomTextsAddNoMarkup) {
  std::mt19937 random(7);
  const std::string letters = "<>&\"'/=! abcscript\\\x01\x7f\xc3\xff-\n";
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (int i = 0; i < 40; ++i) {
      text += letters[random() % letters.size()];
    }
    const auto html_of = [](const std::string& from) {
      Page page(from, {from});
      page.section("a", from);
      page.note(from);
      page.add(Table{.caption = from, .columns = {from}, .rows = {{from, from}}});
      page.add_sample({{.name = from, .spans = {{.text = from}}}});
      page.add_details(from, from);
      page.add(BarChart(from, from, {from}, {{from, {1}}}));
      page.add(Heatmap(from, {.row_label = from, .column_label = from}, {from}, {from}, {{1}}));
      page.add(
          ScatterPlot(from, {.x_label = from, .y_label = from, .groups = {from}}, {{1, 2, from}}));
      page.add(LineChart(from, {.x = {{"x", from}}, .y_label = from},
                         {series_of(from, {1, 2}, {1, 2}), series_of(from, {1, 2}, {1, 2})}));
      return page.html();
    };
    const auto count = [](const std::string& html, char c) {
      return std::count(html.begin(), html.end(), c);
    };
    const auto plain = html_of("plain");
    const auto html = html_of(text);
    ASSERT_EQ(count(html, '<'), count(plain, '<')) << text;
    const auto before_data = [](const std::string& from) {
      return from.substr(0, from.find("id=\"report-data\""));
    };
    ASSERT_EQ(count(before_data(html), '>'), count(before_data(plain), '>')) << text;
    ASSERT_FALSE(utf8::first_invalid(html)) << text;
    ASSERT_EQ(data_of(html)["runs"].size(), 1U);
  }
}

TEST(Page, LeavesOutEmptySectionsAndForbidsRequests) {
  Page page("Report", {"run"});
  page.section("empty", "Nothing");
  page.section("full", "Something");
  page.note("text");
  const auto html = page.html();
  EXPECT_EQ(html.find("id=\"empty\""), std::string::npos);
  EXPECT_EQ(html.find("#empty"), std::string::npos);
  EXPECT_NE(html.find("id=\"full\""), std::string::npos);
  EXPECT_NE(html.find("default-src &#39;none&#39;"), std::string::npos);
  EXPECT_EQ(html.find("http-equiv=\"refresh\""), std::string::npos);
}

TEST(Page, KeepsNumbersExactlyAndSharesAxes) {
  Page page("Report", {"run"});
  page.section("training", "Training");
  const std::vector<double> steps = {1, 2, 3};
  const std::vector<double> values = {0.1, 1.0 / 3, NAN};
  page.add(LineChart("Loss", {.x = {{"x", "Step"}}, .y_label = "loss"},
                     {series_of("a", steps, values)}));
  page.add(LineChart("Norm", {.x = {{"x", "Step"}}, .y_label = "norm"},
                     {series_of("b", steps, {1, 2, 3})}));
  const auto data = data_of(page.html());
  const auto& series = data["figures"]["figure-1"]["series"][0];
  EXPECT_EQ(series["y"][1].get<double>(), 1.0 / 3);
  EXPECT_TRUE(series["y"][2].is_null());
  EXPECT_EQ(data["axes"].size(), 1U);
  EXPECT_EQ(series["axis"], data["figures"]["figure-2"]["series"][0]["axis"]);
  EXPECT_EQ(page.svg_files().size(), 2U);
  EXPECT_TRUE(page.svg_files().contains("training-loss.svg"));
}

TEST(LineChart, HasTicksForNumbersThatAreNearlyEqual) {
  for (const auto& [low, high] : {std::pair(1e16, 1e16 + 2), std::pair(-1e308, 1e308),
                                  std::pair(0.0, 5e-324), std::pair(1.0, 1.0 + 2e-16)}) {
    const LineChart chart("", {.x = {{"x", ""}}, .y_label = ""},
                          {series_of("", {low, high}, {low, high})});
    EXPECT_LT(chart.markup().size(), 30'000U) << low;
  }
}

TEST(LineChart, DrawsGapsAndLogarithms) {
  const LineChart chart("Loss", {.x = {{"x", "Step"}}, .y_label = "loss", .y_is_log = true},
                        {series_of("a", {0, 1, 2, 3}, {10, 1, NAN, 0.1})});
  const auto svg = chart.markup();
  // Two parts, and no line across the gap; 10 is at the top, 0.1 at the bottom.
  EXPECT_NE(svg.find("d=\"M58 12L194.67 136M468 260\""), std::string::npos) << svg;
}

}  // namespace
}  // namespace weft::report
