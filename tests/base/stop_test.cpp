#include "base/stop.h"

#include <csignal>
#include <ctime>

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/config.h"

namespace weft {
namespace {

void wait_past_the_same_wish() {
  const timespec time{.tv_sec = 0, .tv_nsec = 150'000'000};
  ::nanosleep(&time, nullptr);
}

TEST(Stop, IsCheckedInLongLoops) {
  install_signal_handlers();
  request_stop(false);
  throw_if_stopped("testing");
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
    std::raise(signal);
    EXPECT_TRUE(stop_requested());
    EXPECT_EQ(test::message_of<Stopped>([] { throw_if_stopped("testing"); }),
              "stopped while testing");
    request_stop(false);
  }
  EXPECT_FALSE(stop_requested());
}

TEST(StopDeathTest, LeavesAtTheSecondSignal) {
  EXPECT_EXIT(
      {
        install_signal_handlers();
        std::raise(SIGTERM);
        wait_past_the_same_wish();
        std::raise(SIGTERM);
      },
      testing::ExitedWithCode(143), "");
}

TEST(StopDeathTest, TreatsTwoSimultaneousSignalsAsOne) {
  EXPECT_EXIT(
      {
        install_signal_handlers();
        std::raise(SIGTERM);
        std::raise(SIGTERM);
        std::_Exit(stop_requested() ? 7 : 8);
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace weft
