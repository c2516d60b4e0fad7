#include "train/step/out_of_memory.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <new>
#include <string_view>

#include <c10/util/Exception.h>

#include "base/memory.h"
#include "base/text.h"

namespace weft::train {

namespace {

// As LibTorch's allocators, oneDNN and cuBLAS have it; none of them throws a type of its own on the
// CPU.
constexpr std::array<std::string_view, 5> kWords = {"can't allocate memory", "not enough memory",
                                                    "out of memory", "bad allocation",
                                                    "CUBLAS_STATUS_ALLOC_FAILED"};

// `... you tried to allocate 4096 bytes. ...`
std::optional<int64_t> wanted_in(std::string_view message) {
  constexpr std::string_view kBefore = "tried to allocate ";
  const auto at = message.find(kBefore);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  message.remove_prefix(at + kBefore.size());
  int64_t bytes = 0;
  const auto read = std::from_chars(message.data(), message.data() + message.size(), bytes);
  const std::string_view rest(read.ptr, message.data() + message.size());
  return read.ec == std::errc() && rest.starts_with(" bytes") ? std::optional(bytes) : std::nullopt;
}

std::string size_of(int64_t bytes) { return byte_size(static_cast<double>(bytes)); }

}  // namespace

std::optional<MemoryShortage> shortage_of(const std::exception& error) {
  const std::string_view message = error.what();
  const auto is_named = [&](std::string_view words) {
    return message.find(words) != std::string_view::npos;
  };
  if (dynamic_cast<const std::bad_alloc*>(&error) == nullptr &&
      dynamic_cast<const c10::OutOfMemoryError*>(&error) == nullptr &&
      std::none_of(kWords.begin(), kWords.end(), is_named)) {
    return std::nullopt;
  }
  return MemoryShortage{.wanted = wanted_in(message)};
}

std::string words(const MemoryShortage& shortage) {
  return text(shortage.wanted ? size_of(*shortage.wanted) + " were asked for, " : std::string(),
              size_of(available_memory()), " are free");
}

OutOfMemory::OutOfMemory(const MemoryShortage& shortage, int64_t tokens, int64_t sequences)
    : std::runtime_error(text("a micro-batch of ",
                              sequences,
                              sequences == 1 ? " sequence with " : " sequences with ",
                              with_commas(tokens),
                              " tokens does not fit: ",
                              words(shortage))),
      tokens_(tokens),
      sequences_(sequences) {}

}  // namespace weft::train
