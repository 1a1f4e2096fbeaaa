// SPDX-License-Identifier: Apache-2.0
// DeferredServer: a placeholder for a server that is made later, so that its ports can be made
// first.
#pragma once

#include <atomic>
#include <utility>

#include "base/check.hpp"
#include "embedded/apiserver/core/server.hpp"

namespace athanor::lab {

// Passes every call on to the server that set() names.
class DeferredServer final : public apiserver::Server {
 public:
  // Sets the server; call it once, before the first request.
  void set(apiserver::Server& server) { server_.store(&server); }

  net::Response handle(net::Request request, Instant now) override {
    return inner().handle(std::move(request), now);
  }
  void handle_async(net::Request request, Instant now, apiserver::Executor resume,
                    UniqueFunction<void(net::Response)> done) override {
    inner().handle_async(std::move(request), now, std::move(resume), std::move(done));
  }
  [[nodiscard]] bool admits(const net::Request& head, Instant now) override {
    return inner().admits(head, now);
  }
  void tick(Instant now) override { inner().tick(now); }
  void begin_shutdown() override { inner().begin_shutdown(); }
  void note_refusal(const std::string& loop, int code) override {
    inner().note_refusal(loop, code);
  }
  [[nodiscard]] const apiserver::ResourceRegistry& registry() const override {
    return inner().registry();
  }

 private:
  [[nodiscard]] apiserver::Server& inner() const {
    apiserver::Server* server = server_.load();
    ATHANOR_CHECK(server != nullptr, "set() comes before the first request");
    return *server;
  }
  std::atomic<apiserver::Server*> server_{nullptr};
};

}  // namespace athanor::lab
