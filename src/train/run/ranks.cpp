#include "train/run/ranks.h"

#include "base/file.h"
#include "base/log.h"

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

void require_same_run(ProcessGroup& group, const RunRecord& record) {
  group.require_same("precision", record.precision);
  group.require_same("training data", to_hex(record.data));
  group.require_same("evaluation data", to_hex(record.evaluation_data));
  group.require_same("tokenizer", to_hex(record.tokenizer));
  group.require_same("initial weights", to_hex(record.weights));
}

}  // namespace weft::train
