#pragma once

#include "base/error.h"

namespace weft::formats {

/// `FILE: actual content, what is allowed`.
class Error : public UserError {
 public:
  using UserError::UserError;
};

}  // namespace weft::formats
