// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/operator/operator_manifests.hpp"

#include <fmt/core.h>

#include "api/describe.hpp"
#include "base/check.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/operator/operator_rights.hpp"

namespace athanor::data {
std::string_view numa_operator_objects();
std::string_view numa_operator_monitoring();
std::string_view numa_service_version();
}  // namespace athanor::data

namespace athanor::numa {
namespace {

constexpr const char* kName = "numaresources-controller-manager";

std::vector<Value> parsed_operator(std::string_view text) {
  auto documents = yaml::parse_all(text);
  ATHANOR_CHECK(documents.ok(), "manifests in the program are valid");
  return *std::move(documents);
}

void place(Value& object, const std::string& ns) {
  if (!object["kind"].as_string().starts_with("Cluster")) {
    object.member("metadata").set("namespace", ns);
  }
  for (std::size_t i = 0; i < object["subjects"].size(); ++i) {
    if (object["subjects"][i]["namespace"].is_null()) {
      object.member("subjects").item(i).set("namespace", ns);
    }
  }
}

Value deployment_of(Value deployment, const OperatorInstall& install) {
  Value& container =
      deployment.member("spec").member("template").member("spec").member("containers").item(0);
  container.set("image", install.image);
  return deployment;
}

// The operator's name in OLM and its installation.
Value service_version(const OperatorInstall& install, const std::string& version) {
  Value csv = parsed_operator(data::numa_service_version()).front();
  csv.member("metadata").set("name", "numaresources-operator.v" + version);
  csv.member("spec").set("version", version);
  Value owned = Value::list();
  for (const api::CustomKind* custom : numa_kinds()) {
    if (custom->kind->group == kGroup) {
      owned.push_back(
          Value::object({{"kind", custom->kind->name},
                         {"name", fmt::format("{}.{}", custom->kind->plural, custom->kind->group)},
                         {"version", custom->kind->version},
                         {"displayName", custom->kind->name}}));
    }
  }
  csv.set_path({"spec", "customresourcedefinitions", "owned"}, std::move(owned));
  Value strategy = Value::object();
  for (const Value& object : operator_manifests(install)) {
    if (object["kind"].as_string() == "Deployment") {
      strategy.set("deployments",
                   Value::list({Value::object({{"name", kName}, {"spec", object["spec"]}})}));
    }
  }
  strategy.set("clusterPermissions",
               Value::list({Value::object(
                   {{"serviceAccountName", kName}, {"rules", operator_cluster_rules()}})}));
  strategy.set(
      "permissions",
      Value::list({Value::object({{"serviceAccountName", kName}, {"rules", operator_rules()}})}));
  csv.set_path({"spec", "install"},
               Value::object({{"strategy", "deployment"}, {"spec", std::move(strategy)}}));
  // The sample objects, as the console offers them.
  const Value examples = Value::list(
      {Value::object({{"apiVersion", kOperatorKind.api_version()},
                      {"kind", kOperatorKind.name},
                      {"metadata", Value::object({{"name", kOperatorName}})},
                      {"spec", Value::object({{"nodeGroups", Value::list({Value::object(
                                                                 {{"poolName", "worker"}})})}})}}),
       Value::object({{"apiVersion", kSchedulerKind.api_version()},
                      {"kind", kSchedulerKind.name},
                      {"metadata", Value::object({{"name", kSchedulerName}})},
                      {"spec", Value::object({{"imageSpec", install.scheduler_image}})}})});
  csv.set_path({"metadata", "annotations", "alm-examples"}, json::print(examples));
  return csv;
}

}  // namespace

Value topology_definition() {
  return api::crd_manifest(topology_crd());
}

std::vector<Value> operator_manifests(const OperatorInstall& install) {
  std::vector<Value> manifests;
  manifests.push_back(Value::object({{"apiVersion", "v1"},
                                     {"kind", "Namespace"},
                                     {"metadata", Value::object({{"name", install.ns}})}}));
  for (const api::CustomKind* custom : numa_kinds()) {
    manifests.push_back(api::crd_manifest(*custom));
  }
  manifests.push_back(Value::object({{"apiVersion", "rbac.authorization.k8s.io/v1"},
                                     {"kind", "ClusterRole"},
                                     {"metadata", Value::object({{"name", kName}})},
                                     {"rules", operator_cluster_rules()}}));
  manifests.push_back(
      Value::object({{"apiVersion", "rbac.authorization.k8s.io/v1"},
                     {"kind", "Role"},
                     {"metadata", Value::object({{"name", kName}, {"namespace", install.ns}})},
                     {"rules", operator_rules()}}));
  for (Value& object : parsed_operator(data::numa_operator_objects())) {
    place(object, install.ns);
    const bool runs = object["kind"].as_string() == "Deployment";
    manifests.push_back(runs ? deployment_of(object, install) : std::move(object));
  }
  if (install.monitoring) {
    for (Value& object : parsed_operator(data::numa_operator_monitoring())) {
      place(object, install.ns);
      if (object["kind"].as_string() == "ServiceMonitor") {
        object.member("spec")
            .member("endpoints")
            .item(0)
            .member("tlsConfig")
            .set("serverName", fmt::format("{}-metrics-service.{}.svc", kName, install.ns));
      }
      manifests.push_back(std::move(object));
    }
  }
  return manifests;
}

std::vector<std::pair<std::string, std::string>> bundle_files(const OperatorInstall& install,
                                                              const std::string& version) {
  std::vector<std::pair<std::string, std::string>> files;
  files.emplace_back("manifests/numaresources-operator.clusterserviceversion.yaml",
                     yaml::print(service_version(install, version)));
  for (const api::CustomKind* custom : numa_kinds()) {
    if (custom->kind->group == kGroup) {
      files.emplace_back(
          fmt::format("manifests/{}_{}.yaml", custom->kind->group, custom->kind->plural),
          yaml::print(api::crd_manifest(*custom)));
    }
  }
  for (Value& object : parsed_operator(data::numa_operator_objects())) {
    const std::string kind = object["kind"].str();
    if (kind == "Service" || kind == "NetworkPolicy") {
      files.emplace_back(
          fmt::format("manifests/{}_{}.yaml", object["metadata"]["name"].as_string(), kind),
          yaml::print(object));
    }
  }
  files.emplace_back(
      "metadata/annotations.yaml",
      "annotations:\n"
      "  operators.operatorframework.io.bundle.channel.default.v1: alpha\n"
      "  operators.operatorframework.io.bundle.channels.v1: alpha\n"
      "  operators.operatorframework.io.bundle.manifests.v1: manifests/\n"
      "  operators.operatorframework.io.bundle.mediatype.v1: registry+v1\n"
      "  operators.operatorframework.io.bundle.metadata.v1: metadata/\n"
      "  operators.operatorframework.io.bundle.package.v1: numaresources-operator\n");
  return files;
}

}  // namespace athanor::numa
