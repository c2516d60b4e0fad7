#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "data/tokenizers/models/model.h"
#include "data/tokenizers/models/pair_table.h"
#include "data/tokenizers/models/piece_trie.h"

namespace weft::data {

/// Byte pair encoding of bytes in linear time, for long words. Instead of applying merges it looks
/// for the pieces of the result from left to right: they are the only ones of which each two
/// neighbours, encoded alone, stay these two.
class LinearBytePair {
 public:
  struct Rule {
    int32_t left = 0;
    int32_t right = 0;
    Merge merge;
  };

  /// `bytes`: the piece of each byte; `rules`: all merges by rank, as in `merges`. Null if the
  /// merges are not those of a training on bytes, in which each piece has one merge and comes after
  /// its parts. `merges` must outlive the result.
  static std::unique_ptr<const LinearBytePair> make(const std::array<int32_t, 256>& bytes,
                                                    const std::vector<Rule>& rules,
                                                    const PairTable& merges);

  /// Appends the pieces of a word.
  void tokenize(std::string_view word, std::vector<Piece>& pieces) const;

 private:
  struct Part {
    int32_t left = 0;
    int32_t right = 0;
    int32_t rank = kByte;
    int32_t prefix = kNoPiece;  // the longest shorter piece that this one begins with
    uint32_t length = 0;        // in bytes; 0: no piece
  };
  static constexpr int32_t kByte = -1;
  static constexpr int32_t kNoPiece = -1;

  explicit LinearBytePair(const PairTable& merges) : merges_(merges) {}

  const Part& part(int32_t id) const { return parts_[static_cast<std::size_t>(id)]; }
  bool stay_apart(int32_t left, int32_t right, int32_t before) const;
  int32_t longest_at(std::string_view word, std::size_t at) const;
  void fill_trie(const std::array<int32_t, 256>& bytes);

  const PairTable& merges_;
  std::vector<Part> parts_;  // by id
  PieceTrie trie_;
};

}  // namespace weft::data
