// SPDX-License-Identifier: Apache-2.0
// Connecting by kubectl's rules, and typed paths.
#include "cli/session/session.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

#include "cli/output/formats.hpp"
#include "cli/output/terminal.hpp"
#include "runtime/view/usage.hpp"

namespace athanor::cli {

namespace {

// What the flags set in place of the kubeconfig. A token is used alone: a client certificate beside
// it would win at the server.
void override_config(const Target& target, client::ClusterConfig& config) {
  if (!target.server.empty()) {
    config.server = target.server;
    while (config.server.ends_with('/')) {
      config.server.pop_back();
    }
  }
  if (!target.token.empty()) {
    config.token = target.token;
    config.token_file.clear();
    config.username.clear();
    config.password.clear();
    config.client_certificate = {};
    config.client_key = {};
    config.exec.reset();
  }
  if (!target.authority.empty()) {
    config.certificate_authority = {.text = {}, .file = target.authority};
    config.insecure_skip_verify = false;
  }
  if (target.insecure) {
    config.certificate_authority = {};
    config.insecure_skip_verify = true;
  }
  if (!target.as.empty()) {
    config.impersonate = {.user = target.as, .uid = {}, .groups = target.as_groups, .extra = {}};
  }
}

Result<client::ClusterConfig> config_of(const Target& target) {
  if (target.as.empty() && !target.as_groups.empty()) {
    return wrong_usage("--as-group needs --as USER");
  }
  if (!target.server.empty() && !target.server.starts_with("https://") &&
      !target.server.starts_with("http://")) {
    return wrong_usage(fmt::format("--server {}: not an http or https address", target.server));
  }
  if (target.insecure && !target.authority.empty()) {
    return wrong_usage("--certificate-authority and --insecure-skip-tls-verify exclude each other");
  }
  const client::KubeconfigOptions options{.path = target.kubeconfig,
                                          .context = target.context,
                                          .environment = client::kubeconfig_environment()};
  auto found = client::resolve_cluster(options);
  const bool bare = !target.server.empty() && target.kubeconfig.empty() && target.context.empty();
  if (!found.ok() && !(bare && found.error().code == 404)) {
    return found.error();
  }
  client::ClusterConfig config = found.value_or(client::ClusterConfig{});
  override_config(target, config);
  return config;
}

}  // namespace

Result<Session> Session::open(const Target& target, Home home) {
  ATHANOR_TRY(const client::ClusterConfig config, config_of(target));
  Session session;
  const bool jobs = home == Home::Jobs && !config.ns_given && !config.jobs_ns.empty();
  session.ns_ = !target.ns.empty() ? target.ns : jobs ? config.jobs_ns : config.ns;
  ATHANOR_TRY(session.connection_, client::Connection::open(config));
  if (target.verbosity > 0) {
    session.connection_->on_request(
        [](std::string_view line) { Terminal(STDERR_FILENO).print(fmt::format("{}\n", line)); });
  }
  return session;
}

std::string Session::path(const Kind& kind, const std::string& ns, const std::string& name) {
  std::string path = kind.group.empty() ? fmt::format("/api/{}", kind.version)
                                        : fmt::format("/apis/{}/{}", kind.group, kind.version);
  if (kind.namespaced && !ns.empty()) {
    path += "/namespaces/" + client::escape(ns);
  }
  path += fmt::format("/{}", kind.plural);
  if (!name.empty()) {
    path += "/" + client::escape(name);
  }
  return path;
}

Result<Object> Session::get(const Kind& kind, const std::string& ns, const std::string& name) {
  if (name.empty()) {
    return wrong_usage("a name is empty");  // its path would be that of the list
  }
  ATHANOR_TRY(Value body, connection_->call({.path = path(kind, ns, name)}));
  return Object(std::move(body));
}

Result<std::vector<Object>> Session::list(const Kind& kind, const std::string& ns,
                                          const std::string& label_selector) {
  return list_part(kind, ns, {.labels = label_selector, .fields = {}});
}

Result<std::vector<Object>> Session::list_part(const Kind& kind, const std::string& ns,
                                               const ListPart& part) {
  std::string url = path(kind, ns);
  char mark = '?';
  const auto ask = [&](std::string_view name, const std::string& value) {
    url += fmt::format("{}{}={}", std::exchange(mark, '&'), name, client::escape(value));
  };
  if (!part.labels.empty()) {
    ask("labelSelector", part.labels);
  }
  if (!part.fields.empty()) {
    ask("fieldSelector", part.fields);
  }
  if (part.limit > 0) {
    ask("limit", std::to_string(part.limit));
  }
  ATHANOR_TRY(const Value body, connection_->call({.path = url}));
  std::vector<Object> objects;
  for (const Value& item : body["items"].items()) {
    Value complete = item;
    complete.set("apiVersion", kind.api_version());
    complete.set("kind", kind.name);
    objects.emplace_back(std::move(complete));
  }
  return objects;
}

void hide_managed_fields(Value& object) {
  if (object["metadata"].contains("managedFields")) {
    object.member("metadata").erase("managedFields");
  }
}

std::string render(const std::vector<Object>& objects, Output output, bool single) {
  // Formats without a pattern always fit.
  return render_objects(objects, {.output = output, .pattern = {}},
                        single ? Shape::Single : Shape::List, false)
      .value_or(std::string());
}

}  // namespace athanor::cli
