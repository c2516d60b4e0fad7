#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "data/batch.h"
#include "data/dataset.h"
#include "data/tokenizer.h"
#include "formats/image.h"
#include "nn/attention/attention_recorder.h"
#include "report/report.h"

namespace weft::report {

/// The first `count` items with 3 to `longest` tokens (source and target together), in their order;
/// if there are none, the shortest item.
std::vector<int64_t> short_items(const data::Dataset& dataset, int64_t count, int64_t longest);

/// One example as a batch.
data::Batch batch_of(const data::Dataset& dataset, int64_t item);

/// The pieces of these tokens.
std::vector<std::string> pieces_of(const data::Tokenizer& tokenizer,
                                   const std::vector<int64_t>& ids);

/// The text of these tokens, shortened to `most` characters.
std::string text_of(const data::Tokenizer& tokenizer,
                    const std::vector<int64_t>& ids,
                    std::size_t most = 60);

/// Last hidden states (N, D) of a batch, without gradients; attention weights go to the recorder.
at::Tensor hidden_states_of(const LoadedRun& run,
                            const data::Batch& batch,
                            nn::AttentionRecorder* recorder = nullptr);

/// The image of an example as the model sees it, hidden patches grey.
formats::Image image_of(const data::Example& example, const LoadedRun& run);
/// `data:image/png;base64,...`
std::string data_url(const formats::Image& image);

/// The first two principal components of the rows of x (N, E), N > 0: (N, 2) fp64. The signs are
/// chosen so that the largest coordinate of each component is positive.
at::Tensor principal_components(const at::Tensor& x);

}  // namespace weft::report
