// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/serving/etcd_stand_in.hpp"

#include <utility>

#include "net/plain_endpoint.hpp"

namespace athanor::lab {
namespace {

class RunningStandIn final : public EtcdStandIn {
 public:
  explicit RunningStandIn(std::unique_ptr<transport::PlainEndpoint> endpoint)
      : endpoint_(std::move(endpoint)) {}
  [[nodiscard]] int port() const override { return endpoint_->port(); }

 private:
  std::unique_ptr<transport::PlainEndpoint> endpoint_;
};

}  // namespace

Result<std::unique_ptr<EtcdStandIn>> EtcdStandIn::start(const std::string& host, int port) {
  ATHANOR_TRY(auto endpoint,
              transport::PlainEndpoint::start(host, port, {{"/health", R"({"health":"true"})"}}));
  return std::unique_ptr<EtcdStandIn>(std::make_unique<RunningStandIn>(std::move(endpoint)));
}

}  // namespace athanor::lab
