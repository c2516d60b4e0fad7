#include "kernels/embedding.h"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/fused.h"
#include "kernels/grad_accumulator.h"
#include "kernels/operation_profiler.h"
#include "kernels/reference.h"
#include "kernels/to_device.h"

namespace weft::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void check_rows(const at::Tensor& table, const at::Tensor& rows, const char* name) {
  const int64_t size = table.size(0);
  const auto* const row = elements<const int64_t>(rows);
  for (int64_t i = 0; i < rows.numel(); ++i) {
    TORCH_CHECK(row[i] >= 0 && row[i] < size, "embedding_sum expects ", name, " in [0, ", size,
                "), got ", row[i]);
  }
}

// Gradient rows that belong to the same row of the table; long runs are split so that threads can
// divide the work.
struct Segment {
  int64_t id;
  int64_t begin;  // index into `order`
  int64_t end;
  int64_t part;  // destination of its sum: -1 for the table itself, else a row of the parts
};

struct Gather {
  std::vector<int64_t> order;  // rows of the gradient grouped by id, original order within an id
  std::vector<Segment> segments;
  int64_t parts = 0;
};

Gather gather_by_id(const int64_t* ids, int64_t count, int64_t table_rows) {
  constexpr int64_t kMaxLength = 256;
  std::vector<int64_t> start(table_rows + 1, 0);
  for (int64_t i = 0; i < count; ++i) {
    ++start[ids[i] + 1];
  }
  Gather gather;
  gather.order.resize(count);
  for (int64_t id = 0; id < table_rows; ++id) {
    const int64_t size = start[id + 1];
    start[id + 1] += start[id];
    for (int64_t begin = 0; begin < size; begin += kMaxLength) {
      gather.segments.push_back({.id = id,
                                 .begin = start[id] + begin,
                                 .end = start[id] + std::min(size, begin + kMaxLength),
                                 .part = size > kMaxLength ? gather.parts++ : -1});
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    gather.order[start[ids[i]]++] = i;
  }
  return gather;
}

// Adds up the partial sums of each table row that was split.
template <class T>
void join_parts(const Gather& gather, const at::Tensor& parts, const at::Tensor& table) {
  const int64_t columns = table.size(1);
  std::vector<int64_t> all(gather.parts);
  for (int64_t part = 0; part < gather.parts; ++part) {
    all[part] = part;
  }
  const auto sum = at::empty({columns}, parts.options());
  for (size_t s = 0; s < gather.segments.size(); ++s) {
    const auto& first = gather.segments[s];
    if (first.part < 0) {
      continue;
    }
    int64_t count = 1;
    while (s + 1 < gather.segments.size() && gather.segments[s + 1].id == first.id) {
      ++count;
      ++s;
    }
    operations<float>().gather_sum({.table = elements<const float>(parts),
                                    .rows = all.data() + first.part,
                                    .count = count,
                                    .columns = columns,
                                    .sum_fp32 = elements<float>(sum),
                                    .out = nullptr});
    table.select(0, first.id).add_(sum);
  }
}

// Adds the rows of the gradient (N, D) to the rows of the table (V, D) that they are gathered for.
void scatter_add(const at::Tensor& table, const at::Tensor& gradient, const Gather& gather) {
  const int64_t columns = gradient.size(1);
  const auto count = static_cast<int64_t>(gather.segments.size());
  const auto sums = at::empty({count, columns}, gradient.options());
  const auto parts = at::empty({gather.parts, columns}, gradient.options().dtype(at::kFloat));
  dispatch_element_type(gradient, [&](auto element) {
    using T = decltype(element);
    parallel_for(0, count, row_grain(columns), [&](int64_t begin, int64_t end) {
      for (int64_t s = begin; s < end; ++s) {
        const auto& segment = gather.segments[s];
        const bool is_part = segment.part >= 0;
        T* const sum = elements<T>(sums) + s * columns;
        T* const row = elements<T>(table) + segment.id * columns;
        operations<T>().gather_sum(
            {.table = elements<const T>(gradient),
             .rows = gather.order.data() + segment.begin,
             .count = segment.end - segment.begin,
             .columns = columns,
             .sum_fp32 = is_part ? elements<float>(parts) + segment.part * columns : nullptr,
             .out = sum});
        if (!is_part) {
          operations<T>().embedding_row(
              {.tables = {row, sum, nullptr}, .out = row, .columns = columns});
        }
      }
    });
    join_parts<T>(gather, parts, table);
  });
}

// One embedding table and the row indices to look up; both undefined if absent.
struct EmbeddingPart {
  at::Tensor table;
  at::Tensor rows;
};

at::Tensor sum_of_parts(const EmbeddingPart (&parts)[3]) {
  const int64_t columns = parts[0].table.size(1);
  auto out = at::empty({parts[0].rows.numel(), columns}, parts[0].table.options());
  dispatch_element_type(out, [&](auto element) {
    using T = decltype(element);
    parallel_for(0, out.size(0), row_grain(columns), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        cpu::EmbeddingRow<T> row{
            .tables = {}, .out = elements<T>(out) + i * columns, .columns = columns};
        for (int t = 0; t < 3; ++t) {
          row.tables[t] = parts[t].table.defined()
                              ? elements<const T>(parts[t].table) +
                                    elements<const int64_t>(parts[t].rows)[i] * columns
                              : nullptr;
        }
        operations<T>().embedding_row(row);
      }
    });
  });
  return out;
}

