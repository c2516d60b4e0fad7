#include "nn/recurrent/local_window.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "kernels/sum.h"
#include "nn/linear.h"

namespace weft::nn {

namespace {

constexpr int64_t kDefaultWindow = 20;  // D = 10: arXiv:1508.04025, section 4.1

/// p_t = t (local-m). A target that is longer than its source keeps the last token as centre: later
/// windows would be empty.
class MonotonicWindow : public LocalWindow {
 public:
  using LocalWindow::LocalWindow;

  at::Tensor centres(const at::Tensor& query,
                     const at::Tensor& positions,
                     const at::Tensor& lengths) override {
    return at::minimum(positions, (lengths - 1).unsqueeze(1)).to(kernels::accumulate_type(query));
  }
};

/// p_t = S sigmoid(v . tanh(W h_t)) (local-p), with the weights times exp(-(s - p_t)^2 / (2
/// sigma^2)) and sigma = D / 2. They add up to less than 1, as in the paper.
class PredictiveWindow : public LocalWindow {
 public:
  PredictiveWindow(const LocalWindowOptions& options, int64_t window) : LocalWindow(window) {
    query_ = register_module(
        "query", Linear(LinearOptions{options.query_width, options.query_width, false}));
    vector_ = register_parameter("vector", at::empty({1, options.query_width}));
  }

  at::Tensor centres(const at::Tensor& query,
                     const at::Tensor& /*positions*/,
                     const at::Tensor& lengths) override {
    const auto wide = kernels::accumulate_type(query);  // positions need more than 8 bits
    const auto features = query_->forward(query.reshape({-1, query.size(2)})).tanh().to(wide);
    const auto shares = (features * vector_.to(wide)).sum(1).sigmoid();  // (B L)
    return shares.view({query.size(0), query.size(1)}) * lengths.unsqueeze(1);
  }

  at::Tensor weighted(const at::Tensor& weights, const at::Tensor& distances) const override {
    const double sigma = static_cast<double>(radius()) / 2;
    return weights * (distances.square() / (-2 * sigma * sigma)).exp();
  }

 private:
  Linear query_{nullptr};  // W
  at::Tensor vector_;      // v (1, Q)
};

int64_t read_window(config::Section& section, int64_t least) {
  int64_t window = kDefaultWindow;
  section.read("window", window,
               {.help = "Source tokens around the centre that a step attends to, half of them on "
                        "each side: 2 D.",
                .unit = "tokens",
                .range = config::between(least, 1 << 20)});
  return window;
}

LocalWindowMaker read_monotonic(config::Section& section) {
  const auto window = read_window(section, 1);
  return [window](const LocalWindowOptions& /*options*/) {
    return std::make_shared<MonotonicWindow>(window);
  };
}

/// With a window below 2 tokens no token might be close enough to the centre.
LocalWindowMaker read_predictive(config::Section& section) {
  const auto window = read_window(section, 2);
  return [window](const LocalWindowOptions& options) {
    return std::make_shared<PredictiveWindow>(options, window);
  };
}

}  // namespace

const Registry<LocalWindowDefinition>& local_windows() {
  static const Registry<LocalWindowDefinition> kRegistry(
      "local attention", {{"monotonic", read_monotonic}, {"predictive", read_predictive}});
  return kRegistry;
}

}  // namespace weft::nn
