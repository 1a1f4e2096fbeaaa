// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/bootstrap/flow_objects.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "kube/text/json.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kFlowGroup = "flowcontrol.apiserver.k8s.io";

struct Level {
  std::string_view name{};
  int shares = 0;
  int lendable = 0;  // percent
  int queues = 0;    // 0: requests beyond the shares are refused
  int hand = 0;
};
constexpr std::array kLevels = {
    Level{"catch-all", 5, 0, 0, 0},         Level{"global-default", 20, 50, 128, 6},
    Level{"leader-election", 10, 0, 16, 4}, Level{"node-high", 40, 25, 64, 6},
    Level{"system", 30, 33, 64, 6},         Level{"workload-high", 40, 50, 128, 6},
    Level{"workload-low", 100, 90, 128, 6},
};

// Subjects and rules as JSON; empty rules mean everything.
struct Schema {
  std::string_view name{};
  int precedence = 0;
  std::string_view level{};
  std::string_view distinguisher{};  // may be empty
  std::string_view subjects{};
  std::string_view resource_rules{};
  std::string_view plain_rules{};
};

constexpr std::string_view kEverything =
    R"([{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,"namespaces":["*"]}])";
constexpr std::string_view kEveryPath = R"([{"verbs":["*"],"nonResourceURLs":["*"]}])";
constexpr std::string_view kEverybody =
    R"([{"kind":"Group","group":{"name":"system:unauthenticated"}},
        {"kind":"Group","group":{"name":"system:authenticated"}}])";
constexpr std::string_view kLeaders =
    R"([{"kind":"User","user":{"name":"system:kube-controller-manager"}},
        {"kind":"User","user":{"name":"system:kube-scheduler"}},
        {"kind":"ServiceAccount","serviceAccount":{"name":"*","namespace":"kube-system"}}])";
constexpr std::string_view kNodes = R"([{"kind":"Group","group":{"name":"system:nodes"}}])";

constexpr std::array kSchemas = {
    Schema{"exempt", 1, "exempt", "", R"([{"kind":"Group","group":{"name":"system:masters"}}])",
           kEverything, kEveryPath},
    Schema{"probes", 2, "exempt", "", kEverybody, "[]",
           R"([{"verbs":["get"],"nonResourceURLs":["/healthz","/readyz","/livez"]}])"},
    Schema{"system-leader-election", 100, "leader-election", "ByUser", kLeaders,
           R"([{"verbs":["get","create","update"],"apiGroups":["coordination.k8s.io"],
                "resources":["leases"],"namespaces":["kube-system"]}])",
           "[]"},
    Schema{"endpoint-controller", 150, "workload-high", "ByUser",
           R"([{"kind":"User","user":{"name":"system:kube-controller-manager"}},
               {"kind":"ServiceAccount",
                "serviceAccount":{"name":"endpoint-controller","namespace":"kube-system"}},
               {"kind":"ServiceAccount","serviceAccount":
                {"name":"endpointslicemirroring-controller","namespace":"kube-system"}}])",
           R"([{"verbs":["get","create","update"],"apiGroups":[""],"resources":["endpoints"],
                "namespaces":["*"]}])",
           "[]"},
    Schema{"workload-leader-election", 200, "leader-election", "ByUser", kLeaders,
           R"([{"verbs":["get","create","update"],"apiGroups":["coordination.k8s.io"],
                "resources":["leases"],"namespaces":["*"]}])",
           "[]"},
    Schema{"system-node-high", 400, "node-high", "ByUser", kNodes,
           R"([{"verbs":["*"],"apiGroups":[""],"resources":["nodes","nodes/status"],
                "clusterScope":true,"namespaces":["*"]},
               {"verbs":["*"],"apiGroups":["coordination.k8s.io"],"resources":["leases"],
                "namespaces":["*"]}])",
           "[]"},
    Schema{"system-nodes", 500, "system", "ByUser", kNodes, kEverything, kEveryPath},
    Schema{"kube-controller-manager", 800, "workload-high", "ByNamespace",
           R"([{"kind":"User","user":{"name":"system:kube-controller-manager"}}])", kEverything,
           kEveryPath},
    Schema{"kube-scheduler", 800, "workload-high", "ByNamespace",
           R"([{"kind":"User","user":{"name":"system:kube-scheduler"}}])", kEverything, kEveryPath},
    Schema{"kube-system-service-accounts", 900, "workload-high", "ByNamespace",
           R"([{"kind":"ServiceAccount","serviceAccount":{"name":"*","namespace":"kube-system"}}])",
           kEverything, kEveryPath},
    Schema{"service-accounts", 9000, "workload-low", "ByUser",
           R"([{"kind":"Group","group":{"name":"system:serviceaccounts"}}])", kEverything,
           kEveryPath},
    Schema{"global-default", 9900, "global-default", "ByUser", kEverybody, kEverything, kEveryPath},
    Schema{"catch-all", 10'000, "catch-all", "ByUser", kEverybody, kEverything, kEveryPath},
};

