#include <gtest/gtest.h>

#include "config/section.h"
#include "support/config.h"

namespace weft::config {
namespace {

struct Read {
  std::vector<GridAxis> axes;
  std::string resolved;
};

Read read_grid(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  const auto document = Document::parse(yaml, "test.yaml", overrides);
  Read result;
  auto root = document.root();
  root.read_grid("grid", result.axes, {.help = "Keys and values."});
  root.reject_unread();
  result.resolved = document.resolved();
  return result;
}

TEST(Axes, KeepValuesAsTheyAreWritten) {
  const auto result = read_grid("grid: {a.lr: [1e-5, 5e-5], a.n: [3 epochs, [1, x]], b: [\"5\"]}");
  EXPECT_EQ(result.axes,
            (std::vector<GridAxis>{
                {"a.lr", {"1e-5", "5e-5"}}, {"a.n", {"3 epochs", "[1, x]"}}, {"b", {"\"5\""}}}));
}

TEST(Axes, ResolvedConfigReadsBackToTheSame) {
  const auto once = read_grid("grid: {a.lr: [1e-5, 5e-5], a.n: [3 epochs, null]}");
  EXPECT_EQ(read_grid(once.resolved).axes, once.axes);
  EXPECT_EQ(read_grid("{}").resolved.find("grid"), std::string::npos);
}

TEST(Axes, NullIsNone) { EXPECT_TRUE(read_grid("grid: {a: [1]}", {"grid=null"}).axes.empty()); }

TEST(Axes, RefuseWhatIsNoList) {
  using test::message_of;
  EXPECT_EQ(message_of<Error>([] { read_grid("grid: {a.lr: 1e-5}"); }),
            "test.yaml:1:14: grid.a.lr: '1e-5', must be a list of values, as in [1e-5, 5e-5]");
  EXPECT_EQ(message_of<Error>([] { read_grid("grid: {a.lr: []}"); }),
            "test.yaml:1:8: grid.a.lr: an empty list, must have at least one value");
  EXPECT_EQ(message_of<Error>([] { read_grid("grid: {a.lr: [1, 1]}"); }),
            "test.yaml:1:18: grid.a.lr: '1' is duplicated here");
}

}  // namespace
}  // namespace weft::config
