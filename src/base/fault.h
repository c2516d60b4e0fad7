#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::fault {

/// The calls of the system by which Weft changes files. `kSpace` asks for the free space.
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

/// Breaks chosen calls from now on, to prove what the program does then. The plan is a list, split
/// by `;`, of `CALL:WHICH:WHAT`.
///
///   CALL   open, write, flush, close, rename, exchange, link, remove, mkdir, truncate, space, any;
///          `write@checkpoint-`: only calls whose path holds these letters
///   WHICH  `7` the seventh such call, `7+` it and all that follow, `7-9` three of them
///   WHAT   `ENOSPC`, `EIO`, ...: the call fails so and does nothing (`space`: none is free)
///          `SIGKILL`, `SIGTERM`, ...: the process gets the signal before the call
///          `torn`: half the bytes are written, then the process is killed
///          `slow`: the call waits for 50 ms, alone: other threads go on
///
/// An empty plan ends that. The program takes its first plan from the environment's WEFT_FAULT.
/// Throws UserError.
void set_plan(std::string_view plan);

/// Calls since the last `set_plan`, and how many of them the plan named.
int64_t calls();
int64_t struck();

/// What was called since `record(true)`, as `flush /path`; a rename as `rename /from /to`.
void record(bool wish);
std::vector<std::string> recorded();

/// What is to become of a call that is about to be made.
struct Verdict {
  int error = 0;         // 0: it is made, else it fails with this errno
  bool is_torn = false;  // half of it is made, then the process is killed
};
Verdict strike(Call call, std::string_view what);

}  // namespace weft::fault
