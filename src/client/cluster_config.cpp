// SPDX-License-Identifier: Apache-2.0
// A context of a kubeconfig, or the pod's service account, as one ClusterConfig; refusals in
// kubectl's words where it has some.
#include "client/cluster_config.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include "base/ascii.hpp"
#include "base/digest.hpp"
#include "base/files/text_file.hpp"

namespace athanor::client {
namespace {

constexpr std::string_view kExecVersions[] = {"client.authentication.k8s.io/v1",
                                              "client.authentication.k8s.io/v1beta1"};
constexpr const char* kExecExtension = "client.authentication.k8s.io/exec";

Value named(const Value& list, std::string_view name) {
  for (const Value& entry : list.items()) {
    if (entry["name"].as_string() == name) {
      return entry;
    }
  }
  return {};
}

bool readable(const std::string& path) {
  return std::ifstream(path, std::ios::binary).good();
}

// Inline base64 data wins over the name of a file, which must be readable now.
Result<PemSource> pem_source(const Value& entry, const std::string& key,
                             const ClusterOptions& rules) {
  PemSource source;
  if (const std::string_view data = entry[key + "-data"].as_string(); !data.empty()) {
    auto decoded = base64_decode(data);
    if (!decoded) {
      return Error::bad_request(fmt::format("{}-data is not base64", key));
    }
    source.text = *std::move(decoded);
    return source;
  }
  source.file = entry[key].str();
  if (source.file.empty()) {
    return source;
  }
  if (!rules.allow_files) {
    return Error::bad_request(fmt::format("{} names a file; use {}-data", key, key));
  }
  if (!readable(source.file)) {
    return Error::not_found(fmt::format("cannot read {}", source.file));
  }
  return source;
}

Result<void> check_server(const std::string& server) {
  std::string_view rest = server;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return Error::bad_request(fmt::format("server \"{}\" is not an http or https address", server));
  }
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (authority.empty() || authority.find('@') != std::string_view::npos ||
      std::ranges::any_of(server, [](unsigned char c) { return c <= ' ' || c == 0x7F; })) {
    return Error::bad_request("server is not an address of the form https://HOST:PORT");
  }
  return {};
}

Result<void> check_proxy(const std::string& url) {
  const std::string scheme = url.substr(0, url.find("://"));
  if (url.find("://") == std::string::npos ||
      (scheme != "http" && scheme != "https" && scheme != "socks5")) {
    return Error::bad_request("invalid proxy-url: must be http, https, or socks5");
  }
  return {};
}

// As Go reads the environment: a proxy without a scheme is an http one, loopback never goes there.
void set_environment_proxy(const std::map<std::string, std::string>& environment,
                           ClusterConfig& config) {
  if (!config.proxy_url.empty()) {
    return;
  }
  const auto first = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (const auto found = environment.find(name);
          found != environment.end() && !found->second.empty()) {
        return found->second;
      }
    }
    return std::string{};
  };
  std::string proxy = config.server.starts_with("https://") ? first({"HTTPS_PROXY", "https_proxy"})
                                                            : first({"HTTP_PROXY", "http_proxy"});
  if (proxy.empty()) {
    return;
  }
  if (proxy.find("://") == std::string::npos) {
    proxy.insert(0, "http://");
  }
  config.proxy_url = std::move(proxy);
  config.no_proxy = "localhost,127.0.0.0/8,::1";
  if (const std::string more = first({"NO_PROXY", "no_proxy"}); more == "*") {
    config.no_proxy = more;
  } else if (!more.empty()) {
    config.no_proxy += "," + more;
  }
}

Result<void> read_cluster(const Value& cluster, const ClusterOptions& rules,
                          ClusterConfig& config) {
  config.server = cluster["server"].str();
  while (!config.server.empty() && config.server.back() == '/') {
    config.server.pop_back();
  }
  config.insecure_skip_verify = cluster["insecure-skip-tls-verify"].as_bool();
  config.tls_server_name = cluster["tls-server-name"].str();
  config.disable_compression = cluster["disable-compression"].as_bool();
  ATHANOR_TRY(config.certificate_authority, pem_source(cluster, "certificate-authority", rules));
  if (config.insecure_skip_verify && !config.certificate_authority.empty()) {
    return Error::bad_request(
        "specifying a root certificates file with the insecure flag is not allowed");
  }
  config.proxy_url = cluster["proxy-url"].str();
  if (!config.proxy_url.empty()) {
    ATHANOR_TRY_VOID(check_proxy(config.proxy_url));
  }
  return {};
}

