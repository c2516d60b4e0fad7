#include "data/tokenizers/vocabulary.h"

#include <algorithm>
#include <utility>

namespace weft::data {

bool Vocabulary::add(std::string_view piece, int32_t id) {
  if (find(piece) != kNone) {
    return false;
  }
  if (2 * static_cast<std::size_t>(count_ + 1) > slots_.size()) {
    grow();
  }
  const uint64_t hash = text_hash(piece);
  std::size_t slot = hash & (slots_.size() - 1);
  while (slots_[slot].id != kNone) {
    slot = (slot + 1) & (slots_.size() - 1);
  }
  const auto begin = static_cast<uint32_t>(bytes_.size());
  const auto length = static_cast<uint32_t>(piece.size());
  bytes_.append(piece);
  slots_[slot] = {static_cast<uint32_t>(hash >> 32), id, begin, length};
  if (static_cast<std::size_t>(id) >= pieces_.size()) {
    pieces_.resize(static_cast<std::size_t>(id) + 1);
  }
  if (pieces_[static_cast<std::size_t>(id)].length == kAbsent) {
    pieces_[static_cast<std::size_t>(id)] = {begin, length};
  }
  longest_ = std::max(longest_, piece.size());
  ++count_;
  return true;
}

int32_t Vocabulary::find_hashed(std::string_view piece, uint64_t hash) const {
  const auto high = static_cast<uint32_t>(hash >> 32);
  for (std::size_t slot = hash & (slots_.size() - 1);; slot = (slot + 1) & (slots_.size() - 1)) {
    const Slot& candidate = slots_[slot];
    if (candidate.id == kNone) {
      return kNone;
    }
    if (candidate.hash == high && candidate.length == piece.size() &&
        std::memcmp(bytes_.data() + candidate.begin, piece.data(), piece.size()) == 0) {
      return candidate.id;
    }
  }
}

std::string_view Vocabulary::piece(int32_t id) const {
  if (!has(id)) {
    return {};
  }
  const Slice& slice = pieces_[static_cast<std::size_t>(id)];
  return std::string_view(bytes_).substr(slice.begin, slice.length);
}

bool Vocabulary::has(int32_t id) const {
  return id >= 0 && static_cast<std::size_t>(id) < pieces_.size() &&
         pieces_[static_cast<std::size_t>(id)].length != kAbsent;
}

void Vocabulary::grow() {
  std::vector<Slot> larger(std::max<std::size_t>(64, slots_.size() * 2));
  for (const Slot& old : slots_) {
    if (old.id == kNone) {
      continue;
    }
    const std::string_view piece = std::string_view(bytes_).substr(old.begin, old.length);
    std::size_t slot = text_hash(piece) & (larger.size() - 1);
    while (larger[slot].id != kNone) {
      slot = (slot + 1) & (larger.size() - 1);
    }
    larger[slot] = old;
  }
  slots_ = std::move(larger);
}

}  // namespace weft::data
