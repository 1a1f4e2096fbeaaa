// SPDX-License-Identifier: Apache-2.0
// Small tools over a cluster (docs/spec/numa.md 13.2): schedlogs, watchnrtattr, lsplatform,
// catkubeletconfmap, make-job-foreach-ds.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "api/builtin.hpp"
#include "base/ascii.hpp"
#include "kube/text/yaml.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/operator/manifests.hpp"
#include "systems/numa/tools/features.hpp"
#include "systems/numa/tools/tool.hpp"
#include "systems/numa/tools/tool_flags.hpp"

namespace athanor::numa {
namespace {

constexpr const char* kCut = "-------8<-------\n";

int refuse(ToolContext& context, const Error& error, int code) {
  context.err(error.message + "\n");
  return code;
}

// The pod that holds the Lease; without a Lease the first one that runs.
Result<Object> leading_scheduler(ToolContext& context, const std::string& ns) {
  ATHANOR_TRY(const std::vector<Object> pods, context.list(api::kPod, ns));
  const auto lease = context.get(api::kLease, {ns, "numa-scheduler-leader"});
  const std::string holder = lease.ok() ? lease->spec()["holderIdentity"].str() : std::string();
  const Object* first = nullptr;
  for (const Object& pod : pods) {
    if (pod.label("app") != kDeploymentName || pod.status()["phase"].as_string() != "Running") {
      continue;
    }
    // A holder is "<host name>_<uuid>".
    if (!holder.empty() && holder.substr(0, holder.find('_')) == pod.name()) {
      return pod;
    }
    first = first == nullptr ? &pod : first;
  }
  return first != nullptr
             ? Result<Object>(*first)
             : Error::not_found(fmt::format("no running scheduler pod in namespace {}", ns));
}

std::string attributes_text(const Object& topology) {
  std::string text;
  for (const Value& attribute : topology.body()["attributes"].items()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", attribute["name"].as_string(),
                        attribute["value"].as_string());
  }
  return text;
}

}  // namespace

int run_scheduler_logs(ToolContext& context, std::span<const std::string> arguments) {
  static constexpr ToolFlag kFlags[] = {
      {"namespace", false, "numaresources", "namespace of the scheduler"},
      {"container", false, kDeploymentName, "container whose log is shown"},
      {"since", false, "0s", "only what was written in this time; 0s: everything"},
  };
  const auto [flags, ended] = open_tool(context, "schedlogs", arguments, kFlags);
  if (ended) {
    return *ended;
  }
  const auto since = flags.duration("since");
  if (!since.ok()) {
    return refuse(context, since.error(), kToolUsage);
  }
  const std::string ns = flags.text("namespace");
  const auto pod = leading_scheduler(context, ns);
  if (!pod.ok()) {
    return refuse(context, pod.error(), kToolFailed);
  }
  std::string path = fmt::format("/api/v1/namespaces/{}/pods/{}/log?container={}", ns, pod->name(),
                                 flags.text("container"));
  if (const auto seconds = std::chrono::ceil<std::chrono::seconds>(*since).count(); seconds > 0) {
    path += fmt::format("&sinceSeconds={}", seconds);
  }
  const auto log = context.text(path);
  if (!log.ok()) {
    return refuse(context, log.error(), kToolFailed);
  }
  context.out(
      fmt::format("{}{}{}{}", kCut, *log, log->empty() || log->ends_with('\n') ? "" : "\n", kCut));
  return kToolDone;
}

int run_watch_attributes(ToolContext& context, std::span<const std::string> arguments) {
  static constexpr ToolFlag kFlags[] = {
      {"interval", false, "1s", "time between looks"},
      {"count", false, "0", "end after so many looks; 0: when interrupted"},
  };
  const auto [flags, ended] = open_tool(context, "watchnrtattr", arguments, kFlags);
  if (ended) {
    return *ended;
  }
  const auto interval = flags.duration("interval");
  if (!interval.ok()) {
    return refuse(context, interval.error(), kToolUsage);
  }
  const std::string count = flags.text("count");
  if (count.empty() || count.find_first_not_of("0123456789") != std::string::npos ||
      count.size() > 6) {
    return refuse(context, Error::bad_request("-count must be a number"), kToolUsage);
  }
  int most = 0;
  std::from_chars(count.data(), count.data() + count.size(), most);
  std::map<std::string, std::string> known;
  for (int looks = 1;; ++looks) {
    const auto topologies = context.list(kTopologyKind, "");
    if (!topologies.ok()) {
      return refuse(context, topologies.error(), kToolFailed);
    }
    std::map<std::string, std::string> now;
    for (const Object& topology : *topologies) {
      const std::string text = attributes_text(topology);
      const std::string name(topology.name());
      const auto before = known.find(name);
      if (before == known.end() || before->second != text) {
        context.out(fmt::format("{} {} {}\n", format_time(context.now()), name, text));
      }
      now.emplace(name, text);
    }
    for (const auto& [name, text] : known) {
      if (!now.contains(name)) {
        context.out(fmt::format("{} {} deleted\n", format_time(context.now()), name));
      }
    }
    known = std::move(now);
    if (looks == most || !context.pause(*interval)) {
      return kToolDone;
    }
  }
}

