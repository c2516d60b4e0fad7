#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <unistd.h>

#include "base/string_util.h"
#include "train/distributed/failure_report.h"
#include "train/distributed/forked_ranks.h"
#include "train/distributed/rendezvous.h"

namespace weft::train {
namespace {

using Texts = std::vector<std::string>;

TEST(Rendezvous, NamesRanksThatDoNotJoin) {
  const auto results = test::run_in_ranks(2, [](LaunchEnvironment environment) -> std::string {
    environment.world_size = 4;
    environment.host = "localhost";
    environment.launcher = "Slurm";
    prepare_failure_report(environment.rank);
    meet(environment, std::chrono::seconds(1));
    return "met";
  });
  EXPECT_TRUE(results[0].starts_with("ranks 2, 3 of 4 did not join at localhost:")) << results[0];
  EXPECT_TRUE(results[0].ends_with(" within 1 s, launched by Slurm")) << results[0];
  EXPECT_TRUE(results[1].starts_with("rank 0 did not answer at localhost:")) << results[1];
}

TEST(Rendezvous, SaysThatThePortIsInUse) {
  const int port = test::free_port();
  const auto result = test::run_in_ranks(
      1,
      [](LaunchEnvironment environment) -> std::string {
        const int descriptor = ::socket(AF_INET6, SOCK_STREAM, 0);
        sockaddr_in6 address{};
        address.sin6_family = AF_INET6;
        address.sin6_port = htons(static_cast<uint16_t>(environment.port));
        if (::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
            ::listen(descriptor, 1) != 0) {
          return "the port is taken";
        }
        environment.world_size = 2;
        prepare_failure_report(environment.rank);
        meet(environment, std::chrono::seconds(2));
        return "met";
      },
      port);
  EXPECT_EQ(result[0],
            str_cat("port ", port, " of this machine is in use: set MASTER_PORT to a free one"));
}

// The store of a launcher survives a restart, with the addresses of the processes that died.
TEST(Rendezvous, RestartedRanksIgnoreTheKeysOfTheDead) {
  const int port = test::free_port();
  const pid_t launcher = ::fork();
  if (launcher == 0) {
    c10d::TCPStoreOptions options;
    options.port = static_cast<uint16_t>(port);
    options.isServer = true;
    const c10d::TCPStore store("127.0.0.1", options);
    std::this_thread::sleep_for(std::chrono::seconds(60));
    ::_exit(0);
  }
  const auto work = [](bool dies) {
    return [dies](const LaunchEnvironment& environment) -> std::string {
      const auto group = ProcessGroup::join(environment, {.timeout = std::chrono::seconds(20)});
      const double sum = group->sum({1.0})[0];
      if (dies) {
        ::raise(SIGKILL);
      }
      return str_cat(sum);
    };
  };
  EXPECT_EQ(test::run_in_ranks(2, work(true), port, false), Texts(2, "signal 9"));
  EXPECT_EQ(test::run_in_ranks(2, work(false), port, false), Texts(2, "2"));
  ::kill(launcher, SIGKILL);
  ::waitpid(launcher, nullptr, 0);
}

TEST(Rendezvous, ARankThatIsReplacedCountsOnce) {
  const auto results =
      test::run_in_ranks(3, [](const LaunchEnvironment& environment) -> std::string {
        constexpr std::chrono::seconds kTimeout(10);
        if (environment.rank == 1) {
          const pid_t replaced = ::fork();
          if (replaced == 0) {
            meet(environment, kTimeout);
            ::_exit(0);
          }
          std::this_thread::sleep_for(std::chrono::milliseconds(500));
          ::kill(replaced, SIGKILL);
          ::waitpid(replaced, nullptr, 0);
        } else if (environment.rank == 2) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        }
        const auto group = ProcessGroup::join(environment, {.timeout = kTimeout});
        return str_cat(group->sum({1.0})[0]);
      });
  EXPECT_EQ(results, Texts(3, "3"));
}

TEST(Rendezvous, ARankThatDiesBeforeItConnectsIsNoticedSoon) {
  const auto begin = std::chrono::steady_clock::now();
  const auto results = test::run_in_ranks(2, [](const LaunchEnvironment& environment) {
    constexpr std::chrono::seconds kTimeout(60);
    if (environment.rank == 1) {
      meet(environment, kTimeout);
      ::raise(SIGKILL);
    }
    ProcessGroup::join(environment,
                       {.timeout = kTimeout, .connect_timeout = std::chrono::seconds(1)});
    return std::string("connected");
  });
  EXPECT_TRUE(results[0].starts_with("rank 0 cannot connect to the others: ")) << results[0];
  EXPECT_EQ(results[1], "signal 9");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(Rendezvous, TheTimeLimitOfConnectingIsNotThatOfCollectives) {
  const auto results = test::run_in_ranks(2, [](const LaunchEnvironment& environment) {
    const auto group = ProcessGroup::join(
        environment,
        {.timeout = std::chrono::seconds(60), .connect_timeout = std::chrono::seconds(1)});
    if (environment.rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    }
    return str_cat(group->sum({1.0})[0]);
  });
  EXPECT_EQ(results, Texts(2, "2"));
}

TEST(Rendezvous, OwnAddressLeadsToTheHost) {
  EXPECT_EQ(own_address("127.0.0.1"), "127.0.0.1");
  EXPECT_TRUE(is_loopback(own_address("localhost")));
  EXPECT_EQ(own_address("host.invalid"), "");
}

}  // namespace
}  // namespace weft::train
