#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/error.h"
#include "base/string_util.h"
#include "base/threads.h"
#include "kernels/cross_entropy.h"
#include "kernels/linear/linear.h"
#include "kernels/to_device.h"
#include "models/config/family.h"
#include "models/config/layer_types.h"
#include "models/directory.h"
#include "models/ngram/ngram_model.h"
#include "models/ngram/smoothing.h"
#include "models/ngram/token_set_mass.h"
#include "nn/frequency_clusters.h"

namespace weft::models {

namespace {

constexpr double kMostShortlist = 1 << 28;
constexpr double kMostStoredNgrams = (int64_t{1} << 31) - 1;
constexpr int64_t kHistoryGrain = 16;

struct ShortlistOptions {
  std::string ngram = {};  // directory
  int64_t size = 2000;     // S
  NgramOptions tables = {.order = 1, .smoothing = ""};
  int64_t bos_id = -1;
};

ModelOptions ngram_options(const ShortlistOptions& own, int64_t vocabulary) {
  auto options = family_defaults(family_named("ngram"));
  options.head = Head::kCausalLm;
  options.vocabulary = vocabulary;
  options.bos_id = own.bos_id;
  options.ngram = own.tables;
  return options;
}

/// With S tokens in the shortlist, h the tokens so far and beta(h) the probability of the shortlist
/// in the n-gram model:
///
///   P(w | h) = P_network(w | h) beta(h)   for w in the shortlist
///              P_ngram(w | h)             for others
///
/// The tables of the n-gram model are buffers.
class ShortlistOutput : public nn::OutputLayer {
 public:
  ShortlistOutput(const nn::OutputOptions& options, ShortlistOptions own);

  at::Tensor histories(const at::Tensor& ids, const nn::ForwardContext& context) override {
    return ngram_->hidden({.ids = ids}, context);
  }
  at::Tensor logits(const nn::TokenStates& input, const nn::OutputMatrix& /*matrix*/) override;
  at::Tensor loss(const nn::TokenStates& input,
                  const at::Tensor& targets,
                  const nn::OutputMatrix& /*matrix*/,
                  const nn::ForwardContext& /*context*/) override;
  bool needs_statistics() const override { return true; }
  void fit(const nn::TokenStatistics& statistics) override;
  void finish_loading() override;

 private:
  void copy_ngrams(const nn::TokenStatistics& statistics);
  /// Calls `visit` with each row and its history, in parallel.
  template <class Visit>
  void visit_histories(const nn::TokenStates& input, const Visit& visit) const;

