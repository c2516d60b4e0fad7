#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::fault {

/// System calls with which Weft changes files. `kSpace` queries the free space.
enum class Call {
  kOpen,
  kWrite,
  kFlush,
  kClose,
  kRename,
  kExchange,
  kLink,
  kRemove,
  kMakeDirectory,
  kTruncate,
  kSpace,
};

/// Injects faults into selected calls from now on, to test how the program reacts. The plan is a
/// `;`-separated list of `CALL:WHICH:WHAT`.
///
///   CALL   open, write, flush, close, rename, exchange, link, remove, mkdir, truncate, space, any;
///          `write@checkpoint-`: only calls whose path contains this text
///   WHICH  `7` the seventh such call, `7+` from the seventh on, `7-9` the seventh to ninth
///   WHAT   `ENOSPC`, `EIO`, ...: the call does nothing and fails with it (`space`: 0 bytes free)
///          `SIGKILL`, `SIGTERM`, ...: the signal is raised before the call
///          `torn`: half the bytes are written, then the process is killed
///          `slow`: the call waits for 50 ms; other threads are not blocked
///
/// An empty plan turns injection off. The initial plan comes from the environment variable
/// WEFT_FAULT. Throws UserError.
void set_plan(std::string_view plan);

/// Calls since the last `set_plan`, and how many of them matched the plan.
int64_t calls();
int64_t injected();

/// Calls since `record(true)`, as `flush /path`; a rename as `rename /from /to`.
void record(bool is_enabled);
std::vector<std::string> recorded();

/// Injected outcome of a call that is about to be made.
struct FaultOutcome {
  int error = 0;         // 0: the call is made, else it fails with this errno
  bool is_torn = false;  // half of the bytes are written, then the process is killed
};
FaultOutcome inject(Call call, std::string_view what);

}  // namespace weft::fault
