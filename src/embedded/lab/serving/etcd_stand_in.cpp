// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/serving/etcd_stand_in.hpp"

#include <memory>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "net/listen.hpp"
#include "net/serving/small_server.hpp"

namespace athanor::lab {
namespace {

net::Response health(int status) {
  net::Response response;
  response.status = status;
  response.body = status == 200 ? R"({"health":"true"})" : "{}";
  return response;
}

void handle(const net::Request& request, const net::SmallServerOptions::Reply& reply) {
  const int found = request.path == "/health" ? 200 : 404;
  reply([status = request.method == "GET" ? found : 405] { return health(status); });
}

class RunningStandIn final : public EtcdStandIn {
 public:
  Result<void> listen(const std::string& host, int port) {
    ATHANOR_TRY(server_, net::SmallServer::start({.address = net::address_text(host, port),
                                                  .handle = handle,
                                                  .clock = clock_.get()}));
    return {};
  }
  [[nodiscard]] int port() const override { return server_->port(); }

 private:
  std::unique_ptr<Clock> clock_ = wall_clock();
  std::unique_ptr<net::SmallServer> server_{};
};

}  // namespace

Result<std::unique_ptr<EtcdStandIn>> EtcdStandIn::start(const std::string& host, int port) {
  auto running = std::make_unique<RunningStandIn>();
  ATHANOR_TRY_VOID(running->listen(host, port));
  return std::unique_ptr<EtcdStandIn>(std::move(running));
}

}  // namespace athanor::lab