Result<ExecPlugin::Interactive> interactive_of(const Value& exec, const std::string& user,
                                               const std::string& version) {
  const std::string mode = exec["interactiveMode"].str();
  if (mode == "Never") {
    return ExecPlugin::Interactive::Never;
  }
  if (mode == "Always") {
    return ExecPlugin::Interactive::Always;
  }
  if (mode == "IfAvailable" || (mode.empty() && version == kExecVersions[1])) {
    return ExecPlugin::Interactive::IfAvailable;
  }
  if (mode.empty()) {
    return Error::bad_request(fmt::format(
        "interactiveMode must be specified for {} to use exec authentication plugin", user));
  }
  return Error::bad_request(fmt::format("invalid interactiveMode for {}: \"{}\"", user, mode));
}

Result<ExecPlugin> read_exec(const Value& exec, const std::string& user, const Value& cluster,
                             const ClusterOptions& rules) {
  if (!rules.allow_exec) {
    return Error::bad_request(
        fmt::format("user \"{}\": exec credential plugins are not allowed here", user));
  }
  const auto required = [&](const char* what) {
    return Error::bad_request(
        fmt::format("{} must be specified for {} to use exec authentication plugin", what, user));
  };
  ExecPlugin plugin;
  plugin.command = exec["command"].str();
  if (plugin.command.empty()) {
    return required("command");
  }
  plugin.api_version = exec["apiVersion"].str();
  if (plugin.api_version.empty()) {
    return required("apiVersion");
  }
  if (std::ranges::find(kExecVersions, plugin.api_version) == std::end(kExecVersions)) {
    return Error::bad_request(
        fmt::format("exec plugin: invalid apiVersion \"{}\"", plugin.api_version));
  }
  for (const Value& argument : exec["args"].items()) {
    plugin.arguments.push_back(argument.str());
  }
  for (const Value& variable : exec["env"].items()) {
    if (variable["name"].as_string().empty()) {
      return required("env variable name");
    }
    plugin.environment.emplace_back(variable["name"].str(), variable["value"].str());
  }
  plugin.install_hint = exec["installHint"].str();
  plugin.provide_cluster_info = exec["provideClusterInfo"].as_bool();
  ATHANOR_TRY(plugin.interactive, interactive_of(exec, user, plugin.api_version));
  const Value extension = named(cluster["extensions"], kExecExtension);
  plugin.cluster_config = extension["extension"];
  return plugin;
}

Result<Impersonation> read_impersonation(const Value& user, const std::string& name) {
  Impersonation as{
      .user = user["as"].str(), .uid = user["as-uid"].str(), .groups = {}, .extra = {}};
  for (const Value& group : user["as-groups"].items()) {
    as.groups.push_back(group.str());
  }
  for (const Member& extra : user["as-user-extra"].members()) {
    for (const Value& value : extra.value.items()) {
      as.extra[std::string(extra.key())].push_back(value.str());
    }
  }
  if (as.user.empty() && (!as.uid.empty() || !as.groups.empty() || !as.extra.empty())) {
    return Error::bad_request(fmt::format(
        "requesting uid, groups or user-extra for {} without impersonating a user", name));
  }
  return as;
}

Result<void> read_user(const Value& user, const std::string& name, const Value& cluster,
                       const ClusterOptions& rules, ClusterConfig& config) {
  if (user.contains("auth-provider")) {
    return Error::bad_request(fmt::format(
        "user \"{}\": auth-provider credentials are not supported; use an exec plugin", name));
  }
  ATHANOR_TRY(config.client_certificate, pem_source(user, "client-certificate", rules));
  ATHANOR_TRY(config.client_key, pem_source(user, "client-key", rules));
  if (config.client_certificate.empty() != config.client_key.empty()) {
    const char* missing = config.client_key.empty() ? "client-key" : "client-certificate";
    return Error::bad_request(
        fmt::format("{}-data or {} must be specified for {} to use the clientCert authentication "
                    "method",
                    missing, missing, name));
  }
  config.token = std::string(trimmed(user["token"].as_string()));
  config.token_file = user["tokenFile"].str();
  if (!config.token_file.empty() && !rules.allow_files) {
    return Error::bad_request("tokenFile names a file; use token");
  }
  if (!config.token_file.empty() && config.token.empty() && !readable(config.token_file)) {
    return Error::not_found(fmt::format("cannot read {}", config.token_file));
  }
  config.username = user["username"].str();
  config.password = user["password"].str();
  if (!config.username.empty() && (!config.token.empty() || !config.token_file.empty())) {
    return Error::bad_request(
        fmt::format("more than one authentication method found for {}; found [token basicAuth], "
                    "only one is allowed",
                    name));
  }
  if (const Value& exec = user["exec"]; exec.is_object()) {
    ATHANOR_TRY(config.exec, read_exec(exec, name, cluster, rules));
  }
  ATHANOR_TRY(config.impersonate, read_impersonation(user, name));
  return {};
}

}  // namespace

