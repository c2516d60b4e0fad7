#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/attention/attention_trace.h"
#include "objectives/distill_options.h"

namespace weft::objectives {

/// Layers, from 0, of a student and of its teacher whose attention is compared. Throws UserError:
/// a uniform choice where the student's layers do not divide the teacher's.
using LayerPairs = std::vector<std::pair<int64_t, int64_t>>;
LayerPairs layer_pairs(AttentionPairs choice, int64_t student_layers, int64_t teacher_layers);

/// KL(teacher || student) of the attention distributions of each query, the mean over heads, summed
/// over queries and pairs of layers (arXiv:2002.10957, equation 4, of which this is |x| times the
/// mean). Throws UserError: other numbers of heads.
at::Tensor attention_divergence(const nn::AttentionTrace& student,
                                const nn::AttentionTrace& teacher,
                                const LayerPairs& pairs);

}  // namespace weft::objectives
