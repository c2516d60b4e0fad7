#include "data/tokenizers/models/piece_trie.h"

#include <utility>

namespace weft::data {

PieceTrie::PieceTrie() : nodes_(1), edges_(1024) {}

void PieceTrie::put(const Edge& edge) {
  std::size_t at = first_slot(edge.key);
  while (edges_[at].key != kFree) {
    at = (at + 1) & (edges_.size() - 1);
  }
  edges_[at] = edge;
}

void PieceTrie::add(std::string_view piece, int32_t id) {
  uint32_t node = kRoot;
  for (const char character : piece) {
    const auto byte = static_cast<unsigned char>(character);
    uint32_t to = next(node, byte);
    if (to == kNoNode) {
      if (2 * ++count_ > edges_.size()) {
        grow();
      }
      to = static_cast<uint32_t>(nodes_.size());
      nodes_.emplace_back();
      nodes_[node].bytes |= uint64_t{1} << (byte & 63U);
      put({(uint64_t{node} << 8) | byte, to});
    }
    node = to;
  }
  nodes_[node].id = id;
}

void PieceTrie::grow() {
  std::vector<Edge> old(edges_.size() * 2);
  std::swap(old, edges_);
  for (const Edge& edge : old) {
    if (edge.key != kFree) {
      put(edge);
    }
  }
}

}  // namespace weft::data
