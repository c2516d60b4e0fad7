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

/// The first `count` examples with at most `longest` tokens (source and target together); if there
/// are fewer, also the first longer ones, with source and target cut to `longest` tokens.
std::vector<data::Example> short_examples(const data::Dataset& dataset,
                                          int64_t count,
                                          int64_t longest);

/// One example as a batch.
data::Batch batch_of(const data::Example& example);

/// A token for readers: the characters behind the pieces of byte-level tokenizers, with `▁` for a
/// space before it.
std::string shown_token(const data::Tokenizer& tokenizer, int64_t id);
/// The same for several.
std::vector<std::string> shown_tokens(const data::Tokenizer& tokenizer,
                                      const std::vector<int64_t>& ids);

/// The text of these tokens, shortened to `most` characters.
std::string text_of(const data::Tokenizer& tokenizer,
                    const std::vector<int64_t>& ids,
                    std::size_t most = 60);

/// The values of a tensor (N), and the rows of a matrix (N, M).
std::vector<double> values_of(const at::Tensor& x);
std::vector<std::vector<double>> rows_of(const at::Tensor& x);

/// Name of a class; a dash for an example without one.
std::string label_name(const LoadedRun& run, int64_t label);

/// Last hidden states (N, D) of a batch, without gradients; attention weights go to the recorder.
at::Tensor hidden_states_of(const LoadedRun& run,
                            const data::Batch& batch,
                            nn::AttentionRecorder* recorder = nullptr);

/// The image of an example as the model sees it, hidden patches grey or, if `shows_hidden`, as they
/// are.
formats::Image image_of(const data::Example& example,
                        const LoadedRun& run,
                        bool shows_hidden = false);
/// `data:image/png;base64,...`
std::string data_url(const formats::Image& image);

/// The first two principal components of the rows of x (N, E), N > 0: (N, 2) fp64. The signs are
/// chosen so that the largest coordinate of each component is positive.
at::Tensor principal_components(const at::Tensor& x);

}  // namespace weft::report
