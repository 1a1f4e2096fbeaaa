// SPDX-License-Identifier: Apache-2.0
// Pods act as a service account (docs/spec/apiserver.md 15.1).
#include <fmt/format.h>

#include <algorithm>

#include "embedded/apiserver/admission/steps.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kDefaultAccount = "default";
constexpr std::string_view kMountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr std::string_view kMirror = "kubernetes.io/config.mirror";
constexpr std::int64_t kTokenSeconds = 3607;
constexpr std::int64_t kFileMode = 0644;

// The account, made on the spot where it is the one that every namespace has: its controller may
// not have seen the namespace yet.
StatusResult<Value> account_of(AdmissionAttributes& request, const AdmissionContext& context,
                               const std::string& name) {
  const Key key{request.key.ns, name};
  if (const store::StoredPtr stored = context.store.get("serviceaccounts", key)) {
    return stored->body;
  }
  if (name != kDefaultAccount || context.store.get("namespaces", {"", key.ns}) == nullptr) {
    return refuse(request, fmt::format("error looking up service account {}/{}: serviceaccount "
                                       "\"{}\" not found",
                                       key.ns, name, name));
  }
  Value account = Value::object(
      {{"kind", "ServiceAccount"},
       {"apiVersion", "v1"},
       {"metadata", Value::object({{"name", name},
                                   {"namespace", key.ns},
                                   {"uid", context.entropy.uuid()},
                                   {"creationTimestamp", format_time(context.now)}})}});
  request.extra_writes.push_back(
      {.resource = "serviceaccounts", .key = key, .body = account, .expected = 0});
  return account;
}

bool has_mount(const Value& container) {
  const auto mounts = container["volumeMounts"].items();
  return std::any_of(mounts.begin(), mounts.end(), [](const Value& mount) {
    return mount["mountPath"].as_string() == kMountPath;
  });
}

// True when a container got the mount.
bool mount_token(Value& spec, std::string_view list, const std::string& volume) {
  bool mounted = false;
  for (std::size_t i = 0; i < spec[list].size(); ++i) {
    if (!has_mount(spec[list][i])) {
      spec.member(list)
          .item(i)
          .member("volumeMounts")
          .push_back(
              Value::object({{"name", volume}, {"readOnly", true}, {"mountPath", kMountPath}}));
      mounted = true;
    }
  }
  return mounted;
}

Value token_volume(const std::string& name) {
  const Value token =
      Value::object({{"serviceAccountToken",
                      Value::object({{"expirationSeconds", kTokenSeconds}, {"path", "token"}})}});
  const Value authority = Value::object(
      {{"configMap",
        Value::object(
            {{"name", "kube-root-ca.crt"},
             {"items", Value::list({Value::object({{"key", "ca.crt"}, {"path", "ca.crt"}})})}})}});
  const Value ns = Value::object(
      {{"downwardAPI",
        Value::object(
            {{"items",
              Value::list({Value::object(
                  {{"path", "namespace"},
                   {"fieldRef", Value::object({{"apiVersion", "v1"},
                                               {"fieldPath", "metadata.namespace"}})}})})}})}});
  return Value::object(
      {{"name", name},
       {"projected", Value::object({{"defaultMode", kFileMode},
                                    {"sources", Value::list({token, authority, ns})}})}});
}

// A kubelet's own pods got nothing from this server.
StatusResult<void> check_mirror(const AdmissionAttributes& request) {
  const Value& spec = request.object["spec"];
  if (!spec["serviceAccountName"].as_string().empty()) {
    return refuse(request, "a mirror pod may not reference service accounts");
  }
  for (const Value& volume : spec["volumes"].items()) {
    if (volume.contains("secret")) {
      return refuse(request, "a mirror pod may not reference secrets");
    }
    const auto sources = volume["projected"]["sources"].items();
    if (std::any_of(sources.begin(), sources.end(),
                    [](const Value& source) { return source.contains("serviceAccountToken"); })) {
      return refuse(request, "a mirror pod may not use ServiceAccountToken volume projections");
    }
  }
  return {};
}

StatusResult<void> mount_account(AdmissionAttributes& request, const AdmissionContext& context) {
  if (!creates(request, "", "pods")) {
    return {};
  }
  if (request.object["metadata"]["annotations"].contains(kMirror)) {
    return check_mirror(request);
  }
  std::string name = request.object["spec"]["serviceAccountName"].str();
  if (name.empty()) {
    name = std::string(kDefaultAccount);
  }
  ATHANOR_TRY(const Value account, account_of(request, context, name));
  Value& spec = request.object.member("spec");
  spec.set("serviceAccountName", name);
  spec.set("serviceAccount", name);
  const Value& of_pod = spec["automountServiceAccountToken"];
  const bool automount =
      of_pod.is_null() ? account["automountServiceAccountToken"].as_bool(true) : of_pod.as_bool();
  if (automount) {
    const std::string volume = "kube-api-access-" + context.entropy.name_suffix();
    bool mounted = mount_token(spec, "initContainers", volume);
    mounted = mount_token(spec, "containers", volume) || mounted;
    if (mounted) {
      spec.member("volumes").push_back(token_volume(volume));
    }
  }
  if (spec["imagePullSecrets"].empty() && !account["imagePullSecrets"].empty()) {
    spec.set("imagePullSecrets", account["imagePullSecrets"]);
  }
  return {};
}

}  // namespace

AdmissionStep service_account_step() {
  return {.name = "ServiceAccount", .mutate = &mount_account, .validate = {}};
}

}  // namespace athanor::apiserver
