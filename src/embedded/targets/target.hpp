// SPDX-License-Identifier: Apache-2.0
// An emulated target cluster as a lab file describes it: its nodes, how one signs in, and what is
// wrong with it (docs/lab.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace athanor::targets {

// `count` equal nodes named NAME-1, NAME-2, ... (NAME alone for one).
struct NodeGroup {
  std::string name{};
  std::int64_t count = 1;
  std::string vendor = "nvidia";  // or amd
  std::int64_t gpus = 0;          // of each node
  std::string model{};            // the product label; empty: the node has none
  std::map<std::string, std::string> labels{};
  std::map<std::string, std::string> allocatable{};  // as written, however odd
  bool ready = true;
  bool schedulable = true;
};

// The target listens for `up`, is dead for `down`, and so on from its start.
struct Flapping {
  std::chrono::milliseconds up{};
  std::chrono::milliseconds down{};
};

// Faults of a target; several may hold at once.
struct Faults {
  std::chrono::milliseconds slow{};  // before every answer
  bool dead = false;                 // nothing listens: connections are refused
  bool black_hole = false;           // connections are never answered at all
  bool hang = false;                 // requests are never answered
  bool wrong_certificate = false;    // of an authority that the kubeconfig does not name
  bool unauthorized = false;         // 401 for all requests
  bool forbidden = false;            // 403 for nodes
  bool garbage = false;              // 200 with bytes other than JSON
  bool web_page = false;             // 200 with HTML
  bool endless = false;              // a list of nodes that does not end
  std::string redirect{};            // 302 to this address
  std::optional<Flapping> flapping{};
};

// What the target's kubeconfig authenticates with.
enum class SignIn : std::uint8_t { Certificate, Token, Password };

// A target and how it behaves.
struct Target {
  std::string name{};
  int port = 0;  // 0: any free one, kept over restarts
  SignIn sign_in = SignIn::Certificate;
  std::string version = "v1.35.4";  // gitVersion
  std::vector<NodeGroup> nodes{};
  Faults faults{};
};

}  // namespace athanor::targets
