#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/model.h"

namespace weft::train {

/// Properties of the machine and the build that affect the exact bits of a run, as far as known.
struct RunMachine {
  std::string weft;      // version
  std::string libtorch;  // version and instruction set in use
  std::string kernels;   // instruction set that Weft's kernels use
  std::string cpu;
  std::string features;  // instruction sets of the processor
  std::string device;
  int64_t threads = 0;

  bool operator==(const RunMachine&) const = default;
};
RunMachine describe_machine(const std::string& device, int64_t threads);
/// Formats the machine as one log line.
std::string to_text(const RunMachine& machine);

/// A process that resumed the run.
struct ResumeRecord {
  int64_t step = 0;
  uint64_t config = 0;
  RunMachine machine = {};
};

/// Everything needed to reproduce a run: run.json of its directory.
struct RunRecord {
  RunMachine machine;
  std::string precision;  // fp32 or bf16, never auto
  std::string directory;  // base of relative paths in the config
  uint64_t config = 0;    // checksums
  uint64_t data = 0;
  uint64_t evaluation_data = 0;
  uint64_t tokenizer = 0;
  uint64_t weights = 0;  // all initial weights
  std::vector<ResumeRecord> resumes = {};
};

void write_run_record(const std::string& run, const RunRecord& record);
/// Throws UserError if the run has no record, formats::Error if it cannot be parsed.
RunRecord read_run_record(const std::string& run);
/// Records a process that resumes; does nothing if the run has no record.
void record_resume(const std::string& run, const ResumeRecord& resume);

/// Of the values of all parameters and buffers, in order.
uint64_t digest_of_weights(const models::Model& model);

}  // namespace weft::train
