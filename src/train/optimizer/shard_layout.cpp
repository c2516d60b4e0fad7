#include "train/optimizer/shard_layout.h"

#include <algorithm>
#include <utility>

#include <c10/util/Exception.h>

#include "kernels/optimizer.h"

namespace weft::train {

namespace {

// Gloo is fastest with several calls of 1 to 4 MiB at a time: it copies larger ones.
constexpr int64_t kPieceElements = 1 << 20;

int64_t multiple_of_sum_block(int64_t count) {
  return (count + kernels::kSumBlock - 1) / kernels::kSumBlock * kernels::kSumBlock;
}

std::vector<Piece> pieces_of(const FlatRange& range, int ranks, std::optional<int> owner) {
  const int64_t longest_part = multiple_of_sum_block(kPieceElements / ranks);
  std::vector<Piece> pieces;
  for (int64_t begin = range.begin; begin < range.end();) {
    const int64_t count = std::min(longest_part * ranks, range.end() - begin);
    pieces.push_back({.range = {.begin = begin, .count = count},
                      .part = multiple_of_sum_block((count + ranks - 1) / ranks),
                      .owner = owner});
    begin += count;
  }
  return pieces;
}

}  // namespace

FlatRange intersection(const FlatRange& a, const FlatRange& b) {
  const int64_t begin = std::max(a.begin, b.begin);
  return {.begin = begin, .count = std::max<int64_t>(std::min(a.end(), b.end()) - begin, 0)};
}

FlatRange Piece::owned(int rank) const {
  if (owner) {
    return {.begin = range.begin, .count = rank == *owner ? range.count : 0};
  }
  return intersection(range, {.begin = range.begin + rank * part, .count = part});
}

ShardLayout::ShardLayout(std::vector<UnitRange> ranges,
                         std::vector<std::string> units,
                         const ShardOptions& options)
    : options_(options), ranges_(std::move(ranges)) {
  for (auto& name : units) {
    units_.push_back({.name = std::move(name)});
  }
  owned_.resize(static_cast<std::size_t>(options.ranks));
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    auto& each = ranges_[i];
    TORCH_CHECK(each.range.begin % kernels::kSumBlock == 0, "ShardLayout: range not aligned");
    units_.at(each.unit).ranges.push_back(i);
    each.pieces = pieces_of(each.range, options.ranks, each.owner);
  }
  for (int rank = 0; rank < options.ranks; ++rank) {
    auto& owned = owned_[static_cast<std::size_t>(rank)];
    int64_t end = 0;
    const auto add = [&](const FlatRange& range) {
      if (range.count > 0) {
        owned.push_back({.range = range, .begin = end});
        end += range.count;
      }
    };
    int64_t trained = 0;
    for (const auto& each : ranges_) {
      if (!is_sharded()) {
        add(each.range);
      } else {
        for (const auto& piece : each.pieces) {
          add(piece.owned(rank));
        }
      }
      trained = each.is_trained ? end : trained;
    }
    if (rank == options.rank) {
      owned_size_ = end;
      owned_trained_size_ = trained;
    }
  }
}

std::size_t ShardLayout::range_at(int64_t begin) const {
  const auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), begin,
      [](int64_t position, const UnitRange& each) { return position < each.range.begin; });
  return static_cast<std::size_t>(after - ranges_.begin()) - 1;
}

const std::vector<OwnedRange>& ShardLayout::owned(int rank) const {
  return owned_.at(static_cast<std::size_t>(rank));
}

int64_t ShardLayout::own_position(int64_t begin) const {
  const auto& all = owned();
  const auto after = std::upper_bound(
      all.begin(), all.end(), begin,
      [](int64_t position, const OwnedRange& each) { return position < each.range.begin; });
  TORCH_CHECK(after != all.begin() && begin < std::prev(after)->range.end(),
              "ShardLayout: element ", begin, " belongs to another rank");
  return std::prev(after)->begin + begin - std::prev(after)->range.begin;
}

std::string_view unit_of(std::string_view parameter) {
  constexpr std::string_view kLayers = "layers.";
  for (auto at = parameter.find(kLayers); at != std::string_view::npos;
       at = parameter.find(kLayers, at + 1)) {
    const bool is_word = at == 0 || parameter[at - 1] == '.' || parameter[at - 1] == '_';
    const auto end = parameter.find_first_not_of("0123456789", at + kLayers.size());
    if (is_word && end != std::string_view::npos && end > at + kLayers.size() &&
        parameter[end] == '.') {
      return parameter.substr(0, end);
    }
  }
  return {};
}

std::optional<int> owner_of(std::string_view parameter, const ShardOptions& options) {
  for (auto end = parameter.rfind('.'); end != std::string_view::npos && end > 0;
       end = parameter.rfind('.', end - 1)) {
    const auto found = options.owners.find(parameter.substr(0, end));
    if (found != options.owners.end()) {
      return found->second;
    }
  }
  return std::nullopt;
}

}  // namespace weft::train
