#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "formats/image.h"

namespace weft::data {

/// The images of one data item. All functions may be called by many threads at once.
class ImageSource {
 public:
  virtual ~ImageSource() = default;

  virtual int64_t size() const = 0;
  virtual formats::Image image(int64_t index) const = 0;
  /// Height and width, without decoding the pixels.
  virtual formats::ImageSize shape(int64_t index) const = 0;
  /// Class names over all images; empty if the images have no classes.
  const std::vector<std::string>& labels() const { return labels_; }
  /// Location such as `photos/cat/12.png` or `train.bin, image 12`.
  virtual std::string location(int64_t index) const = 0;
  /// Hash of the content; for separate image files, of their names and sizes only.
  virtual uint64_t fingerprint() const = 0;
  virtual std::vector<std::string> remarks() const { return {}; }
  /// Hash of the bytes of one image.
  virtual uint64_t image_digest(int64_t index) const = 0;
  /// Index of the first image of each file (or folder) of the item.
  const std::vector<int64_t>& begins() const { return begins_; }

 protected:
  std::vector<std::string> labels_;
  std::vector<int64_t> begins_;
};

/// Opens the images of an item. `needs_labels`: images without a class are an error. Throws
/// data::Error, formats::Error.
std::unique_ptr<const ImageSource> open_images(const DataItem& item, bool needs_labels);

/// Usual name of the file of labels for an IDX file of images: `train-labels-idx1-ubyte` for
/// `train-images-idx3-ubyte`; for other names the name itself.
std::string idx_labels_name(const std::string& path);

/// Infers the kind of the item's files if the item does not give it. Throws data::Error.
ImageKind image_kind_of(const DataItem& item);

}  // namespace weft::data
