#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "kernels/attention/attention_dropout.h"
#include "kernels/attention/flash_attention.h"
#include "kernels/linear/linear.h"
#include "kernels/random_bits.h"
#include "kernels/reference.h"
#include "kernels/sum.h"
#include "kernels/to_device.h"

namespace weft::kernels::reference {
namespace {

// Sequences whose query and key counts round up to the same multiples of 16: they are padded to
// these lengths, and their dropout bits have the same stride.
struct Group {
  int64_t queries = 0;                  // L rounded up
  int64_t keys = 0;                     // S rounded up
  std::vector<int64_t> sequences;       // G
  std::vector<int64_t> numbers;         // (G) of groups (AttentionGroups); empty: none
  std::vector<int64_t> masks;           // (G) AttentionGroups::mask_begins; empty: none
  std::vector<int64_t> shifts;          // (G) position of the first query among the keys
  std::vector<int64_t> query_lengths;   // (G)
  std::vector<int64_t> key_lengths;     // (G)
  std::vector<int64_t> prefix_lengths;  // (G) keys that all queries attend to even if causal
  std::vector<int64_t> query_rows;      // (G * L) row of each position; 0 for padding
  std::vector<int64_t> key_rows;        // (G * S)
  std::vector<int64_t> positions;       // padded index of each query of the group
  std::vector<int64_t> tokens;          // row of each query
};

struct ReferenceSides {
  const Layout& queries;
  const Layout& keys;
  const std::vector<int64_t>& key_begins;
  const AttentionGroups* groups;  // or nullptr
};

void add_sequence(Group& group,
                  const ReferenceSides& layouts,
                  int64_t b,
                  const AttentionSettings& settings) {
  const auto i = static_cast<std::size_t>(b);
  const auto begin = layouts.queries.offsets[i];
  const auto length = layouts.queries.length(b);
  const auto keys = layouts.keys.length(b);
  const auto key_begin =
      layouts.key_begins.empty() ? layouts.keys.offsets[i] : layouts.key_begins[i];
  const auto base = static_cast<int64_t>(group.query_rows.size());
  group.queries = dropout_row_stride(length);
  group.keys = dropout_row_stride(keys);
  group.sequences.push_back(layouts.groups == nullptr ? b : layouts.groups->sequences[i]);
  if (layouts.groups != nullptr) {
    group.numbers.push_back(layouts.groups->numbers[i]);
    group.masks.push_back(layouts.groups->mask_begins[i]);
  }
  group.shifts.push_back(settings.is_causal ? keys - length : 0);
  group.query_lengths.push_back(length);
  group.key_lengths.push_back(keys);
  group.prefix_lengths.push_back(settings.prefix_lengths.empty() ? 0 : settings.prefix_lengths[i]);
  for (int64_t row = 0; row < group.queries; ++row) {
    group.query_rows.push_back(row < length ? begin + row : 0);
    if (row < length) {
      group.positions.push_back(base + row);
      group.tokens.push_back(begin + row);
    }
  }
  for (int64_t j = 0; j < group.keys; ++j) {
    group.key_rows.push_back(j < keys ? key_begin + j : 0);
  }
}

std::vector<Group> group_by_size(const ReferenceSides& layouts, const AttentionSettings& settings) {
  std::map<std::pair<int64_t, int64_t>, Group> groups;
  for (int64_t b = 0; b < layouts.queries.sequences(); ++b) {
    const auto length = layouts.queries.length(b);
    const auto keys = layouts.keys.length(b);
    if (length > 0) {
      add_sequence(groups[{dropout_row_stride(length), dropout_row_stride(keys)}], layouts, b,
                   settings);
    }
  }
  std::vector<Group> result;
  for (auto& [size, group] : groups) {
    result.push_back(std::move(group));
  }
  return result;
}

// (G, 1, L, S): position of each key relative to each query.
at::Tensor distances(const Group& group, const at::Device& device) {
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  const auto query = at::arange(group.queries, options).unsqueeze(1) +
                     to_device(group.shifts, device).view({-1, 1, 1, 1});
  return at::arange(group.keys, options) - query;
}

/// One call of attention, besides its tensors.
struct Call {
  const AttentionSettings& settings;
  const RngKey& rng_key;
  const AttentionGroups* groups;  // or nullptr
  bool wants_lse;
};

// (G, 1, L, S): true where the masks of the groups let a query attend.
at::Tensor masks_of(const Group& group,
                    const std::vector<uint16_t>& words,
                    const at::Device& device) {
  const auto count = static_cast<int64_t>(group.masks.size());
  auto result = at::ones({count, 1, group.queries, group.keys}, at::kBool);
  for (int64_t g = 0; g < count; ++g) {
    const auto at_group = static_cast<std::size_t>(g);
    for (int64_t i = 0; group.masks[at_group] >= 0 && i < group.query_lengths[at_group]; ++i) {
      const auto* const row = words.data() + group.masks[at_group] + i * (group.keys / 16);
      auto* const out = result.data_ptr<bool>() + (g * group.queries + i) * group.keys;
      for (int64_t j = 0; j < group.keys; ++j) {
        out[j] = (row[j / 16] >> (j % 16) & 1) != 0;
      }
    }
  }
  return to_device(result, device);
}

// (G, 1, L, S): true where a query may attend.
at::Tensor visible(const Group& group,
                   const at::Tensor& distance,
                   const Call& call,
                   const at::Device& device) {
  const auto& settings = call.settings;
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  const auto length = to_device(group.key_lengths, device).view({-1, 1, 1, 1});
  auto mask = at::lt(at::arange(group.keys, options), length).expand_as(distance);
  // Padding queries are left unmasked, so that their softmax is over at least one key.
  const auto is_padding = at::ge(at::arange(group.queries, options).unsqueeze(1),
                                 to_device(group.query_lengths, device).view({-1, 1, 1, 1}));
  if (settings.is_causal) {
    const auto prefix = to_device(group.prefix_lengths, device).view({-1, 1, 1, 1});
    const auto is_shown =
        at::logical_or(at::lt(at::arange(group.keys, options), prefix), at::le(distance, 0));
    mask = at::logical_and(mask, at::logical_or(is_shown, is_padding));
  }
  if (settings.window_radius >= 0) {
    const auto is_near = at::le(distance.abs(), settings.window_radius);
    mask = at::logical_and(mask, at::logical_or(is_near, is_padding));
  }
  if (std::any_of(group.masks.begin(), group.masks.end(), [](auto begin) { return begin >= 0; })) {
    mask = at::logical_and(mask,
                           at::logical_or(masks_of(group, call.groups->mask, device), is_padding));
  }
  return mask;
}

// Rotates x (G, L, H, K), whose positions start at `shifts`. Padding may exceed the table and is
// clamped to its last row; its result is never used.
at::Tensor rotate_from(const at::Tensor& x,
                       const at::Tensor& table,
                       const std::vector<int64_t>& shifts) {
  if (!table.defined()) {
    return x;
  }
  const auto positions =
      at::arange(x.size(1), at::TensorOptions().dtype(at::kLong).device(x.device()));
  const auto shifted = (positions + to_device(shifts, x.device()).unsqueeze(1))
                           .clamp(0, table.size(0) - 1);  // (G, L)
  return reference::rotate(x, table.index_select(0, shifted.flatten())
                                  .view({shifted.size(0), shifted.size(1), table.size(1)}));
}

// (G, H, L, S): the bias of each query-key pair.
at::Tensor reference_bias_of(const at::Tensor& bias, const at::Tensor& distance) {
  const auto span = (bias.size(1) + 1) / 2;
  const auto columns = (distance + span - 1).clamp(0, bias.size(1) - 1);
  return bias.index_select(1, columns.flatten())
      .view({bias.size(0), distance.size(0), distance.size(2), distance.size(3)})
      .transpose(0, 1);
}

// (G, H, L, S): what the settings add to the scores; undefined: nothing.
at::Tensor added_scores(const at::Tensor& q,
                        const at::Tensor& k,
                        const at::Tensor& distance,
                        const AttentionSettings& settings,
                        double scale) {
  at::Tensor sum;
  if (settings.distance_bias.defined()) {
    sum = reference_bias_of(settings.distance_bias, distance).to(accumulate_type(q));
  }
  if (!settings.distance_vectors.is_empty()) {
    const auto scores = distance_scores(q, k, distance, settings.distance_vectors) * scale;
    sum = sum.defined() ? sum + scores : scores;
  }
  return sum;
}

// The mask, or an additive mask that includes the added scores.
at::Tensor mask_with_scores(const at::Tensor& mask,
                            const at::Tensor& added,
                            const at::Tensor& like) {
  return added.defined() ? added.to(like.scalar_type()).masked_fill(mask.logical_not(), -INFINITY)
                         : mask;
}

/// Unpadded sequences with full or causal attention: GPUs have the fastest kernels for these.
bool needs_no_mask(const Group& group, const Call& call) {
  const auto& settings = call.settings;
  const auto are = [](const std::vector<int64_t>& values, int64_t wanted) {
    return std::all_of(values.begin(), values.end(), [&](auto value) { return value == wanted; });
  };
  return !call.wants_lse && settings.dropout == 0.0 && !settings.distance_bias.defined() &&
         settings.distance_vectors.is_empty() && settings.window_radius < 0 &&
         are(group.masks, -1) && are(group.query_lengths, group.queries) &&
         are(group.key_lengths, group.keys) &&
         (!settings.is_causal || (are(group.shifts, 0) && are(group.prefix_lengths, 0)));
}

struct Parts {
  at::Tensor q;  // (G, L, H, K)
  at::Tensor k;  // (G, S, G', K)
  at::Tensor v;
};

/// -> out (G, L, H, K) and lse (G, L, H)
PartialAttention attend(const Parts& parts, const Group& group, const Call& call) {
  const auto& settings = call.settings;
  const auto device = parts.q.device();
  const auto heads = [&](const at::Tensor& x) {  // (G, S, G', K) -> (G, H, S, K)
    const auto copies = settings.heads / x.size(2);
    return (copies == 1 ? x : at::repeat_interleave(x, copies, 2)).transpose(1, 2);
  };
  const std::vector<int64_t> none(group.sequences.size(), 0);
  const auto q = rotate_from(parts.q, settings.rotary, group.shifts).transpose(1, 2);
  const auto k = heads(rotate_from(parts.k, settings.rotary, none));
  const auto v = heads(parts.v);
  const double scale = settings.scale_or_default(q.size(-1));
  if (needs_no_mask(group, call)) {
    return {.out = at::scaled_dot_product_attention(q, k, v, {}, 0.0, settings.is_causal, scale)
                       .transpose(1, 2)};
  }
  const auto distance = distances(group, device);
  const auto mask = visible(group, distance, call, device);
  const auto added = added_scores(q, k, distance, settings, scale);
  if (!call.wants_lse && settings.dropout == 0.0 && !added.defined()) {
    return {.out =
                at::scaled_dot_product_attention(q, k, v, mask, 0.0, false, scale).transpose(1, 2)};
  }
  if (!call.wants_lse && q.is_cuda()) {  // no scores in memory, and a dropout of its own
    const auto rule = attention_dropout_rule(settings.dropout, call.rng_key);
    gpu::seed_dropout(device, rule, call.rng_key.first_sequence + group.sequences.front());
    return {.out = at::scaled_dot_product_attention(q, k, v, mask_with_scores(mask, added, q),
                                                    settings.dropout, false, scale)
                       .transpose(1, 2)};
  }
  auto scores = at::matmul(q, k.transpose(-2, -1)).to(accumulate_type(q)) * scale;
  if (added.defined()) {
    scores = scores + added;
  }
  scores = scores.masked_fill(mask.logical_not(), -INFINITY);
  auto weights = at::softmax(scores, -1);
  if (settings.dropout > 0.0) {
    weights = weights * attention_dropout_mask({.sequences = group.sequences,
                                                .numbers = group.numbers,
                                                .heads = settings.heads,
                                                .queries = group.queries,
                                                .keys = group.keys},
                                               settings.dropout, call.rng_key, device);
  }
  return {.out = at::matmul(weights.to(v.scalar_type()), v).transpose(1, 2),
          .lse = call.wants_lse ? at::logsumexp(scores, {-1}).transpose(1, 2) : at::Tensor()};
}

}  // namespace

at::Tensor distance_scores(const at::Tensor& q,
                           const at::Tensor& k,
                           const at::Tensor& distance,
                           const DistanceVectors& vectors) {
  const auto rows =
      to_device(at::tensor(at::ArrayRef<int32_t>(*vectors.rows), at::kLong), q.device());
  const auto centre = rows.size(0) / 2;
  const auto columns =
      rows.index_select(0, (distance + centre).clamp(0, rows.size(0) - 1).flatten())
          .view_as(distance);
  // For each pair the product of a row of x (G, H, N, K) with the vector of its column.
  const auto products = [](const at::Tensor& x, const at::Tensor& given, const at::Tensor& chosen) {
    const auto by_head = given.to(x.scalar_type()).view({given.size(0), x.size(1), x.size(3)});
    return batched_product(x, by_head.permute({1, 2, 0}))
        .to(accumulate_type(x))
        .gather(3, chosen.expand({x.size(0), x.size(1), -1, -1}));
  };
  at::Tensor sum;
  if (vectors.keys.defined()) {
    const auto& bias = vectors.query_bias;  // by head
    sum = products(bias.defined() ? q + bias.to(q.scalar_type()).view({q.size(1), 1, -1}) : q,
                   vectors.keys, columns);
  }
  if (vectors.queries.defined()) {
    const auto of_keys = products(k, vectors.queries, columns.transpose(-2, -1)).transpose(-2, -1);
    sum = sum.defined() ? sum + of_keys : of_keys;
  }
  return sum;
}

at::Tensor attention(const at::Tensor& qkv,
                     const Layout& layout,
                     const AttentionSettings& settings,
                     const RngKey& rng_key) {
  const auto key_heads = settings.key_heads_or_heads();
  const auto width = qkv.size(1) / (settings.heads + 2 * key_heads);
  const auto own = settings.heads * width;
  const auto shared = key_heads * width;
  return reference::attention({.query = qkv.narrow(1, 0, own),
                               .key = qkv.narrow(1, own, shared),
                               .value = qkv.narrow(1, own + shared, shared)},
                              layout, layout, settings, rng_key);
}

namespace {

PartialAttention attend_all(const AttentionInput& given,
                            const Layout& queries,
                            const Layout& keys,
                            const Call& call) {
  const auto& settings = call.settings;
  auto input = given;
  if (settings.query_bias.defined()) {
    input.query = input.query + settings.query_bias.to(input.query.scalar_type());
  }
  const auto device = input.query.device();
  const auto columns = input.query.size(1);
  const auto width = columns / settings.heads;
  std::vector<at::Tensor> outputs{input.query.narrow(0, 0, 0)};
  std::vector<at::Tensor> sums{
      at::zeros({0, settings.heads}, input.query.options().dtype(accumulate_type(input.query)))};
  std::vector<int64_t> order(
      static_cast<std::size_t>(queries.tokens()));  // row of each token in the concatenated outputs
  int64_t done = 0;
  for (const auto& group :
       group_by_size({queries, keys, input.key_begins, call.groups}, settings)) {
    const auto padded = [&](const at::Tensor& x, const std::vector<int64_t>& rows, int64_t length) {
      return x.index_select(0, to_device(rows, device))
          .view({-1, length, x.size(1) / width, width});
    };
    const auto of_group = to_device(group.positions, device);
    if (group.keys == 0) {
      outputs.push_back(at::zeros({of_group.size(0), columns}, input.query.options()));
      sums.push_back(at::full({of_group.size(0), settings.heads}, -INFINITY, sums[0].options()));
    } else {
      const auto result = attend({.q = padded(input.query, group.query_rows, group.queries),
                                  .k = padded(input.key, group.key_rows, group.keys),
                                  .v = padded(input.value, group.key_rows, group.keys)},
                                 group, call);
      outputs.push_back(result.out.reshape({-1, columns}).index_select(0, of_group));
      if (call.wants_lse) {
        sums.push_back(result.lse.reshape({-1, settings.heads}).index_select(0, of_group));
      }
    }
    for (const auto token : group.tokens) {
      order[static_cast<std::size_t>(token)] = done++;
    }
  }
  const auto rows = to_device(order, device);
  return {.out = at::cat(outputs).index_select(0, rows),  // (N, H K)
          .lse = call.wants_lse ? at::cat(sums).index_select(0, rows) : at::Tensor()};
}

}  // namespace

at::Tensor attention(const AttentionInput& input,
                     const Layout& queries,
                     const Layout& keys,
                     const AttentionSettings& settings,
                     const RngKey& rng_key) {
  return attend_all(input, queries, keys, {settings, rng_key, input.groups.get(), false}).out;
}

PartialAttention partial_attention(const AttentionInput& input,
                                   const Layout& queries,
                                   const Layout& keys,
                                   const AttentionSettings& settings,
                                   const RngKey& rng_key) {
  return attend_all(input, queries, keys, {settings, rng_key, input.groups.get(), true});
}

}  // namespace weft::kernels::reference
