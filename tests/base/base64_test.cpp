#include <gtest/gtest.h>

#include "base/string_util.h"

namespace weft {
namespace {

// The vectors of RFC 4648, section 10.
TEST(Base64, EncodesAndDecodes) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [text, encoded] : vectors) {
    EXPECT_EQ(to_base64(text), encoded);
    EXPECT_EQ(from_base64(encoded), text);
  }
}

TEST(Base64, RejectsInvalidText) {
  for (const auto* text : {"Z", "Zg=", "Zg==Zg==", "Z===", "Zm9*"}) {
    EXPECT_FALSE(from_base64(text)) << text;
  }
}

}  // namespace
}  // namespace weft