Value own(std::string_view text) {
  return json::parse(text).value_or(Value());
}

BootstrapObject object_of(std::string_view kind, std::string_view plural, std::string_view name,
                          Value spec) {
  return {.storage = fmt::format("{}.{}", plural, kFlowGroup),
          .object = Value::object(
              {{"kind", kind},
               {"apiVersion", fmt::format("{}/v1", kFlowGroup)},
               {"metadata",
                Value::object({{"name", name},
                               {"annotations",
                                Value::object({{"apf.kubernetes.io/autoupdate-spec", "true"}})}})},
               {"spec", std::move(spec)}})};
}

BootstrapObject level_object(const Level& level) {
  constexpr int kQueueLength = 50;
  Value response = Value::object({{"type", level.queues == 0 ? "Reject" : "Queue"}});
  if (level.queues != 0) {
    response.set("queuing", Value::object({{"queues", level.queues},
                                           {"handSize", level.hand},
                                           {"queueLengthLimit", kQueueLength}}));
  }
  const Value limited = Value::object({{"nominalConcurrencyShares", level.shares},
                                       {"limitResponse", std::move(response)},
                                       {"lendablePercent", level.lendable}});
  return object_of("PriorityLevelConfiguration", "prioritylevelconfigurations", level.name,
                   Value::object({{"type", "Limited"}, {"limited", limited}}));
}

BootstrapObject schema_object(const Schema& schema, Instant now) {
  Value rule = Value::object({{"subjects", own(schema.subjects)}});
  if (const Value rules = own(schema.resource_rules); !rules.empty()) {
    rule.set("resourceRules", rules);
  }
  if (const Value rules = own(schema.plain_rules); !rules.empty()) {
    rule.set("nonResourceRules", rules);
  }
  Value spec =
      Value::object({{"priorityLevelConfiguration", Value::object({{"name", schema.level}})},
                     {"matchingPrecedence", schema.precedence}});
  if (!schema.distinguisher.empty()) {
    spec.set("distinguisherMethod", Value::object({{"type", schema.distinguisher}}));
  }
  spec.set("rules", Value::list({std::move(rule)}));
  BootstrapObject made = object_of("FlowSchema", "flowschemas", schema.name, std::move(spec));
  const Value condition = Value::object(
      {{"type", "Dangling"},
       {"status", "False"},
       {"lastTransitionTime", format_time(now)},
       {"reason", "Found"},
       {"message", fmt::format("This FlowSchema references the PriorityLevelConfiguration object "
                               "named \"{}\" and it exists",
                               schema.level)}});
  made.object.set("status", Value::object({{"conditions", Value::list({condition})}}));
  return made;
}

}  // namespace

std::vector<BootstrapObject> flow_objects(Instant now) {
  std::vector<BootstrapObject> objects;
  const Value nothing = Value::object({{"nominalConcurrencyShares", 0}, {"lendablePercent", 0}});
  objects.push_back(object_of("PriorityLevelConfiguration", "prioritylevelconfigurations", "exempt",
                              Value::object({{"type", "Exempt"}, {"exempt", nothing}})));
  for (const Level& level : kLevels) {
    objects.push_back(level_object(level));
  }
  for (const Schema& schema : kSchemas) {
    objects.push_back(schema_object(schema, now));
  }
  return objects;
}

}  // namespace athanor::apiserver
