// SPDX-License-Identifier: Apache-2.0
// Plain HTTP with fixed answers, for health checks.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace athanor::transport {

// JSON bodies by path; anything else is answered 404. One request a connection. Answers on a thread
// of its own until destroyed.
class PlainEndpoint {
 public:
  // Port 0: any free one. Error Unavailable: the address is not ours, or taken.
  static Result<std::unique_ptr<PlainEndpoint>> start(const std::string& host, int port,
                                                      std::map<std::string, std::string> answers);
  PlainEndpoint(const PlainEndpoint&) = delete;
  PlainEndpoint& operator=(const PlainEndpoint&) = delete;
  ~PlainEndpoint();

  [[nodiscard]] int port() const;

 private:
  struct State;
  explicit PlainEndpoint(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace athanor::transport
