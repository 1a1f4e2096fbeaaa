// SPDX-License-Identifier: Apache-2.0
// Connecting by kubectl's rules, and typed paths.
#include "cli/session.hpp"

#include <fmt/core.h>

#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::cli {

Result<Session> Session::open(const Target& target) {
  ATHANOR_TRY(const client::ClusterConfig config,
              client::resolve_cluster({.path = target.kubeconfig,
                                       .context = target.context,
                                       .environment = client::kubeconfig_environment()}));
  Session session;
  session.ns_ = target.ns.empty() ? config.ns : target.ns;
  ATHANOR_TRY(session.connection_, client::Connection::open(config));
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
  ATHANOR_TRY(Value body, connection_->call({.path = path(kind, ns, name)}));
  return Object(std::move(body));
}

Result<std::vector<Object>> Session::list(const Kind& kind, const std::string& ns,
                                          const std::string& label_selector) {
  std::string url = path(kind, ns);
  if (!label_selector.empty()) {
    url += "?labelSelector=" + client::escape(label_selector);
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

std::string render(const std::vector<Object>& objects, Output output, bool single,
                   const Kind& kind) {
  if (output == Output::Name) {
    std::string names;
    for (const Object& object : objects) {
      names += fmt::format("{}{}{}/{}\n", kind.plural.substr(0, kind.plural.size() - 1),
                           kind.group.empty() ? "" : ".", kind.group, object.name());
    }
    return names;
  }
  Value document;
  if (single && objects.size() == 1) {
    document = objects.front().body();
  } else {
    document = Value::object({{"apiVersion", "v1"},
                              {"kind", "List"},
                              {"metadata", Value::object()},
                              {"items", Value::list()}});
    for (const Object& object : objects) {
      document.member("items").push_back(object.body());
    }
  }
  return output == Output::Json ? json::print(document, json::Style::Pretty) + "\n"
                                : yaml::print(document);
}

}  // namespace athanor::cli
