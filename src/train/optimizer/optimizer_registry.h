#pragma once

#include <any>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "config/section.h"
#include "kernels/optimizer.h"
#include "train/optimizer/flat_parameters.h"
#include "train/optimizer/variant_registry.h"

namespace weft::train {

/// One update of one segment, as an optimizer's `update` function sees it. All tensors are 1-D
/// views of the segment, (segment.count), or for an elementwise optimizer possibly of a part of it,
/// on one device. Gaps between parameters are zero and must stay so.
struct SegmentUpdate {
  const ParameterSegment& segment;  // with names, places and shapes of its parameters
  kernels::UpdateSlice slice;       // without `first` and `second`
  std::vector<at::Tensor> state;    // fp32, in the order of OptimizerDefinition::state
  double lr = 0;                    // the schedule's, with all factors of the segment
  double weight_decay = 0;          // 0 where the parameters do not decay
  double gradient_scale = 1;        // clipping; to be multiplied by the gradient
  int64_t step = 1;                 // number of this update, from 1

  /// Elements of all tensors.
  int64_t count() const { return slice.master.numel(); }
  /// Elements of the gradient in fp32, times gradient_scale: a copy.
  at::Tensor gradient(int64_t begin, int64_t count) const;
};

/// An optimizer: a file of optimizers/, its declaration below, and a line of the table in
/// optimizer_registry.cpp.
struct OptimizerDefinition {
  std::string name;  // of train.optimizer.type
  /// Names of the state tensors, which become tensors of the checkpoint: `NAME.<parameter>`. Each
  /// has one fp32 number for each trained parameter, zero at first.
  std::vector<std::string> state = {};
  /// False: `update` changes slice.master and the state, in place; the caller then does the rest of
  /// kernels::finish_update. True: `update` does all of it, in one pass over the memory: it
  /// refreshes slice.compute, zeroes slice.gradient and marks the blocks of the state that may have
  /// become nonzero.
  bool is_fused = false;
  /// Whether an element's update depends on no other element, so that ranks may each update a part
  /// of a parameter (train.ranks.shard).
  bool is_elementwise = false;
  std::any defaults = {};  // its options struct
  /// Reads the keys that are its own into the options struct. May be absent.
  std::function<void(config::Section& section, std::any& options)> read = {};
  /// Must not depend on the number of threads, bit for bit.
  std::function<void(const std::any& options, const SegmentUpdate& update)> update = {};
};

/// Completes a definition that has a name, state and is_fused. `Options` holds the options that no
/// other optimizer has, with their defaults.
template <class Options>
OptimizerDefinition define_optimizer(OptimizerDefinition definition,
                                     void (*read)(config::Section&, Options&),
                                     void (*update)(const Options&, const SegmentUpdate&)) {
  definition.defaults = Options{};
  definition.read = [read](config::Section& section, std::any& options) {
    read(section, std::any_cast<Options&>(options));
  };
  definition.update = [update](const std::any& options, const SegmentUpdate& segment) {
    update(std::any_cast<const Options&>(options), segment);
  };
  return definition;
}

/// All optimizers.
const VariantRegistry<OptimizerDefinition>& optimizer_registry();

/// Adds an optimizer of the program's own, before the first config is read. Throws
/// std::invalid_argument if the name is taken.
void register_optimizer(OptimizerDefinition definition);

OptimizerDefinition adamw();
OptimizerDefinition sgd();
OptimizerDefinition lion();

/// Reads the key `betas`: two numbers in [0, 1). Throws config::Error.
void read_betas(config::Section& section, std::array<double, 2>& betas, std::string_view help);

}  // namespace weft::train
