// SPDX-License-Identifier: Apache-2.0
// must-gather (docs/spec/numa.md 13.3): what people who help need to see, in one tar file.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "api/builtin.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/operator/manifests.hpp"
#include "systems/numa/scheduling/fingerprint.hpp"
#include "systems/numa/scheduling/residents.hpp"
#include "systems/numa/scheduling/status_file.hpp"
#include "systems/numa/tools/tar.hpp"
#include "systems/numa/tools/tool.hpp"
#include "systems/numa/tools/tool_flags.hpp"

namespace athanor::numa {
namespace {

constexpr Kind kFeatureGate{"config.openshift.io", "v1", "FeatureGate", "featuregates", false};
constexpr const char* kManagedConfigs = "openshift-config-managed";

class Gathering {
 public:
  Gathering(ToolContext& context, std::string ns) : context_(context), ns_(std::move(ns)) {}

  Result<std::map<std::string, std::string>> run() {
    files_["version"] = "numaresources-operator/must-gather\n" + context_.version() + "\n";
    ATHANOR_TRY_VOID(collect(api::kNode, ""));
    for (const Kind* kind : {&kFeatureGate, &kMachineConfig, &kMachineConfigPool, &kKubeletConfig,
                             &kOperatorKind, &kSchedulerKind, &kTopologyKind}) {
      ATHANOR_TRY_VOID(collect(*kind, ""));
    }
    ATHANOR_TRY_VOID(collect(api::kConfigMap, kManagedConfigs));
    ATHANOR_TRY_VOID(definitions());
    ATHANOR_TRY_VOID(operand_namespace());
    ATHANOR_TRY_VOID(logs());
    ATHANOR_TRY_VOID(status_files());
    return std::move(files_);
  }

 private:
  // Kinds that a cluster does not serve are left out.
  Result<void> collect(const Kind& kind, const std::string& ns) {
    auto objects = context_.list(kind, ns);
    if (!objects.ok()) {
      return objects.error().code == 404 ? Result<void>() : objects.error();
    }
    for (const Object& object : *objects) {
      Value body = object.body();
      body.member("metadata").erase("managedFields");
      const std::string group = kind.group.empty() ? "core" : std::string(kind.group);
      const std::string folder =
          ns.empty() ? std::string("cluster-scoped-resources") : fmt::format("namespaces/{}", ns);
      files_[fmt::format("{}/{}/{}/{}.yaml", folder, group, kind.plural, object.name())] =
          yaml::print(body);
    }
    return {};
  }

  Result<void> operand_namespace() {
    const auto found = context_.get(api::kNamespace, {"", ns_});
    if (found.ok()) {
      files_[fmt::format("namespaces/{}/{}.yaml", ns_, ns_)] = yaml::print(found->body());
    } else if (found.error().code != 404) {
      return found.error();
    }
    for (const Kind* kind :
         {&api::kPod, &api::kDaemonSet, &api::kDeployment, &api::kReplicaSet, &api::kConfigMap,
          &api::kService, &api::kEndpoints, &api::kServiceAccount, &kRole, &kRoleBinding,
          &kNetworkPolicy, &api::kLease, &api::kEvent}) {
      ATHANOR_TRY_VOID(collect(*kind, ns_));
    }
    return {};
  }

  Result<void> definitions() {
    for (const Kind* kind : {&kOperatorKind, &kSchedulerKind, &kTopologyKind}) {
      const std::string name = fmt::format("{}.{}", kind->plural, kind->group);
      const auto definition = context_.get(api::kCustomResourceDefinition, {"", name});
      if (definition.ok()) {
        files_[fmt::format(
            "cluster-scoped-resources/apiextensions.k8s.io/customresourcedefinitions/{}.yaml",
            name)] = yaml::print(definition->body());
      } else if (definition.error().code != 404) {
        return definition.error();
      }
    }
    return {};
  }

