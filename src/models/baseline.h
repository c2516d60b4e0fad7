#pragma once

#include "models/model.h"

namespace weft::models {

/// A model that classifies whole sequences and has no other head.
class Baseline : public Model {
 public:
  explicit Baseline(ModelOptions options);

  const ModelOptions& options() const override { return options_; }

 private:
  ModelOptions options_;
};

}  // namespace weft::models
