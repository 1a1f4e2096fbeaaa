// SPDX-License-Identifier: Apache-2.0
// NameServer: answers names of the cluster from the table of Services, and asks the servers of this
// machine for others. By UDP, and by TCP for long answers.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "embedded/nodes/network/cluster_names.hpp"
#include "embedded/nodes/network/dns_message.hpp"
#include "embedded/nodes/network/poll_loop.hpp"
#include "embedded/nodes/network/service_table.hpp"
#include "embedded/nodes/network/sockets.hpp"

namespace athanor::nodes {

inline constexpr std::uint16_t kNamePort = 53;

using TableSource = std::function<ServiceTablePtr()>;

// Of the loop's thread, but for the constructor and open().
class NameServer {
 public:
  // Answers from `table`, and asks the servers at `upstream`, in turn, for names outside the
  // cluster.
  NameServer(PollLoop& loop, TableSource table, std::vector<Address> upstream);
  NameServer(const NameServer&) = delete;
  NameServer& operator=(const NameServer&) = delete;
  ~NameServer();

  // Opens it at the first of these addresses that is free. Returns the address.
  Result<Address> open(const std::vector<Address>& wanted);

 private:
  // Address of the asker.
  struct Client {
    Address address{};
    std::uint64_t connection = 0;  // 0: by UDP
  };
  // A question that an upstream server was asked.
  struct Asked {
    Client client{};
    DnsQuestion question{};
    std::vector<DnsRecord> before{};  // aliases that led there
    std::size_t server = 0;
    std::string query{};  // as it was sent
  };
  struct Connection {
    Descriptor file{};
    std::string received{};
    std::string send{};
  };

  void take_packets();
  void take_connection();
  void turn_connection(std::uint64_t id, std::uint32_t events);
  void answer(std::string_view packet, const Client& client);
  void ask(Asked asked, std::string_view packet);
  void send_query(std::uint16_t id, const Asked& asked);
  void take_replies();
  void give_up(std::uint16_t id, std::size_t server);
  void reply(const Client& client, const DnsQuestion& question, const DnsContent& content);
  void send(const Client& client, const std::string& bytes);
  std::uint16_t free_id();

  PollLoop& loop_;
  TableSource table_;
  std::vector<Address> upstream_;
  Descriptor packets_{};
  Descriptor connections_{};
  Descriptor questions_{};  // to upstream servers
  std::map<std::uint16_t, Asked> asked_{};
  std::map<std::uint64_t, Connection> open_{};
  std::uint64_t last_connection_ = 0;
  std::uint16_t last_id_ = 0;
  std::size_t turn_ = 0;
};

// Returns the addresses of the servers that a text in the format of resolv.conf(5) names.
std::vector<Address> name_servers_of(std::string_view text);

}  // namespace athanor::nodes