  Result<void> logs() {
    ATHANOR_TRY(const std::vector<Object> pods, context_.list(api::kPod, ns_));
    for (const Object& pod : pods) {
      for (const auto& [list, statuses] : {std::pair{"initContainers", "initContainerStatuses"},
                                           {"containers", "containerStatuses"}}) {
        for (const Value& container : pod.spec()[list].items()) {
          const std::string name = container["name"].str();
          add_log(pod, name, "");
          if (has_restarted(pod.status()[statuses], name)) {
            add_log(pod, name, "previous");
          }
        }
      }
    }
    return {};
  }

  static bool has_restarted(const Value& statuses, std::string_view container) {
    return std::ranges::any_of(statuses.items(), [&](const Value& status) {
      return status["name"].as_string() == container && status["restartCount"].as_int() > 0;
    });
  }

  // `which`: "previous", of the container that ran before; empty: of the one that runs.
  void add_log(const Object& pod, const std::string& container, std::string_view which) {
    const auto log =
        context_.text(fmt::format("/api/v1/namespaces/{}/pods/{}/log?container={}{}", ns_,
                                  pod.name(), container, which.empty() ? "" : "&previous=true"));
    files_[fmt::format("namespaces/{}/pods/{}/{}{}.log", ns_, pod.name(), container,
                       which.empty() ? "" : ".previous")] =
        log.ok() ? *log : log.error().message + "\n";
  }

  // The same samples that both sides write, computed from what the API server holds: a program
  // without exec cannot read the pods' files.
  Result<void> status_files() {
    const auto topologies = context_.list(kTopologyKind, "");
    if (!topologies.ok()) {
      return topologies.error().code == 404 ? Result<void>() : topologies.error();
    }
    ATHANOR_TRY(const std::vector<Object> pods, context_.list(api::kPod, ""));
    for (const Object& object : *topologies) {
      const NodeTopology topology = read_topology(object.body());
      if (topology.fingerprint.empty()) {
        continue;
      }
      StatusSample sample{.expected = topology.fingerprint,
                          .pods = fingerprinted(pods, topology),
                          .node = topology.node,
                          .recorded = context_.now()};
      sample.computed = fingerprint_of(std::span<const Key>(sample.pods));
      // The exporter's pods are known where both sides agree.
      const StatusSample exporter{
          .computed = topology.fingerprint,
          .pods = sample.computed == topology.fingerprint ? sample.pods : std::vector<Key>(),
          .node = topology.node,
          .recorded = context_.now()};
      const std::string file = status_file_name(topology.node);
      const std::string folder = fmt::format("namespaces/{}/pfpstatus/", ns_);
      ATHANOR_TRY(files_[fmt::format("{}resource-topology-exporters/{}", folder, file)],
                  add_sample("", exporter));
      ATHANOR_TRY(files_[fmt::format("{}scheduler/{}", folder, file)], add_sample("", sample));
    }
    return {};
  }

  ToolContext& context_;
  std::string ns_;
  std::map<std::string, std::string> files_{};
};

}  // namespace

int run_must_gather(ToolContext& context, std::span<const std::string> arguments) {
  static constexpr ToolFlag kFlags[] = {
      {"namespace", false, "numaresources", "namespace of the operands"},
      {"output", false, "numaresources-must-gather.tar", "the file to write"},
  };
  const auto [flags, ended] = open_tool(context, "must-gather", arguments, kFlags);
  if (ended) {
    return *ended;
  }
  const auto files = Gathering(context, flags.text("namespace")).run();
  const auto archive = files.ok() ? make_tar(*files, context.now()) : files.error();
  const auto written =
      archive.ok() ? context.write_file(flags.text("output"), *archive) : archive.error();
  if (!written.ok()) {
    context.err(written.error().message + "\n");
    return kToolFailed;
  }
  context.out(fmt::format("{}: {} files\n", flags.text("output"), files->size()));
  return kToolDone;
}

}  // namespace athanor::numa
