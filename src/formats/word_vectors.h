#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "formats/error.h"

namespace weft::formats {

/// Calls `visit` for each line, until it returns false, of a file of word vectors in text form,
/// optionally compressed
/// (.gz): `word value value ...`, as GloVe writes them, or with the first line `words dimensions`
/// of word2vec and fastText (.vec). A word may contain spaces (GloVe 840B has some): the last
/// `dimensions` fields are the vector. Returns the number of dimensions. Throws Error with the
/// line: not a number, or another number of values than in the lines before.
int64_t read_word_vectors(
    const std::string& path,
    const std::function<bool(std::string_view word, std::span<const float> vector)>& visit);

}  // namespace weft::formats
