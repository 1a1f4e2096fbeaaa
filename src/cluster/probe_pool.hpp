// SPDX-License-Identifier: Apache-2.0
// ProbePool: questions to target clusters. They share nothing with the requests to the own API
// server, have deadlines, and are fair: a target that does not answer costs the others nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/unique_function.hpp"
#include "client/async_http.hpp"

namespace athanor::cluster {

struct ProbeLimits {
  std::size_t per_target = 1;   // under way; the rest of a target's waits behind it
  std::size_t in_flight = 512;  // under way, of all
  // Of these so many at most for targets whose last question was not answered: a thousand dead ones
  // leave room for every live one.
  std::size_t suspects = 128;
  std::size_t waiting_per_target = 16;  // more: refused with a failure
  std::chrono::milliseconds deadline{10'000};
  // A target never asked before gets a short first question: it may be dead, too.
  std::chrono::milliseconds first_deadline{3'000};
};

// Thread-safe.
class ProbePool {
 public:
  using Done = client::AsyncHttp::Done;
  using Transport = std::function<void(client::HttpQuery query, Done done)>;

  // `send` calls its Done once, on any thread, within the query's timeout; it must outlive what is
  // under way.
  explicit ProbePool(Transport send, ProbeLimits limits = {});
  ProbePool(const ProbePool&) = delete;
  ProbePool& operator=(const ProbePool&) = delete;
  ~ProbePool();  // what waits is answered with a failure

  // Asks `target` (a name of the caller's choice: one cluster). The query's timeout is cut to the
  // deadline. `done` is called once, on the transport's thread or this one.
  void ask(const std::string& target, client::HttpQuery query, Done done);
  // Forgets a target that is no more.
  void forget(const std::string& target);
  [[nodiscard]] std::size_t in_flight() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace athanor::cluster
