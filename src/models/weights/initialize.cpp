#include "models/weights/initialize.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include "base/file.h"
#include "base/random.h"
#include "base/string_util.h"
#include "base/threads.h"
#include "models/config/family_definition.h"
#include "nn/embedding/token_embedding.h"
#include "nn/initial_values.h"

namespace weft::models {

namespace {

constexpr int64_t kChunk =
    4096;  // values per random stream; changing it changes the initial weights

/// Draws a normal, resampled beyond `cutoff` standard deviations; 0: no cutoff.
double truncated_normal(Random& random, double cutoff) {
  double value = random.normal();
  while (cutoff > 0 && std::abs(value) > cutoff) {
    value = random.normal();
  }
  return value;
}

struct NormalInit {
  double init_std = 0;
  double cutoff = 0;
};

void fill_normal(at::Tensor parameter,
                 const std::string& name,
                 const NormalInit& normal,
                 uint64_t seed) {
  auto values = parameter.is_contiguous() && parameter.is_cpu()
                    ? parameter
                    : at::empty(parameter.sizes(), at::kFloat);
  auto* data = values.data_ptr<float>();
  const int64_t count = values.numel();
  parallel_for((count + kChunk - 1) / kChunk, 1, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      Random random(seed, RandomPurpose::kInitialize, static_cast<uint64_t>(chunk), digest(name));
      const int64_t last = std::min(count, (chunk + 1) * kChunk);
      for (int64_t i = chunk * kChunk; i < last; ++i) {
        data[i] = static_cast<float>(normal.init_std * truncated_normal(random, normal.cutoff));
      }
    }
  });
  if (values.data_ptr() != parameter.data_ptr()) {
    parameter.copy_(values);
  }
}

/// Alternating sines and cosines with wavelengths up to 10,000 * 2 pi (arXiv:1706.03762, section
/// 3.5). Rows before the first position stay zero.
void fill_sinusoids(at::Tensor parameter, int64_t first) {
  const int64_t dim = parameter.size(1);
  const auto rows = parameter.size(0) - first;
  const auto positions = at::arange(rows, at::kDouble).unsqueeze(1);  // (P, 1)
  const auto pairs = at::arange(dim, at::kDouble).div(2, "floor");    // (D)
  const auto angles =
      positions / at::pow(10000.0, 2.0 * pairs / static_cast<double>(dim));  // (P, D)
  const auto is_even = at::arange(dim).remainder(2).eq(0);
  parameter.zero_();
  parameter.narrow(0, first, rows).copy_(at::where(is_even, angles.sin(), angles.cos()));
}

/// U(-bound, bound) + shift.
void fill_uniform(
    at::Tensor parameter, const std::string& name, double bound, uint64_t seed, double shift = 0) {
  Random random(seed, RandomPurpose::kInitialize, 0, digest(name));
  auto values = at::empty(parameter.sizes(), at::kFloat);
  auto* data = values.data_ptr<float>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    data[i] = static_cast<float>(bound * (2 * random.uniform_double() - 1) + shift);
  }
  parameter.copy_(values);
}

/// Word embeddings other than a table, and the name of such a table in their place.
struct OwnEmbedding {
  nn::InitialSpread spread;
  std::string table;
};

/// Of the matrices of all such embeddings.
std::map<std::string, OwnEmbedding> own_embeddings(const Model& model) {
  std::map<std::string, OwnEmbedding> result;
  for (const auto& part : model.named_modules("", /*include_self=*/false)) {
    if (const auto* embedding = dynamic_cast<const nn::TokenEmbedding*>(part.value().get())) {
      for (const auto& parameter : embedding->named_parameters()) {
        if (parameter.value().dim() < 2) {
          continue;
        }
        result[str_cat(part.key(), ".", parameter.key())] = {
            .spread = embedding->initial_spread(parameter.key(), parameter.value()),
            .table = str_cat(part.key(), ".weight")};
      }
    }
  }
  return result;
}

Initializer initializer_of(const std::string& name,
                           const ModelOptions& options,
                           const OwnEmbedding* embedding) {
  using Kind = nn::InitialSpread::Kind;
  const auto spread = embedding != nullptr ? embedding->spread : nn::InitialSpread();
  switch (spread.kind) {
    case Kind::kFamily:
      break;
    case Kind::kTable: {
      auto values = options.family->initializer(embedding->table, options);
      values.zeroes_padding = false;  // the rows are not the ids
      return values;
    }
    case Kind::kNormal:
      return {.init_std = spread.value};
    case Kind::kUniform:
      return {.kind = Initializer::Kind::kUniform, .bound = spread.value};
  }
  return options.family->initializer(name, options);
}

void set(at::Tensor parameter,
         const std::string& name,
         const ModelOptions& options,
         uint64_t seed,
         const OwnEmbedding* embedding) {
  if (parameter.dim() < 2) {
    // The idf weight of an unseen word is one until it is computed from data.
    const bool is_one = name.ends_with("norm.weight") || name == "idf" || name == "mix_scale";
    parameter.fill_(is_one ? 1.0 : 0.0);
    return;
  }
  const auto values = initializer_of(name, options, embedding);
  switch (values.kind) {
    case Initializer::Kind::kNormal:
      fill_normal(parameter, values.same_as.empty() ? name : values.same_as,
                  {.init_std = values.init_std, .cutoff = values.cutoff}, seed);
      if (values.first_rows > 0) {
        parameter.narrow(0, 0, values.first_rows).mul_(values.first_scale);
      }
      break;
    case Initializer::Kind::kUniform:
      fill_uniform(parameter, name, values.bound, seed, values.shift);
      break;
    case Initializer::Kind::kSinusoids:
      fill_sinusoids(parameter, position_offset(options));
      break;
    case Initializer::Kind::kZero:
      parameter.zero_();
      break;
  }
  if (values.zeroes_padding && options.pad_id >= 0 && options.pad_id < parameter.size(0)) {
    parameter.select(0, options.pad_id).zero_();
  }
}

}  // namespace

void initialize(Model& model, uint64_t seed, const std::set<std::string>& names) {
  const at::NoGradGuard guard;
  const auto is_wanted = [&](const std::string& name) {
    return names.empty() || names.contains(name);
  };
  const auto embeddings = own_embeddings(model);
  for (const auto& parameter : model.named_parameters()) {
    if (is_wanted(parameter.key())) {
      const auto embedding = embeddings.find(parameter.key());
      set(parameter.value(), parameter.key(), model.options(), seed,
          embedding == embeddings.end() ? nullptr : &embedding->second);
    }
  }
  for (const auto& part : model.named_modules("", /*include_self=*/false)) {
    const auto* own = dynamic_cast<const nn::InitialValues*>(part.value().get());
    if (own == nullptr) {
      continue;
    }
    for (const auto& parameter : part.value()->named_parameters(/*recurse=*/false)) {
      if (is_wanted(str_cat(part.key(), ".", parameter.key()))) {
        own->initialize(parameter.key(), parameter.value());
      }
    }
  }
}

}  // namespace weft::models
