#include "train/distributed/shard_collector.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "kernels/optimizer.h"

namespace weft::train {

namespace {

constexpr int64_t kDone = -1;

}  // namespace

std::vector<double> gather_blocks(const ShardLayout& layout,
                                  ProcessGroup& group,
                                  std::vector<double> own) {
  if (!layout.is_sharded()) {
    return own;
  }
  const auto parts = group.gather(
      std::string(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(double)));
  std::vector<double> all;
  for (int rank = 0; rank < group.size(); ++rank) {
    const auto& bytes = parts[static_cast<std::size_t>(rank)];
    std::vector<double> of_rank(bytes.size() / sizeof(double));
    std::memcpy(of_rank.data(), bytes.data(), bytes.size());
    std::size_t read = 0;
    for (const auto& owned : layout.owned(rank)) {
      const auto first = static_cast<std::size_t>(owned.range.begin / kernels::kSumBlock);
      const auto blocks = static_cast<std::size_t>((owned.range.count + kernels::kSumBlock - 1) /
                                                   kernels::kSumBlock);
      const auto count = std::min(blocks, of_rank.size() - read);  // none of frozen elements
      all.resize(std::max(all.size(), first + count));
      std::copy_n(of_rank.begin() + static_cast<std::ptrdiff_t>(read), count,
                  all.begin() + static_cast<std::ptrdiff_t>(first));
      read += count;
    }
  }
  return all;
}

ShardCollector::ShardCollector(const FlatParameters& flat_parameters,
                               ProcessGroup& group,
                               std::vector<int> owners)
    : flat_parameters_(flat_parameters), group_(group), owners_(std::move(owners)) {}

/// What that rank sends of the entry's part of a flat tensor.
std::vector<OwnedRange> ShardCollector::parts_of(const ParameterEntry& entry,
                                                 std::size_t number,
                                                 int rank) const {
  const bool has_whole = !flat_parameters_.layout().is_sharded();
  return has_whole && owners_.at(number) != rank ? std::vector<OwnedRange>()
                                                 : flat_parameters_.owned_parts(entry, rank);
}

void ShardCollector::ask(int64_t number, int64_t entry) const {
  group_.broadcast(at::tensor({number, entry}, at::kLong));
}

at::Tensor ShardCollector::collect(const at::Tensor& own,
                                   std::size_t number,
                                   const ParameterEntry& entry) const {
  const at::NoGradGuard no_grad;
  ask(static_cast<int64_t>(number), &entry - flat_parameters_.entries().data());
  auto whole = at::empty({entry.count}, own.options());
  for (int rank = 0; rank < group_.size(); ++rank) {
    for (const auto& part : parts_of(entry, number, rank)) {
      const auto slice = whole.narrow(0, part.range.begin, part.range.count);
      if (rank == group_.rank()) {
        slice.copy_(own.narrow(0, part.begin, part.range.count));
      } else {
        group_.receive(slice, rank);
      }
    }
  }
  return whole.view(entry.parameter.sizes());
}

void ShardCollector::serve(const std::vector<at::Tensor>& flats) const {
  for (;;) {
    const auto request = at::empty({2}, at::kLong);
    group_.broadcast(request);
    if (request[0].item<int64_t>() == kDone) {
      return;
    }
    const auto number = static_cast<std::size_t>(request[0].item<int64_t>());
    const auto& entry =
        flat_parameters_.entries().at(static_cast<std::size_t>(request[1].item<int64_t>()));
    for (const auto& part : parts_of(entry, number, group_.rank())) {
      group_.send(flats.at(number).narrow(0, part.begin, part.range.count), 0);
    }
  }
}

void ShardCollector::run(const std::vector<at::Tensor>& flats,
                         const std::function<void()>& work) const {
  if (!group_.is_main()) {
    serve(flats);
    return;
  }
  try {
    work();
  } catch (const DistributedError&) {
    throw;
  } catch (...) {
    ask(kDone, 0);
    throw;
  }
  ask(kDone, 0);
}

}  // namespace weft::train
