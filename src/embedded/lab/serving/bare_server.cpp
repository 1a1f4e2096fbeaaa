// SPDX-License-Identifier: Apache-2.0
// Putting an API server alone together from kube-apiserver's files.
#include "embedded/lab/serving/bare_server.hpp"

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "base/clock.hpp"
#include "embedded/lab/serving/process_metrics.hpp"
#include "embedded/lab/serving/served_api.hpp"
#include "embedded/store/data_dir.hpp"
#include "embedded/store/journal_sqlite.hpp"
#include "embedded/transport/encrypting_journal.hpp"
#include "embedded/transport/token_file.hpp"
#include "embedded/transport/token_signer.hpp"
#include "net/pki.hpp"
#include "net/private_file.hpp"
#include "runtime/metrics/metrics.hpp"

namespace athanor::lab {
namespace {

constexpr std::chrono::milliseconds kCloseTime{2000};

// The text of a file that has to be there; empty for no path.
Result<std::string> text_of(const std::string& path) {
  if (path.empty()) {
    return std::string();
  }
  ATHANOR_TRY(auto text, net::read_file(path));
  if (!text) {
    return Error::not_found(fmt::format("open {}: no such file or directory", path));
  }
  return *std::move(text);
}

class RunningServer final : public BareServer {
 public:
  explicit RunningServer(BareServerOptions options)
      : options_(std::move(options)), clock_(wall_clock()), entropy_(system_entropy()) {}
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;
  ~RunningServer() override { stop(); }

  Result<void> light() {
    if (!options_.data_dir.empty()) {
      ATHANOR_TRY(directory_, store::DataDirectory::open(options_.data_dir));
    }
    ATHANOR_TRY(audit_, open_audit(options_.serving.audit, *clock_));
    ServedApiOptions plan;
    ATHANOR_TRY(auto encryption, read_encryption(options_.serving.encryption_config));
    plan.journal = directory_
                       ? transport::encrypting_journal(
                             store::sqlite_journal({.path = directory_->database(),
                                                    .mark = directory_->mark(),
                                                    .way_out = "remove " + directory_->mark() +
                                                               " to go on without them"}),
                             std::move(encryption))
                       : store::memory_journal();
    plan.host = options_.bind_address;
    plan.port = options_.secure_port;
    ATHANOR_TRY(plan.https, https_options());
    ATHANOR_TRY(plan.server, server_options(plan.https));
    ATHANOR_TRY(signer_, token_signer());
    plan.dependencies.tokens = signer_.get();
    plan.dependencies.audit = audit_.sink.get();
    plan.dependencies.metrics = [this] { return metrics_.text() + process_metrics(); };
    ATHANOR_TRY(api_, ServedApi::create(std::move(plan), *clock_, *entropy_));
    api_->start();
    return {};
  }

  [[nodiscard]] const std::string& address() const override { return api_->address(); }

  void begin_shutdown() override { api_->begin_shutdown(); }

  void stop() override {
    if (api_) {
      api_->begin_shutdown();
      api_->stop(kCloseTime);
      api_.reset();
    }
  }

 private:
  Result<transport::HttpsOptions> https_options() {
    transport::HttpsOptions https;
    if (!options_.tls_cert_file.empty()) {
      ATHANOR_TRY(https.certificate_pem, text_of(options_.tls_cert_file));
      ATHANOR_TRY(https.key_pem, text_of(options_.tls_private_key_file));
    } else {
      std::string folder = options_.cert_dir;
      if (folder.empty() && directory_) {
        folder = directory_->pki();
      }
      ATHANOR_TRY(auto pair, net::ensure_serving_pair(
                                 {.directory = folder,
                                  .hosts = {options_.bind_address, options_.advertise_address},
                                  .now = clock_->now()}));
      https.certificate_pem = std::move(pair.certificate);
      https.key_pem = std::move(pair.key);
    }
    ATHANOR_TRY(https.client_ca_pem, text_of(options_.client_ca_file));
    ATHANOR_TRY(https.front_proxy_ca_pem, text_of(options_.requestheader_client_ca_file));
    https.max_reading = options_.serving.max_requests_inflight;
    https.max_mutating = options_.serving.max_mutating_requests_inflight;
    https.connections_each = options_.serving.max_connections_per_address;
    return https;
  }

  Result<apiserver::Options> server_options(const transport::HttpsOptions& https) {
    apiserver::Options server;
    server.advertise_host = options_.advertise_address;
    server.ca_certificate_pem = https.client_ca_pem;
    ATHANOR_TRY(const std::string tokens, text_of(options_.token_auth_file));
    auto parsed = transport::parse_token_file(tokens);
    if (!parsed.ok()) {
      return parsed.error().with_context(options_.token_auth_file);
    }
    server.tokens = *std::move(parsed);
    server.always_allow = options_.always_allow;
    server.default_roles = options_.default_roles;
    server.anonymous = options_.anonymous_auth;
    server.api_audiences = options_.api_audiences;
    server.disabled_admission = options_.disabled_admission;
    server.service_cluster_ip_range = options_.service_cluster_ip_range;
    server.event_ttl = options_.event_ttl;
    server.min_request_timeout = options_.min_request_timeout;
    server.request_timeout = options_.serving.request_timeout;
    server.audit_policy = audit_.policy;
    server.counts_quotas = false;  // it has no controllers
    server.requestheader_ca_pem = https.front_proxy_ca_pem;
    server.front_proxy = options_.front_proxy;
    server.bootstrap_tokens = options_.bootstrap_tokens;
    ATHANOR_TRY(server.proxy_client_certificate_pem, text_of(options_.proxy_client_cert_file));
    ATHANOR_TRY(server.proxy_client_key_pem, text_of(options_.proxy_client_key_file));
    return server;
  }

  Result<std::unique_ptr<apiserver::TokenSigner>> token_signer() {
    transport::TokenSignerOptions signer;
    ATHANOR_TRY(signer.key_pem, signing_key());
    for (const std::string& path : options_.service_account_key_files) {
      ATHANOR_TRY(auto text, text_of(path));
      signer.verification_pems.push_back(std::move(text));
    }
    const std::vector<std::string>& issuers = options_.service_account_issuers;
    if (!issuers.empty()) {
      signer.issuer = issuers.front();
      signer.accepted_issuers.assign(issuers.begin() + 1, issuers.end());
    }
    return transport::make_token_signer(signer);
  }

  // The file's, else one that the data directory keeps, else one of this run.
  Result<std::string> signing_key() {
    if (!options_.service_account_signing_key_file.empty()) {
      return text_of(options_.service_account_signing_key_file);
    }
    return directory_ ? net::ensure_service_account_key(directory_->pki())
                      : net::make_service_account_key();
  }

  const BareServerOptions options_;
  std::unique_ptr<Clock> clock_;
  std::unique_ptr<Entropy> entropy_;
  Metrics metrics_{};
  Audit audit_{};
  std::optional<store::DataDirectory> directory_{};
  std::unique_ptr<apiserver::TokenSigner> signer_{};
  std::unique_ptr<ServedApi> api_{};
};

}  // namespace

Result<std::unique_ptr<BareServer>> BareServer::start(BareServerOptions options) {
  auto server = std::make_unique<RunningServer>(std::move(options));
  ATHANOR_TRY_VOID(server->light());
  return std::unique_ptr<BareServer>(std::move(server));
}

}  // namespace athanor::lab
