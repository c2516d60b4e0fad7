// Layers, cells and rows that the tests of recurrent layers share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/ATen.h>

#include "nn/recurrent/recurrent.h"
#include "support/tensors.h"

namespace weft::nn {

/// Keys of a cell, and whether the layer is bidirectional.
using CellCase = std::tuple<std::string, bool>;

inline constexpr int64_t kRecurrentDim = 8;
inline constexpr int64_t kStateWidth = 5;

/// Sequences of different lengths, also equal ones and an empty one, that are not sorted.
inline const std::vector<int64_t> kRagged{0, 2, 7, 7, 8, 13, 17};

inline at::Tensor recurrent_rows(int64_t count, at::ScalarType type = at::kFloat) {
  return at::arange(count * kRecurrentDim, type).view({count, kRecurrentDim}).mul(0.7).sin();
}

inline CellMaker cell_maker(const std::string& yaml) {
  auto section = config::Document::parse(yaml, "cell").root();
  std::string name = "gru";
  section.read("cell", name, {});
  auto maker = recurrent_cells().at(name).read(section);
  section.reject_unread();
  return maker;
}

inline std::shared_ptr<Recurrent> filled(const std::string& cell,
                                         bool is_bidirectional = false,
                                         int64_t width = kStateWidth) {
  const auto layer =
      std::make_shared<Recurrent>(RecurrentOptions{.dim = kRecurrentDim,
                                                   .width = width,
                                                   .layer = 0,
                                                   .make_cell = cell_maker(cell),
                                                   .is_bidirectional = is_bidirectional});
  test::fill_parameters(*layer);
  return layer;
}

}  // namespace weft::nn
