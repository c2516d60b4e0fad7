#include "formats/json.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace weft::formats {
namespace {

std::string refusal(std::string_view text) {
  try {
    parse_json(text, "f.json");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(ParseJson, KeepsOrderAndTypes) {
  const auto json =
      parse_json(R"({"b": 1, "a": [true, null, -2, 0.5, "x\ny"], "c": {"d": {}}})", "f");
  EXPECT_EQ(json.dump(), R"({"b":1,"a":[true,null,-2,0.5,"x\ny"],"c":{"d":{}}})");
  EXPECT_EQ(parse_json("\xEF\xBB\xBF[1]", "f").dump(), "[1]");
  EXPECT_EQ(parse_json(" 5 ", "f").get<int>(), 5);
}

TEST(ParseJson, ErrorsNameLineAndColumn) {
  EXPECT_EQ(refusal("{\n  \"a\": 1,\n  \"a\": 2}"),
            "f.json:3:5: the key 'a' is duplicated in one object");
  EXPECT_EQ(refusal("{\n  \"a\": nul }"), "f.json:2:11: not valid JSON at ' }'");
  EXPECT_EQ(refusal("{\"a\": "), "f.json:1:7: the JSON text ends unexpectedly");
  EXPECT_EQ(refusal(""), "f.json:1:1: the JSON text ends unexpectedly");
  EXPECT_EQ(refusal("[\"a\xFF\"]"), "f.json:1:4: text that is not UTF-8");
  EXPECT_EQ(refusal(std::string("[1]\0[2]", 7)), "f.json:1:4: a null byte");
  EXPECT_NE(refusal("[1e999]"), "");
  EXPECT_NE(refusal("[1] [2]"), "");
  EXPECT_NE(refusal("[1,]"), "");
  EXPECT_NE(refusal("{a: 1}"), "");
  EXPECT_NE(refusal("[NaN]"), "");
}

TEST(ParseJson, RefusesDepthOver128) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(refusal(nested(128)), "");
  EXPECT_NE(refusal(nested(129)).find("deeper than 128"), std::string::npos);
  EXPECT_NE(refusal(nested(200000)), "");
  EXPECT_NE(refusal(std::string(200000, '[')), "");
}

TEST(ParseJson, MessagesStayShort) {
  EXPECT_LT(refusal("[" + std::string(100000, 'x')).size(), 100U);
  const std::string key(100000, 'k');
  EXPECT_LT(refusal("{\"" + key + "\":1,\"" + key + "\":2}").size(), 140U);
}

TEST(ParseJson, LargeVocabulariesTakeNoQuadraticTime) {
  std::string text = "{";
  for (int id = 0; id < 200000; ++id) {
    text += (id == 0 ? "\"" : ",\"") + std::to_string(id) + "\":" + std::to_string(id);
  }
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(parse_json(text + "}", "f").size(), 200000U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace weft::formats
