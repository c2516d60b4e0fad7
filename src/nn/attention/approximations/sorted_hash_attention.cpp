#include "nn/attention/approximations/sorted_hash_attention.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "base/error.h"
#include "base/random.h"
#include "base/string_util.h"
#include "kernels/sum.h"
#include "nn/attention/approximations/bucketed_attention.h"
#include "nn/initial_values.h"

namespace weft::nn {

namespace {

using TokenOrder = std::vector<int64_t>;  // of the tokens of a sequence, by bucket

class SortedHashAttention : public SharedKeyAttention {
 public:
  SortedHashAttention(const AttentionOptions& options, const SortedHashOptions& own)
      : SharedKeyAttention(options, {.rounds = own.rounds, .prefers_others = true}), own_(own) {}

 protected:
  at::Tensor keys(const at::Tensor& projected) const override {
    const auto x = projected.to(kernels::accumulate_type(projected));
    const auto scale =
        (x.square().mean({1}, true) + 1e-6).rsqrt() / std::sqrt(static_cast<double>(x.size(1)));
    return (x * scale).to(projected.scalar_type());
  }

  at::Tensor attend(const GroupedRows& rows,
                    const std::vector<BucketedSequence>& sequences,
                    const ForwardContext& context) const override {
    std::vector<std::vector<std::vector<TokenOrder>>> orders;  // of sequence, head and round
    for (const auto& sequence : sequences) {
      orders.push_back(orders_of(rows, sequence, context));
    }
    MergedRounds merged;
    for (int64_t round = 0; round < own_.rounds; ++round) {
      BucketedGroups groups;
      for (std::size_t b = 0; b < sequences.size(); ++b) {
        add_round(sequences[b], static_cast<int64_t>(b), orders[b], round, groups);
      }
      merged.add(attend_round(rows, groups, context), groups.rows.query_rows, rows.query.size(0));
    }
    return merged.merged();
  }

 private:
  /// Tokens of one chunk of the order, that are there.
  struct Chunk {
    const TokenOrder* order = nullptr;
    int64_t begin = 0;
    int64_t end = 0;
  };

  bool is_full(int64_t length) const { return length <= own_.length; }

  /// Chunks of each round. Those at its end may be empty.
  int64_t chunks_of(int64_t length) const {
    const auto multiples = (length + own_.multiple - 1) / own_.multiple;
    return is_full(length) ? 1 : multiples * own_.multiple / own_.length;
  }

  /// Factors of the number of buckets: twice the number of chunks, rounded down to a power of two.
  std::vector<int64_t> buckets_of(int64_t length) const {
    if (!own_.buckets.empty()) {
      return own_.buckets;
    }
    const auto power = std::bit_width(static_cast<uint64_t>(2 * chunks_of(length))) - 1;
    if (int64_t{1} << power <= own_.most_buckets) {
      return {int64_t{1} << power};
    }
    return {int64_t{1} << (power / 2), int64_t{1} << (power - power / 2)};
  }

  /// Random directions of all heads and rounds: (H, K, rounds, sum of the factors / 2).
  at::Tensor rotations(int64_t directions, const ForwardContext& context) const {
    const auto heads = options().heads;
    const auto width = head_dim(options());
    const std::vector<int64_t> shape{heads, width, own_.rounds, directions};
    if (own_.seed) {
      const auto generator = at::detail::createCPUGenerator(static_cast<uint64_t>(*own_.seed));
      return at::randn(shape, generator, at::TensorOptions().dtype(at::kFloat));
    }
    Random random(/*seed=*/0, RandomPurpose::kFeatures, context.is_training ? context.step : 0,
                  static_cast<uint64_t>(context.depth(options().layer)));
    return normal_tensor(shape, random).to(at::kFloat);
  }

  /// The bucket of each head and token, (rounds, H, S).
  at::Tensor buckets_of_rows(const at::Tensor& projected, const ForwardContext& context) const {
    const auto heads = options().heads;
    const auto factors = buckets_of(projected.size(0) / heads);
    const auto directions = std::accumulate(factors.begin(), factors.end(), int64_t{0}) / 2;
    const auto vectors = projected.detach().to(at::kFloat).unflatten(0, {-1, heads});  // (S, H, K)
    const auto rotated = at::einsum("thd,hdrn->rhtn",
                                    {vectors, rotations(directions, context).to(vectors.device())});
    at::Tensor found;
    int64_t first = 0;
    int64_t product = 1;
    for (const auto factor : factors) {
      const auto part = rotated.narrow(3, first, factor / 2);
      const auto own = at::cat({part, -part}, 3).argmax(3) * product;
      found = found.defined() ? found + own : own;
      first += factor / 2;
      product *= factor;
    }
    return found.cpu().contiguous();
  }