at::Tensor contiguous(const std::optional<at::Tensor>& x) {
  return x.has_value() ? x->contiguous() : at::Tensor();
}

class EmbeddingSum : public torch::autograd::Function<EmbeddingSum> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& word,
                            const std::optional<at::Tensor>& position,
                            const std::optional<at::Tensor>& type,
                            const at::Tensor& ids,
                            const std::optional<at::Tensor>& positions,
                            const std::optional<at::Tensor>& types) {
    const EmbeddingPart parts[3] = {{word.contiguous(), ids.contiguous()},
                                    {contiguous(position), contiguous(positions)},
                                    {contiguous(type), contiguous(types)}};
    constexpr const char* kNames[3] = {"ids", "positions", "types"};
    for (int t = 0; t < 3; ++t) {
      if (parts[t].table.defined()) {
        check_rows(parts[t].table, parts[t].rows, kNames[t]);
      }
    }
    context->save_for_backward({parts[0].rows, parts[1].rows, parts[2].rows, word,
                                position.value_or(at::Tensor()), type.value_or(at::Tensor())});
    return sum_of_parts(parts);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto gradient = gradients[0].contiguous();
    variable_list result(6);
    size_t edge = 0;  // absent tables have no edge
    for (int t = 0; t < 3; ++t) {
      const auto& table = saved[3 + t];
      if (table.defined() && context->needs_input_grad(edge++)) {
        auto sum = grad_accumulator(table);
        if (!sum.defined()) {
          result[t] = sum = at::zeros(table.sizes(), gradient.options());
        }
        const auto& ids = saved[t];
        scatter_add(sum, gradient,
                    gather_by_id(elements<const int64_t>(ids), ids.numel(), table.size(0)));
      }
    }
    return result;
  }
};

// 1 / length of each sequence, 0 for an empty one: (B, 1).
at::Tensor inverse_lengths(const Layout& layout, const at::TensorOptions& options) {
  std::vector<float> scales;
  scales.reserve(layout.offsets.size());
  for (int64_t b = 0; b < layout.sequences(); ++b) {
    const auto length = layout.length(b);
    scales.push_back(length > 0 ? 1 / static_cast<float>(length) : 0);
  }
  return to_device(scales, options.device()).unsqueeze(1);
}

