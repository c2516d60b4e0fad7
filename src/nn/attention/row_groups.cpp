#include "nn/attention/row_groups.h"

#include <cmath>

#include <ATen/ATen.h>

#include "kernels/embedding.h"
#include "kernels/to_device.h"

namespace weft::nn {

namespace {

/// Rows of x by place; `missing` for the place after the last.
at::Tensor scatter(const at::Tensor& x, const at::Tensor& places, double missing) {
  return at::cat({x, at::full({1, x.size(1)}, missing, x.options())}).index_select(0, places);
}

}  // namespace

void RowGroups::end_group(int64_t sequence, int64_t number, int64_t mask_begin) {
  query_offsets.push_back(std::ssize(query_rows));
  key_offsets.push_back(std::ssize(key_rows));
  groups->sequences.push_back(sequence);
  groups->numbers.push_back(number);
  groups->mask_begins.push_back(mask_begin);
}

kernels::PartialAttention attend_in_groups(const RowGroups& groups,
                                           const GroupedRows& rows,
                                           const kernels::AttentionSettings& settings,
                                           const kernels::RngKey& rng_key,
                                           bool wants_lse) {
  const auto device = rows.query.device();
  const auto gather = [&](const at::Tensor& x, const std::vector<int64_t>& indices) {
    return kernels::gather_rows(x, kernels::to_device(indices, device));
  };
  const kernels::AttentionInput input{.query = gather(rows.query, groups.query_rows),
                                      .key = gather(rows.key, groups.key_rows),
                                      .value = gather(rows.value, groups.key_rows),
                                      .groups = groups.groups};
  const auto queries = kernels::Layout::from_offsets(groups.query_offsets, device);
  const auto keys = kernels::Layout::from_offsets(groups.key_offsets, device);
  if (wants_lse) {
    return kernels::partial_attention(input, queries, keys, settings, rng_key);
  }
  return {.out = kernels::attention(input, queries, keys, settings, rng_key)};
}

void MergedRounds::add(const kernels::PartialAttention& round,
                       const std::vector<int64_t>& queries,
                       int64_t count) {
  std::vector<int64_t> own_places(static_cast<std::size_t>(count), std::ssize(queries));
  for (std::size_t i = 0; i < queries.size(); ++i) {
    own_places[static_cast<std::size_t>(queries[i])] = static_cast<int64_t>(i);
  }
  const auto places = kernels::to_device(own_places, round.out.device());
  outputs_.push_back(scatter(round.out, places, 0));
  if (round.lse.defined()) {
    sums_.push_back(scatter(round.lse, places, -INFINITY));
  }
}

at::Tensor MergedRounds::merged() const {
  if (outputs_.empty()) {
    return {};
  }
  if (outputs_.size() == 1) {
    return outputs_[0];
  }
  TORCH_CHECK(sums_.size() == outputs_.size(), "several rounds are merged by their sums");
  // Not at::softmax, whose bits over the first dimension depend on the number of threads.
  const auto sums = at::stack(sums_);  // (rounds, count, H)
  const auto terms = (sums - sums.detach().amax({0}, true)).exp();
  const auto shares = (terms / terms.sum(0)).unsqueeze(-1);
  at::Tensor out;
  for (std::size_t round = 0; round < outputs_.size(); ++round) {
    const auto own =
        outputs_[round].unflatten(1, {shares.size(2), -1}) * shares[static_cast<int64_t>(round)];
    out = out.defined() ? out + own : own;
  }
  return out.flatten(1).to(outputs_[0].scalar_type());
}

}  // namespace weft::nn
