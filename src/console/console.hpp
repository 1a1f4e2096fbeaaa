// SPDX-License-Identifier: Apache-2.0
// Console: the web pages and the JSON API of jobs, queues, clusters, slices and zones
// (docs/spec/dashboard.md), for any Kubernetes API server.
#pragma once

#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "client/cluster_config.hpp"
#include "console/model/settings.hpp"
#include "console/model/simulator.hpp"

namespace athanor::console {

// Inputs of a console.
struct ConsoleOptions {
  Settings settings{};
  client::ClusterConfig cluster{};
  std::string data{};     // folder of the history; empty: it is kept in memory
  std::string web{};      // folder of the pages; empty: those of the program
  std::string version{};  // of the program
  bool embedded = false;  // served by `athanor up`
  Simulator simulator{};  // of "what if" questions; not empty
};

// A running console. Thread-safe.
class Console {
 public:
  // Listens and follows jobs; other kinds are followed while somebody looks. Errors: the address
  // is none, or taken; a certificate, a database or a cluster's configuration cannot be used.
  static Result<std::unique_ptr<Console>> start(ConsoleOptions options);
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  ~Console();  // stops

  // Returns "http://127.0.0.1:8000/", or CONSOLE_PUBLIC_URL where that is set.
  [[nodiscard]] std::string url() const;

  // Returns where it listens: "127.0.0.1:8000".
  [[nodiscard]] std::string address() const;

 private:
  struct State;
  explicit Console(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace athanor::console
