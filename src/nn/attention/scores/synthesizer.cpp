#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "base/string_util.h"
#include "kernels/linear/linear.h"
#include "kernels/sum.h"
#include "nn/attention/attention_types.h"
#include "nn/attention/dense_core.h"
#include "nn/attention/scores/score_parts.h"
#include "nn/attention/self_attention.h"

namespace weft::nn {

namespace {

struct SynthesizerOptions {
  std::vector<std::string> kinds{"dense"};
  int64_t length = 512;
  int64_t rank = 8;
  bool is_trainable = true;
};

/// (G, H, L, K) by (H, K, F) -> (G, H, L, F)
at::Tensor by_head(const at::Tensor& x, const at::Tensor& weight) {
  return kernels::batched_product(x, weight.to(x.scalar_type()));
}

/// Rows and columns of a tile in a table over positions (H, length, length).
at::Tensor tile_of_table(const at::Tensor& table, const AttentionSpan& span) {
  return table.narrow(1, span.offset, span.queries).narrow(2, 0, span.keys).unsqueeze(0);
}

/// W2 relu(W1 q): a score for each position of the text (arXiv:2005.00743, section 3.1).
class DenseSynthesizer : public ScoreFunction {
 public:
  DenseSynthesizer(const AttentionOptions& options, int64_t length) {
    const auto width = head_dim(options);
    first_ = register_parameter("first", at::empty({options.heads, width, width}));
    second_ = register_parameter("second", at::empty({options.heads, width, length}));
  }
  at::Tensor scores(const AttentionTile& tile) override {
    const auto hidden = by_head(tile.query, first_).relu();
    return by_head(hidden, second_.narrow(2, 0, tile.span.keys));
  }

 private:
  at::Tensor first_;
  at::Tensor second_;
};

/// A table over positions that no token changes (section 3.2).
class RandomSynthesizer : public ScoreFunction {
 public:
  RandomSynthesizer(const AttentionOptions& options, int64_t length, bool is_trainable) {
    table_ = register_parameter("table", at::empty({options.heads, length, length}), is_trainable);
  }
  at::Tensor scores(const AttentionTile& tile) override { return tile_of_table(table_, tile.span); }

 private:
  at::Tensor table_;
};

/// A(q)_(j mod a) B(q)_(j / a), where a b is the length (section 3.3.1).
class FactorisedDenseSynthesizer : public ScoreFunction {
 public:
  FactorisedDenseSynthesizer(const AttentionOptions& options, int64_t length)
      : inner_(static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(length))))) {
    const auto width = head_dim(options);
    const auto outer = (length + inner_ - 1) / inner_;
    first_ = register_parameter("first", at::empty({options.heads, width, inner_}));
    second_ = register_parameter("second", at::empty({options.heads, width, outer}));
  }
  at::Tensor scores(const AttentionTile& tile) override {
    const auto a = by_head(tile.query, first_).unsqueeze(-2);   // (G, H, L, 1, a)
    const auto b = by_head(tile.query, second_).unsqueeze(-1);  // (G, H, L, b, 1)
    return (b * a).flatten(3).narrow(3, 0, tile.span.keys);
  }

 private:
  int64_t inner_;
  at::Tensor first_;
  at::Tensor second_;
};

/// R1 R2^T, a table of low rank (section 3.3.2).
class FactorisedRandomSynthesizer : public ScoreFunction {
 public:
  FactorisedRandomSynthesizer(const AttentionOptions& options, const SynthesizerOptions& own) {
    const auto size = {options.heads, own.length, own.rank};
    first_ = register_parameter("first", at::empty(size), own.is_trainable);
    second_ = register_parameter("second", at::empty(size), own.is_trainable);
  }
  at::Tensor scores(const AttentionTile& tile) override {
    const auto rows = first_.narrow(1, tile.span.offset, tile.span.queries);
    const auto columns = second_.narrow(1, 0, tile.span.keys);
    return kernels::batched_product(rows, columns.transpose(1, 2)).unsqueeze(0);
  }

 private:
  at::Tensor first_;
  at::Tensor second_;
};

