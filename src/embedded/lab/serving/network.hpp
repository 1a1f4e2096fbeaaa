// SPDX-License-Identifier: Apache-2.0
// Network: how the lab's API server reaches webhooks and aggregated API servers.
#pragma once

#include <utility>

#include "client/http/async_http.hpp"
#include "client/http/http_upgrade.hpp"
#include "embedded/apiserver/request/outside.hpp"
#include "embedded/lab/serving/local_services.hpp"

namespace athanor::lab {

// Thread-safe.
class Network final : public apiserver::Outside {
 public:
  // Takes `local`, which may be empty.
  explicit Network(LocalServices local = {}) : local_(std::move(local)) {}

  void ask(apiserver::OutsideRequest request,
           UniqueFunction<void(apiserver::OutsideAnswer)> done) override;
  // Ends what is under way, and everything to come, with a failure.
  void stop() {
    http_.stop();
    upgrades_.stop();
  }

 private:
  LocalServices local_{};
  client::AsyncHttp http_{};
  client::HttpUpgrades upgrades_{};
};

}  // namespace athanor::lab
