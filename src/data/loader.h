#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/batch.h"
#include "data/dataset.h"

namespace weft::data {

/// A place in the stream of batches; all that a resumed run needs to know about its data.
struct Cursor {
  int64_t epoch = 0;
  int64_t position = 0;  // items of this epoch already taken

  auto operator<=>(const Cursor&) const = default;
};

/// A stretch of the stream, without its end.
struct CursorRange {
  Cursor begin;
  Cursor end;

  bool operator==(const CursorRange&) const = default;
};

struct LoaderOptions {
  uint64_t seed = 1;
  bool shuffles = true;  // order of an epoch: a permutation keyed by (seed, epoch); else file order
  // Of the two budgets of a step exactly one is set: real tokens, or sequences.
  int64_t batch_tokens = 0;
  int64_t batch_sequences = 0;
  int64_t micro_batch_tokens = 0;  // most tokens of a micro-batch; 0: the step is one
  int64_t workers = 1;             // threads that make batches ahead; 0: made when asked for
  int64_t prefetch = 4;            // steps made ahead
  std::optional<int64_t> epochs = std::nullopt;  // of the stream; nothing: it goes on for ever
  std::vector<CursorRange> left_out = {};        // passed over
};

/// The batches of one step. A step never crosses the border of an epoch; the last of an epoch may
/// be smaller.
struct StepBatches {
  std::vector<Batch> micro;  // in order; their sequences together are the step's
  Cursor begin;
  Cursor end;  // where the next step begins
};

/// The stream of step batches from a cursor on. The stream is the same for every number of workers.
/// An item longer than the budget makes a step of its own.
class Loader {
 public:
  Loader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options, Cursor begin = {});
  ~Loader();

  /// The next step, or nothing at the end of the stream. Throws what a worker threw.
  std::optional<StepBatches> next();
  /// Steps of one epoch (walks its lengths once and remembers).
  int64_t steps_per_epoch(int64_t epoch);
  /// Milliseconds that `next` has waited in all.
  double waited_ms() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The epoch's item at a place of its order.
int64_t item_at(const LoaderOptions& options, const Dataset& dataset, const Cursor& cursor);

}  // namespace weft::data
