#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft::data {

/// Byte trie of pieces: finds all pieces that begin at a position of a text.
class PieceTrie {
 public:
  PieceTrie();

  void add(std::string_view piece, int32_t id);

  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kNoNode = 0xFFFFFFFFU;
  /// Returns the child of the node for a byte, or kNoNode.
  uint32_t next(uint32_t node, unsigned char byte) const {
    if ((nodes_[node].bytes >> (byte & 63U) & 1U) == 0) {
      return kNoNode;
    }
    const uint64_t key = (uint64_t{node} << 8) | byte;
    for (std::size_t at = first_slot(key);; at = (at + 1) & (edges_.size() - 1)) {
      if (edges_[at].key == key) {
        return edges_[at].to;
      }
      if (edges_[at].key == kFree) {
        return kNoNode;
      }
    }
  }
  /// Returns the piece that ends at a node, or -1.
  int32_t id(uint32_t node) const { return nodes_[node].id; }

 private:
  struct Node {
    uint64_t bytes = 0;  // bit b & 63 for each child byte b: rejects most misses early
    int32_t id = -1;
  };
  struct Edge {
    uint64_t key = kFree;
    uint32_t to = 0;
  };
  static constexpr uint64_t kFree = ~uint64_t{0};

  std::size_t first_slot(uint64_t key) const {
    return ((key * 0x9E3779B97F4A7C15U) >> 20) & (edges_.size() - 1);
  }
  void put(const Edge& edge);
  void grow();

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;  // open addressing by (node, byte)
  std::size_t count_ = 0;
};

}  // namespace weft::data
