// SPDX-License-Identifier: Apache-2.0
#include "embedded/nodes/network/name_server.hpp"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/ascii.hpp"

namespace athanor::nodes {
namespace {

constexpr std::size_t kMostPacket = 65535;
constexpr std::size_t kMostAsked = 1000;       // questions on their way; more are refused
constexpr std::size_t kMostConnections = 256;  // by TCP; more are closed
constexpr std::int64_t kPatienceMs = 2000;     // for an upstream server, before the next is asked
constexpr std::int64_t kIdleMs = 10'000;       // of a connection
constexpr std::size_t kMostServers = 3;        // as a resolver takes
constexpr int kPacketsPerTurn = 64;

// NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): the sockets interface is so
ssize_t receive(int file, std::string& packet, Address& from) {
  packet.resize(kMostPacket);
  sockaddr_in plain{};
  socklen_t size = sizeof plain;
  const ssize_t count =
      ::recvfrom(file, packet.data(), packet.size(), 0, reinterpret_cast<sockaddr*>(&plain), &size);
  from = address_in(plain);
  packet.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return count;
}

void send_to(int file, const std::string& bytes, const Address& address) {
  const sockaddr_in to = socket_address(address);
  ::sendto(file, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&to), sizeof to);
}
// NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)

}  // namespace

NameServer::NameServer(PollLoop& loop, TableSource table, std::vector<Address> upstream)
    : loop_(loop), table_(std::move(table)), upstream_(std::move(upstream)) {
  static_cast<void>(::getrandom(&last_id_, sizeof last_id_, GRND_NONBLOCK));
}

NameServer::~NameServer() = default;

