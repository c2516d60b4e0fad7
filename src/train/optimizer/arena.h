#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/module.h"
#include "train/optimizer/train_options.h"

namespace weft::train {

/// One parameter and its place in the arena.
struct ArenaEntry {
  std::string name;  // as registered; of a tied weight the first name
  at::Tensor parameter;
  int64_t begin = 0;  // in elements
  int64_t count = 0;
  bool is_trained = true;  // false: frozen
  bool decays = false;
  double rate = 1;  // factor of the learning rate
};

/// A stretch of the trained part whose parameters share one set of rules. Begins at a block of
/// kernels::kUpdateBlock.
struct ArenaSegment {
  int64_t begin = 0;
  int64_t count = 0;       // with the gaps between the parameters
  int64_t parameters = 0;  // without
  bool decays = false;
  double rate = 1;
};

/// The factor of the learning rate of a parameter, by its name.
using RateOf = std::function<double(const std::string&)>;

/// Which neighbours in the trained part make one segment: those of equal rules, or none.
enum class Segments { kOfEqualRules, kOfOneParameter };

/// All parameters of a model in one flat buffer: first those that are trained and decay, then the
/// others that are trained, then the frozen ones, each layer by layer, each parameter at a multiple
/// of 64 bytes. The module's parameters become views of it. The gradients of the trained ones
/// become views of another, into which autograd adds; a parameter that requires none is frozen: it
/// has its weights here and nothing else. In bf16 the module computes on a bf16 copy of the fp32
/// master; else the master is what it computes on.
class Arena {
 public:
  /// The module must lie on its device already, and have seen no backward pass. Which parameters
  /// are frozen is settled here. Without `rate_of` all learn at the same rate.
  Arena(nn::Module& module,
        at::ScalarType compute_type,
        DecayOn decay_on,
        const RateOf& rate_of = {},
        Segments segments = Segments::kOfEqualRules);

  const std::vector<ArenaEntry>& entries() const { return entries_; }  // in order of registration
  /// The trained part, from its begin to its end.
  const std::vector<ArenaSegment>& segments() const { return segments_; }
  int64_t size() const { return master_.numel(); }
  int64_t trained_size() const { return gradient_.numel(); }  // the trained part comes first
  /// Counted without the gaps between them.
  int64_t parameters() const;
  int64_t trained_parameters() const;

  const at::Tensor& master() const { return master_; }      // (size) fp32
  const at::Tensor& compute() const { return compute_; }    // (size) bf16; undefined in fp32
  const at::Tensor& gradient() const { return gradient_; }  // (trained_size) of the compute type
  at::Tensor trained_master() const;                        // (trained_size) fp32, a view
  /// A flat tensor of the trained part's size, all zero, fp32: moments, sums.
  at::Tensor make_flat() const;

  /// The entry's part of a flat tensor, in the parameter's shape. Of a frozen one only in the
  /// master and its copy.
  static at::Tensor part(const at::Tensor& flat, const ArenaEntry& entry);
  /// By any name under which the parameter is registered.
  const ArenaEntry& at(const std::string& name) const;

  /// After the master was changed from outside.
  void refresh_compute();

 private:
  void collect(nn::Module& module, DecayOn decay_on, const RateOf& rate_of);
  int64_t place_all(Segments segments);
  int64_t place(bool is_trained, bool decays, int64_t begin, Segments segments);
  void bind();

  std::vector<ArenaEntry> entries_;
  std::vector<ArenaSegment> segments_;
  std::map<std::string, std::size_t> names_;
  at::Tensor master_, compute_, gradient_;
};

}  // namespace weft::train
