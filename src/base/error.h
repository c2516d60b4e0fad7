#pragma once

#include <stdexcept>
#include <string>

namespace weft {

/// An error that the user can fix: `location: actual value, what is allowed`. `main` prints it as
/// one `error:` line and exits with status 2. config::Error, data::Error and formats::Error derive
/// from it.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace weft
