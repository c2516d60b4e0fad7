#include "formats/tensorboard_values.h"

#include "formats/protobuf.h"

namespace weft::formats::tensorboard {

namespace {

using protobuf::put_bytes;
using protobuf::put_double;
using protobuf::put_integer;

// Fields of Summary.Value.
constexpr uint32_t kTag = 1;
constexpr uint32_t kSimpleValue = 2;
constexpr uint32_t kImage = 4;
constexpr uint32_t kHistogram = 5;
constexpr uint32_t kTensor = 8;
constexpr uint32_t kMetadata = 9;

std::string value_with(std::string_view tag) {
  std::string value;
  put_bytes(value, kTag, tag);
  return value;
}

/// SummaryMetadata of a plugin, with data of its own.
std::string metadata_of(std::string_view plugin, std::string_view content) {
  std::string data;
  put_bytes(data, 1, plugin);
  if (!content.empty()) {
    put_bytes(data, 2, content);
  }
  std::string metadata;
  put_bytes(metadata, 1, data);
  return metadata;
}

void put_doubles(std::string& out, uint32_t field, const std::vector<double>& values) {
  put_bytes(out, field,
            {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)});
}

/// google.protobuf.Value
std::string any_value(const HyperparameterValue& value) {
  std::string message;
  if (const auto* number = std::get_if<double>(&value)) {
    put_double(message, 2, *number);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    put_bytes(message, 3, *text);
  } else {
    put_integer(message, 4, std::get<bool>(value) ? 1 : 0);
  }
  return message;
}

/// The number of a type in DataType: string, bool, float64.
uint64_t type_of(const HyperparameterValue& value) {
  return std::holds_alternative<std::string>(value) ? 1
         : std::holds_alternative<bool>(value)      ? 2
                                                    : 3;
}

/// A value of the plugin `hparams`, whose data are one field of HParamsPluginData.
std::string hparams_value(std::string_view tag, uint32_t field, std::string_view message) {
  std::string data;
  put_bytes(data, field, message);
  auto value = value_with(tag);
  put_bytes(value, kMetadata, metadata_of("hparams", data));
  return value;
}

}  // namespace

std::string scalar(std::string_view tag, double value) {
  auto message = value_with(tag);
  protobuf::put_key(message, kSimpleValue, protobuf::kFixed32);
  protobuf::put_fixed(message, static_cast<float>(value));
  return message;
}

std::string histogram(std::string_view tag, const Histogram& histogram) {
  std::string proto;  // HistogramProto
  put_double(proto, 1, histogram.min);
  put_double(proto, 2, histogram.max);
  put_double(proto, 3, histogram.count);
  put_double(proto, 4, histogram.sum);
  put_double(proto, 5, histogram.sum_of_squares);
  put_doubles(proto, 6, histogram.limits);
  put_doubles(proto, 7, histogram.counts);
  auto value = value_with(tag);
  put_bytes(value, kHistogram, proto);
  return value;
}

std::string text(std::string_view tag, std::string_view text) {
  constexpr uint64_t kString = 7;  // DataType of TensorFlow
  std::string size;                // TensorShapeProto.Dim
  put_integer(size, 1, 1);
  std::string shape;
  put_bytes(shape, 2, size);
  std::string tensor;
  put_integer(tensor, 1, kString);
  put_bytes(tensor, 2, shape);
  put_bytes(tensor, 8, text);
  auto value = value_with(tag);
  put_bytes(value, kTensor, tensor);
  put_bytes(value, kMetadata, metadata_of("text", ""));
  return value;
}

std::string image(std::string_view tag, const Image& image) {
  std::string proto;  // Summary.Image
  put_integer(proto, 1, static_cast<uint64_t>(image.height));
  put_integer(proto, 2, static_cast<uint64_t>(image.width));
  put_integer(proto, 3, static_cast<uint64_t>(image.channels));
  put_bytes(proto, 4, encode_png(image));
  auto value = value_with(tag);
  put_bytes(value, kImage, proto);
  return value;
}

std::vector<std::string> hyperparameters(
    const std::vector<std::pair<std::string, HyperparameterValue>>& values,
    const std::vector<std::string>& metric_tags,
    double start_time) {
  constexpr uint32_t kExperiment = 2;  // fields of HParamsPluginData
  constexpr uint32_t kSessionStart = 3;
  std::string experiment;
  std::string start;
  for (const auto& [name, value] : values) {
    std::string info;  // HParamInfo
    put_bytes(info, 1, name);
    put_integer(info, 4, type_of(value));
    put_bytes(experiment, 4, info);
    std::string entry;
    put_bytes(entry, 1, name);
    put_bytes(entry, 2, any_value(value));
    put_bytes(start, 1, entry);
  }
  for (const auto& tag : metric_tags) {
    std::string name;  // MetricName
    put_bytes(name, 2, tag);
    std::string info;
    put_bytes(info, 1, name);
    put_bytes(experiment, 5, info);
  }
  put_double(start, 5, start_time);
  return {hparams_value("_hparams_/experiment", kExperiment, experiment),
          hparams_value("_hparams_/session_start_info", kSessionStart, start)};
}

}  // namespace weft::formats::tensorboard
