#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

namespace weft::nn {

/// One of the feed-forwards of a mixture of experts. With expert parallelism one rank has it.
class Expert : public torch::nn::Module {
 public:
  /// Number `index` of `experts`. `token_elements`: of the rows that a token has for the mixture,
  /// `top` times D.
  Expert(int64_t index, int64_t experts, int64_t token_elements)
      : index_(index), experts_(experts), token_elements_(token_elements) {}

  int64_t index() const { return index_; }
  int64_t experts() const { return experts_; }
  int64_t token_elements() const { return token_elements_; }

 private:
  int64_t index_;
  int64_t experts_;
  int64_t token_elements_;
};

/// The first expert of a rank, of `experts` that the ranks divide evenly: rank r has those from
/// first_expert(r) to first_expert(r + 1) - 1.
int64_t first_expert(int rank, int64_t experts, int ranks);

/// Brings tokens to the ranks that have their experts, in the forward passes of the thread that
/// created it, and their gradients back, for as long as it exists (expert parallelism,
/// arXiv:2006.16668, section 3.2). At most one per thread. All ranks must run the same layers
/// forward and backward in the same order, also without tokens.
class ExpertExchange {
 public:
  ExpertExchange();
  ExpertExchange(const ExpertExchange&) = delete;
  ExpertExchange& operator=(const ExpertExchange&) = delete;
  virtual ~ExpertExchange();

  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// Whether ranks divide the expert and the others of its mixture: not those of a teacher.
  virtual bool divides(const Expert& expert) const = 0;
  /// Sends the first sent[0] rows to rank 0, the next sent[1] to rank 1, ... Returns the rows of
  /// all ranks for this one, in their order: received[r] of rank r. (N, D) -> (M, D), without
  /// autograd.
  virtual at::Tensor exchange(const at::Tensor& rows,
                              const std::vector<int64_t>& sent,
                              const std::vector<int64_t>& received) = 0;

  /// The thread's exchange, if it divides the expert; else null.
  static ExpertExchange* of(const Expert& expert);
};

/// How the tokens of one layer travel through an exchange. Making it is a collective.
class ExpertDispatch {
 public:
  /// `counts`: tokens of this rank for each of all experts.
  ExpertDispatch(ExpertExchange& exchange, const std::vector<int64_t>& counts);

  /// The rows for the experts of this rank, one expert after another, each with the rows of rank 0
  /// first; `rows`: those of this rank for all experts, in their order. (N, D) -> (M, D)
  at::Tensor send(const at::Tensor& rows) const;
  /// The other way: what was computed for each of these rows. (M, D) -> (N, D)
  at::Tensor send_back(const at::Tensor& rows) const;

  /// Rows for each expert of this rank; the first of them.
  const std::vector<int64_t>& counts() const { return counts_; }
  int64_t first() const { return first_; }

 private:
  int64_t first_ = 0;
  ExpertExchange& exchange_;
  std::vector<int64_t> counts_;
  std::vector<int64_t> sent_;       // rows to each rank
  std::vector<int64_t> received_;   // from each rank
  std::vector<int64_t> by_expert_;  // of each row in the order of experts, its place as received
  std::vector<int64_t> by_rank_;    // the inverse
};

}  // namespace weft::nn
