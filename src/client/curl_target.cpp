// SPDX-License-Identifier: Apache-2.0
#include "client/curl_target.hpp"

#include <curl/curl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <string_view>

#include "client/connection.hpp"
#include "client/http/curl_failure.hpp"
#include "client/http/header_text.hpp"

namespace athanor::client {
namespace {

// A peer that is gone without a word is noticed after these.
constexpr long kKeepIdleSeconds = 15;
constexpr long kKeepIntervalSeconds = 5;
constexpr unsigned kUnacknowledgedMs = 30'000;
// Below the idle limit of API servers (90 s), so that they never close what is just being used.
constexpr long kIdleConnectionSeconds = 60;

int on_socket(void* /*client*/, curl_socket_t socket, curlsocktype /*purpose*/) {
  // Best effort: what is no TCP socket goes without.
  static_cast<void>(::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnacknowledgedMs,
                                 sizeof(kUnacknowledgedMs)));
  return CURL_SOCKOPT_OK;
}

void add_impersonation(const Impersonation& as, TargetLists& lists) {
  if (as.user.empty()) {
    return;
  }
  add_header(lists, "Impersonate-User", as.user);
  if (!as.uid.empty()) {
    add_header(lists, "Impersonate-Uid", as.uid);
  }
  for (const std::string& group : as.groups) {
    add_header(lists, "Impersonate-Group", group);
  }
  for (const auto& [key, values] : as.extra) {
    for (const std::string& value : values) {
      add_header(lists, "Impersonate-Extra-" + escape(key), value);
    }
  }
}

}  // namespace

void add_header(TargetLists& lists, const std::string& name, const std::string& value) {
  if (std::string flaw = header_flaw(name, value); !flaw.empty()) {
    lists.flaw = std::move(flaw);
    return;
  }
  add_line(lists.headers, fmt::format("{}: {}", name, value));
}

std::string authority_of(const std::string& server) {
  const std::size_t scheme = server.find("://");
  const std::size_t start = scheme == std::string::npos ? 0 : scheme + 3;
  return server.substr(start, server.find_first_of("/?#", start) - start);
}

void set_target(void* easy, const ClusterConfig& config, const Identity& identity,
                const std::string& path, TargetLists& lists) {
  CURL* handle = easy;
  std::string url = config.server + path;
  if (!config.tls_server_name.empty() && url.starts_with("https://")) {
    // libcurl asks for and checks the URL's name, so the URL gets that one and the connection the
    // other.
    const std::string authority = authority_of(config.server);
    const bool has_port = authority.find(':', authority.rfind(']') + 1) != std::string::npos;
    url = fmt::format("https://{}{}", config.tls_server_name,
                      url.substr(std::string_view("https://").size() + authority.size()));
    add_line(lists.connect_to, fmt::format("::{}{}", authority, has_port ? "" : ":443"));
    add_header(lists, "Host", authority);
  }
  if (std::string flaw = url_flaw(url); !flaw.empty()) {
    lists.flaw = std::move(flaw);
  }
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPIDLE, kKeepIdleSeconds);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPINTVL, kKeepIntervalSeconds);
  curl_easy_setopt(handle, CURLOPT_MAXAGE_CONN, kIdleConnectionSeconds);
  curl_easy_setopt(handle, CURLOPT_SOCKOPTFUNCTION, on_socket);
  // Empty: none, whatever the environment says, which resolve_cluster() has read.
  curl_easy_setopt(handle, CURLOPT_PROXY, config.proxy_url.c_str());
  curl_easy_setopt(handle, CURLOPT_NOPROXY, config.no_proxy.c_str());
  curl_easy_setopt(handle, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set_tls(
      handle,
      {.authority = identity.authority, .certificate = identity.certificate, .key = identity.key});
  if (config.insecure_skip_verify) {
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (!identity.authorization.empty()) {
    add_header(lists, "Authorization", identity.authorization);
  }
  add_impersonation(config.impersonate, lists);
  add_line(lists.headers, "Expect:");
}

void apply_lists(void* easy, const TargetLists& lists) {
  if (!lists.flaw.empty()) {
    curl_easy_setopt(easy, CURLOPT_URL, nullptr);
  }
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, lists.headers.get());
  if (lists.connect_to != nullptr) {
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, lists.connect_to.get());
  }
}

std::string target_failure(void* easy, int code, const ClusterConfig& config) {
  HttpQuery query;
  query.url = config.server;
  if (!config.tls_server_name.empty()) {
    query.url = fmt::format("https://{}:", config.tls_server_name);
    query.connect_to = authority_of(config.server);
  }
  return curl_failure(easy, code, query);
}

bool curl_ready() {
  static const CURLcode kReady = curl_global_init(CURL_GLOBAL_DEFAULT);
  return kReady == CURLE_OK;
}

}  // namespace athanor::client