Result<std::string> detect_platform(ToolContext& context) {
  const auto versions = context.list(kClusterVersion, "");
  if (!versions.ok() && versions.error().code != 404) {
    return versions.error();
  }
  if (!versions.ok() || versions->empty()) {
    return std::string("Kubernetes");
  }
  const auto infrastructure = context.get(kInfrastructure, {"", "cluster"});
  if (!infrastructure.ok() && infrastructure.error().code != 404) {
    return infrastructure.error();
  }
  const bool hosted = infrastructure.ok() &&
                      infrastructure->status()["controlPlaneTopology"].as_string() == "External";
  return std::string(hosted ? "HyperShift" : "OpenShift");
}

int run_platform(ToolContext& context, std::span<const std::string> arguments) {
  static constexpr ToolFlag kFlags[] = {
      {"is-platform", false, "", "exit with 0 if it is this one, with 1 if not"}};
  const auto [flags, ended] = open_tool(context, "lsplatform", arguments, kFlags);
  if (ended) {
    return *ended;
  }
  const auto platform = detect_platform(context);
  if (!platform.ok()) {
    return refuse(context, platform.error(), kToolFailed);
  }
  if (flags.given("is-platform")) {
    return lower(flags.text("is-platform")) == lower(*platform) ? 0 : 1;
  }
  context.out(*platform + "\n");
  return kToolDone;
}

int run_kubelet_config(ToolContext& context, std::span<const std::string> arguments) {
  static constexpr ToolFlag kFlags[] = {
      {"namespace", false, "numaresources", "namespace of the ConfigMap"},
      {"name", false, "numaresourcesoperator-worker", "name of the ConfigMap"},
      {"prefix", false, "", "in front of the names of the variables"},
      {"wait", false, "0s", "how long to wait for the ConfigMap"},
  };
  const auto [flags, ended] = open_tool(context, "catkubeletconfmap", arguments, kFlags);
  if (ended) {
    return *ended;
  }
  const auto wait = flags.duration("wait");
  if (!wait.ok()) {
    return refuse(context, wait.error(), kToolUsage);
  }
  const Key key{flags.text("namespace"), flags.text("name")};
  const Instant end = context.now() + *wait;
  auto config = context.get(api::kConfigMap, key);
  while (!config.ok() && config.error().code == 404 && context.now() < end &&
         context.pause(std::chrono::seconds(1))) {
    config = context.get(api::kConfigMap, key);
  }
  if (!config.ok()) {
    return refuse(context, config.error(), kToolFailed);
  }
  const auto document = yaml::parse(config->body()["data"]["config.yaml"].as_string());
  if (!document.ok()) {
    return refuse(context, document.error(), kToolFailed);
  }
  // Both layouts of docs/spec/numa.md 7.
  const Value& kubelet = document->contains("kubelet") ? (*document)["kubelet"] : *document;
  context.out(fmt::format("{0}TOPOLOGY_MANAGER_POLICY={1}\n{0}TOPOLOGY_MANAGER_SCOPE={2}\n",
                          flags.text("prefix"), kubelet["topologyManagerPolicy"].as_string(),
                          kubelet["topologyManagerScope"].as_string()));
  return kToolDone;
}

int run_jobs(ToolContext& context, std::span<const std::string> arguments) {
  static constexpr ToolFlag kFlags[] = {
      {"name", false, "job", "name of the Jobs, in front of the DaemonSet's"},
      {"namespace", false, "numaresources", "their namespace"},
      {"serviceaccount", false, "rte", "account of their pods"},
      {"script", false, "", "what they run: a shell script"},
  };
  const auto [flags, ended] = open_tool(context, "make-job-foreach-ds", arguments, kFlags);
  if (ended) {
    return *ended;
  }
  if (flags.text("script").empty()) {
    context.err(usage_of("make-job-foreach-ds", kFlags));
    return refuse(context, Error::bad_request("say what to run: -script"), kToolUsage);
  }
  const auto cr = context.get(kOperatorKind, {"", kOperatorName});
  if (!cr.ok()) {
    return refuse(context, cr.error(), kToolFailed);
  }
  std::string text;
  for (const Value& reference : cr->status()["daemonsets"].items()) {
    const auto set =
        context.get(api::kDaemonSet, {reference["namespace"].str(), reference["name"].str()});
    if (!set.ok()) {
      return refuse(context, set.error(), kToolFailed);
    }
    const Value& pod = set->spec()["template"]["spec"];
    const Value container =
        Value::object({{"name", "script"},
                       {"image", pod["containers"][0]["image"]},
                       {"command", Value::list({"/bin/sh", "-c", flags.text("script")})}});
    Value spec = Value::object({{"serviceAccountName", flags.text("serviceaccount")},
                                {"restartPolicy", "Never"},
                                {"containers", Value::list({container})}});
    for (const char* member : {"nodeSelector", "tolerations"}) {
      if (!pod[member].is_null()) {
        spec.set(member, pod[member]);
      }
    }
    if (const Value& affinity = pod["affinity"]["nodeAffinity"]; !affinity.is_null()) {
      spec.set("affinity", Value::object({{"nodeAffinity", affinity}}));
    }
    const Value job = Value::object(
        {{"apiVersion", "batch/v1"},
         {"kind", "Job"},
         {"metadata",
          Value::object({{"name", fmt::format("{}-{}", flags.text("name"), set->name())},
                         {"namespace", flags.text("namespace")}})},
         {"spec", Value::object({{"template", Value::object({{"spec", std::move(spec)}})}})}});
    text += "---\n" + yaml::print(job);
  }
  context.out(text);
  return kToolDone;
}

}  // namespace athanor::numa
