#pragma once

#include <cstdint>
#include <functional>

namespace weft {

/// CPU cores available to this process (respects affinity; OMP_NUM_THREADS, if set, is the upper
/// bound).
int available_cores();

/// Calls work(begin, end) for chunks of 0 .. count-1 on up to `threads` threads (0: all cores) and
/// waits. Rethrows the first exception. Chunks are handed out in order, each at least `grain` long.
void parallel_for(int64_t count,
                  int64_t grain,
                  const std::function<void(int64_t, int64_t)>& work,
                  int threads = 0);

}  // namespace weft
