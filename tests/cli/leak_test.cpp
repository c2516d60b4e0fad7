// Long runs do not grow: resident memory, file descriptors and threads of a training over steps of
// varying shapes, with evaluations and checkpoints between them.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include "base/string_util.h"
#include "cli/train/launched_runs.h"
#include "support/program.h"

namespace weft::cli {
namespace {

constexpr const char* kLeakConfig = R"(
model: {dim: 16, layers: 1, attention: {heads: 2}, position: {length: 64}}
tokenizer: {type: wordpiece, vocab_size: 50}
data: {train: [{path: WORK/text.txt}], evaluate: [{path: WORK/text.txt}], pack: none, cache_dir: WORK/cache}
objective: {type: mlm}
train:
  duration: STEPS steps
  batch_tokens: 128
  log_every: 10 steps
  evaluate_every: 50 steps
  save_every: 20 steps
  precision: fp32
  threads: 1
run: {directory: WORK/run}
)";

/// Sentences of 1 to 60 words.
std::string prose() {
  const std::vector<std::string> words = {"the", "of",   "and",  "a",   "to",  "in",
                                          "is",  "you",  "that", "it",  "he",  "was",
                                          "on",  "with", "as",   "his", "they"};
  std::string made;
  uint32_t state = 1;
  const auto draw = [&](std::size_t end) {
    state = state * 1664525 + 1013904223;
    return (state >> 8) % end;
  };
  for (int line = 0; line < 600; ++line) {
    for (auto left = 1 + draw(60); left > 0; --left) {
      made += words[draw(words.size())] + " ";
    }
    made += "\n";
  }
  return made;
}

/// Resources of a process.
struct ResourceUsage {
  int64_t step = 0;  // of its log, when it was looked at
  int64_t kilobytes = 0;
  int64_t threads = 0;
  int64_t descriptors = 0;
};

int64_t number_after(const std::string& text, const std::string& word) {
  const auto at = text.rfind(word);
  return at == std::string::npos ? 0 : std::atoll(text.c_str() + at + word.size());
}

ResourceUsage look_at(pid_t process) {
  const auto folder = str_cat("/proc/", process);
  ResourceUsage found;
  const auto status = test::contents(folder + "/status");
  found.kilobytes = number_after(status, "VmRSS:");
  found.threads = number_after(status, "Threads:");
  std::error_code gone;
  const std::filesystem::directory_iterator open(folder + "/fd", gone);
  found.descriptors = std::distance(begin(open), end(open));
  return found;
}

/// The larger of each.
void add_largest(ResourceUsage& largest, const ResourceUsage& sample) {
  largest.kilobytes = std::max(largest.kilobytes, sample.kilobytes);
  largest.threads = std::max(largest.threads, sample.threads);
  largest.descriptors = std::max(largest.descriptors, sample.descriptors);
}

/// Of all ranks of the run.
ResourceUsage look_at_run(const std::string& run) {
  ResourceUsage largest{.step = number_after(test::contents(run + "/metrics.jsonl"), "\"step\":")};
  for (const auto process : ranks_of(run)) {
    add_largest(largest, look_at(process));
  }
  return largest;
}

/// The largest of each over the samples.
ResourceUsage most(const std::vector<ResourceUsage>& samples, int64_t from, int64_t to) {
  ResourceUsage largest;
  for (const auto& sample : samples) {
    if (sample.step >= from && sample.step < to) {
      add_largest(largest, sample);
    }
  }
  return largest;
}

class LongRun : public ::testing::TestWithParam<int> {};

TEST_P(LongRun, DoesNotLeakMemoryFilesOrThreads) {
  const bool is_long = std::getenv("WEFT_TORTURE") != nullptr;
  const int64_t steps = is_long ? 20'000 : GetParam() == 1 ? 3'000 : 2'000;
  const test::TemporaryDirectory work;
  test::write(work / "text.txt", prose());
  auto config = test::filled(kLeakConfig, "WORK", work.path());
  test::write(work / "config.yaml", test::filled(config, "STEPS", std::to_string(steps)));
  ::setenv("OMP_WAIT_POLICY", "PASSIVE", 0);
  const pid_t process = test::start({WEFT_BINARY, "launch", "--ranks", std::to_string(GetParam()),
                                     "--", "train", work / "config.yaml", "--output", work / "run"},
                                    work.path());
  std::vector<ResourceUsage> samples;
  int status = 0;
  while (::waitpid(process, &status, WNOHANG) == 0) {
    samples.push_back(look_at_run(work / "run"));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_EQ(status, 0) << test::contents(work / "stderr");

  const int64_t warm = steps / 3;
  const auto early = most(samples, 1, 2 * warm);
  const auto late = most(samples, 2 * warm, steps + 1);
  ASSERT_GT(late.kilobytes, 0);
  // What the heap of the loaders' threads still grows until the largest batch; in the long form
  // a kilobyte a step would be twice as much.
  EXPECT_LE(late.kilobytes, early.kilobytes + 3 * 1024);
  // A look may meet a save in its thread with its files, or not; one left open by each of the 50
  // saves or 20 evaluations between would be more.
  EXPECT_LE(late.threads, early.threads + 2);
  EXPECT_LE(late.descriptors, early.descriptors + 4);
  std::cout << "ranks " << GetParam() << ", steps " << steps << ": before " << 2 * warm << ": "
            << early.kilobytes << " KiB, " << early.descriptors << " descriptors, " << early.threads
            << " threads; after: " << late.kilobytes << " KiB, " << late.descriptors << ", "
            << late.threads << "\n";
}

INSTANTIATE_TEST_SUITE_P(Ranks, LongRun, ::testing::Values(1, 2));

}  // namespace
}  // namespace weft::cli
