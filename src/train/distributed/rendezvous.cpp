#include "train/distributed/rendezvous.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include <netdb.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <unistd.h>

#include "base/error.h"
#include "base/string_util.h"
#include "base/system_calls.h"
#include "train/distributed/process_group.h"

namespace weft::train {
namespace {

using RendezvousClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kPoll(5);
constexpr milliseconds kRetry(50);
// Of the block that is reserved for documentation: no host has it, so the route is the default one.
constexpr const char* kAnyHost = "192.0.2.1";

milliseconds until(RendezvousClock::time_point deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - RendezvousClock::now());
  return std::max(left, milliseconds(1));
}

std::string own_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string host_key(const std::string& token, int rank) { return str_cat(token, "/host/", rank); }

std::string hello_key(int rank) { return str_cat("hello/", rank); }

std::string arrived_key(const std::string& token, const std::string& nonce) {
  return str_cat(token, "/arrived/", nonce);
}

/// Answers everyone who asks for the token, until the last process of each rank has it: the
/// launcher may have replaced others, also ones that had it. Throws DistributedError with the ranks
/// that did not come.
std::string issue_token(c10d::Store& store,
                        const LaunchEnvironment& environment,
                        RendezvousClock::time_point deadline) {
  std::string token = random_name();
  store.set(host_key(token, 0), own_name());
  std::map<int, std::string> answered;
  for (;; std::this_thread::sleep_for(kPoll)) {
    std::vector<std::string> missing;
    for (int rank = 1; rank < environment.world_size; ++rank) {
      auto& nonce = answered[rank];
      if (store.check({hello_key(rank)})) {
        const std::string last = store.get_to_str(hello_key(rank));
        if (std::exchange(nonce, last) != last) {
          store.set("reply/" + nonce, token);
        }
      }
      if (nonce.empty() || !store.check({arrived_key(token, nonce)})) {
        missing.push_back(std::to_string(rank));
      }
    }
    if (missing.empty()) {
      break;
    }
    if (RendezvousClock::now() >= deadline) {
      throw DistributedError(str_cat(missing.size() == 1 ? "rank " : "ranks ", join(missing),
                                     " of ", environment.world_size, " did not join"));
    }
  }
  store.set(token + "/go", std::string("1"));
  return token;
}

std::string request_token(c10d::Store& store, int rank, RendezvousClock::time_point deadline) {
  const std::string nonce = random_name();
  store.set(hello_key(rank), nonce);
  store.wait({"reply/" + nonce}, until(deadline));
  std::string token = store.get_to_str("reply/" + nonce);
  store.set(host_key(token, rank), own_name());
  store.set(arrived_key(token, nonce), std::string("1"));
  store.wait({token + "/go"}, until(deadline));
  return token;
}

Rendezvous meet_once(const LaunchEnvironment& environment, RendezvousClock::time_point deadline) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(environment.port);
  options.isServer = environment.serves_store;
  options.waitWorkers = false;
  options.timeout = until(deadline);
  options.multiTenant = true;
  const auto store = c10::make_intrusive<c10d::TCPStore>(environment.host, options);
  const std::string token = environment.rank == 0
                                ? issue_token(*store, environment, deadline)
                                : request_token(*store, environment.rank, deadline);
  Rendezvous result{c10::make_intrusive<c10d::PrefixStore>(token, store), {}};
  for (int rank = 0; rank < environment.world_size; ++rank) {
    result.hosts.push_back(store->get_to_str(host_key(token, rank)));
  }
  return result;
}

/// Address of the interface whose route leads to `host`; empty if there is none.
std::string address_towards(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), "9", &hints, &found) != 0) {
    return {};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  for (; found != nullptr; found = found->ai_next) {
    // Connecting a UDP socket sends nothing; it only selects the interface.
    const int descriptor = ::socket(found->ai_family, found->ai_socktype, found->ai_protocol);
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    std::array<char, NI_MAXHOST> text{};
    const bool is_known =
        descriptor >= 0 && ::connect(descriptor, found->ai_addr, found->ai_addrlen) == 0 &&
        ::getsockname(descriptor, generic, &size) == 0 &&
        ::getnameinfo(generic, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0;
    if (descriptor >= 0) {
      system_calls::close(descriptor, "socket");
    }
    if (is_known) {
      return text.data();
    }
  }
  return {};
}

}  // namespace

std::string random_name() {
  std::array<uint64_t, 2> bits{};
  if (::getrandom(bits.data(), sizeof(bits), 0) != static_cast<ssize_t>(sizeof(bits))) {
    throw DistributedError("the system has no random bits (getrandom)");
  }
  return str_cat(std::hex, bits[0], "-", bits[1]);
}

std::string own_address(const std::string& host) {
  std::string address = address_towards(host);
  if (is_loopback(address) && !is_loopback(host)) {
    // `host` is this machine's own name, which others cannot resolve to 127.0.1.1.
    const std::string outward = address_towards(kAnyHost);
    address = outward.empty() ? address : outward;
  }
  return address;
}

Rendezvous meet(const LaunchEnvironment& environment, milliseconds timeout) {
  const auto deadline = RendezvousClock::now() + timeout;
  const std::string place =
      str_cat(" at ", environment.host, ":", environment.port, " within ",
              format_duration(static_cast<double>(timeout.count()) / 1000.0),
              environment.launcher.empty() ? "" : ", launched by ", environment.launcher);
  while (true) {
    try {
      return meet_once(environment, deadline);
    } catch (const DistributedError& error) {
      throw DistributedError(error.what() + place);
    } catch (const c10::DistError& error) {
      if (std::string_view(error.what()).find("EADDRINUSE") != std::string_view::npos) {
        throw UserError(str_cat("port ", environment.port,
                                " of this machine is in use: set MASTER_PORT to a free one"));
      }
      if (environment.serves_store || RendezvousClock::now() >= deadline) {
        throw DistributedError(
            (environment.rank == 0 ? "the store did not answer" : "rank 0 did not answer") + place);
      }
    }
    // The store may have been that of a run that just ended.
    std::this_thread::sleep_for(kRetry);
  }
}

}  // namespace weft::train
