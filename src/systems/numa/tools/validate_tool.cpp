// SPDX-License-Identifier: Apache-2.0
// nrovalidate and nrtcacheck (docs/spec/numa.md 13.1, 13.2).
#include <fmt/core.h>

#include <algorithm>

#include "api/builtin.hpp"
#include "base/ascii.hpp"
#include "kube/names/node_match.hpp"
#include "kube/names/selector.hpp"
#include "kube/text/json.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/tools/tool.hpp"
#include "systems/numa/tools/tool_flags.hpp"
#include "systems/numa/tools/validation.hpp"

namespace athanor::numa {
namespace {

constexpr ToolFlag kValidateFlags[] = {
    {"version", true, "", "print the version and exit"},
    {"verbose", true, "", "print every finding"},
    {"json", true, "", "print JSON"},
    {"quiet", true, "", "print nothing but the result; beats verbose"},
    {"what", false, "all", "validators to run, separated by commas; help lists them"},
    {"labels", false, "", "labels of the nodes to check"},
};

std::string validator_list() {
  std::string list;
  for (const std::string_view name : kValidators) {
    list += fmt::format("{}{}", list.empty() ? "" : ",", name);
  }
  return list;
}

// The nodes of the operator's pools: where its DaemonSets are to run.
Result<std::vector<Object>> operator_nodes(ToolContext& context, const std::vector<Object>& all) {
  ATHANOR_TRY(const Object cr, context.get(kOperatorKind, {"", kOperatorName}));
  std::vector<Object> nodes;
  for (const Value& reference : cr.status()["daemonsets"].items()) {
    ATHANOR_TRY(const Object set, context.get(api::kDaemonSet, {reference["namespace"].str(),
                                                                reference["name"].str()}));
    const Value& pod_spec = set.spec()["template"]["spec"];
    for (const Object& node : all) {
      const bool known = std::ranges::any_of(
          nodes, [&](const Object& other) { return other.name() == node.name(); });
      if (matches_node(pod_spec, node) && !known) {
        nodes.push_back(node);
      }
    }
  }
  return nodes;
}

// Nodes without taints that keep pods away.
std::vector<Object> open_nodes(const std::vector<Object>& all) {
  std::vector<Object> nodes;
  std::ranges::copy_if(all, std::back_inserter(nodes), [](const Object& node) {
    return std::ranges::all_of(node.spec()["taints"].items(), [](const Value& taint) {
      return taint["effect"].as_string() == "PreferNoSchedule";
    });
  });
  return nodes;
}

// Nodes that are checked where no selector names them.
enum class Scope : unsigned char { OperatorPools, OpenNodes };

// Reads it from the kubelet itself; for an emulated node from its profile. Null: unknown.
Value kubelet_config_of(ToolContext& context, const Object& node) {
  if (Value emulated = emulated_kubelet_config(node); !emulated.is_null()) {
    return emulated;
  }
  const auto text = context.text(fmt::format("/api/v1/nodes/{}/proxy/configz", node.name()));
  if (!text.ok()) {
    return {};
  }
  const auto config = json::parse(*text);
  return config.ok() ? (*config)["kubeletconfig"] : Value();
}

Result<ClusterFacts> gather(ToolContext& context, const std::string& labels, Scope scope) {
  ClusterFacts facts;
  ATHANOR_TRY(const std::vector<Object> nodes, context.list(api::kNode, ""));
  if (labels.empty() && scope == Scope::OpenNodes) {
    facts.nodes = open_nodes(nodes);
  } else if (labels.empty()) {
    ATHANOR_TRY(facts.nodes, operator_nodes(context, nodes));
  } else {
    ATHANOR_TRY(const LabelSelector selector, LabelSelector::parse(labels));
    std::ranges::copy_if(nodes, std::back_inserter(facts.nodes), [&](const Object& node) {
      return selector.matches(node.metadata()["labels"]);
    });
  }
  for (const Object& node : facts.nodes) {
    if (Value config = kubelet_config_of(context, node); !config.is_null()) {
      facts.kubelet_configs.emplace(node.name(), std::move(config));
    }
  }
  auto topologies = context.list(kTopologyKind, "");
  if (topologies.ok()) {
    facts.topologies = *std::move(topologies);
  } else if (topologies.error().code != 404) {
    return topologies.error();
  }
  ATHANOR_TRY(facts.pods, context.list(api::kPod, ""));
  std::ranges::copy_if(facts.pods, std::back_inserter(facts.operand_pods), [](const Object& pod) {
    return pod.label("name") == "resource-topology" || pod.label("app") == "secondary-scheduler";
  });
  return facts;
}

// An error: `what` names an unknown validator.
Result<std::set<std::string>> enabled(const std::string& what) {
  std::set<std::string> names;
  for (const std::string_view part : words_of(what, ',')) {
    const std::string name(trimmed(part));
    if (name == "all") {
      names.insert(std::begin(kValidators), std::end(kValidators));
    } else if (std::ranges::find(kValidators, name) == std::end(kValidators)) {
      return Error::bad_request(
          fmt::format("unknown validator \"{}\": use {}", name, validator_list()));
    } else {
      names.insert(name);
    }
  }
  return names;
}

void print_findings(ToolContext& context, const ToolFlags& flags,
                    const std::vector<Finding>& findings) {
  if (flags.is_set("json")) {
    Value errors = Value::list();
    for (const Finding& finding : findings) {
      errors.push_back(to_value(finding));
    }
    context.out(json::print(Value::object(
                    {{"succeeded", findings.empty()}, {"errors", std::move(errors)}})) +
                "\n");
    return;
  }
  context.out(findings.empty() ? "PASSED>>: cluster configuration looks ok!\n"
                               : "FAILED>>: cluster configuration does NOT look ok!\n");
  if (flags.is_set("verbose") && !flags.is_set("quiet")) {
    for (std::size_t i = 0; i < findings.size(); ++i) {
      context.out(fmt::format("ERROR#{:03}: {}\n", i, text_of(findings[i])));
    }
  }
}

int check_cluster(ToolContext& context, std::span<const std::string> arguments, Scope scope) {
  const auto [flags, ended] = open_tool(context, "nrovalidate", arguments, kValidateFlags);
  if (ended) {
    return *ended;
  }
  if (flags.is_set("version")) {
    context.out(context.version() + "\n");
    return kToolDone;
  }
  const std::string what = flags.text("what");
  if (what.empty() || what == "help") {
    context.err("available validators: " + validator_list() + "\n");
    return kToolDone;
  }
  const auto names = enabled(what);
  if (!names.ok()) {
    context.err(names.error().message + "\n");
    return kToolUsage;
  }
  if (!flags.is_set("quiet")) {
    std::string list;
    for (const std::string& name : *names) {
      list += (list.empty() ? "" : ",") + name;
    }
    context.err("INFO>>>>: enabled validators: " + list + "\n");
  }
  const auto facts = gather(context, flags.text("labels"), scope);
  if (!facts.ok()) {
    context.err("Error while trying to validate cluster: " + facts.error().message + "\n");
    return kToolFailed;
  }
  print_findings(context, flags, validate(*facts, *names));
  return kToolDone;
}

}  // namespace

int run_validate(ToolContext& context, std::span<const std::string> arguments) {
  return check_cluster(context, arguments, Scope::OperatorPools);
}

int run_validate_deployed(ToolContext& context, std::span<const std::string> arguments) {
  return check_cluster(context, arguments, Scope::OpenNodes);
}

int run_cache_check(ToolContext& context, std::span<const std::string> arguments) {
  static constexpr ToolFlag kCheckFlags[] = {
      {"version", true, "", "print the version and exit"},
      {"node", false, "", "names of nodes, separated by commas; all without"},
      {"dump", true, "", "print what is compared for every node"},
  };
  const auto [flags, ended] = open_tool(context, "nrtcacheck", arguments, kCheckFlags);
  if (ended) {
    return *ended;
  }
  if (flags.is_set("version")) {
    context.out(context.version() + "\n");
    return kToolDone;
  }
  auto topologies = context.list(kTopologyKind, "");
  auto pods = context.list(api::kPod, "");
  if (!topologies.ok() || !pods.ok()) {
    context.err((topologies.ok() ? pods.error() : topologies.error()).message + "\n");
    return 1;
  }
  const auto wanted = flags.text("node");
  const auto names = words_of(wanted, ',');
  for (const std::string_view name : names) {
    if (std::ranges::find(*topologies, name, &Object::name) == topologies->end()) {
      context.err(fmt::format("node {} has no NodeResourceTopology\n", name));
      return 1;
    }
  }
  std::erase_if(*topologies, [&](const Object& one) {
    return !names.empty() && std::ranges::find(names, one.name()) == names.end();
  });
  const auto findings = validate({.topologies = *topologies, .pods = *pods}, {"schedcache"});
  for (const Object& one : *topologies) {
    const bool differs = std::ranges::any_of(
        findings, [&](const Finding& finding) { return finding.node == one.name(); });
    if (differs || flags.is_set("dump")) {
      context.out(fmt::format("{}: {}\n", one.name(), differs ? "unsync" : "clean"));
    }
  }
  return findings.empty() ? kToolDone : 1;
}

}  // namespace athanor::numa
