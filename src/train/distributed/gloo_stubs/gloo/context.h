#pragma once

#include <chrono>

// LibTorch contains Gloo, and its ProcessGroupGloo.hpp includes five of Gloo's headers, which it
// does not ship. The files of this folder stand in for them, with the declarations that compiling
// ProcessGroupGloo.hpp takes. Objects of these classes are made, used and deleted by LibTorch only:
// our code passes pointers to them on, and never constructs, derives from or calls one, because
// their layout is not the real one. process_group.cpp alone has this folder on its include path.
namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

}  // namespace gloo
