// Stacks whose layers read memory slots.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "nn/attention/memory/slot_memory.h"
#include "nn/block.h"
#include "nn/stack.h"
#include "support/config.h"
#include "support/tensors.h"

namespace weft::nn {

inline constexpr int64_t kSlotDim = 8;
inline constexpr int64_t kSlotHeads = 2;

inline SublayerDefinition::Maker slot_reader(const std::string& keys) {
  auto section = config::Document::parse("{" + keys + "}", "test.yaml").root();
  auto maker = read_slot_memory(section);
  section.reject_unread();
  return maker;
}

struct SlotStackOptions {
  std::string keys = "slots: 3, segment: 4";
  std::string order = "amf";
  bool is_causal = true;
  double dropout = 0;
  at::ScalarType type = at::kDouble;
  double theta = 50;
  int64_t width = 12;
  double drop_path_rate = 0;
};

inline Stack slot_stack(const SlotStackOptions& options) {
  BlockOptions block{.order = options.order,
                     .attention = {.dim = kSlotDim,
                                   .heads = kSlotHeads,
                                   .is_causal = options.is_causal,
                                   .rotary = {.theta = options.theta},
                                   .dropout = options.dropout},
                     .feed_forward = {.dim = kSlotDim, .width = options.width},
                     .norm = {.dim = kSlotDim, .epsilon = 1e-5},
                     .norm_placement = NormPlacement::kPre,
                     .dropout = options.dropout};
  block.make_sublayer["memory"] = slot_reader(options.keys);
  Stack stack(StackOptions{
      .layers = {block, block},
      .stochastic_depth = {.drop_path_rate = options.drop_path_rate, .is_constant = true},
      .norm = block.norm});
  stack->to(options.type);
  test::fill_parameters(*stack, 0.6);
  return stack;
}

inline at::Tensor slot_rows(int64_t count, at::ScalarType type = at::kDouble) {
  return (at::arange(count * kSlotDim, type) * 1.37 + 0.2).sin().view({count, kSlotDim});
}

/// Sequences of 0 to 3 segments of 4 tokens.
inline const std::vector<int64_t> kSlotOffsets{0, 4, 13, 14, 21, 33};

/// Those whose names contain `part`.
inline void set_to_zero(torch::nn::Module& module, const std::string& part) {
  const at::NoGradGuard guard;
  for (auto& parameter : module.named_parameters()) {
    if (parameter.key().find(part) != std::string::npos) {
      parameter.value().zero_();
    }
  }
}

}  // namespace weft::nn