Result<ClusterConfig> cluster_config_of(const Value& kubeconfig, const std::string& context,
                                        const std::string& folder, const ClusterOptions& rules) {
  ClusterConfig config;
  config.context = context.empty() ? kubeconfig["current-context"].str() : context;
  if (config.context.empty()) {
    return Error::not_found("no current-context: pass --context");
  }
  const Value entry = named(kubeconfig["contexts"], config.context);
  const Value& chosen = entry["context"];
  if (!chosen.is_object()) {
    return Error::not_found(fmt::format("context \"{}\" does not exist", config.context));
  }
  const std::string cluster_name = chosen["cluster"].str();
  Value cluster = named(kubeconfig["clusters"], cluster_name)["cluster"];
  if (cluster["server"].as_string().empty()) {
    return Error::not_found(
        fmt::format("cluster \"{}\" of context \"{}\" does not exist or has no server",
                    cluster_name, config.context));
  }
  resolve_kubeconfig_paths(cluster, folder);
  ATHANOR_TRY_VOID(read_cluster(cluster, rules, config));
  ATHANOR_TRY_VOID(check_server(config.server));
  const std::string user_name = chosen["user"].str();
  const Value user_entry = named(kubeconfig["users"], user_name);
  if (!user_name.empty() && user_entry.is_null()) {
    return Error::not_found(
        fmt::format("user \"{}\" of context \"{}\" does not exist", user_name, config.context));
  }
  if (Value user = user_entry["user"]; user.is_object()) {
    resolve_kubeconfig_paths(user, folder);
    ATHANOR_TRY_VOID(read_user(user, user_name, cluster, rules, config));
  }
  if (const std::string ns = chosen["namespace"].str(); !ns.empty()) {
    config.ns = ns;
    config.ns_given = true;
  }
  const Value lab = named(chosen["extensions"], kLabExtension);
  config.jobs_ns = lab["extension"]["jobsNamespace"].str();
  return config;
}

Result<ClusterConfig> in_cluster_config(const std::map<std::string, std::string>& environment,
                                        const ClusterOptions& rules) {
  const auto host = environment.find("KUBERNETES_SERVICE_HOST");
  const auto port = environment.find("KUBERNETES_SERVICE_PORT");
  if (host == environment.end() || port == environment.end() || host->second.empty() ||
      port->second.empty()) {
    return Error::not_found(
        "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and "
        "KUBERNETES_SERVICE_PORT must be defined");
  }
  ClusterConfig config;
  const bool bare_ipv6 = host->second.find(':') != std::string::npos && host->second.front() != '[';
  config.server = bare_ipv6 ? fmt::format("https://[{}]:{}", host->second, port->second)
                            : fmt::format("https://{}:{}", host->second, port->second);
  ATHANOR_TRY_VOID(check_server(config.server));
  config.context = "in-cluster";
  config.token_file = rules.service_account + "/token";
  if (!readable(config.token_file)) {
    return Error::not_found(fmt::format("cannot read {}", config.token_file));
  }
  if (const std::string ca = rules.service_account + "/ca.crt"; readable(ca)) {
    config.certificate_authority.file = ca;
  }
  if (const auto ns = read_text_file(rules.service_account + "/namespace");
      ns.ok() && !trimmed(*ns).empty()) {
    config.ns = std::string(trimmed(*ns));
    config.ns_given = true;
  }
  return config;
}

Result<ClusterConfig> resolve_cluster(const KubeconfigOptions& options,
                                      const ClusterOptions& rules) {
  ATHANOR_TRY(const Kubeconfig kubeconfig, read_kubeconfig(options));
  ClusterConfig config;
  if (!kubeconfig.files.empty()) {
    auto chosen = cluster_config_of(kubeconfig.merged, options.context, ".", rules);
    if (!chosen.ok()) {
      return chosen.error().with_context(kubeconfig.files);
    }
    config = *std::move(chosen);
  } else if (rules.in_cluster && options.context.empty() &&
             options.environment.contains("KUBERNETES_SERVICE_HOST")) {
    ATHANOR_TRY(config, in_cluster_config(options.environment, rules));
  } else {
    return Error::not_found(fmt::format(
        "no kubeconfig found (looked for {}): start a lab with \"athanor up\" and export "
        "the KUBECONFIG it prints, or pass --kubeconfig",
        kubeconfig.searched.empty() ? "$KUBECONFIG" : kubeconfig.searched));
  }
  set_environment_proxy(options.environment, config);
  return config;
}

}  // namespace athanor::client