class EmbeddingMean : public torch::autograd::Function<EmbeddingMean> {
 public:
  static at::Tensor forward(AutogradContext* context,
                            const at::Tensor& table,
                            const at::Tensor& ids,
                            const Layout& layout) {
    const auto values = table.contiguous();
    const auto rows = ids.contiguous();
    check_rows(values, rows, "ids");
    context->save_for_backward({table, rows});
    context->saved_data["offsets"] = layout.offsets;
    const int64_t columns = table.size(1);
    auto sums = at::empty({layout.sequences(), columns}, table.options().dtype(at::kFloat));
    dispatch_element_type(values, [&](auto element) {
      using T = decltype(element);
      parallel_for(0, layout.sequences(), 4, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          operations<T>().gather_sum({.table = elements<const T>(values),
                                      .rows = elements<const int64_t>(rows) + layout.offsets[b],
                                      .count = layout.length(b),
                                      .columns = columns,
                                      .sum_fp32 = elements<float>(sums) + b * columns,
                                      .out = nullptr});
        }
      });
    });
    return sums.mul_(inverse_lengths(layout, sums.options())).to(table.scalar_type());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto& table = saved[0];
    const auto layout =
        Layout::from_offsets(context->saved_data["offsets"].toIntVector(), table.device());
    const auto scaled = (gradients[0] * inverse_lengths(layout, gradients[0].options()))
                            .to(gradients[0].scalar_type())
                            .contiguous();  // (B, D)
    auto gather = gather_by_id(elements<const int64_t>(saved[1]), saved[1].numel(), table.size(0));
    std::vector<int64_t> sequence_of(static_cast<size_t>(layout.tokens()));
    for (int64_t b = 0; b < layout.sequences(); ++b) {
      std::fill(sequence_of.begin() + layout.offsets[b],
                sequence_of.begin() + layout.offsets[b + 1], b);
    }
    for (auto& row : gather.order) {
      row = sequence_of[row];
    }
    auto sum = grad_accumulator(table);
    variable_list result(3);
    if (!sum.defined()) {
      result[0] = sum = at::zeros(table.sizes(), scaled.options());
    }
    scatter_add(sum, scaled, gather);
    return result;
  }
};

}  // namespace

at::Tensor embedding_sum(const at::Tensor& word,
                         const at::Tensor& ids,
                         const at::Tensor& position,
                         const at::Tensor& positions,
                         const at::Tensor& type,
                         const at::Tensor& types) {
  const ScopedOperationTimer timer(Operation::kEmbedding);
  const auto suits = [&](const at::Tensor& table, const at::Tensor& rows) {
    if (!table.defined()) {
      return true;
    }
    TORCH_CHECK(table.dim() == 2 && table.size(1) == word.size(1) && rows.dim() == 1 &&
                    rows.size(0) == ids.size(0) && rows.scalar_type() == at::kLong,
                "embedding_sum expects tables (V, D) and rows (N) int64, got ", table.sizes(),
                " and ", rows.sizes());
    return has_vector_kernel(table) && table.scalar_type() == word.scalar_type();
  };
  if (suits(word, ids) && suits(position, positions) && suits(type, types)) {
    return EmbeddingSum::apply(word, optional(position), optional(type), ids,
                               position.defined() ? optional(positions) : std::nullopt,
                               type.defined() ? optional(types) : std::nullopt);
  }
  return reference::embedding_sum(word, ids, position, positions, type, types);
}

at::Tensor embedding_mean(const at::Tensor& table, const at::Tensor& ids, const Layout& layout) {
  const ScopedOperationTimer timer(Operation::kEmbedding);
  TORCH_CHECK(table.dim() == 2 && ids.dim() == 1 && ids.size(0) == layout.tokens() &&
                  ids.scalar_type() == at::kLong,
              "embedding_mean expects a table (V, D) and ids (", layout.tokens(), ") int64, got ",
              table.sizes(), " and ", ids.sizes());
  return has_vector_kernel(table) ? EmbeddingMean::apply(table, ids, layout)
                                  : reference::embedding_mean(table, ids, layout);
}

at::Tensor gather_rows(const at::Tensor& x, const at::Tensor& rows) {
  return embedding_sum(x.contiguous(), rows, {}, {}, {}, {});
}

}  // namespace weft::kernels
