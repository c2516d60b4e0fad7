#include "kernels/operation_clock.h"

#include <memory>
#include <optional>
#include <string>

#include <ATen/record_function.h>

namespace weft::kernels {

namespace {

thread_local OperationClock* the_clock = nullptr;

/// By the names of the autograd functions in this room.
std::optional<Operation> operation_of(std::string_view node) {
  static constexpr std::pair<std::string_view, Operation> kNames[] = {
      {"EmbeddingSum", Operation::kEmbedding},
      {"CrossEntropy", Operation::kLoss},
      {"Linear", Operation::kProducts},
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

/// Lives while a node of the backward pass runs.
class NodeTime : public at::ObserverContext {
 public:
  explicit NodeTime(Operation operation) : timed_(operation) {}

 private:
  Timed timed_;
};

std::unique_ptr<at::ObserverContext> node_begins(const at::RecordFunction& function) {
  const auto operation = operation_of(function.name());
  return operation ? std::make_unique<NodeTime>(*operation) : nullptr;
}

}  // namespace

std::string_view name_of(Operation operation) {
  switch (operation) {
    case Operation::kEmbedding:
      return "embedding";
    case Operation::kProducts:
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

OperationClock::OperationClock(std::function<void()> wait) : wait_(std::move(wait)) {
  TORCH_CHECK(the_clock == nullptr, "this thread has a clock of operations already");
  the_clock = this;
  backward_callback_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(node_begins).scopes({at::RecordScope::BACKWARD_FUNCTION}));
}

OperationClock::~OperationClock() {
  at::removeCallback(backward_callback_);
  the_clock = nullptr;
}

OperationClock* OperationClock::current() { return the_clock; }

OperationClock::Milliseconds OperationClock::take() {
  charge();
  return std::exchange(spent_, {});
}

void OperationClock::enter(Operation operation) {
  charge();
  running_.push_back(operation);
}

void OperationClock::leave() {
  charge();
  running_.pop_back();
}

// What passed since the last call belongs to the innermost operation.
void OperationClock::charge() {
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
