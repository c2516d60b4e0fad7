#include "nn/residual_scale.h"

#include <string>

#include <ATen/ATen.h>

#include "kernels/sum.h"
#include "nn/initial_values.h"

namespace weft::nn {

namespace {

/// A learned scale for each sub-layer that starts at zero (arXiv:2003.04887, equation 3).
class ReZero : public ResidualScale {
 public:
  ReZero() { scale_ = register_parameter("scale", at::empty({1})); }

  at::Tensor forward(const at::Tensor& branch) const override {
    return branch * kernels::repeat_row(scale_.to(branch.scalar_type()).expand({branch.size(1)}),
                                        branch.size(0));
  }

 private:
  at::Tensor scale_;  // (1)
};

/// A learned scale for each feature that starts small (arXiv:2103.17239, section 2).
class LayerScale : public ResidualScale, public InitialValues {
 public:
  LayerScale(int64_t dim, double initial) : initial_(initial) {
    scale_ = register_parameter("scale", at::empty({dim}));
  }

  at::Tensor forward(const at::Tensor& branch) const override {
    return branch * kernels::repeat_row(scale_.to(branch.scalar_type()), branch.size(0));
  }

  void initialize(const std::string& /*name*/, at::Tensor parameter) const override {
    parameter.fill_(initial_);
  }

 private:
  double initial_;
  at::Tensor scale_;  // (D)
};

class ConstantScale : public ResidualScale {
 public:
  explicit ConstantScale(double scale) : scale_(scale) {}
  at::Tensor forward(const at::Tensor& branch) const override { return branch * scale_; }

 private:
  double scale_;
};

/// No connection.
class Replacement : public ResidualScale {
 public:
  at::Tensor forward(const at::Tensor& branch) const override { return branch; }
  bool keeps_input() const override { return false; }
};

ResidualScaleMaker read_none(config::Section& /*section*/) {
  return [](const ResidualScaleOptions& /*options*/) { return std::make_shared<Replacement>(); };
}

ResidualScaleMaker read_plain(config::Section& /*section*/) {
  return [](const ResidualScaleOptions& /*options*/) { return nullptr; };
}

ResidualScaleMaker read_constant(config::Section& section) {
  double feed_forward = 0.5;
  double others = 1;
  section.read("feed_forward", feed_forward,
               {.help = "Scale of feed-forwards; 0.5 in Macaron and Conformer blocks.",
                .range = config::between(0, 100)});
  section.read("others", others,
               {.help = "Scale of the other sub-layers.", .range = config::between(0, 100)});
  return [=](const ResidualScaleOptions& options) -> std::shared_ptr<ResidualScale> {
    const auto scale = options.sublayer == "feed_forward" ? feed_forward : others;
    return scale == 1 ? nullptr : std::make_shared<ConstantScale>(scale);
  };
}

ResidualScaleMaker read_rezero(config::Section& /*section*/) {
  return [](const ResidualScaleOptions& /*options*/) { return std::make_shared<ReZero>(); };
}

ResidualScaleMaker read_layer_scale(config::Section& section) {
  double initial = 0.1;
  section.read(
      "initial_scale", initial,
      {.help = "Scale at the start of training. The paper has 0.1 for up to 18 layers, 1e-5 "
               "for 24 and 1e-6 for more.",
       .range = config::between(0, 100)});
  return [=](const ResidualScaleOptions& options) {
    return std::make_shared<LayerScale>(options.dim, initial);
  };
}

Registry<ResidualScaleDefinition>& residual_registry() {
  static Registry<ResidualScaleDefinition> registry("residual type",
                                                    {
                                                        {"plain", read_plain},
                                                        {"constant", read_constant},
                                                        {"rezero", read_rezero},
                                                        {"layer_scale", read_layer_scale},
                                                        {"none", read_none},
                                                    });
  return registry;
}

}  // namespace

const Registry<ResidualScaleDefinition>& residual_types() { return residual_registry(); }

bool keeps_input(const ResidualScaleMaker& make) {
  const auto made = make({.dim = 1, .sublayer = {}});
  return made == nullptr || made->keeps_input();
}

void register_residual(const ResidualScaleDefinition& definition) {
  residual_registry().add(definition);
}

}  // namespace weft::nn