  /// By head and round.
  std::vector<std::vector<TokenOrder>> orders_of(const GroupedRows& rows,
                                                 const BucketedSequence& sequence,
                                                 const ForwardContext& context) const {
    const auto heads = options().heads;
    TokenOrder positions(static_cast<std::size_t>(sequence.keys));
    std::iota(positions.begin(), positions.end(), 0);
    std::vector<std::vector<TokenOrder>> orders(
        static_cast<std::size_t>(heads),
        std::vector<TokenOrder>(static_cast<std::size_t>(own_.rounds), positions));
    if (is_full(sequence.keys) || sequence.queries == 0) {
      return orders;
    }
    if (sequence.queries < sequence.keys) {
      throw UserError(str_cat(
          "attention by sorted hashes cannot continue a text of more than ", own_.length,
          " tokens (lsh_attn_chunk_length): a later token changes which tokens earlier ones see"));
    }
    const auto found = buckets_of_rows(
        rows.query.narrow(0, sequence.first_query * heads, sequence.keys * heads), context);
    const auto* bucket = found.data_ptr<int64_t>();
    for (int64_t round = 0; round < own_.rounds; ++round) {
      for (int64_t head = 0; head < heads; ++head) {
        auto& order = orders[static_cast<std::size_t>(head)][static_cast<std::size_t>(round)];
        std::ranges::stable_sort(order,
                                 [&](int64_t a, int64_t b) { return bucket[a] < bucket[b]; });
        bucket += sequence.keys;
      }
    }
    return orders;
  }

  /// A chunk of all rounds, one after the other; beside the first is the last.
  Chunk chunk_at(const std::vector<TokenOrder>& orders, int64_t index, int64_t chunks) const {
    const auto all = chunks * own_.rounds;
    const auto around = (index % all + all) % all;
    const auto& order = orders[static_cast<std::size_t>(around / chunks)];
    const auto length = std::ssize(order);
    const auto begin = std::min(length, around % chunks * own_.length);
    return {&order, begin, std::min(length, begin + own_.length)};
  }

  void add_round(const BucketedSequence& sequence,
                 int64_t b,
                 const std::vector<std::vector<TokenOrder>>& orders,
                 int64_t round,
                 BucketedGroups& groups) const {
    const auto chunks = chunks_of(sequence.keys);
    int64_t number = first_group_number(round);
    for (int64_t head = 0; head < options().heads; ++head) {
      const auto& of_head = orders[static_cast<std::size_t>(head)];
      for (int64_t chunk = 0; chunk < chunks; ++chunk, ++number) {
        const auto index = round * chunks + chunk;
        TokenOrder keys;
        const auto first = is_full(sequence.keys) ? index : index - own_.before;
        const auto last = is_full(sequence.keys) ? index : index + own_.after;
        for (auto each = first; each <= last; ++each) {
          const auto beside = chunk_at(of_head, each, chunks);
          keys.insert(keys.end(), beside.order->begin() + beside.begin,
                      beside.order->begin() + beside.end);
        }
        add_group(chunk_at(of_head, index, chunks), keys, sequence, {b, head, number}, groups);
      }
    }
  }

  struct GroupPlace {
    int64_t sequence = 0;
    int64_t head = 0;
    int64_t number = 0;
  };

  void add_group(const Chunk& chunk,
                 const TokenOrder& keys,
                 const BucketedSequence& sequence,
                 const GroupPlace& place,
                 BucketedGroups& groups) const {
    using kernels::AttentionGroups;
    const auto offset = sequence.keys - sequence.queries;
    const auto words = AttentionGroups::mask_words(std::ssize(keys));
    auto& mask = groups.rows.groups->mask;
    const auto mask_begin = std::ssize(mask);
    const auto heads = options().heads;
    for (auto i = chunk.begin; i < chunk.end; ++i) {
      const auto token = (*chunk.order)[static_cast<std::size_t>(i)];
      if (token < offset) {  // computed by an earlier pass
        continue;
      }
      mask.resize(mask.size() + static_cast<std::size_t>(words), 0);
      auto* const row = mask.data() + std::ssize(mask) - words;
      const auto is_seen = [&](int64_t key) { return !options().is_causal || key <= token; };
      const bool is_alone =
          std::ranges::none_of(keys, [&](int64_t key) { return key != token && is_seen(key); });
      for (int64_t j = 0; j < std::ssize(keys); ++j) {
        const auto key = keys[static_cast<std::size_t>(j)];
        if (is_alone ? key == token : key != token && is_seen(key)) {
          AttentionGroups::show_keys(row, j, j + 1);
        }
      }
      groups.alone.push_back(is_alone ? 1.0F : 0.0F);
      groups.rows.query_rows.push_back((sequence.first_query + token - offset) * heads +
                                       place.head);
    }
    if (groups.rows.query_offsets.back() == std::ssize(groups.rows.query_rows)) {
      return;
    }
    for (const auto key : keys) {
      groups.rows.key_rows.push_back((sequence.first_key + key) * heads + place.head);
    }
    groups.rows.end_group(place.sequence, place.number, mask_begin);
  }

  SortedHashOptions own_;
};

}  // namespace

std::shared_ptr<Attention> make_sorted_hash_attention(const AttentionOptions& options,
                                                      const SortedHashOptions& own) {
  return std::make_shared<SortedHashAttention>(options, own);
}

}  // namespace weft::nn
