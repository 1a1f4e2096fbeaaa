// SPDX-License-Identifier: Apache-2.0
// The table of wrapped kinds.
#include "systems/appwrapper/model/wrapped_kinds.hpp"

#include <algorithm>

#include "api/builtin.hpp"
#include "kube/schema/kind_table.hpp"
#include "kube/schema/resources.hpp"
#include "kube/value/condition.hpp"

namespace athanor::appwrapper {
namespace {

constexpr std::string_view kRbac = "rbac.authorization.k8s.io";
constexpr std::string_view kNetworking = "networking.k8s.io";
constexpr std::string_view kKubeflow = "kubeflow.org";

constexpr Kind kRole{kRbac, "v1", "Role", "roles", true};
constexpr Kind kRoleBinding{kRbac, "v1", "RoleBinding", "rolebindings", true};
constexpr Kind kIngress{kNetworking, "v1", "Ingress", "ingresses", true};
constexpr Kind kNetworkPolicy{kNetworking, "v1", "NetworkPolicy", "networkpolicies", true};
constexpr Kind kJobSet{"jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", true};
constexpr Kind kPyTorchJob{kKubeflow, "v1", "PyTorchJob", "pytorchjobs", true};
constexpr Kind kTFJob{kKubeflow, "v1", "TFJob", "tfjobs", true};
constexpr Kind kXGBoostJob{kKubeflow, "v1", "XGBoostJob", "xgboostjobs", true};
constexpr Kind kPaddleJob{kKubeflow, "v1", "PaddleJob", "paddlejobs", true};
constexpr Kind kJAXJob{kKubeflow, "v1", "JAXJob", "jaxjobs", true};
constexpr Kind kMPIJob{kKubeflow, "v2beta1", "MPIJob", "mpijobs", true};
constexpr Kind kRayCluster{"ray.io", "v1", "RayCluster", "rayclusters", true};
constexpr Kind kRayJob{"ray.io", "v1", "RayJob", "rayjobs", true};
constexpr Kind kLeaderWorkerSet{"leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet",
                                "leaderworkersets", true};
constexpr Kind kPodGroup{"scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups", true};
constexpr Kind kSigsPodGroup{"scheduling.sigs.k8s.io", "v1alpha1", "PodGroup", "podgroups", true};

constexpr const Kind* kKinds[] = {&api::kPod,
                                  &api::kJob,
                                  &api::kDeployment,
                                  &api::kStatefulSet,
                                  &api::kReplicaSet,
                                  &api::kDaemonSet,
                                  &api::kService,
                                  &api::kConfigMap,
                                  &api::kSecret,
                                  &api::kServiceAccount,
                                  &api::kPersistentVolumeClaim,
                                  &kRole,
                                  &kRoleBinding,
                                  &kIngress,
                                  &kNetworkPolicy,
                                  &kJobSet,
                                  &kPyTorchJob,
                                  &kTFJob,
                                  &kXGBoostJob,
                                  &kPaddleJob,
                                  &kJAXJob,
                                  &kMPIJob,
                                  &kRayCluster,
                                  &kRayJob,
                                  &kLeaderWorkerSet,
                                  &kPodGroup,
                                  &kSigsPodGroup};

// Groups of the API server itself have no stored definitions.
bool is_builtin_group(std::string_view group) {
  return std::ranges::any_of(builtin_resources(),
                             [&](const BuiltinResource& one) { return one.group == group; });
}

std::optional<ServedResource> find_builtin(const GroupVersion& wanted, std::string_view kind) {
  for (const BuiltinResource& one : builtin_resources()) {
    if (one.group == wanted.group && one.version == wanted.version && one.kind == kind) {
      return ServedResource{one.group, one.version, one.plural, one.namespaced};
    }
  }
  return std::nullopt;
}

bool serves(const Value& definition, std::string_view version) {
  return std::ranges::any_of(definition["spec"]["versions"].items(), [&](const Value& one) {
    return one["name"].as_string() == version && one["served"].as_bool();
  });
}

}  // namespace

const Kind& pod_group_kind() {
  return kPodGroup;
}

std::span<const Kind* const> wrapped_kinds() {
  return kKinds;
}

const Kind* find_wrapped_kind(std::string_view api_version, std::string_view kind) {
  const auto* const at = std::ranges::find_if(kKinds, [&](const Kind* one) {
    return one->name == kind && one->api_version() == api_version;
  });
  return at == std::end(kKinds) ? nullptr : *at;
}

GroupVersion split_api_version(std::string_view api_version) {
  const std::size_t slash = api_version.find('/');
  return slash == std::string_view::npos
             ? GroupVersion{.version = std::string(api_version)}
             : GroupVersion{.group = std::string(api_version.substr(0, slash)),
                            .version = std::string(api_version.substr(slash + 1))};
}

std::optional<ServedResource> find_served(const View& view, std::string_view api_version,
                                          std::string_view kind) {
  const GroupVersion wanted = split_api_version(api_version);
  if (is_builtin_group(wanted.group)) {
    return find_builtin(wanted, kind);
  }
  // Of a known kind the definition's name is known; others are searched for.
  if (const Kind* known = find_wrapped_kind(api_version, kind)) {
    const std::string name = std::string(known->plural) + "." + std::string(known->group);
    const auto definition = view.get(api::kCustomResourceDefinition, {"", name});
    return definition && serves(definition->body(), wanted.version)
               ? std::optional(
                     ServedResource{wanted.group, wanted.version, std::string(known->plural), true})
               : std::nullopt;
  }
  for (const Object& definition : view.list(api::kCustomResourceDefinition)) {
    const Value& spec = definition.spec();
    if (spec["group"].as_string() == wanted.group && spec["names"]["kind"].as_string() == kind &&
        serves(definition.body(), wanted.version)) {
      return ServedResource{wanted.group, wanted.version, spec["names"]["plural"].str(),
                            spec["scope"].as_string() == "Namespaced"};
    }
  }
  return std::nullopt;
}

std::optional<ComponentKind> find_component_kind(const View& view, std::string_view api_version,
                                                 std::string_view kind) {
  const auto served = find_served(view, api_version, kind);
  if (!served) {
    return std::nullopt;
  }
  if (const Kind* known = find_wrapped_kind(api_version, kind)) {
    return ComponentKind{.kind = known, .watched = true};
  }
  return ComponentKind{.kind = &kind_named(served->group, served->version, kind, served->plural,
                                           served->namespaced)};
}

Outcome outcome_of(const Value& object) {
  const std::string_view api_version = object["apiVersion"].as_string();
  const std::string_view kind = object["kind"].as_string();
  const Value& conditions = object["status"]["conditions"];
  const auto says = [&](std::string_view type) { return condition_is(conditions, type, "True"); };
  if (api_version == "batch/v1" && kind == "Job") {
    return says("Failed")     ? Outcome::Failed
           : says("Complete") ? Outcome::Succeeded
                              : Outcome::Unfinished;
  }
  if (api_version == "jobset.x-k8s.io/v1alpha2" && kind == "JobSet") {
    return says("Failed")      ? Outcome::Failed
           : says("Completed") ? Outcome::Succeeded
                               : Outcome::Unfinished;
  }
  if (api_version == "kubeflow.org/v1" && kind == "PyTorchJob") {
    return says("Failed")      ? Outcome::Failed
           : says("Succeeded") ? Outcome::Succeeded
                               : Outcome::Unknown;
  }
  if (api_version == "ray.io/v1" && kind == "RayJob") {
    return object["status"]["jobStatus"].as_string() == "SUCCEEDED" ? Outcome::Succeeded
                                                                    : Outcome::Unknown;
  }
  return Outcome::Unknown;
}

}  // namespace athanor::appwrapper