/// The mean of several score functions, with weights that are a softmax of learned numbers (section
/// 3.4).
class MixedScores : public ScoreFunction {
 public:
  MixedScores(const std::vector<std::shared_ptr<ScoreFunction>>& members, int64_t length)
      : members_(members), length_(length) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      register_module(numbered("member", i), members[i]);
    }
    if (members.size() > 1) {
      mixture_ = register_parameter("mixture", at::empty({static_cast<int64_t>(members.size())}));
    }
  }

  at::Tensor scores(const AttentionTile& tile) override {
    if (tile.span.keys > length_) {
      throw UserError(
          str_cat("attention.length: ", length_, ", but a text has ", tile.span.keys, " tokens"));
    }
    const auto type = kernels::accumulate_type(tile.query);
    const auto shares = mixture_.defined() ? mixture_.to(type).softmax(0) : at::Tensor();
    at::Tensor result;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      auto own = members_[i]->scores(tile).to(type);
      if (shares.defined()) {
        const auto share = shares.narrow(0, static_cast<int64_t>(i), 1);
        own = own * kernels::repeat_row(share, own.numel()).view(own.sizes());
      }
      result = result.defined() ? result + own : own;
    }
    return result.expand({tile.query.size(0), -1, -1, -1});
  }

 private:
  std::vector<std::shared_ptr<ScoreFunction>> members_;
  int64_t length_;
  at::Tensor mixture_;
};

using SynthesizerMaker = std::shared_ptr<ScoreFunction> (*)(const AttentionOptions&,
                                                            const SynthesizerOptions&);

const std::vector<std::pair<std::string, SynthesizerMaker>>& synthesizers() {
  static const std::vector<std::pair<std::string, SynthesizerMaker>> kKinds{
      {"dense",
       [](const AttentionOptions& options,
          const SynthesizerOptions& own) -> std::shared_ptr<ScoreFunction> {
         return std::make_shared<DenseSynthesizer>(options, own.length);
       }},
      {"random",
       [](const AttentionOptions& options,
          const SynthesizerOptions& own) -> std::shared_ptr<ScoreFunction> {
         return std::make_shared<RandomSynthesizer>(options, own.length, own.is_trainable);
       }},
      {"factorized_dense",
       [](const AttentionOptions& options,
          const SynthesizerOptions& own) -> std::shared_ptr<ScoreFunction> {
         return std::make_shared<FactorisedDenseSynthesizer>(options, own.length);
       }},
      {"factorized_random",
       [](const AttentionOptions& options,
          const SynthesizerOptions& own) -> std::shared_ptr<ScoreFunction> {
         return std::make_shared<FactorisedRandomSynthesizer>(options, own);
       }},
      {"dot",
       [](const AttentionOptions& options,
          const SynthesizerOptions& /*own*/) -> std::shared_ptr<ScoreFunction> {
         return std::make_shared<DotProductScore>(options.scale);
       }}};
  return kKinds;
}

}  // namespace

AttentionMaker read_synthesizer_attention(config::Section& section) {
  SynthesizerOptions own;
  section.read("scores", own.kinds,
               {.help = "Where the scores come from: dense (each token predicts one for each "
                        "position), random (a learned table of positions), factorized_dense, "
                        "factorized_random, dot (scaled dot products); several are mixed with "
                        "learned weights."});
  section.read("length", own.length,
               {.help = "Length of the longest sequence.",
                .unit = "tokens",
                .range = config::between(1, 1 << 16)});
  section.read("rank", own.rank,
               {.help = "Rank of the factorized random table.", .range = config::between(1, 4096)});
  section.read("trainable", own.is_trainable, {.help = "Whether random tables are trained."});
  std::vector<SynthesizerMaker> makers;
  for (const auto& name : own.kinds) {
    const auto& known = synthesizers();
    const auto found =
        std::ranges::find(known, name, &std::pair<std::string, SynthesizerMaker>::first);
    if (found == known.end()) {
      section.fail("scores", str_cat("'", name,
                                     "' is not one of dense, random, factorized_dense, "
                                     "factorized_random, dot"));
    }
    makers.push_back(found->second);
  }
  if (makers.empty()) {
    section.fail("scores", "found an empty list, at least one is needed");
  }
  return [makers, own](const AttentionOptions& options) {
    std::vector<std::shared_ptr<ScoreFunction>> members;
    members.reserve(makers.size());
    for (const auto& make : makers) {
      members.push_back(make(options, own));
    }
    auto parts = dense_parts(options);
    parts.score = std::make_shared<MixedScores>(members, own.length);
    return attention_with_core(options, std::make_shared<DenseCore>(options, parts));
  };
}

}  // namespace weft::nn
