#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/batch.h"
#include "data/dataset.h"

namespace weft::data {

/// Position in the stream of batches; all the data state that a resumed run needs.
struct DataPosition {
  int64_t epoch = 0;
  int64_t position = 0;  // items of this epoch already consumed

  auto operator<=>(const DataPosition&) const = default;
};

/// Half-open range [begin, end) of the stream.
struct DataRange {
  DataPosition begin;
  DataPosition end;

  bool operator==(const DataRange&) const = default;
};

struct DataLoaderOptions {
  uint64_t seed = 1;
  bool shuffles = true;  // each epoch a permutation keyed by (seed, epoch); else file order
  // Exactly one of the two step budgets is set: real tokens or sequences.
  int64_t batch_tokens = 0;
  int64_t batch_sequences = 0;
  int64_t micro_batch_tokens = 0;  // maximum tokens per micro-batch; 0: one per step and rank
  int64_t ranks = 1;               // processes that share the micro-batches of a step
  int64_t workers = 1;             // threads that prefetch batches; 0: built on demand
  int64_t prefetch = 4;            // steps prefetched
  std::optional<int64_t> epochs = std::nullopt;  // length of the stream; nullopt: endless
  std::vector<DataRange> skipped_ranges = {};    // not returned
};

/// Batches of one step. A step never crosses an epoch boundary; the last step of an epoch may be
/// smaller.
struct StepBatches {
  std::vector<Batch> micro_batches;  // in order; together they contain the sequences of the step
  std::vector<int64_t> ranks;        // that compute them: ascending, of about equal tokens
  DataPosition begin;
  DataPosition end;  // start of the next step
};

/// Stream of step batches from a given position. The stream does not depend on the number of
/// workers. An item longer than the budget gets a step of its own.
class DataLoader {
 public:
  DataLoader(std::shared_ptr<const Dataset> dataset,
             const DataLoaderOptions& options,
             DataPosition begin = {});
  ~DataLoader();

  /// Returns the next step, or nullopt at the end of the stream. Rethrows worker exceptions.
  std::optional<StepBatches> next();
  /// Returns the number of steps of one epoch (scans the lengths once, then cached).
  int64_t steps_per_epoch(int64_t epoch);
  /// Total milliseconds that `next` has waited.
  double waited_ms() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Returns the item at a position of the epoch's order.
int64_t item_at(const DataLoaderOptions& options,
                const Dataset& dataset,
                const DataPosition& data_position);

}  // namespace weft::data
