#include "train/checkpoint/async_checkpointer.h"

#include <cstdint>
#include <system_error>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include "base/error.h"
#include "base/log.h"
#include "base/string_util.h"

namespace weft::train {

namespace {

// Beyond the copy: buffers for tensors being written, and what the run itself may still allocate.
constexpr int64_t kMargin = int64_t{64} << 20;

}  // namespace

int64_t snapshot_bytes(const CheckpointParts& parts) {
  int64_t bytes = 0;
  for (const auto& flat : parts.flat_tensors()) {
    bytes += static_cast<int64_t>(flat.nbytes());
  }
  return bytes;
}

AsyncCheckpointer::AsyncCheckpointer(const RunDirectory& directory,
                                     AsyncCheckpointerOptions options)
    : directory_(directory), options_(std::move(options)) {}

AsyncCheckpointer::~AsyncCheckpointer() {
  if (thread_.joinable()) {
    thread_.join();
  }
}

void AsyncCheckpointer::save(const CheckpointParts& parts, const TrainState& state) const {
  save_checkpoint(directory_.path(), parts, state);
  try {
    directory_.update_links(
        state.scored, options_.run,
        options_.keeps_rollback_checkpoints ? state.rollbacks.save_steps : std::vector<int64_t>{});
  } catch (const FileError& error) {
    log::error(
        str_cat("[checkpoint] links and older checkpoints were not updated: ", error.what()));
  }
}

void AsyncCheckpointer::save_and_record(const CheckpointParts& parts, const TrainState& state) {
  SaveResult saved{.step = state.progress.steps};
  try {
    save(parts, state);
  } catch (...) {
    saved.failure = std::current_exception();
  }
  saved_ = saved;
  is_done_ = true;
}

void AsyncCheckpointer::start(const CheckpointParts& parts, const TrainState& state) {
  TORCH_CHECK(!thread_.joinable() && !saved_,
              "AsyncCheckpointer: the previous save has not been collected");
  if (!options_.is_async || parts.collector != nullptr || !has_memory_for_copy(parts)) {
    return save_and_record(parts, state);
  }
  auto copy = snapshot(parts);
  try {
    thread_ = std::thread([this, copy = std::move(copy), state] {
      at::init_num_threads();  // same number as in the run, so that products have the same bits
      save_and_record(copy, state);
    });
  } catch (const std::system_error&) {
    save_and_record(parts, state);  // no more threads available
  }
}

std::optional<SaveResult> AsyncCheckpointer::wait() {
  if (thread_.joinable()) {
    thread_.join();
  }
  is_done_ = false;
  return std::exchange(saved_, std::nullopt);
}

// Whether there is memory for a copy of the tensors. Checked once; if not, the run saves without
// copies from then on.
bool AsyncCheckpointer::has_memory_for_copy(const CheckpointParts& parts) {
  if (!copies_.empty()) {
    return true;
  }
  const auto wanted = snapshot_bytes(parts);
  const auto free = options_.free_memory();
  if (free >= wanted + kMargin) {
    try {
      for (const auto& flat : parts.flat_tensors()) {
        copies_.push_back(at::empty(flat.sizes(), flat.options().device(at::kCPU)));
      }
      return true;
    } catch (const std::exception&) {  // LibTorch throws no specific type here
      copies_.clear();
    }
  }
  log::warning(str_cat(
      "[checkpoint] not enough memory for a copy (", format_bytes(static_cast<double>(wanted)),
      ", ", format_bytes(static_cast<double>(free)), " are free): training waits for each save"));
  options_.is_async = false;
  return false;
}

CheckpointParts AsyncCheckpointer::snapshot(const CheckpointParts& parts) {
  const at::NoGradGuard no_grad;
  const auto flats = parts.flat_tensors();
  for (std::size_t i = 0; i < flats.size(); ++i) {
    copies_[i].copy_(flats[i]);
  }
  auto copy = parts;
  auto next = copies_.begin();
  copy.master = *next++;
  for (auto& moment : copy.moments) {
    moment.second = *next++;
  }
  if (copy.ema.defined()) {
    copy.ema = *next++;
  }
  return copy;
}

}  // namespace weft::train
