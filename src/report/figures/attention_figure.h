#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/figure.h"

namespace weft::report {

/// A list of lists: rows attend to columns.
using WeightMatrix = std::vector<std::vector<double>>;

/// Attention weights of texts, by layer and head.
class AttentionFigure : public Figure {
 public:
  struct Layer {
    std::string name;
    std::vector<WeightMatrix> heads;
  };
  struct Example {
    std::string title;
    std::vector<std::string> rows;     // tokens that attend
    std::vector<std::string> columns;  // tokens that are attended to
    std::vector<Layer> layers;
  };
  AttentionFigure(std::string title,
                  std::string row_label,
                  std::string column_label,
                  std::vector<Example> examples);

  std::string kind() const override { return "attention"; }
  /// The mean over the heads of the first example's last layer.
  std::string markup() const override;
  formats::Json json(formats::Json& axes) const override;

 private:
  std::string row_label_;
  std::string column_label_;
  std::vector<Example> examples_;
};

/// Attention to the patches of images, laid over them.
class ImageAttentionFigure : public Figure {
 public:
  struct Map {
    std::string name;
    std::vector<double> values;  // rows * columns
  };
  struct Example {
    std::string title;
    std::string image;  // data URL
    int64_t rows = 0;   // of the patch grid
    int64_t columns = 0;
    std::vector<Map> maps;
  };
  ImageAttentionFigure(std::string title, std::vector<Example> examples);

  std::string kind() const override { return "image-attention"; }
  /// The first example with its first map.
  std::string markup() const override;
  formats::Json json(formats::Json& axes) const override;

 private:
  std::vector<Example> examples_;
};

/// Images with a caption each.
class ImageGrid : public Figure {
 public:
  struct Image {
    std::string url;  // data URL
    std::string caption;
    bool is_wrong = false;  // a prediction that is not the label
  };
  ImageGrid(std::string title, std::vector<Image> images);

  std::string kind() const override { return "images"; }
  std::string markup() const override;

 private:
  std::vector<Image> images_;
};

/// Attention weights with 5 decimals, as the page stores them.
double stored_weight(double weight);

}  // namespace weft::report
