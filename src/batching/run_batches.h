#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include <c10/core/Device.h>

#include "data/batch.h"

namespace weft::batching {

/// Calls `run(i)` for each batch i, without gradients; `tokens`: of each batch.
///
/// On a CPU, batches run at the same time, each on one thread, if there are enough of them for all
/// threads: threads that share a batch wait for each other after every operation. Batches of more
/// than 4,096 tokens come first and each use all threads, so that memory is needed for 4,096 tokens
/// per thread or for one long batch. `run` must allow it. Rethrows an exception of `run`, after
/// which no batch is begun.
void run_concurrently(std::span<const int64_t> tokens,
                      const at::Device& device,
                      const std::function<void(std::size_t)>& run);

/// Divides examples into batches of similar lengths, whose `items` are indices of examples, and
/// calls `run` for each, as run_concurrently() does; the longest examples come first, those without
/// tokens are left out. `batch_tokens`: the most tokens of a batch of several examples; by default
/// as many as the caches of a CPU core hold, or as a GPU needs.
void run_batches(std::span<const data::Example> examples,
                 const at::Device& device,
                 std::optional<int64_t> batch_tokens,
                 const std::function<void(const data::Batch&)>& run);

}  // namespace weft::batching