  int64_t vocabulary_;
  ShortlistOptions own_;
  std::shared_ptr<NgramModel> ngram_;
  at::Tensor weight_;           // (S, E)
  at::Tensor bias_;             // (S)
  at::Tensor tokens_;           // (S)
  std::vector<int64_t> ranks_;  // V: place of each token in the shortlist, -1: not in it
  TokenSetMass mass_;           // of the shortlist
};

ShortlistOutput::ShortlistOutput(const nn::OutputOptions& options, ShortlistOptions own)
    : vocabulary_(options.vocabulary), own_(std::move(own)) {
  if (own_.ngram.empty()) {
    throw UserError("model.output.ngram: missing, must be the directory of an n-gram model");
  }
  if (own_.size > vocabulary_) {
    throw UserError(str_cat("model.output.shortlist: ", own_.size, ", must be at most ",
                            vocabulary_, ", the size of the vocabulary"));
  }
  weight_ = register_parameter("weight", at::empty({own_.size, options.width}));
  bias_ = register_parameter("bias", at::empty({own_.size}));
  tokens_ = register_buffer("tokens", at::arange(own_.size));
  ngram_ = register_module("ngram", std::make_shared<NgramModel>(ngram_options(own_, vocabulary_)));
}

void ShortlistOutput::copy_ngrams(const nn::TokenStatistics& statistics) {
  const auto fail = [&](const auto&... parts) {
    throw UserError(str_cat("model.output.ngram: ", own_.ngram, parts...));
  };
  const auto directory = model_directory(own_.ngram);
  const auto loaded = load_model(directory, read_model_config(directory), 0);
  const auto* ngram = dynamic_cast<const NgramModel*>(loaded.model.get());
  TORCH_CHECK(ngram != nullptr, own_.ngram, " is not an n-gram model");
  if (ngram->options().ngram.sizes != own_.tables.sizes) {
    fail(": has other n-grams than when the config was read");
  }
  if (ngram->options().vocabulary != vocabulary_) {
    fail(": has ", ngram->options().vocabulary, " tokens, must be ", vocabulary_,
         ", as the model has");
  }
  if (statistics.tokens_of) {
    const auto tokens = statistics.tokens_of(directory);
    for (std::size_t id = 0; id < tokens.size(); ++id) {
      if (const auto own = statistics.token(static_cast<int64_t>(id)); own != tokens[id]) {
        fail(": token ", id, " is '", tokens[id], "', must be '", own,
             "', as in the tokenizer of the model");
      }
    }
  }
  ngram_->set_tables({ngram->tables().orders()});
}

void ShortlistOutput::fit(const nn::TokenStatistics& statistics) {
  copy_ngrams(statistics);
  const auto order = nn::by_frequency(statistics.counts);
  for (auto rank = own_.size; rank < vocabulary_; ++rank) {
    const auto token = order[static_cast<std::size_t>(rank)];
    if (statistics.counts[static_cast<std::size_t>(token)] > 0 &&
        ngram_->tables().is_never_predicted(token)) {
      throw UserError(str_cat("model.output.shortlist: ", own_.size, ", must be at least ",
                              rank + 1, ", so that it contains token ", token,
                              ", which the n-gram model never predicts"));
    }
  }
  tokens_.copy_(
      kernels::to_device(std::vector<int64_t>(order.begin(), order.begin() + own_.size), at::kCPU));
  finish_loading();
}

void ShortlistOutput::finish_loading() {
  ngram_->finish_loading();
  ranks_ = nn::ranks_of(tokens_, vocabulary_, "the shortlist of the output layer");
  std::vector<bool> is_member(ranks_.size());
  std::transform(ranks_.begin(), ranks_.end(), is_member.begin(),
                 [](int64_t rank) { return rank >= 0; });
  mass_ = TokenSetMass(ngram_->tables(), is_member);
}

template <class Visit>
void ShortlistOutput::visit_histories(const nn::TokenStates& input, const Visit& visit) const {
  TORCH_CHECK(input.histories.defined() && input.histories.size(0) == input.states.size(0),
              "the shortlist needs the history of every row");
  const auto histories = input.histories.contiguous();
  const auto width = histories.size(1);
  const auto* data = histories.const_data_ptr<int64_t>();
  parallel_for(histories.size(0), kHistoryGrain, [&](int64_t begin, int64_t end) {
    for (auto row = begin; row < end; ++row) {
      visit(row, NgramHistory(data + row * width, static_cast<std::size_t>(width)));
    }
  });
}

at::Tensor ShortlistOutput::logits(const nn::TokenStates& input,
                                   const nn::OutputMatrix& /*matrix*/) {
  std::vector<float> log_mass(static_cast<std::size_t>(input.states.size(0)));
  visit_histories(input, [&](int64_t row, NgramHistory history) {
    log_mass[static_cast<std::size_t>(row)] = static_cast<float>(std::log(mass_.after(history)));
  });
  const auto device = input.states.device();
  const auto all = kernels::to_device(ngram_->lm_logits(input.histories), device);  // (M, V)
  if (own_.size == 0) {
    return all;
  }
  const auto words = at::log_softmax(kernels::linear(input.states, weight_, bias_), 1, at::kFloat) +
                     kernels::to_device(log_mass, device).unsqueeze(1);  // (M, S)
  return all.index_copy(1, tokens_, words);
}

at::Tensor ShortlistOutput::loss(const nn::TokenStates& input,
                                 const at::Tensor& targets,
                                 const nn::OutputMatrix& /*matrix*/,
                                 const nn::ForwardContext& /*context*/) {
  const auto ids = targets.cpu().contiguous();
  const auto* tokens = ids.const_data_ptr<int64_t>();
  const auto rank_of = [&](int64_t row) { return ranks_[static_cast<std::size_t>(tokens[row])]; };
  std::vector<double> constants(static_cast<std::size_t>(ids.numel()));  // without the network
  visit_histories(input, [&](int64_t row, NgramHistory history) {
    constants[static_cast<std::size_t>(row)] =
        rank_of(row) >= 0 ? -std::log(mass_.after(history))
                          : -ngram_->tables().log_probability(history, tokens[row]);
  });
  std::vector<int64_t> rows;
  std::vector<int64_t> ranks;
  for (int64_t row = 0; row < ids.numel(); ++row) {
    if (rank_of(row) >= 0) {
      rows.push_back(row);
      ranks.push_back(rank_of(row));
    }
  }
  const auto device = input.states.device();
  const auto constant = at::scalar_tensor(std::accumulate(constants.begin(), constants.end(), 0.0),
                                          at::device(device));
  if (rows.empty()) {
    return constant + input.states.slice(0, 0, 0).sum();
  }
  return constant + kernels::linear_cross_entropy(
                        input.states.index_select(0, kernels::to_device(rows, device)), weight_,
                        bias_, kernels::to_device(ranks, device));
}

/// Takes from the n-gram model in a directory what config.json must have to load its tables.
void read_ngram_options(const config::Section& section, ShortlistOptions& own) {
  try {
    const auto options = read_model_config(model_directory(own.ngram));
    if (!capabilities_of(options.family).is_counted || options.head != Head::kCausalLm) {
      section.fail("ngram", str_cat("found ", architecture_of(options),
                                    ", must be an n-gram language model"));
    }
    own.tables = options.ngram;
    own.bos_id = options.bos_id;
  } catch (const config::Error&) {
    throw;
  } catch (const UserError& error) {
    section.fail("ngram", error.what());
  }
}

}  // namespace

nn::OutputMaker read_shortlist_output(config::Section& section) {
  ShortlistOptions own;
  section.read("ngram", own.ngram,
               {.help = "Directory of an n-gram language model with the vocabulary of this model, "
                        "which gets a copy of it."});
  section.read("shortlist", own.size,
               {.help = "Number of tokens, the most frequent ones in the training data, that the "
                        "network predicts. The n-gram model predicts the others.",
                .unit = "tokens",
                .range = config::between(0, kMostShortlist)});
  if (!own.ngram.empty() && !section.has("ngram_counts")) {
    read_ngram_options(section, own);
  }
  section.read("ngram_counts", own.tables.sizes,
               {.help = "Of the n-gram model, the number of n-grams of each order above 1; taken "
                        "from its directory.",
                .range = config::between(0, kMostStoredNgrams)});
  own.tables.order = static_cast<int64_t>(own.tables.sizes.size()) + 1;
  std::vector<std::string> names = {""};
  for (const auto& method : smoothing_methods()) {
    names.emplace_back(method.name);
  }
  section.read_name("ngram_smoothing", own.tables.smoothing, names,
                    {.help = "Of the n-gram model; taken from its directory."});
  section.read("ngram_bos_token_id", own.bos_id,
               {.help = "Of the n-gram model, the token that begins texts, -1: none; taken from "
                        "its directory.",
                .range = config::between(-1, kMostStoredNgrams)});
  return [own](const nn::OutputOptions& options) {
    return std::make_shared<ShortlistOutput>(options, own);
  };
}

}  // namespace weft::models
