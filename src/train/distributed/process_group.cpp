#include "train/distributed/process_group.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <numeric>
#include <utility>

#include <ATen/ATen.h>

#include "base/error.h"
#include "base/string_util.h"
#include "train/distributed/connections.h"

namespace weft::train {

namespace {

constexpr int kMessageTag = 0;

/// Throws c10::Error unless the slice is one-dimensional and contiguous: Gloo would silently
/// compute wrong sums.
void check_slice(const at::Tensor& slice) {
  TORCH_CHECK(slice.dim() == 1 && slice.is_contiguous(),
              "ProcessGroup expects a contiguous slice (N), got sizes ", slice.sizes(),
              ", strides ", slice.strides());
}

/// Throws c10::Error also unless so many parts cover the slice.
void check_parts(const at::Tensor& slice, int64_t part, int ranks) {
  check_slice(slice);
  TORCH_CHECK(part * ranks >= slice.numel(), "ProcessGroup: ", ranks, " parts of ", part,
              " elements do not cover ", slice.numel());
}

/// Adds the rows in pairs, then the sums of pairs in pairs, and so on, 16-bit types in fp32; may
/// overwrite rows. So the sum has the same bits if each 2, 4, 8, ... rows are added first, as ranks
/// of a machine do. (R, N) -> (N)
at::Tensor ordered_sum(const at::Tensor& rows) {
  const auto count = static_cast<uint64_t>(rows.size(0));
  if (count == 1) {
    return rows[0];
  }
  const auto first = static_cast<int64_t>(std::bit_floor(count - 1));
  auto total = ordered_sum(rows.narrow(0, 0, first));
  if (total.scalar_type() == at::kBFloat16 || total.scalar_type() == at::kHalf) {
    total = total.to(at::kFloat);
  }
  return total.add_(ordered_sum(rows.narrow(0, first, rows.size(0) - first)));
}

/// Elements of a slice that belong to the rank: `part`, those of the last ranks fewer or none.
int64_t count_of(const at::Tensor& slice, int64_t part, int rank) {
  return std::clamp<int64_t>(slice.numel() - rank * part, 0, part);
}

}  // namespace

struct ProcessGroup::Group : Connections {
  std::unique_ptr<ProcessGroup> shard_group = {};    // null: all ranks
  std::unique_ptr<ProcessGroup> replica_group = {};  // null: this rank
};

struct ProcessGroup::Transfer::State {
  at::Tensor slice;
  at::Tensor buffer;  // what is received, unless that is the slice
  WorkPtr work;
};

std::unique_ptr<ProcessGroup> ProcessGroup::join(const LaunchEnvironment& environment,
                                                 const ProcessGroupOptions& options) {
  auto group = std::make_unique<Group>();
  group->environment = environment;
  group->options = options;
  if (environment.world_size > 1) {
    prepare_failure_report(environment.rank);
    try {
      // Meeting and connecting each take up to the timeout.
      static_cast<Connections&>(*group) = ask_in_time(
          options.timeout * 2, [environment, options] { return connect(environment, options); });
    } catch (const UserError&) {
      throw;
    } catch (const DistributedError&) {
      throw;
    } catch (const std::exception& error) {
      throw DistributedError(
          str_cat("rank ", environment.rank, " cannot connect to the others: ", cause_of(error)));
    }
  }
  return std::unique_ptr<ProcessGroup>(new ProcessGroup(std::move(group)));
}

ProcessGroup::ProcessGroup(std::unique_ptr<Group> group) : group_(std::move(group)) {}

ProcessGroup::~ProcessGroup() {
  group_->parts.clear();
  group_->shard_group.reset();
  group_->replica_group.reset();
  group_->leave();
}

int ProcessGroup::rank() const { return group_->rank(); }

int ProcessGroup::size() const { return group_->size(); }

int ProcessGroup::local_size() const { return group_->environment.local_world_size; }
int ProcessGroup::local_rank() const { return group_->environment.local_rank; }

double ProcessGroup::waited_seconds() const { return group_->waited_seconds; }

void ProcessGroup::set_step(int64_t step) { set_reported_step(step); }

/// The ranks with the same `name`, which have consecutive indices.
std::unique_ptr<ProcessGroup> ProcessGroup::part(const std::string& name, int index, int size) {
  auto part = std::make_unique<Group>();
  connect_part(*group_, *part, name, index, size);
  return std::unique_ptr<ProcessGroup>(new ProcessGroup(std::move(part)));
}

void ProcessGroup::divide_by_machine() {
  const int local_ranks = local_size();
  const auto place = [&](int index) { return str_cat(index, " of ", local_ranks); };
  const auto places = gather(place(local_rank()));
  bool is_regular = size() % local_ranks == 0;
  for (int other = 0; other < size(); ++other) {
    is_regular &= places[static_cast<std::size_t>(other)] == place(other % local_ranks);
  }
  if (!is_regular) {
    throw UserError(
        "train.ranks.shard_group: machine needs as many ranks on each machine, numbered machine by "
        "machine (ranks 0 to 3 on the first machine, 4 to 7 on the second, ...)");
  }
  if (group_->shard_group == nullptr && size() > local_ranks) {
    const int machine = rank() / local_ranks;
    group_->shard_group = part(str_cat("machine ", machine), local_rank(), local_ranks);
    group_->replica_group = part(str_cat("replicas ", local_rank()), machine, size() / local_ranks);
    barrier("the connections between machines");  // a rank may leave as soon as it is connected
  }
}

ProcessGroup& ProcessGroup::shard_group() {
  return group_->shard_group == nullptr ? *this : *group_->shard_group;
}

ProcessGroup& ProcessGroup::replica_group() {
  return group_->replica_group == nullptr ? single_process() : *group_->replica_group;
}

void ProcessGroup::require_support(const c10::Device& device) const {
  if (size() > 1 && device.is_cuda() && !has_nccl()) {
    throw UserError(
        "run.device: GPUs on several ranks need NCCL, which this program was built without; build "
        "it with LibTorch for CUDA and the headers of CUDA and NCCL, or use run.device: cpu");
  }
}

void ProcessGroup::require_same(std::string_view what, const std::string& value) {
  const auto values = gather(value);
  const auto other = std::find_if(values.begin(), values.end(),
                                  [&](const auto& each) { return each != values.front(); });
  if (other != values.end()) {
    throw UserError(str_cat(what, ": must be the same on all ranks, is ",
                            quoted_text(values.front()), " on rank 0 and ", quoted_text(*other),
                            " on rank ", other - values.begin()));
  }
}

ProcessGroup::Transfer ProcessGroup::start_reduce_scatter(const at::Tensor& slice, int64_t part) {
  check_parts(slice, part, size());
  auto state = std::make_shared<Transfer::State>();
  state->slice = slice;
  if (size() > 1 && slice.numel() > 0) {
    // Every rank gets the terms of its own part and adds them.
    const int64_t own = count_of(slice, part, rank());
    state->buffer = at::empty({size() * own}, slice.options());
    std::vector<int64_t> received(static_cast<std::size_t>(size()), own);
    std::vector<int64_t> sent;
    sent.reserve(static_cast<std::size_t>(size()));
    for (int other = 0; other < size(); ++other) {
      sent.push_back(count_of(slice, part, other));
    }
    group_->run("reduce-scatter", [&] {
      state->work =
          group_->backend_of(slice).alltoall_base(state->buffer, state->slice, received, sent);
    });
  }
  return Transfer(std::move(state));
}

at::Tensor ProcessGroup::finish_reduce_scatter(Transfer& transfer) {
  auto& state = *transfer.state_;
  if (state.work == nullptr) {
    return state.slice;
  }
  const at::NoGradGuard no_grad;
  group_->run("reduce-scatter", [&] { group_->wait(state.work, state.slice.is_cuda()); });
  return ordered_sum(state.buffer.view({size(), -1}));
}

ProcessGroup::Transfer ProcessGroup::start_all_gather(const at::Tensor& slice, int64_t part) {
  check_parts(slice, part, size());
  auto state = std::make_shared<Transfer::State>();
  state->slice = slice;
  if (size() > 1 && slice.numel() > 0) {
    const at::NoGradGuard no_grad;
    auto own =
        slice.narrow(0, std::min(rank() * part, slice.numel()), count_of(slice, part, rank()));
    auto all = slice;
    if (slice.numel() != size() * part) {  // Gloo takes equal parts only
      all = state->buffer = at::empty({size() * part}, slice.options());
      all.narrow(0, rank() * part, own.numel()).copy_(own);
      own = all.narrow(0, rank() * part, part);
    }
    group_->run("all-gather",
                [&] { state->work = group_->backend_of(slice)._allgather_base(all, own); });
  }
  return Transfer(std::move(state));
}

void ProcessGroup::finish_all_gather(Transfer& transfer) {
  auto& state = *transfer.state_;
  if (state.work == nullptr) {
    return;
  }
  const at::NoGradGuard no_grad;
  group_->run("all-gather", [&] { group_->wait(state.work, state.slice.is_cuda()); });
  if (state.buffer.defined()) {
    state.slice.copy_(state.buffer.narrow(0, 0, state.slice.numel()));
  }
}

at::Tensor ProcessGroup::all_to_all(const at::Tensor& slice,
                                    std::vector<int64_t> sent,
                                    std::vector<int64_t> received) {
  check_slice(slice);
  if (size() == 1) {
    return slice;
  }
  const at::NoGradGuard no_grad;
  auto result =
      at::empty({std::accumulate(received.begin(), received.end(), int64_t{0})}, slice.options());
  group_->run("all-to-all", [&] {
    auto from = slice;
    group_->wait(group_->backend_of(slice).alltoall_base(result, from, received, sent),
                 slice.is_cuda());
  });
  return result;
}

void ProcessGroup::send(const at::Tensor& slice, int to) {
  check_slice(slice);
  group_->run("send", [&] {
    std::vector<at::Tensor> tensors{slice};
    group_->wait(group_->backend_of(slice).send(tensors, to, kMessageTag), slice.is_cuda());
  });
}

void ProcessGroup::receive(const at::Tensor& slice, int from) {
  check_slice(slice);
  group_->run("receive", [&] {
    std::vector<at::Tensor> tensors{slice};
    group_->wait(group_->backend_of(slice).recv(tensors, from, kMessageTag), slice.is_cuda());
  });
}

std::vector<double> ProcessGroup::sum(std::vector<double> values) {
  if (size() == 1 || values.empty()) {
    return values;
  }
  group_->run("sum", [&] {
    const auto own = at::tensor(values, at::kDouble);
    const auto total = ordered_sum(group_->all_gather(own)).contiguous();
    std::copy_n(total.const_data_ptr<double>(), values.size(), values.begin());
  });
  return values;
}

std::vector<std::string> ProcessGroup::gather(const std::string& bytes) {
  if (size() == 1) {
    return {bytes};
  }
  std::vector<std::string> result;
  group_->run("gather", [&] {
    const auto length = at::full({1}, static_cast<int64_t>(bytes.size()), at::kLong);
    const auto lengths = group_->all_gather(length).view({-1});
    const auto longest = std::max<int64_t>(lengths.max().item<int64_t>(), 1);
    auto own = at::zeros({longest}, at::kByte);
    std::memcpy(own.data_ptr(), bytes.data(), bytes.size());
    const auto all = group_->all_gather(own);
    for (int other = 0; other < size(); ++other) {
      const auto* const row = reinterpret_cast<const char*>(all[other].const_data_ptr<uint8_t>());
      result.emplace_back(row, static_cast<std::size_t>(lengths[other].item<int64_t>()));
    }
  });
  return result;
}

void ProcessGroup::broadcast(const at::Tensor& slice) {
  check_slice(slice);
  if (size() > 1) {
    group_->run("broadcast", [&] {
      std::vector<at::Tensor> tensors{slice};
      group_->wait(group_->backend_of(slice).broadcast(tensors), slice.is_cuda());
    });
  }
}

void ProcessGroup::barrier(std::string_view what, MayBeLate may_be_late) {
  if (size() == 1) {
    return;
  }
  group_->run(what, [&] {
    c10d::BarrierOptions options;
    const bool waits_for_main = !is_main();
    options.timeout =
        waits_for_main || may_be_late == MayBeLate::kAll ? kUnlimited : group_->options.timeout;
    group_->wait(group_->gloo->barrier(options), false, kUnlimited);
  });
}

ProcessGroup& single_process() {
  static const auto kGroup = ProcessGroup::join({});
  return *kGroup;
}

}  // namespace weft::train
