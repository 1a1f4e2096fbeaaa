// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/network/service_proxy.hpp"

#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/log.hpp"

namespace athanor::nodes {
namespace {

constexpr std::uint32_t kClusterRange = 0x0a60;  // 10.96.0.0/16: other addresses have no alias
constexpr unsigned kRangeBits = 16;
constexpr std::size_t kMostListeners = 1024;  // descriptors are few
constexpr std::size_t kMostRelays = 512;      // connections; more are closed
constexpr std::size_t kMostSessions = 512;    // clients of UDP
constexpr std::int64_t kSessionMs = 30'000;   // of such a client
constexpr std::int64_t kSweepMs = 10'000;
constexpr std::size_t kMostDatagram = 65535;
constexpr int kDatagramsPerTurn = 32;

// NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): the sockets interface is so
sockaddr* plain_address(sockaddr_in& address) {
  return reinterpret_cast<sockaddr*>(&address);
}
// NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)

}  // namespace

ServiceProxy::ServiceProxy(PollLoop& loop, ServiceChoice& choice,
                           std::function<ServiceTablePtr()> table,
                           std::function<void(const PortProblem&)> report)
    : loop_(loop), choice_(choice), table_(std::move(table)), report_(std::move(report)) {
  loop_.after(kSweepMs, [this] { end_idle(); });
}

ServiceProxy::~ServiceProxy() = default;

void ServiceProxy::follow() {
  const ServiceTablePtr table = table_();
  struct Wanted {
    Target target{};
    std::size_t port = 0;  // in table->ports
  };
  std::map<Place, Wanted> wanted;
  for (const auto& [key, index] : table->by_node_port) {
    const Address address{.ip = kLoopback, .port = key.first};
    wanted.try_emplace(
        {address, key.second},
        Wanted{.target = {.node_port = true, .address = address, .protocol = key.second},
               .port = index});
  }
  for (const auto& [key, index] : table->by_address) {
    if (key.first.ip >> kRangeBits == kClusterRange) {
      const Address alias{.ip = host_alias(key.first.ip), .port = pod_port(key.first.port)};
      wanted.try_emplace(
          {alias, key.second},
          Wanted{.target = {.address = key.first, .protocol = key.second}, .port = index});
    }
  }
  for (auto listener = listeners_.begin(); listener != listeners_.end();) {
    if (wanted.contains(listener->first)) {
      ++listener;
      continue;
    }
    loop_.remove(listener->second.file.get());
    listener = listeners_.erase(listener);
  }
  std::set<PortProblem> problems(table->problems.begin(), table->problems.end());
  for (const auto& [place, want] : wanted) {
    if (const auto found = listeners_.find(place); found != listeners_.end()) {
      found->second.target = want.target;
    } else {
      open(place, want.target, table->ports[want.port].service, problems);
    }
  }
  for (const PortProblem& problem : problems) {
    if (!reported_.contains(problem)) {
      log::info("a port is not served on this machine",
                {{"port_of", problem.owner}, {"reason", problem.text}});
      report_(problem);
    }
  }
  reported_ = std::move(problems);
}

void ServiceProxy::open(const Place& place, const Target& target, const std::string& service,
                        std::set<PortProblem>& problems) {
  auto file = listeners_.size() < kMostListeners
                  ? open_socket(place.first, place.second)
                  : Result<Descriptor>(Error::internal("too many ports of Services"));
  if (!file.ok()) {
    problems.insert(
        {.owner = service,
         .text = fmt::format("Port {} of this machine is not open: {}; pods still reach it",
                             place.first.port, file.error().message)});
    return;
  }
  const int number = file->get();
  listeners_.emplace(place, Listener{.file = *std::move(file), .target = target});
  loop_.add(number, EPOLLIN, [this, place](std::uint32_t /*events*/) {
    if (place.second == Protocol::Tcp) {
      accept_one(place);
    } else {
      take_packets(place);
    }
  });
}

std::optional<Address> ServiceProxy::endpoint_of(const Target& target, std::uint32_t client) {
  const ServiceTablePtr table = table_();
  const ServicePort* port = target.node_port
                                ? table->find_node_port(target.address.port, target.protocol)
                                : table->find(target.address, target.protocol);
  return port == nullptr ? std::nullopt : choice_.choose(*port, client, PollLoop::now_ms());
}

void ServiceProxy::accept_one(const Place& place) {
  const Listener& listener = listeners_.at(place);
  sockaddr_in from{};
  socklen_t size = sizeof from;
  Descriptor file(
      ::accept4(listener.file.get(), plain_address(from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!file.valid() || relays_.size() >= kMostRelays) {
    return;
  }
  const auto endpoint = endpoint_of(listener.target, address_in(from).ip);
  auto to = endpoint ? open_connection(reachable(*endpoint))
                     : Result<Descriptor>(Error::internal("no endpoint"));
  if (!to.ok()) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};  // the client sees a reset
    ::setsockopt(file.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    return;
  }
  const std::uint64_t id = ++last_relay_;
  relays_.emplace(id, std::make_unique<Relay>(loop_, std::move(file), *std::move(to),
                                              [this, id] { relays_.erase(id); }));
}

void ServiceProxy::take_packets(const Place& place) {
  const Listener& listener = listeners_.at(place);
  std::string packet(kMostDatagram, '\0');
  for (int i = 0; i < kDatagramsPerTurn; ++i) {
    sockaddr_in from{};
    socklen_t size = sizeof from;
    const ssize_t count = ::recvfrom(listener.file.get(), packet.data(), packet.size(), 0,
                                     plain_address(from), &size);
    if (count < 0) {
      return;
    }
    const Address client = address_in(from);
    auto session = sessions_.find({place, client});
    if (session == sessions_.end()) {
      const auto endpoint = endpoint_of(listener.target, client.ip);
      auto file = open_socket({}, Protocol::Udp);
      if (!endpoint || !file.ok() || sessions_.size() >= kMostSessions) {
        continue;
      }
      sockaddr_in to = socket_address(reachable(*endpoint));
      if (::connect(file->get(), plain_address(to), sizeof to) != 0) {
        continue;
      }
      loop_.add(file->get(), EPOLLIN,
                [this, place, client](std::uint32_t /*events*/) { answer_packets(place, client); });
      session =
          sessions_.emplace(std::pair(place, client), Session{.file = *std::move(file)}).first;
    }
    session->second.used_ms = PollLoop::now_ms();
    static_cast<void>(::send(session->second.file.get(), packet.data(),
                             static_cast<std::size_t>(count), MSG_DONTWAIT | MSG_NOSIGNAL));
  }
}

void ServiceProxy::answer_packets(const Place& place, const Address& client) {
  const auto session = sessions_.find({place, client});
  const auto listener = listeners_.find(place);
  std::string packet(kMostDatagram, '\0');
  for (int i = 0; i < kDatagramsPerTurn; ++i) {
    const ssize_t count =
        ::recv(session->second.file.get(), packet.data(), packet.size(), MSG_DONTWAIT);
    if (count < 0) {
      return;
    }
    session->second.used_ms = PollLoop::now_ms();
    sockaddr_in to = socket_address(client);
    if (listener != listeners_.end()) {
      ::sendto(listener->second.file.get(), packet.data(), static_cast<std::size_t>(count),
               MSG_DONTWAIT | MSG_NOSIGNAL, plain_address(to), sizeof to);
    }
  }
}

void ServiceProxy::end_idle() {
  const std::int64_t now = PollLoop::now_ms();
  for (auto session = sessions_.begin(); session != sessions_.end();) {
    if (now - session->second.used_ms < kSessionMs) {
      ++session;
      continue;
    }
    loop_.remove(session->second.file.get());
    session = sessions_.erase(session);
  }
  loop_.after(kSweepMs, [this] { end_idle(); });
}

}  // namespace athanor::nodes
