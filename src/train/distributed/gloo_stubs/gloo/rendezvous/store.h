#pragma once

#include <chrono>
#include <string>
#include <vector>

// Stands in for a header of Gloo, see ../context.h. ProcessGroupGloo::GlooStore overrides these; it
// must not be constructed by our code.
namespace gloo::rendezvous {

class Store {
 public:
  virtual ~Store();
  virtual void set(const std::string& key, const std::vector<char>& value) = 0;
  virtual std::vector<char> get(const std::string& key) = 0;
  virtual void wait(const std::vector<std::string>& keys) = 0;
  virtual void wait(const std::vector<std::string>& keys,
                    const std::chrono::milliseconds& timeout) = 0;
};

}  // namespace gloo::rendezvous
