// SPDX-License-Identifier: Apache-2.0
#include "exporter/endpoint.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/files/text_file.hpp"
#include "net/listen.hpp"
#include "net/serving/page_server.hpp"
#include "net/serving/served_tls.hpp"

namespace athanor::exporter {
namespace {

constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";
constexpr std::size_t kMaxConnections = 64;

net::Page page_of(const ExporterPages& pages, std::string_view path) {
  if (path == "/metrics") {
    return {.content_type = kMetricsType, .body = pages.metrics()};
  }
  if (path == "/healthz" || path == "/readyz") {
    const bool healthy = pages.healthy();
    return {.status = healthy ? 200 : 503, .body = healthy ? "ok\n" : "the last round failed\n"};
  }
  return {.status = 404, .body = "not found\n"};
}

class Served final : public ExporterEndpoint {
 public:
  explicit Served(std::unique_ptr<net::PageServer> server) : server_(std::move(server)) {}
  [[nodiscard]] std::string address() const override { return server_->address(); }

 private:
  std::unique_ptr<net::PageServer> server_;
};

Result<std::string> text_of(const std::string& path) {
  auto text = read_text_file(path);
  if (!text.ok()) {
    return Error::bad_request(path + ": cannot be read");
  }
  return text;
}

// Null: the metrics mode is plain HTTP.
Result<std::shared_ptr<const net::ServedTls>> tls_of(const numa::ExporterConfig& config) {
  if (config.metrics_mode != "httptls") {
    return std::shared_ptr<const net::ServedTls>();
  }
  const numa::ExporterTls& wanted = config.tls;
  ATHANOR_TRY(const std::string certificate, text_of(wanted.certs_dir + "/" + wanted.cert_file));
  ATHANOR_TRY(const std::string key, text_of(wanted.certs_dir + "/" + wanted.key_file));
  if (wanted.want_client_auth) {
    return Error::bad_request(
        "--metrics-want-cli-auth: certificates of clients are not checked; use a NetworkPolicy");
  }
  const std::string& least = wanted.min_version;
  const auto known = {"", "VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"};
  if (std::ranges::find(known, least) == known.end()) {
    return Error::bad_request(fmt::format("--metrics-tls-min-version: unknown \"{}\"", least));
  }
  auto tls = std::make_shared<net::ServedTls>();
  ATHANOR_TRY_VOID(tls->use(certificate, key));
  ATHANOR_TRY_VOID(tls->limit({.min_version = least}));
  return std::shared_ptr<const net::ServedTls>(std::move(tls));
}

}  // namespace

Result<std::unique_ptr<ExporterEndpoint>> ExporterEndpoint::start(
    const numa::ExporterConfig& config, ExporterPages pages) {
  if (config.metrics_mode == "disabled") {
    return std::unique_ptr<ExporterEndpoint>();
  }
  ATHANOR_TRY(auto tls, tls_of(config));
  ATHANOR_TRY(auto server, net::PageServer::start(
                               {.address = net::address_text(config.metrics_address,
                                                             static_cast<int>(config.metrics_port)),
                                .tls = std::move(tls),
                                .max_connections = kMaxConnections,
                                .answer = [pages = std::move(pages)](const net::Request& request) {
                                  return page_of(pages, request.path);
                                }}));
  return std::unique_ptr<ExporterEndpoint>(std::make_unique<Served>(std::move(server)));
}

}  // namespace athanor::exporter
