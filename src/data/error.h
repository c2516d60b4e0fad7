#pragma once

#include "base/error.h"

namespace weft::data {

/// Message format: `FILE:LINE: actual value, allowed values`.
class Error : public UserError {
 public:
  using UserError::UserError;
};

}  // namespace weft::data
