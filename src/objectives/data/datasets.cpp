#include "objectives/data/datasets.h"

#include "base/string_util.h"
#include "config/section.h"

namespace weft::objectives {

int64_t DatasetInputs::length() const {
  const int64_t length = data.length.value_or(model.length);
  if (length > model.length) {
    throw config::Error(str_cat("data.length: ", length, " is more than the maximum of ",
                                model.length, " positions of the model"));
  }
  return length;
}

void add_remarks(const std::string& which, const data::Dataset& dataset, Datasets& datasets) {
  for (const auto& remark : dataset.remarks()) {
    datasets.remarks.push_back(str_cat(which, ": ", remark));
  }
}

Datasets datasets_by(const DatasetInputs& inputs, const DatasetMaker& make) {
  Datasets result;
  if (!inputs.data.train.empty()) {
    result.train = make(inputs.data.train, inputs.data, true);
    add_remarks("train", *result.train, result);
  }
  if (!inputs.data.evaluate.empty()) {
    auto plain = inputs.data;
    plain.languages = {};
    result.evaluate = make(inputs.data.evaluate, plain, false);
    add_remarks("evaluate", *result.evaluate, result);
  }
  return result;
}

}  // namespace weft::objectives
