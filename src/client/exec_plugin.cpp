// SPDX-License-Identifier: Apache-2.0
#include "client/exec_plugin.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "base/process/program.hpp"
#include "kube/text/json.hpp"

namespace athanor::client {
namespace {

constexpr int kInteractiveFactor = 10;  // a person may have to log in

Error unauthorized(std::string message) {
  return {.code = 401, .reason = "Unauthorized", .message = std::move(message)};
}

std::string hint_of(const ExecPlugin& plugin) {
  std::string hint =
      "it is a client-go credential plugin, which has to be installed: "
      "https://kubernetes.io/docs/reference/access-authn-authz/authentication/"
      "#client-go-credential-plugins";
  return plugin.install_hint.empty() ? hint : plugin.install_hint;
}

}  // namespace

std::string exec_info(const ExecPlugin& plugin, const ClusterConfig& config,
                      const std::string& authority, bool interactive) {
  Value spec = Value::object({{"interactive", interactive}});
  if (plugin.provide_cluster_info) {
    Value cluster = Value::object({{"server", config.server}});
    if (!config.tls_server_name.empty()) {
      cluster.set("tls-server-name", config.tls_server_name);
    }
    if (config.insecure_skip_verify) {
      cluster.set("insecure-skip-tls-verify", true);
    }
    if (!authority.empty()) {
      cluster.set("certificate-authority-data", base64_encode(authority));
    }
    if (!config.proxy_url.empty()) {
      cluster.set("proxy-url", config.proxy_url);
    }
    if (config.disable_compression) {
      cluster.set("disable-compression", true);
    }
    if (!plugin.cluster_config.is_null()) {
      cluster.set("config", plugin.cluster_config);
    }
    spec.set("cluster", std::move(cluster));
  }
  return json::print(Value::object(
      {{"kind", "ExecCredential"}, {"apiVersion", plugin.api_version}, {"spec", std::move(spec)}}));
}

Result<ExecCredential> parse_exec_credential(const ExecPlugin& plugin, std::string_view output) {
  const auto parsed = json::parse(output);
  if (!parsed.ok() || (*parsed)["kind"].as_string() != "ExecCredential") {
    return unauthorized("decoding stdout: exec plugin did not print an ExecCredential");
  }
  if (const std::string_view version = (*parsed)["apiVersion"].as_string();
      version != plugin.api_version) {
    return unauthorized(
        fmt::format("exec plugin is configured to use API version {}, plugin returned version {}",
                    plugin.api_version, version.substr(0, 100)));
  }
  const Value& status = (*parsed)["status"];
  if (!status.is_object()) {
    return unauthorized("exec plugin didn't return a status field");
  }
  ExecCredential credential{.token = status["token"].str(),
                            .certificate = status["clientCertificateData"].str(),
                            .key = status["clientKeyData"].str(),
                            .expires = {}};
  if (credential.token.empty() && credential.certificate.empty() && credential.key.empty()) {
    return unauthorized("exec plugin didn't return a token or cert/key pair");
  }
  if (credential.certificate.empty() != credential.key.empty()) {
    return unauthorized("exec plugin returned only certificate or key, not both");
  }
  if (const Value& expires = status["expirationTimestamp"]; !expires.is_null()) {
    credential.expires = parse_time(expires.as_string());
    if (!credential.expires) {
      return unauthorized("exec plugin returned an expirationTimestamp that is no RFC 3339 time");
    }
  }
  return credential;
}

Result<ExecCredential> run_exec_plugin(const ExecPlugin& plugin, const ClusterConfig& config,
                                       const std::string& authority, Duration timeout) {
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  if (plugin.interactive == ExecPlugin::Interactive::Always && !terminal) {
    return unauthorized(
        "exec plugin cannot support interactive mode: standard input is not a terminal");
  }
  const bool interactive = terminal && plugin.interactive != ExecPlugin::Interactive::Never;
  ProgramCall call{.words = {plugin.command},
                   .variables = plugin.environment,
                   .timeout = interactive ? timeout * kInteractiveFactor : timeout,
                   .terminal = interactive};
  call.words.insert(call.words.end(), plugin.arguments.begin(), plugin.arguments.end());
  call.variables.emplace_back("KUBERNETES_EXEC_INFO",
                              exec_info(plugin, config, authority, interactive));
  const ProgramResult result = run_program(call);
  switch (result.ending) {
    case ProgramEnding::NotFound:
      return unauthorized(fmt::format("getting credentials: exec: executable {} not found: {}",
                                      plugin.command, hint_of(plugin)));
    case ProgramEnding::Failed:
      return unauthorized(fmt::format("getting credentials: exec: {}: {}", plugin.command,
                                      std::generic_category().message(result.code)));
    case ProgramEnding::Late:
      return unauthorized(fmt::format(
          "getting credentials: exec: executable {} did not end in time", plugin.command));
    case ProgramEnding::Talkative:
      return unauthorized(fmt::format(
          "getting credentials: exec: executable {} printed more than 1 MiB", plugin.command));
    case ProgramEnding::Exited:
      break;
  }
  if (result.code != 0) {
    return unauthorized(
        fmt::format("getting credentials: exec: executable {} failed with exit code {}: {}",
                    plugin.command, result.code, hint_of(plugin)));
  }
  auto credential = parse_exec_credential(plugin, result.output);
  if (!credential.ok()) {
    return credential.error().with_context("getting credentials");
  }
  return credential;
}

}  // namespace athanor::client
