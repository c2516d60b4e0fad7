#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/attention/attention_recorder.h"
#include "objectives/distill_options.h"

namespace weft::objectives {

/// Pairs of student and teacher layers, from 0, whose attention is compared. Throws UserError for a
/// uniform choice if the student's layers do not divide the teacher's.
using LayerPairs = std::vector<std::pair<int64_t, int64_t>>;
LayerPairs layer_pairs(LayerMap choice, int64_t student_layers, int64_t teacher_layers);

/// KL(teacher || student) of the attention distributions of each query, averaged over heads, summed
/// over queries and pairs of layers (arXiv:2002.10957, equation 4, of which this is |x| times the
/// mean). Throws UserError if the numbers of heads differ.
at::Tensor attention_divergence(const nn::AttentionRecorder& student,
                                const nn::AttentionRecorder& teacher,
                                const LayerPairs& pairs);

}  // namespace weft::objectives
