// A token store, unchanged and with valid checksums, as an attacker would write them.
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/store/store_file.h"
#include "fuzz/target.h"
#include "fuzz/targets.h"

namespace weft::fuzz {

namespace {

constexpr uint64_t kKey = 17;

void read_store(std::string_view bytes, uint32_t width) {
  const auto path = scratch_file("input.tokens", bytes);
  try_reading([&] {
    data::StoreFooter footer;
    const auto store = data::open_store_file(path, width, kKey, footer);
    int64_t sentences = 0;
    int64_t tokens = 0;
    for (int64_t document = 0; document < store->documents(); ++document) {
      const auto begin = store->first_sentence(document);
      const auto end = store->first_sentence(document + 1);
      sentences += end - begin;
      for (auto sentence = begin; sentence < end; ++sentence) {
        std::vector<int64_t> ids;
        store->read(store->first_token(sentence), store->first_token(sentence + 1), ids);
        tokens += static_cast<int64_t>(ids.size());
        for (const int64_t id : ids) {
          if (id > store->largest_token()) {
            throw std::logic_error("an id beyond the largest");
          }
        }
      }
    }
    if (sentences != store->sentences() || tokens != store->tokens()) {
      throw std::logic_error("lists that do not cover the tokens");
    }
  });
}

std::string with_checksums(std::string bytes, uint32_t width) {
  const data::StoreHeader head{.width = width, .key = kKey};
  data::StoreFooter footer;
  if (bytes.size() < sizeof(head) + sizeof(footer)) {
    return bytes;
  }
  std::memcpy(bytes.data(), &head, sizeof(head));
  const auto content = bytes.size() - sizeof(footer);
  std::memcpy(&footer, bytes.data() + content, sizeof(footer));
  data::BlockDigest whole;
  whole.add(bytes.data(), content);
  footer.checksum = whole.value();
  footer.footer_checksum = digest(&footer, offsetof(data::StoreFooter, footer_checksum));
  std::memcpy(bytes.data() + content, &footer, sizeof(footer));
  return bytes;
}

}  // namespace

void token_store(std::string_view input) {
  read_store(input, 2);
  for (const uint32_t width : {2, 4}) {
    read_store(with_checksums(std::string(input), width), width);
  }
}

}  // namespace weft::fuzz

WEFT_FUZZ_TARGET(token_store)