Result<Address> NameServer::open(const std::vector<Address>& wanted) {
  Error last = Error::internal("no address for a name server");
  for (Address address : wanted) {
    auto packets = open_socket(address, Protocol::Udp);
    if (!packets.ok()) {
      last = packets.error();
      continue;
    }
    address.port = bound_address(packets->get()).port;
    auto connections = open_socket(address, Protocol::Tcp);
    if (!connections.ok()) {
      last = connections.error();
      continue;
    }
    packets_ = *std::move(packets);
    connections_ = *std::move(connections);
    loop_.add(packets_.get(), EPOLLIN, [this](std::uint32_t) { take_packets(); });
    loop_.add(connections_.get(), EPOLLIN, [this](std::uint32_t) { take_connection(); });
    if (!upstream_.empty()) {
      questions_.reset(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      loop_.add(questions_.get(), EPOLLIN, [this](std::uint32_t) { take_replies(); });
    }
    return address;
  }
  return last;
}

void NameServer::take_packets() {
  std::string packet;
  Client client;
  for (int i = 0; i < kPacketsPerTurn && receive(packets_.get(), packet, client.address) > 0; ++i) {
    answer(packet, client);
  }
}

void NameServer::take_connection() {
  Descriptor file(::accept4(connections_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!file.valid() || open_.size() >= kMostConnections) {
    return;
  }
  const std::uint64_t id = ++last_connection_;
  const int number = file.get();
  open_[id].file = std::move(file);
  loop_.add(number, EPOLLIN, [this, id](std::uint32_t events) { turn_connection(id, events); });
  loop_.after(kIdleMs, [this, id] {
    if (const auto found = open_.find(id); found != open_.end()) {
      loop_.remove(found->second.file.get());
      open_.erase(found);
    }
  });
}

void NameServer::turn_connection(std::uint64_t id, std::uint32_t events) {
  Connection& connection = open_.at(id);
  char buffer[4096];
  ssize_t count = 1;
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
    count = ::recv(connection.file.get(), buffer, sizeof buffer, 0);
  }
  if (count == 0 || (count < 0 && errno != EAGAIN) ||
      connection.received.size() > 2 * kMostPacket) {
    loop_.remove(connection.file.get());
    open_.erase(id);
    return;
  }
  if ((events & EPOLLIN) != 0 && count > 0) {
    connection.received.append(buffer, static_cast<std::size_t>(count));
  }
  while (connection.received.size() >= 2) {
    const auto high = static_cast<unsigned char>(connection.received[0]);
    const auto low = static_cast<unsigned char>(connection.received[1]);
    const std::size_t size = static_cast<std::size_t>(high) << 8U | low;
    if (connection.received.size() < size + 2) {
      break;
    }
    const std::string packet = connection.received.substr(2, size);
    connection.received.erase(0, size + 2);
    answer(packet, {.connection = id});
  }
  if (!connection.send.empty()) {
    const ssize_t sent = ::send(connection.file.get(), connection.send.data(),
                                connection.send.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    connection.send.erase(0, sent > 0 ? static_cast<std::size_t>(sent) : 0);
  }
  loop_.change(connection.file.get(), connection.send.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

void NameServer::answer(std::string_view packet, const Client& client) {
  auto question = parse_question(packet);
  if (!question) {
    return;
  }
  const ServiceTablePtr table = table_();
  auto found = cluster_answer(*question, *table, turn_++);
  if (found && found->go_on.empty()) {
    return reply(client, *question, found->content);
  }
  Asked asked{.client = client, .question = *std::move(question)};
  if (found) {
    asked.before = std::move(found->content.answers);
  }
  if (upstream_.empty() || asked_.size() >= kMostAsked) {
    const DnsQuestion& open = asked.question;
    return reply(client, open,
                 {.code = upstream_.empty() ? DnsCode::NoName : DnsCode::ServerFailure});
  }
  const std::string query =
      found ? dns_query(0, found->go_on, asked.question.type) : std::string(packet);
  ask(std::move(asked), query);
}

void NameServer::ask(Asked asked, std::string_view packet) {
  const std::uint16_t id = free_id();
  asked.query = dns_short(id) + std::string(packet.substr(2));
  const auto [place, added] = asked_.insert_or_assign(id, std::move(asked));
  send_query(id, place->second);
}

void NameServer::send_query(std::uint16_t id, const Asked& asked) {
  send_to(questions_.get(), asked.query, upstream_[asked.server]);
  loop_.after(kPatienceMs, [this, id, server = asked.server] { give_up(id, server); });
}

std::uint16_t NameServer::free_id() {
  do {
    // Steps that a stranger cannot guess make forged answers useless.
    std::uint16_t step = 1;
    static_cast<void>(::getrandom(&step, sizeof step, GRND_NONBLOCK));
    last_id_ = static_cast<std::uint16_t>(last_id_ + step + 1U);
  } while (asked_.contains(last_id_));
  return last_id_;
}

void NameServer::take_replies() {
  std::string packet;
  Address from;
  for (int i = 0; i < kPacketsPerTurn && receive(questions_.get(), packet, from) > 0; ++i) {
    const auto parsed = parse_reply(packet);
    const auto found = parsed ? asked_.find(parsed->id) : asked_.end();
    if (found == asked_.end() || from != upstream_[found->second.server]) {
      continue;
    }
    const Asked asked = std::move(found->second);
    asked_.erase(found);
    if (asked.before.empty()) {
      send(asked.client, dns_short(asked.question.id) + packet.substr(2));
      continue;
    }
    DnsContent content{.code = parsed->code, .answers = asked.before};
    content.answers.insert(content.answers.end(), parsed->records.begin(), parsed->records.end());
    reply(asked.client, asked.question, content);
  }
}

void NameServer::give_up(std::uint16_t id, std::size_t server) {
  const auto found = asked_.find(id);
  if (found == asked_.end() || found->second.server != server) {
    return;
  }
  if (server + 1 < upstream_.size()) {
    ++found->second.server;
    return send_query(id, found->second);
  }
  const Asked asked = std::move(found->second);
  asked_.erase(found);
  reply(asked.client, asked.question, {.code = DnsCode::ServerFailure});
}

void NameServer::reply(const Client& client, const DnsQuestion& question,
                       const DnsContent& content) {
  send(client,
       dns_answer(question, content, client.connection == 0 ? question.most_bytes : kMostPacket));
}

void NameServer::send(const Client& client, const std::string& bytes) {
  if (client.connection == 0) {
    return send_to(packets_.get(), bytes, client.address);
  }
  if (const auto found = open_.find(client.connection); found != open_.end()) {
    found->second.send += dns_short(static_cast<std::uint16_t>(bytes.size())) + bytes;
    loop_.change(found->second.file.get(), EPOLLIN | EPOLLOUT);
  }
}

std::vector<Address> name_servers_of(std::string_view text) {
  std::vector<Address> servers;
  for (const std::string_view line : words_of(text, '\n')) {
    const std::vector<std::string_view> words = words_of(trimmed(line), ' ');
    if (words.size() < 2 || words[0] != "nameserver" || servers.size() >= kMostServers) {
      continue;
    }
    if (const auto ip = ip_of(trimmed(words[1]))) {
      servers.push_back({.ip = *ip, .port = kNamePort});
    }
  }
  return servers;
}

}  // namespace athanor::nodes
