#include "data/tokenizers/models/linear_byte_pair.h"

#include <algorithm>
#include <string>

namespace weft::data {

std::unique_ptr<const LinearBytePair> LinearBytePair::make(const std::array<int32_t, 256>& bytes,
                                                           const std::vector<Rule>& rules,
                                                           const PairTable& merges) {
  std::unique_ptr<LinearBytePair> made(new LinearBytePair(merges));
  int32_t largest = *std::max_element(bytes.begin(), bytes.end());
  for (const Rule& rule : rules) {
    largest = std::max(largest, rule.merge.id);
  }
  made->parts_.resize(static_cast<std::size_t>(largest) + 1);
  for (const int32_t id : bytes) {
    made->parts_[static_cast<std::size_t>(id)].length = 1;
  }
  for (const auto& [left, right, merge] : rules) {
    Part& part = made->parts_[static_cast<std::size_t>(merge.id)];
    const bool has_parts = std::max(left, right) <= largest && made->part(left).length > 0 &&
                           made->part(right).length > 0;
    if (!has_parts || part.length > 0) {
      return nullptr;
    }
    part = {.left = left,
            .right = right,
            .rank = merge.rank,
            .length = made->part(left).length + made->part(right).length};
  }
  made->fill_trie(bytes);
  return made;
}

/// Leaves out pieces that their own bytes do not become, because another merge comes first.
void LinearBytePair::fill_trie(const std::array<int32_t, 256>& bytes) {
  std::vector<int32_t> ordered;
  for (std::size_t id = 0; id < parts_.size(); ++id) {
    if (parts_[id].length > 0) {
      ordered.push_back(static_cast<int32_t>(id));
    }
  }
  std::sort(ordered.begin(), ordered.end(),
            [&](int32_t a, int32_t b) { return part(a).rank < part(b).rank; });
  std::vector<std::string> texts(parts_.size());
  for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
    texts[static_cast<std::size_t>(bytes[byte])] = static_cast<char>(byte);
  }
  for (const int32_t id : ordered) {
    Part& piece = parts_[static_cast<std::size_t>(id)];
    std::string& text = texts[static_cast<std::size_t>(id)];
    if (piece.rank != kByte) {
      const std::string& left = texts[static_cast<std::size_t>(piece.left)];
      const std::string& right = texts[static_cast<std::size_t>(piece.right)];
      if (left.empty() || right.empty() || !stay_apart(piece.left, piece.right, piece.rank)) {
        continue;
      }
      text = left + right;
    }
    trie_.add(text, id);
  }
  for (const int32_t id : ordered) {
    uint32_t node = PieceTrie::kRoot;
    const std::string& text = texts[static_cast<std::size_t>(id)];
    for (std::size_t at = 0; at + 1 < text.size(); ++at) {
      node = trie_.next(node, static_cast<unsigned char>(text[at]));
      if (trie_.id(node) >= 0) {
        parts_[static_cast<std::size_t>(id)].prefix = trie_.id(node);
      }
    }
  }
}

/// Whether no merge before the one of rank `before` joins the two pieces where they meet. Follows
/// the pieces at their border back to bytes, the piece that was merged last first: a border piece
/// exists from the rank of its merge up to that of the piece it became part of. Of equal merges
/// that overlap, the left one is applied.
bool LinearBytePair::stay_apart(int32_t left, int32_t right, int32_t before) const {
  int32_t left_end = before;
  int32_t right_end = before;
  for (;;) {
    const int32_t rank = merges_.find(left, right).rank;
    if (rank < left_end && rank <= right_end) {
      return false;
    }
    const int32_t left_rank = part(left).rank;
    const int32_t right_rank = part(right).rank;
    if (left_rank == kByte && right_rank == kByte) {
      return true;
    }
    if (left_rank > right_rank) {
      left_end = left_rank;
      left = part(left).right;
    } else {
      right_end = right_rank;
      right = part(right).left;
    }
  }
}

int32_t LinearBytePair::longest_at(std::string_view word, std::size_t at) const {
  int32_t longest = kNoPiece;
  for (uint32_t node = PieceTrie::kRoot; at < word.size(); ++at) {
    node = trie_.next(node, static_cast<unsigned char>(word[at]));
    if (node == PieceTrie::kNoNode) {
      break;
    }
    longest = trie_.id(node) >= 0 ? trie_.id(node) : longest;
  }
  return longest;
}

void LinearBytePair::tokenize(std::string_view word, std::vector<Piece>& pieces) const {
  const std::size_t first = pieces.size();
  thread_local std::vector<bool> is_dead;  // positions from which the rest cannot be encoded
  is_dead.assign(word.size() + 1, false);
  std::size_t at = 0;
  int32_t next = word.empty() ? kNoPiece : longest_at(word, 0);
  while (at < word.size()) {
    const int32_t last = pieces.size() > first ? pieces.back().id : kNoPiece;
    const auto fits = [&](int32_t id) {
      return !is_dead[at + part(id).length] &&
             (last == kNoPiece || stay_apart(last, id, Merge::kNever));
    };
    while (next != kNoPiece && !fits(next)) {
      next = part(next).prefix;
    }
    if (next != kNoPiece) {
      const std::size_t end = at + part(next).length;
      pieces.push_back({next, static_cast<uint32_t>(at), static_cast<uint32_t>(end)});
      at = end;
      next = at < word.size() ? longest_at(word, at) : kNoPiece;
    } else {  // back to a shorter piece before
      is_dead[at] = true;
      next = last;
      at = pieces.back().begin;
      pieces.pop_back();
    }
  }
}

}  // namespace weft::data
