#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include <c10/core/Device.h>

#include "data/batch.h"

namespace weft::batching {

/// Divides examples into batches of similar lengths, whose `items` are indices of examples, and
/// calls `run` for each, without gradients; the longest examples come first, those without tokens
/// are left out. `batch_tokens`: the most tokens of a batch of several examples; by default as many
/// as the caches of a CPU core hold, or as a GPU needs.
///
/// On a CPU, batches run at the same time, each on one thread, if there are enough of them for all
/// threads: threads that share a batch wait for each other after every operation. `run` must allow
/// it. Rethrows an exception of `run`, after which no batch is begun.
void run_batches(std::span<const data::Example> examples,
                 const at::Device& device,
                 std::optional<int64_t> batch_tokens,
                 const std::function<void(const data::Batch&)>& run);

}  // namespace weft::batching
