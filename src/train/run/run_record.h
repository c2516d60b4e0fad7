#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::train {

/// What decides the bits of a run beside its config, as far as it is known.
struct RunMachine {
  std::string weft;      // version
  std::string libtorch;  // version, and the instructions that it uses
  std::string kernels;   // instructions that Weft's kernels use
  std::string cpu;
  std::string features;  // instructions that the processor has
  std::string device;
  int64_t threads = 0;

  bool operator==(const RunMachine&) const = default;
};
RunMachine describe_machine(const std::string& device, int64_t threads);
/// One line of the log.
std::string to_text(const RunMachine& machine);

/// A process that went on with the run.
struct Continuation {
  int64_t step = 0;
  uint64_t config = 0;
  RunMachine machine = {};
};

/// All that is needed to repeat a run: run.json of its directory.
struct RunRecord {
  RunMachine machine;
  std::string precision;  // fp32 or bf16, never auto
  std::string directory;  // where paths of the config begin
  uint64_t config = 0;    // checksums
  uint64_t data = 0;
  uint64_t evaluation_data = 0;
  uint64_t tokenizer = 0;
  uint64_t weights = 0;  // the first ones, all of them
  std::vector<Continuation> continued = {};
};

void write_run_record(const std::string& run, const RunRecord& record);
/// Throws UserError where the run has none, formats::Error where it cannot be read.
RunRecord read_run_record(const std::string& run);
/// Notes a process that goes on; nothing where the run has no record.
void note_continuation(const std::string& run, const Continuation& continuation);

}  // namespace weft::train
