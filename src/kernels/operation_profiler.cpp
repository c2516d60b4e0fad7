#include "kernels/operation_profiler.h"

#include <memory>
#include <optional>
#include <string>

#include <ATen/record_function.h>

namespace weft::kernels {

namespace {

thread_local OperationProfiler* active_profiler = nullptr;

/// Maps the names of this library's autograd functions to operations.
std::optional<Operation> operation_of(std::string_view node) {
  static constexpr std::pair<std::string_view, Operation> kNames[] = {
      {"EmbeddingSum", Operation::kEmbedding},
      {"CrossEntropy", Operation::kLoss},
      {"Linear", Operation::kMatmul},
      {"Attention", Operation::kAttention},
      {"Norm", Operation::kNorm},
      {"Activate", Operation::kActivation},
      {"Dropout", Operation::kDropout}};
  if (node.find("weft::kernels") == std::string_view::npos) {
    return std::nullopt;
  }
  for (const auto& [word, operation] : kNames) {
    if (node.find(word) != std::string_view::npos) {
      return operation;
    }
  }
  return std::nullopt;
}

/// Exists while a node of the backward pass runs.
class NodeTimer : public at::ObserverContext {
 public:
  explicit NodeTimer(Operation operation) : timer_(operation) {}

 private:
  ScopedOperationTimer timer_;
};

std::unique_ptr<at::ObserverContext> node_begins(const at::RecordFunction& function) {
  const auto operation = operation_of(function.name());
  return operation ? std::make_unique<NodeTimer>(*operation) : nullptr;
}

}  // namespace

std::string_view name_of(Operation operation) {
  switch (operation) {
    case Operation::kEmbedding:
      return "embedding";
    case Operation::kMatmul:
      return "products";
    case Operation::kAttention:
      return "attention";
    case Operation::kNorm:
      return "norm";
    case Operation::kActivation:
      return "activation";
    case Operation::kDropout:
      return "dropout";
    case Operation::kLoss:
      return "loss";
  }
  return "";
}

OperationProfiler::OperationProfiler(std::function<void()> wait) : wait_(std::move(wait)) {
  TORCH_CHECK(active_profiler == nullptr, "this thread already has an operation profiler");
  active_profiler = this;
  backward_callback_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(node_begins).scopes({at::RecordScope::BACKWARD_FUNCTION}));
}

OperationProfiler::~OperationProfiler() {
  at::removeCallback(backward_callback_);
  active_profiler = nullptr;
}

OperationProfiler* OperationProfiler::current() { return active_profiler; }

OperationProfiler::Milliseconds OperationProfiler::take() {
  charge();
  return std::exchange(spent_, {});
}

void OperationProfiler::enter(Operation operation) {
  charge();
  running_.push_back(operation);
}

void OperationProfiler::leave() {
  charge();
  running_.pop_back();
}

// Charges the time since the last call to the innermost operation.
void OperationProfiler::charge() {
  if (wait_) {
    wait_();
  }
  const auto now = std::chrono::steady_clock::now();
  if (!running_.empty()) {
    spent_[static_cast<std::size_t>(running_.back())] +=
        std::chrono::duration<double, std::milli>(now - mark_).count();
  }
  mark_ = now;
}

}  // namespace weft::kernels
