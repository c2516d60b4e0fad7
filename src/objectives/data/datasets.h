#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/data_options.h"
#include "data/dataset.h"
#include "data/datasets/language_dataset.h"
#include "data/images/image_options.h"
#include "data/label_form.h"
#include "data/tokenizer.h"
#include "models/config/options.h"

namespace weft::objectives {

/// The data of a run, prepared for its objective.
struct Datasets {
  std::shared_ptr<const data::Dataset> train;
  std::shared_ptr<const data::Dataset> evaluate;  // or nullptr
  std::vector<std::string> labels;                // class names, for classification
  std::vector<std::string> label_meanings;  // of each label, for previews; empty: class or number
  std::vector<int64_t> class_counts;        // rows, or words, of `train` per class
  int64_t rows = 0;                         // of `train`; or words
  std::string positive_label;               // of two classes; empty: there is none
  std::vector<std::string> remarks;         // for the log
  std::vector<std::string> warnings;        // for the log: possible mistakes
};

/// What datasets are made of. Class names already known (init_from of a classifier) are
/// `model.labels`; training data with other classes replace them.
struct DatasetInputs {
  const data::DataOptions& data;
  const models::ModelOptions& model;
  std::shared_ptr<const data::Tokenizer> tokenizer;
  uint64_t seed = 1;
  data::ProgressVisitor progress = {};

  /// Longest sequence: as configured, at most the model's. Throws config::Error.
  int64_t length() const;
};

/// Makes a dataset of data.train or data.evaluate, with these options.
using DatasetMaker = std::function<std::shared_ptr<const data::Dataset>(
    const std::vector<data::DataItem>& items, const data::DataOptions& options, bool is_training)>;

/// data.train and data.evaluate by `make`, as far as they are named. An evaluation sees each text
/// once, whatever data.sampling_alpha is.
Datasets datasets_by(const DatasetInputs& inputs, const DatasetMaker& make);

/// Adds the remarks of a dataset, after the name of its data: `train: ...`.
void add_remarks(const std::string& which, const data::Dataset& dataset, Datasets& datasets);

/// Images with their classes or, with `mask`, with hidden patches and no classes. The tokenizer of
/// the inputs is that of pixels.
Datasets image_datasets(const DatasetInputs& inputs,
                        const std::optional<data::MaskedImageOptions>& mask = {});

/// Rows of texts with classes or numbers. Warns of evaluation texts that nearly are training texts.
Datasets labelled_datasets(const DatasetInputs& inputs, const data::LabelFormat& label_format);

}  // namespace weft::objectives
