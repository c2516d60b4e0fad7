#include "train/step/out_of_memory.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <new>
#include <string_view>

#include <c10/util/Exception.h>

#include "base/machine.h"
#include "base/string_util.h"

namespace weft::train {

namespace {

// Messages of LibTorch's allocators, oneDNN and cuBLAS; none of them throws a specific type on the
// CPU.
constexpr std::array<std::string_view, 5> kAllocatorMessages = {
    "can't allocate memory", "not enough memory", "out of memory", "bad allocation",
    "CUBLAS_STATUS_ALLOC_FAILED"};

// `... you tried to allocate 4096 bytes. ...`
std::optional<int64_t> parse_requested_bytes(std::string_view message) {
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

std::string size_of(int64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

}  // namespace

std::optional<MemoryShortage> memory_shortage_in(const std::exception& error) {
  const std::string_view message = error.what();
  const auto is_named = [&](std::string_view words) {
    return message.find(words) != std::string_view::npos;
  };
  if (dynamic_cast<const std::bad_alloc*>(&error) == nullptr &&
      dynamic_cast<const c10::OutOfMemoryError*>(&error) == nullptr &&
      std::none_of(kAllocatorMessages.begin(), kAllocatorMessages.end(), is_named)) {
    return std::nullopt;
  }
  return MemoryShortage{.requested_bytes = parse_requested_bytes(message)};
}

std::string describe(const MemoryShortage& shortage) {
  return str_cat(shortage.requested_bytes ? size_of(*shortage.requested_bytes) + " were requested, "
                                          : std::string(),
                 size_of(available_memory()), " are free");
}

MicroBatchOutOfMemory::MicroBatchOutOfMemory(const MemoryShortage& shortage,
                                             int64_t tokens,
                                             int64_t sequences)
    : std::runtime_error(str_cat("a micro-batch of ",
                                 sequences,
                                 sequences == 1 ? " sequence with " : " sequences with ",
                                 with_commas(tokens),
                                 " tokens does not fit into memory: ",
                                 describe(shortage))),
      tokens_(tokens),
      sequences_(sequences) {}

std::string single_sequence_message(const std::string& step, bool recomputes_layers) {
  return str_cat("train: out of memory in ", step,
                 "; a single sequence cannot be split. To reduce memory, change data.length",
                 recomputes_layers ? "" : ", train.gradient_checkpointing: layers",
                 ", train.precision: bf16, train.lora, or use a smaller model (weft inspect CONFIG "
                 "shows the memory). The weights were not changed by this step");
}

}  // namespace weft::train
