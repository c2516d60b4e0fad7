#include "train/distributed/shard_collector.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "base/error.h"
#include "base/file.h"
#include "base/string_util.h"
#include "formats/json.h"
#include "kernels/optimizer.h"
#include "train/distributed/rendezvous.h"

namespace weft::train {

namespace {

// Requests instead of the number of a flat tensor.
constexpr int64_t kDone = -1;
constexpr int64_t kWrite = -2;

constexpr std::string_view kSave = "the save";

/// Whether the file has the mark there: it is the one that rank 0 has made.
bool has_mark(const std::string& path, int64_t position, uint32_t mark) {
  try {
    const MappedFile file(path);
    const auto bytes = file.bytes();
    const auto begin = static_cast<std::size_t>(position);
    return begin + sizeof(mark) <= bytes.size() &&
           std::memcmp(bytes.data() + begin, &mark, sizeof(mark)) == 0;
  } catch (const FileError&) {
    return false;
  }
}

}  // namespace

std::vector<double> gather_blocks(const ShardLayout& layout,
                                  ProcessGroup& group,
                                  std::vector<double> own) {
  if (!layout.is_sharded()) {
    return own;
  }
  auto& shard_group = group.shard_group();
  const auto parts = shard_group.gather(
      std::string(reinterpret_cast<const char*>(own.data()), own.size() * sizeof(double)));
  std::vector<double> all;
  for (int rank = 0; rank < shard_group.size(); ++rank) {
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
    : flat_parameters_(flat_parameters),
      group_(flat_parameters.layout().is_sharded() ? group.shard_group() : group),
      is_needed_(&group_ == &group || group.replica_group().is_main()),
      owners_(std::move(owners)) {}

/// What that rank sends of the entry's part of a flat tensor.
std::vector<OwnedRange> ShardCollector::parts_of(const ParameterEntry& entry,
                                                 std::size_t number,
                                                 int rank) const {
  const bool has_whole = !flat_parameters_.layout().is_sharded();
  return has_whole && owners_.at(number) != rank ? std::vector<OwnedRange>()
                                                 : flat_parameters_.owned_parts(entry, rank);
}

// The barrier may wait longer than the timeout, for what rank 0 does between two requests.
void ShardCollector::ask(int64_t number, int64_t entry) const {
  group_.barrier(kSave);
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

bool ShardCollector::write(const std::string& path,
                           const std::vector<FileTensor>& tensors,
                           const std::vector<at::Tensor>& flats) const {
  if (tensors.empty()) {
    return false;
  }
  const auto mark = static_cast<uint32_t>(digest(random_name()));
  FileWriter file(path, FileWriter::Mode::kUpdate);
  file.seek(tensors.front().position);
  file.write(&mark, sizeof(mark));
  file.commit();
  formats::Json request = {path, mark, formats::Json::array()};
  for (const auto& tensor : tensors) {
    request[2].push_back(
        {tensor.number, tensor.entry - flat_parameters_.entries().data(), tensor.position});
  }
  ask(kWrite, 0);
  const auto errors = write_own(request.dump(), flats);
  for (std::size_t rank = 0; rank < errors.size(); ++rank) {
    if (!errors[rank].empty()) {
      throw FileError(str_cat("rank ", rank, ": ", errors[rank]));
    }
  }
  return !errors.empty();
}

/// A collective; `request`: of rank 0. Returns what each rank could not do; empty if they do not
/// see the same file.
std::vector<std::string> ShardCollector::write_own(const std::string& request,
                                                   const std::vector<at::Tensor>& flats) const {
  const at::NoGradGuard no_grad;
  const auto json = formats::Json::parse(group_.gather(request).front());
  const std::string path = json[0];
  if (group_.any(!has_mark(path, json[2][0][2], json[1]))) {
    return {};
  }
  std::string error;
  try {
    FileWriter file(path, FileWriter::Mode::kUpdate);
    for (const auto& tensor : json[2]) {
      const std::size_t number = tensor[0];
      const int64_t position = tensor[2];
      const auto& entry = flat_parameters_.entries().at(tensor[1]);
      for (const auto& part : parts_of(entry, number, group_.rank())) {
        const auto own = flats.at(number).narrow(0, part.begin, part.range.count).cpu();
        file.seek(position + part.range.begin * static_cast<int64_t>(sizeof(float)));
        file.write(own.const_data_ptr(), own.nbytes());
      }
    }
    file.commit();
  } catch (const FileError& failure) {
    error = failure.what();
  }
  group_.barrier(kSave, ProcessGroup::MayBeLate::kAll);
  return group_.gather(error);
}

void ShardCollector::serve(const std::vector<at::Tensor>& flats) const {
  for (;;) {
    const auto request = at::empty({2}, at::kLong);
    group_.barrier(kSave);
    group_.broadcast(request);
    if (request[0].item<int64_t>() == kDone) {
      return;
    }
    if (request[0].item<int64_t>() == kWrite) {
      write_own({}, flats);
      continue;
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
  if (!is_needed_) {
    return;
  }
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
