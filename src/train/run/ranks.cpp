#include "train/run/ranks.h"

#include <algorithm>
#include <memory>

#include "base/file.h"
#include "base/log.h"
#include "data/store/token_store.h"
#include "train/distributed/expert_parallel.h"

namespace weft::train {

void divide_ranks(const RanksOptions& options, ProcessGroup& group) {
  if (options.shard_group == ShardGroup::kMachine) {
    group.divide_by_machine();
  }
  if (options.shard != Sharding::kNone && group.size() > 1 && group.shard_group().size() == 1 &&
      group.is_main()) {
    log::warning(
        "[run] train.ranks.shard has no effect: train.ranks.shard_group is machine, and each "
        "machine has one rank");
  }
}

ShardOptions shard_options(const RanksOptions& options,
                           const torch::nn::Module& model,
                           ProcessGroup& group) {
  const auto& shard_group = group.shard_group();
  ShardOptions shard{
      .sharding = options.shard, .rank = shard_group.rank(), .ranks = shard_group.size()};
  if (options.expert_parallel && shard.ranks > 1) {
    shard.owners = expert_owners(model, shard.ranks);
    if (shard.owners.empty() && group.is_main()) {
      log::warning(
          "[run] train.ranks.expert_parallel has no effect: the model has no mixture of experts");
    }
  }
  return shard;
}

void require_same_run(ProcessGroup& group, const RunRecord& record) {
  group.require_same("precision", record.precision);
  group.require_same("training data", to_hex(record.data));
  group.require_same("evaluation data", to_hex(record.evaluation_data));
  group.require_same("tokenizer", to_hex(record.tokenizer));
  group.require_same("initial weights", to_hex(record.weights));
}

namespace {

bool reads_running_text(const RunConfig& config) {
  return config.objective->traits(config.model).reads_raw_text &&
         !config.objective->reads_pairs(config.data, config.model);
}

/// The share of the text for this machine, of its first rank. A collective.
std::optional<data::StoreShare> share_of_machine(ProcessGroup& group) {
  const std::string first = "first";
  const auto places = group.gather(group.local_rank() == 0 ? first : "");
  const auto machines_until = [&](int rank) {
    return std::count(places.begin(), places.begin() + rank, first);
  };
  const data::StoreShare share{.index = machines_until(group.rank()),
                               .count = machines_until(group.size())};
  return group.local_rank() == 0 && share.count > 1 ? std::optional(share) : std::nullopt;
}

/// Tokenises this machine's share. Returns the tokenizer, if it was needed.
std::shared_ptr<const data::Tokenizer> tokenize_share(const RunConfig& config,
                                                      const std::optional<std::string>& checkpoint,
                                                      ProcessGroup& group) {
  if (group.size() == 1 || !reads_running_text(config)) {
    return nullptr;
  }
  std::shared_ptr<const data::Tokenizer> tokenizer;
  if (const auto share = share_of_machine(group)) {
    tokenizer = prepare_tokenizer(config, checkpoint);
    const auto options = config.objective->store_options(config.data, config.model);
    for (const auto* items : {&config.data.train, &config.data.evaluate}) {
      for (const auto& item : *items) {
        data::write_store_part(item, options, *tokenizer, *share);
      }
    }
  }
  group.barrier("the tokenisation", ProcessGroup::MayBeLate::kAll);
  return tokenizer;
}

}  // namespace

RunComponents prepare_on_ranks(const RunConfig& config,
                               const std::optional<std::string>& checkpoint,
                               const c10::Device& device,
                               ProcessGroup& group) {
  const auto tokenizer = tokenize_share(config, checkpoint, group);
  return group.main_first("the preparation of the data on rank 0",
                          [&] { return prepare_run(config, checkpoint, device, tokenizer); });
}

}  // namespace weft::train
