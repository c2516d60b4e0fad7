#pragma once

// Stands in for a header of Gloo, see ../context.h.
namespace gloo::transport {

class Device;

class UnboundBuffer {
 public:
  virtual ~UnboundBuffer();
};

}  // namespace gloo::transport
