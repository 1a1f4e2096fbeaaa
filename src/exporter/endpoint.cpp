// SPDX-License-Identifier: Apache-2.0
#include "exporter/endpoint.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <set>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "cluster/http_endpoint.hpp"
#include "net/acceptor.hpp"
#include "net/listen.hpp"
#include "net/served_connection.hpp"

namespace athanor::exporter {
namespace {

constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";
constexpr std::size_t kMostConnections = 64;

struct Page {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body{};
};

Page page_of(const ExporterPages& pages, std::string_view path) {
  if (path == "/metrics") {
    return {.type = kMetricsType, .body = pages.metrics()};
  }
  if (path == "/healthz" || path == "/readyz") {
    const bool healthy = pages.healthy();
    return {.status = healthy ? 200 : 503, .body = healthy ? "ok\n" : "the last round failed\n"};
  }
  return {.status = 404, .body = "not found\n"};
}

class Plain final : public ExporterEndpoint {
 public:
  explicit Plain(std::unique_ptr<cluster::HttpEndpoint> endpoint)
      : endpoint_(std::move(endpoint)) {}
  [[nodiscard]] std::string address() const override { return endpoint_->address(); }

 private:
  std::unique_ptr<cluster::HttpEndpoint> endpoint_;
};

// One thread; connections are few.
class Secure final : public ExporterEndpoint {
 public:
  Secure(std::string host, int listening, transport::TlsContext context, ExporterPages pages)
      : host_(std::move(host)),
        port_(transport::port_of(listening)),
        pages_(std::move(pages)),
        context_(std::make_shared<const transport::TlsContext>(std::move(context))),
        acceptor_(world_.loop, listening, [this](int client) { welcome(client); }) {
    world_.clock = clock_.get();
    world_.loop.post([this] { acceptor_.start(); });
    thread_ = std::thread([this] { world_.loop.run(); });
  }
  Secure(const Secure&) = delete;
  Secure& operator=(const Secure&) = delete;
  ~Secure() override {
    world_.loop.stop();
    thread_.join();
    for (const auto& connection : std::exchange(connections_, {})) {
      connection->close();
    }
    acceptor_.close();
    world_.loop.close();
  }
  [[nodiscard]] std::string address() const override {
    return transport::address_text(host_, port_);
  }

 private:
  void welcome(int client) {
    if (connections_.size() >= kMostConnections) {
      ::close(client);
      return;
    }
    auto connection = std::make_shared<transport::ServedConnection>(
        world_, context_, client,
        [this](const apiserver::Request& request,
               const transport::ServedConnection::Answer& answer) {
          const std::string path = request.path.substr(0, request.path.find('?'));
          Page page = page_of(pages_, path);
          apiserver::Response response;
          response.status = page.status;
          response.content_type = std::move(page.type);
          response.body = std::move(page.body);
          answer(std::move(response), {});
        },
        [this](const std::shared_ptr<transport::ServedConnection>& self) {
          connections_.erase(self);
        });
    connections_.insert(connection);
    connection->start();
  }

  std::string host_;
  int port_;
  ExporterPages pages_;
  std::shared_ptr<const transport::TlsContext> context_;
  std::unique_ptr<Clock> clock_ = wall_clock();
  transport::ServedWorld world_{};
  transport::Acceptor acceptor_;
  std::set<std::shared_ptr<transport::ServedConnection>> connections_{};
  std::thread thread_{};
};

Result<std::string> text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error::bad_request(path + ": cannot be read");
  }
  std::string text(std::istreambuf_iterator<char>(file), {});
  return text;
}

Result<std::unique_ptr<ExporterEndpoint>> start_secure(const numa::ExporterConfig& config,
                                                       ExporterPages pages) {
  const numa::ExporterTls& tls = config.tls;
  ATHANOR_TRY(const std::string certificate, text_of(tls.certs_dir + "/" + tls.cert_file));
  ATHANOR_TRY(const std::string key, text_of(tls.certs_dir + "/" + tls.key_file));
  if (tls.want_client_auth) {
    return Error::bad_request(
        "--metrics-want-cli-auth: certificates of clients are not checked; use a NetworkPolicy");
  }
  ATHANOR_TRY(auto context, transport::TlsContext::create(certificate, key, "", /*http2=*/false));
  const std::string& least = tls.min_version;
  if (least == "VersionTLS13") {
    ATHANOR_TRY_VOID(context.demand_tls13());
  } else if (!least.empty() && least != "VersionTLS10" && least != "VersionTLS11" &&
             least != "VersionTLS12") {
    return Error::bad_request(fmt::format("--metrics-tls-min-version: unknown \"{}\"", least));
  }
  ATHANOR_TRY(const int listening,
              transport::listen_on(config.metrics_address, static_cast<int>(config.metrics_port)));
  return std::unique_ptr<ExporterEndpoint>(std::make_unique<Secure>(
      config.metrics_address, listening, std::move(context), std::move(pages)));
}

}  // namespace

Result<std::unique_ptr<ExporterEndpoint>> ExporterEndpoint::start(
    const numa::ExporterConfig& config, ExporterPages pages) {
  if (config.metrics_mode == "disabled") {
    return std::unique_ptr<ExporterEndpoint>();
  }
  if (config.metrics_mode == "httptls") {
    return start_secure(config, std::move(pages));
  }
  ATHANOR_TRY(
      auto endpoint,
      cluster::HttpEndpoint::listen(
          transport::address_text(config.metrics_address, static_cast<int>(config.metrics_port)),
          [pages = std::move(pages)](std::string_view path, std::string_view /*query*/) {
            Page page = page_of(pages, path);
            return cluster::EndpointAnswer{.status = page.status,
                                           .content_type = std::move(page.type),
                                           .body = std::move(page.body)};
          }));
  return std::unique_ptr<ExporterEndpoint>(std::make_unique<Plain>(std::move(endpoint)));
}

}  // namespace athanor::exporter
