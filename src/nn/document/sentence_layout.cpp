#include <numeric>
#include <utility>
#include <vector>

#include "nn/document/document_encoder.h"

namespace weft::nn {

namespace {

void check_sentences(const ForwardContext& context) {
  const auto& lengths = context.sentences.lengths;
  const auto& counts = context.sentences.counts;
  TORCH_CHECK(std::ssize(counts) == context.layout.sequences(), "sentences of ", counts.size(),
              " sequences, but there are ", context.layout.sequences());
  auto length = lengths.begin();
  for (std::size_t b = 0; b < counts.size(); ++b) {
    TORCH_CHECK(counts[b] > 0 && counts[b] <= lengths.end() - length, "sequence ", b, " has ",
                counts[b], " sentences, but ", lengths.end() - length, " are left");
    const auto tokens = std::accumulate(length, length + counts[b], int64_t{0});
    const auto expected = context.layout.length(static_cast<int64_t>(b));
    TORCH_CHECK(tokens == expected, "the sentences of sequence ", b, " have ", tokens,
                " tokens, but it has ", expected);
    length += counts[b];
  }
  TORCH_CHECK(length == lengths.end(), lengths.end() - length, " sentences belong to no sequence");
}

}  // namespace

ForwardContext sentence_context(const ForwardContext& context) {
  auto result = context;
  if (context.sentences.counts.empty()) {
    return result;
  }
  check_sentences(context);
  result.attention_recorder = nullptr;
  result.layout =
      kernels::Layout::from_lengths(context.sentences.lengths, context.layout.positions.device());
  const auto& earlier = context.earlier_sentences.lengths;
  result.first_sequence = std::ssize(earlier);
  result.earlier_lengths = earlier;
  return result;
}

ForwardContext document_context(const ForwardContext& context) {
  auto result = context;
  const bool is_divided = !context.sentences.counts.empty();
  const auto sequences = static_cast<std::size_t>(context.layout.sequences());
  const auto counts = is_divided ? context.sentences.counts : std::vector<int64_t>(sequences, 1);
  result.layout = kernels::Layout::from_lengths(counts, context.layout.positions.device());
  result.token_types = at::Tensor();
  result.attention_recorder = nullptr;
  if (is_divided) {
    result.first_row = std::ssize(context.earlier_sentences.lengths);
    result.earlier_lengths = context.earlier_sentences.counts;
  } else {
    result.first_row = context.first_sequence;
    result.earlier_lengths =
        std::vector<int64_t>(static_cast<std::size_t>(context.first_sequence), 1);
  }
  return result;
}

}  // namespace weft::nn
