// SPDX-License-Identifier: Apache-2.0
// Transfers: GETs of many servers, each with its own credentials, driven by one thread. How many
// are served at a time is bounded, but those from which nothing comes do not count: any number of
// dead servers keeps no living one waiting.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/time.hpp"
#include "base/unique_function.hpp"
#include "client/api_client.hpp"
#include "client/cluster_config.hpp"
#include "client/credentials.hpp"

namespace athanor::client {

// One GET of a Transfers.
struct Fetch {
  std::shared_ptr<const ClusterConfig> config{};  // required
  Identity identity{};
  std::string path{};  // with its query
  Duration connect_timeout = std::chrono::seconds(10);
  Duration head_timeout = std::chrono::seconds(10);  // to the answer's first line
  Duration timeout = std::chrono::seconds(20);       // to the last byte
  std::size_t response_limit = std::size_t{64} << 20;
  bool first = false;  // before those that wait: it goes on with what has begun
};

// Thread-safe.
class Transfers {
 public:
  // `took`: since it began to be sent, which may be later than send(). Called on the thread.
  using Done = UniqueFunction<void(ApiResult result, Duration took)>;

  // Runs `busy` transfers at a time, at least one.
  explicit Transfers(std::size_t busy);
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;
  ~Transfers();  // stops

  void send(Fetch transfer, Done done);
  // Ends what is under way with an error; what waits is never answered. Not on the thread.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace athanor::client
