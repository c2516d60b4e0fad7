#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/item_records.h"
#include "objectives/evaluation/evaluation.h"

namespace weft::objectives {

/// Evaluation that collects a record per item and computes all results from them.
template <class Record>
class RecordEvaluation : public Evaluation {
 public:
  /// `kind`: name of the evaluation; only those of equal kinds are merged.
  explicit RecordEvaluation(std::string kind) : records_(std::move(kind)) {}

  std::string serialize() const override { return records_.serialize(); }
  void merge(std::string_view serialized) override { records_.merge(serialized); }
  std::size_t size() const override { return records_.size(); }
  std::map<std::string, double> result_of(const std::vector<std::size_t>& items) override {
    auto all = std::exchange(records_, records_.pick(items));
    auto metrics = result();
    records_ = std::move(all);
    return metrics;
  }

 protected:
  /// One record for each sequence of the batch, with its item.
  static std::vector<Record> make_records(const data::Batch& batch) {
    std::vector<Record> records(batch.items.size());
    for (std::size_t i = 0; i < records.size(); ++i) {
      records[i].item = batch.items[i];
    }
    return records;
  }
  /// May be called by several threads at the same time, like set_labels.
  void add_records(std::vector<Record> records) {
    const std::lock_guard lock(mutex_);
    for (auto& record : records) {
      records_.add(std::move(record));
    }
  }
  const metrics::ItemRecords<Record>& records() const { return records_; }

  /// Names of the classes or values; empty if there are none or nothing was added.
  const std::vector<std::string>& labels() const { return records_.labels(); }
  void set_labels(std::vector<std::string> labels) {
    const std::lock_guard lock(mutex_);
    records_.set_labels(std::move(labels));
  }

 private:
  std::mutex mutex_;
  metrics::ItemRecords<Record> records_;
};

/// Calls `visit(sequence, target)` with the indices of each target of the batch and of its
/// sequence.
template <class Visit>
void visit_targets(const data::Batch& batch, const Visit& visit) {
  std::size_t sequence = 0;
  for (std::size_t target = 0; target < batch.target_rows.size(); ++target) {
    while (batch.target_rows[target] >= batch.offsets[sequence + 1]) {
      ++sequence;
    }
    visit(sequence, target);
  }
}

}  // namespace weft::objectives
