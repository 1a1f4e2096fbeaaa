// SPDX-License-Identifier: Apache-2.0
// SocketSupervisor: does bind() and connect() for the processes of pods, by the rules of
// call_rules.hpp. The kernel holds a process in its call until there is an answer (seccomp's user
// notification), so nothing here waits for anything.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "embedded/nodes/network/call_listener.hpp"
#include "embedded/nodes/network/call_rules.hpp"
#include "embedded/nodes/network/name_server.hpp"
#include "embedded/nodes/network/poll_loop.hpp"

namespace athanor::nodes {

// Of its loop's thread.
class SocketSupervisor {
 public:
  // Supervises the processes that send the descriptors of their filters over `channel`.
  SocketSupervisor(PollLoop& loop, Descriptor channel, CallRules& rules, TableSource table);
  SocketSupervisor(const SocketSupervisor&) = delete;
  SocketSupervisor& operator=(const SocketSupervisor&) = delete;
  ~SocketSupervisor();

 private:
  struct Listener {
    Descriptor file{};
    CallingPod pod{};
  };
  // A call that a process waits in.
  struct Call {
    std::uint64_t listener = 0;
    std::uint64_t id = 0;
    int pid = 0;
    CallingPod pod{};
    Address wanted{};
    bool is6 = false;  // the address was one of IPv6
    Protocol protocol = Protocol::Tcp;
    std::string address{};  // as it was given
    Descriptor file{};      // the socket
  };
  struct Connecting {
    Call call{};
    CallRule rule{};
    int flags = 0;  // of the socket, as it was
  };

  void take_listeners();
  void turn(std::uint64_t listener, std::uint32_t events);
  void end(std::uint64_t listener);
  void do_bind(Call call);
  void do_connect(Call call);
  void finish(Connecting connecting, int error);
  static bool read_address(Call& call, std::uint64_t at, std::uint64_t size);
  static bool take_socket(Call& call, int number);
  static int bind_to(const Call& call, const Address& to);
  static int connect_to(const Call& call, const Address& to);
  // Answers with 0 or an error number; kContinue: the kernel does the call.
  void respond(const Call& call, int error);

  PollLoop& loop_;
  Descriptor channel_;
  CallRules& rules_;
  TableSource table_;
  std::map<std::uint64_t, Listener> listeners_{};
  std::uint64_t last_listener_ = 0;
  std::vector<char> notice_{};  // buffers of the kernel's size
  std::vector<char> answer_{};
};

}  // namespace athanor::nodes
