// SPDX-License-Identifier: Apache-2.0
// In-process installation, as the server itself.
#include "embedded/lab/installer.hpp"

#include <fmt/core.h>

#include <utility>

#include "api/builtin.hpp"
#include "kube/text/json.hpp"

namespace athanor::lab {
namespace {

constexpr const char* kServerUser = "system:apiserver";
constexpr const char* kManager = "athanor-lab";
constexpr const char* kRbac = "rbac.authorization.k8s.io";

std::string version_path(std::string_view api_version) {
  return api_version.find('/') == std::string_view::npos ? fmt::format("/api/{}", api_version)
                                                         : fmt::format("/apis/{}", api_version);
}

Value rule(std::string_view group, std::string_view resource,
           std::initializer_list<const char*> verbs) {
  Value list = Value::list();
  for (const char* verb : verbs) {
    list.push_back(verb);
  }
  return Value::object({{"apiGroups", Value::list({group})},
                        {"resources", Value::list({resource})},
                        {"verbs", list}});
}

std::string role_name(const Operator& op) {
  return fmt::format("athanor:{}", op.name);
}

std::string user_name(const Operator& op) {
  return op.user.empty() ? fmt::format("system:serviceaccount:kube-system:{}", op.name)
                         : std::string(op.user);
}

}  // namespace

Value operator_role(const Operator& op) {
  // Every controller writes Events.
  Value rules = Value::list({rule("", "events", {"create", "update", "patch"})});
  for (const Kind* kind : op.reads) {
    rules.push_back(rule(kind->group, kind->plural, {"get", "list", "watch"}));
  }
  for (const Kind* kind : op.writes) {
    rules.push_back(rule(kind->group, kind->plural, {"create", "update", "patch", "delete"}));
    for (const char* subresource : {"status", "finalizers", "binding", "finalize", "approval"}) {
      rules.push_back(rule(kind->group, fmt::format("{}/{}", kind->plural, subresource),
                           {"create", "update", "patch"}));
    }
  }
  if (op.primary == &api::kCertificateSigningRequest) {
    rules.push_back(rule(op.primary->group, "signers", {"approve", "sign"}));
  }
  return Value::object({{"apiVersion", fmt::format("{}/v1", kRbac)},
                        {"kind", "ClusterRole"},
                        {"metadata", Value::object({{"name", role_name(op)}})},
                        {"rules", rules}});
}

std::vector<Value> rbac_objects(std::span<const Operator* const> operators) {
  std::vector<Value> objects;
  for (const Operator* op : operators) {
    objects.push_back(operator_role(*op));
    const Value subject =
        Value::object({{"kind", "User"}, {"apiGroup", kRbac}, {"name", user_name(*op)}});
    objects.push_back(Value::object(
        {{"apiVersion", fmt::format("{}/v1", kRbac)},
         {"kind", "ClusterRoleBinding"},
         {"metadata", Value::object({{"name", role_name(*op)}})},
         {"roleRef",
          Value::object({{"apiGroup", kRbac}, {"kind", "ClusterRole"}, {"name", role_name(*op)}})},
         {"subjects", Value::list({subject})}}));
  }
  return objects;
}

Result<Installer::Applied> Installer::apply(Value object, const std::string& ns) {
  std::string target_ns = object["metadata"]["namespace"].str();
  ATHANOR_TRY(const std::string collection, collection_of(object, target_ns, ns));
  if (!target_ns.empty()) {
    object.set_path({"metadata", "namespace"}, target_ns);
  }
  const std::string name = object["metadata"]["name"].str();
  const std::string what = fmt::format("{} {}", object["kind"].as_string(), name);
  if (name.empty()) {
    return Error::bad_request(fmt::format("{} without metadata.name cannot be part of a lab",
                                          object["kind"].as_string()));
  }
  const std::string path = fmt::format("{}/{}", collection, name);
  auto applied = send("PATCH", path, "application/apply-patch+yaml", std::move(object));
  if (applied.ok()) {
    return Applied{.object = *std::move(applied)};
  }
  auto present = send("GET", path, {}, {});
  if (applied.error().code == 409 && present.ok()) {
    return Applied{.object = *std::move(present), .conflict = applied.error().message};
  }
  Error refused = applied.error().with_context(what);
  return present.ok() ? Applied{.object = *std::move(present), .refusal = std::move(refused)}
                      : Result<Applied>(std::move(refused));
}

Result<std::string> Installer::collection_of(const Value& object, std::string& ns,
                                             const std::string& fallback) {
  const std::string base = version_path(object["apiVersion"].as_string());
  const auto resources = send("GET", base, {}, {});
  if (!resources.ok()) {
    return Error::not_found(
        fmt::format("{} {}: the lab's API server does not serve {}", object["kind"].as_string(),
                    object["metadata"]["name"].as_string(), object["apiVersion"].as_string()));
  }
  for (const Value& resource : (*resources)["resources"].items()) {
    const std::string plural = resource["name"].str();
    if (resource["kind"] != object["kind"] || plural.find('/') != std::string::npos) {
      continue;
    }
    if (!resource["namespaced"].as_bool()) {
      ns.clear();
      return fmt::format("{}/{}", base, plural);
    }
    if (ns.empty()) {
      ns = fallback;
    }
    return fmt::format("{}/namespaces/{}/{}", base, ns, plural);
  }
  return Error::not_found(fmt::format("{} of {} is not served", object["kind"].as_string(),
                                      object["apiVersion"].as_string()));
}

Result<Value> Installer::send(std::string method, std::string path, std::string content_type,
                              Value body) {
  net::Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  if (!content_type.empty()) {
    request.headers.emplace("content-type", std::move(content_type));
    request.query.emplace_back("fieldManager", kManager);
    request.body = std::move(body);
  }
  request.credentials.internal_user = kServerUser;
  const net::Response response = server_.handle(std::move(request), clock_.now());
  Value answer = response.value ? *response.value : json::parse(response.body).value_or(Value());
  if (response.status >= 400) {
    return Error{.code = response.status,
                 .reason = answer["reason"].str(),
                 .message = answer["message"].str()};
  }
  return answer;
}

}  // namespace athanor::lab
