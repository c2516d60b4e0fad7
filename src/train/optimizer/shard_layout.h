#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::train {

/// What each rank keeps only a part of: nothing; the optimizer state and the fp32 master weights
/// (ZeRO-1, arXiv:1910.02054); also the gradients (ZeRO-2); also the weights (ZeRO-3).
enum class Sharding { kNone, kOptimizer, kGradients, kAll };

struct ShardOptions {
  Sharding sharding = Sharding::kNone;
  int rank = 0;
  int ranks = 1;
  /// Modules, by name, whose parameters one rank has for itself: it computes for all others. Only
  /// with Sharding::kAll.
  std::map<std::string, int, std::less<>> owners = {};
};

/// Elements [begin, begin + count) of a flat tensor.
struct FlatRange {
  int64_t begin = 0;
  int64_t count = 0;

  int64_t end() const { return begin + count; }
  bool operator==(const FlatRange&) const = default;
};

/// The elements that two ranges share; empty if none.
FlatRange intersection(const FlatRange& a, const FlatRange& b);

/// Range of the flat parameters that one collective handles: one part per rank, of equal length but
/// the last ones.
struct Piece {
  FlatRange range;
  int64_t part = 0;                         // elements per rank, a multiple of kernels::kSumBlock
  std::optional<int> owner = std::nullopt;  // the rank that has all of it

  FlatRange owned(int rank) const;
};

/// Range of the flat parameters that belongs to one unit.
struct UnitRange {
  FlatRange range;
  std::size_t unit = 0;  // of ShardLayout::units
  bool is_trained = true;
  std::optional<int> owner = std::nullopt;  // the rank that has it for itself; nullopt: divided
  std::vector<Piece> pieces = {};
};

/// Parameters whose gradients are complete at the same time, and whose weights are needed at the
/// same time: a layer, or all that is in no layer.
struct Unit {
  std::string name;                      // `layers.3`; empty for what is in no layer
  std::vector<std::size_t> ranges = {};  // of ShardLayout::ranges, in order
};

/// Elements that a rank owns, and where they are in its own tensors: one after the other.
struct OwnedRange {
  FlatRange range;    // in the flat parameters
  int64_t begin = 0;  // in tensors of the owned elements
};

/// Which rank owns which elements of the flat parameters. Every unit is divided among all ranks, so
/// that no rank is idle while one unit is exchanged.
class ShardLayout {
 public:
  ShardLayout() = default;
  /// `ranges`: in flat order, each beginning at a multiple of kernels::kSumBlock; their pieces are
  /// filled in. With Sharding::kNone the rank owns all elements.
  ShardLayout(std::vector<UnitRange> ranges,
              std::vector<std::string> units,
              const ShardOptions& options);

  const ShardOptions& options() const { return options_; }
  bool is_sharded() const { return options_.sharding != Sharding::kNone && options_.ranks > 1; }
  const std::vector<UnitRange>& ranges() const { return ranges_; }
  const std::vector<Unit>& units() const { return units_; }
  /// Whether this rank computes with the range: not if another one has it for itself.
  bool is_used(const UnitRange& range) const {
    return !range.owner || *range.owner == options_.rank;
  }
  /// Index of the range with the element at flat position `begin`.
  std::size_t range_at(int64_t begin) const;
  /// Elements of the given rank, in flat order; trained ones come first.
  const std::vector<OwnedRange>& owned(int rank) const;
  const std::vector<OwnedRange>& owned() const { return owned(options_.rank); }
  int64_t owned_size() const { return owned_size_; }
  int64_t owned_trained_size() const { return owned_trained_size_; }
  /// Where the element of this rank at flat position `begin` is in tensors of the owned elements.
  int64_t own_position(int64_t begin) const;

 private:
  ShardOptions options_;
  std::vector<UnitRange> ranges_;
  std::vector<Unit> units_;
  std::vector<std::vector<OwnedRange>> owned_;  // by rank
  int64_t owned_size_ = 0;
  int64_t owned_trained_size_ = 0;
};

/// Name of the unit of a parameter: `decoder_layers.3` of `decoder_layers.3.norm.weight`, empty for
/// a parameter outside the layers.
std::string_view unit_of(std::string_view parameter);

/// The rank that has the parameter for itself, as `ShardOptions::owners` says; nullopt: none.
std::optional<int> owner_of(std::string_view parameter, const ShardOptions& options);

}  // namespace weft::train
