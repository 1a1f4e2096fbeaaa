// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/verb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/builtin.hpp"
#include "base/ascii.hpp"
#include "kube/text/quantity.hpp"
#include "runtime/view/select.hpp"
#include "runtime/view/usage.hpp"
#include "systems/numa/model/kinds.hpp"
#include "systems/numa/model/settings.hpp"
#include "systems/numa/operator/manifests.hpp"
#include "systems/numa/report.hpp"
#include "systems/numa/scheduling/residents.hpp"

namespace athanor::numa {
namespace {

constexpr int kDoesNotFit = 3;

bool prints_objects(const VerbContext& context) {
  return context.output() == "json" || context.output() == "yaml";
}

const Object* named(const std::vector<Object>& objects, std::string_view name) {
  const auto found =
      std::ranges::find_if(objects, [&](const Object& object) { return object.name() == name; });
  return found == objects.end() ? nullptr : &*found;
}

Error wrong(std::string message) {
  return wrong_usage(std::move(message));
}

// When the node's topology was last written, as far as its managers' fields tell.
std::string age_of(const Object& topology, Instant now) {
  std::optional<Instant> last = topology.creation_time();
  for (const Value& entry : topology.metadata()["managedFields"].items()) {
    const auto time = parse_time(entry["time"].as_string());
    if (time && (!last || *time > *last)) {
      last = time;
    }
  }
  if (!last) {
    return "unknown";
  }
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(now - *last);
  return fmt::format("{}s", std::max<std::int64_t>(age.count(), 0));
}

void print_topologies(VerbContext& context, const std::vector<Object>& topologies) {
  if (prints_objects(context)) {
    std::vector<Value> bodies;
    bodies.reserve(topologies.size());
    for (const Object& object : topologies) {
      Value body = Value::object(
          {{"apiVersion", kTopologyKind.api_version()}, {"kind", kTopologyKind.name}});
      for (const Member& member : object.body().members()) {
        body.set(member.key(), member.value);
      }
      bodies.push_back(std::move(body));
    }
    context.values(bodies);
    return;
  }
  if (context.output() == "name") {
    for (const Object& object : topologies) {
      context.print(
          fmt::format("noderesourcetopology.{}/{}\n", kTopologyKind.group, object.name()));
    }
    return;
  }
  std::vector<std::string> header = overview_header();
  header.emplace_back("UPDATED");
  std::vector<Row> rows;
  for (const Object& object : topologies) {
    for (Row& row : overview({&object, 1})) {
      row.push_back(age_of(object, context.now()));
      rows.push_back(std::move(row));
    }
  }
  context.table(header, rows);
}

// Prints the zones of these nodes; empty: of all.
Result<int> show(VerbContext& context, const std::vector<std::string>& nodes) {
  ATHANOR_TRY(std::vector<Object> topologies, context.list(kTopologyKind, ""));
  std::string missing;
  for (const std::string& node : nodes) {
    if (named(topologies, node) == nullptr) {
      missing += (missing.empty() ? "" : ", ") + node;
    }
  }
  std::erase_if(topologies, [&](const Object& object) {
    return (!nodes.empty() && std::ranges::find(nodes, object.name()) == nodes.end()) ||
           !context.selects(object);
  });
  const bool says_none =
      !prints_objects(context) && context.output() != "name" && context.output() != "wide";
  if (!topologies.empty() || (missing.empty() && !says_none)) {
    print_topologies(context, topologies);
  }
  if (!missing.empty()) {
    return Error::not_found(fmt::format(
        "node {} has no NodeResourceTopology (actions: explain, fit; tools: athanor numa --help)",
        missing));
  }
  if (topologies.empty() && says_none) {
    context.print(
        context.filtered()
            ? "no node with a NodeResourceTopology that the flags select\n"
            : "no node has a NodeResourceTopology: on a cluster an exporter publishes "
              "them, nodes of a lab get zones by `numa` in the lab file (docs/numa.md)\n");
  }
  return 0;
}

// The lists that a verb has read, as a scheduler sees its caches.
class ReadObjects final : public Snapshot {
 public:
  void add(const Kind& kind, std::vector<Object> objects) {
    lists_.insert_or_assign(&kind, std::move(objects));
  }
  [[nodiscard]] std::optional<Object> get(const Kind& kind, const Key& key) const override {
    for (const Object& object : list(kind, {})) {
      if (object.key() == key) {
        return object;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] std::vector<Object> list(const Kind& kind, const Select& select) const override {
    const auto found = lists_.find(&kind);
    std::vector<Object> objects = found == lists_.end() ? std::vector<Object>() : found->second;
    std::erase_if(objects,
                  [&](const Object& object) { return !selects(kind, select, object, {}); });
    return objects;
  }
  [[nodiscard]] Observed observe(std::string_view /*query*/, Duration /*age*/) const override {
    return {};
  }
  [[nodiscard]] const Value& config(std::string_view /*section*/) const override {
    static const Value kNone;
    return kNone;
  }

 private:
  std::map<const Kind*, std::vector<Object>> lists_{};
};

// The profile of the scheduler that is deployed; the plug-in's defaults where none is. An error:
// the scheduler cannot start with its configuration.
Result<Profile> deployed_profile(VerbContext& context) {
  const auto scheduler = context.get(kSchedulerKind, {"", kSchedulerName});
  const std::string ns =
      scheduler.ok() ? scheduler->status()["deployment"]["namespace"].str() : std::string();
  const auto config =
      context.get(api::kConfigMap, {ns.empty() ? Settings().ns : ns, kSchedulerConfig});
  if (!config.ok()) {
    return Profile{.name = "topo-aware-scheduler"};
  }
  auto profile = read_scheduler_config(config->body()["data"]["config.yaml"].as_string());
  return profile.ok() ? profile
                      : profile.error().with_context(
                            fmt::format("ConfigMap {}/{}", config->ns(), kSchedulerConfig));
}

NodeFacts facts_of(const View& view, const Object& node, const Profile& profile, Instant now) {
  NodeFacts facts{.believed = believed(view, node, profile, {.now = now})};
  if (const auto object = view.get(kTopologyKind, {"", std::string(node.name())})) {
    const NodeTopology topology = read_topology(object->body());
    const Residents residents = residents_of(view, node, topology, topology.method);
    facts.residents = residents.active.size();
    facts.accounted = covered(topology, residents, {.now = now});
  }
  return facts;
}

Result<int> explain_pod(VerbContext& context, const std::string& pod_name,
                        const std::string& node_name) {
  if (context.output() == "name" || context.ns().empty()) {
    return wrong(context.ns().empty() ? "explain takes a pod of one namespace: -n, not -A"
                                      : "explain prints decisions: -o json, yaml or table");
  }
  ATHANOR_TRY(const Object pod, context.get(api::kPod, {context.ns(), pod_name}));
  ATHANOR_TRY(const std::vector<Object> nodes, context.list(api::kNode, ""));
  ATHANOR_TRY(const std::vector<Object> topologies, context.list(kTopologyKind, ""));
  ATHANOR_TRY(const std::vector<Object> pods, context.list(api::kPod, ""));
  ATHANOR_TRY(const Profile profile, deployed_profile(context));
  ReadObjects objects;
  objects.add(kTopologyKind, topologies);
  objects.add(api::kPod, pods);
  Reads reads;
  const View view(objects, reads);
  if (!node_name.empty() && named(nodes, node_name) == nullptr) {
    return Error::not_found("node " + node_name + " not found");
  }
  std::vector<Value> values;
  for (const Object& node : nodes) {
    if (!node_name.empty() && node.name() != node_name) {
      continue;
    }
    const auto lines = explain(pod, node, facts_of(view, node, profile, context.now()), profile);
    if (prints_objects(context)) {
      Value list = Value::list();
      for (const std::string& line : lines) {
        list.push_back(line);
      }
      values.push_back(Value::object({{"node", node.name()}, {"decisions", std::move(list)}}));
      continue;
    }
    for (const std::string& line : lines) {
      context.print(line + "\n");
    }
    context.print("\n");
  }
  if (prints_objects(context)) {
    context.values(values);
  }
  return 0;
}

// Adds "NAME=COUNT,NAME=COUNT" to the amounts; a name alone asks for one device.
Result<void> add_devices(const std::string& text, Value& amounts) {
  for (const std::string_view device : words_of(text, ',')) {
    const std::size_t equals = device.find('=');
    const std::string_view name = device.substr(0, equals);
    const std::string count =
        equals == std::string_view::npos ? "1" : std::string(device.substr(equals + 1));
    const auto number = Quantity::parse(count);
    if (name.empty() || !number || *number != Quantity::from_int(number->value())) {
      return wrong(fmt::format("--device: \"{}\" is not NAME=COUNT", device));
    }
    amounts.set(name, count);
  }
  return {};
}

// A pod of one container with these amounts as requests and limits: Guaranteed.
Result<Object> pod_of(const VerbContext& context) {
  Value amounts = Value::object();
  for (const std::string_view resource : {"cpu", "memory"}) {
    if (const auto amount = context.flag(resource)) {
      amounts.set(resource, *amount);
    }
  }
  if (const auto devices = context.flag("device")) {
    ATHANOR_TRY_VOID(add_devices(*devices, amounts));
  }
  if (amounts.empty()) {
    return wrong("say what has to fit: --cpu, --memory, --device NAME=COUNT");
  }
  for (const Member& amount : amounts.members()) {
    const auto quantity = Quantity::parse(amount.value.as_string());
    if (!quantity) {
      return wrong(
          fmt::format("\"{}\" is no quantity for {}", amount.value.as_string(), amount.key()));
    }
    if (*quantity <= Quantity()) {
      return wrong(
          fmt::format("{} of {} has to be above 0", amount.value.as_string(), amount.key()));
    }
  }
  const Value resources = Value::object({{"requests", amounts}, {"limits", amounts}});
  return Object(Value::object(
      {{"apiVersion", "v1"},
       {"kind", "Pod"},
       {"metadata", Value::object({{"name", "request"}, {"namespace", context.ns()}})},
       {"spec",
        Value::object({{"containers", Value::list({Value::object(
                                          {{"name", "all"}, {"resources", resources}})})}})}}));
}

// Requests of the pods that run or wait on each node.
std::map<std::string, Amounts> taken_on_nodes(const std::vector<Object>& pods) {
  std::map<std::string, Amounts> taken;
  for (const Object& pod : pods) {
    const std::string_view phase = pod.status()["phase"].as_string();
    const std::string node = pod.spec()["nodeName"].str();
    if (node.empty() || phase == "Succeeded" || phase == "Failed") {
      continue;
    }
    for (const auto& [resource, amount] : request_of(pod).effective) {
      taken[node][resource] += amount;
    }
  }
  return taken;
}

Result<int> try_fit(VerbContext& context) {
  ATHANOR_TRY(const Object pod, pod_of(context));
  ATHANOR_TRY(const std::vector<Object> nodes, context.list(api::kNode, ""));
  ATHANOR_TRY(std::vector<Object> topologies, context.list(kTopologyKind, ""));
  ATHANOR_TRY(const std::vector<Object> pods, context.list(api::kPod, ""));
  ATHANOR_TRY(const Profile profile, deployed_profile(context));
  ReadObjects objects;
  objects.add(kTopologyKind, std::move(topologies));
  objects.add(api::kPod, pods);
  Reads reads;
  const View view(objects, reads);
  PodRequest request = request_of(pod);
  request.guaranteed = true;  // a request for cpus alone means exclusive ones, too
  const std::map<std::string, Amounts> taken = taken_on_nodes(pods);
  std::vector<Row> rows;
  std::vector<Value> values;
  bool any = false;
  for (const Object& node : nodes) {
    const std::string name(node.name());
    const auto found = taken.find(name);
    const FitAnswer answer =
        fit_on(request, node, believed(view, node, profile, {.now = context.now()}),
               found == taken.end() ? Amounts() : found->second, profile);
    any = any || answer.fits;
    rows.push_back({name, answer.zone, answer.reason});
    values.push_back(Value::object(
        {{"node", name}, {"fits", answer.fits}, {"zone", answer.zone}, {"reason", answer.reason}}));
  }
  if (prints_objects(context)) {
    context.values(values);
  } else if (context.output() == "name") {
    for (const Value& value : values) {
      if (value["fits"].as_bool()) {
        context.print(fmt::format("node/{}\n", value["node"].as_string()));
      }
    }
  } else {
    context.table({"NODE", "ZONE", "VERDICT"}, rows);
  }
  return any ? 0 : kDoesNotFit;
}

Result<int> run(VerbContext& context) {
  const std::string action = context.argument("ACTION").value_or("");
  const auto pod = context.argument("POD");
  for (const std::string_view flag : {"cpu", "memory", "device"}) {
    if (action != "fit" && context.flag(flag)) {
      return wrong(fmt::format("--{} goes with fit: athanor numa fit --{} AMOUNT", flag, flag));
    }
  }
  if (action == "fit" && pod) {
    return wrong(fmt::format("unexpected argument \"{}\": athanor numa fit --cpu AMOUNT", *pod));
  }
  if (action == "explain") {
    if (!pod) {
      return wrong("say which pod: athanor numa explain POD [NODE]");
    }
    return explain_pod(context, *pod, context.argument("NODE").value_or(""));
  }
  return action == "fit" ? try_fit(context) : show(context, context.names());
}

}  // namespace

Verb numa_verb() {
  return {
      .name = "numa",
      .summary = "Show the zones of every node, and whether and why a pod fits on them",
      .footer =
          "  athanor numa\n"
          "  athanor numa worker-1 worker-2\n"
          "  athanor numa explain POD [NODE]\n"
          "  athanor numa fit --cpu 8 --memory 16Gi --device nvidia.com/gpu=1\n"
          "  athanor numa validate --verbose\n"
          "  athanor numa must-gather --output gathered.tar\n"
          "\nTools, each with --help and under upstream's name by a link to this program: "
          "validate,\ncache-check, pfpsync, sched-logs, watch-attributes, platform, topics, "
          "kubelet-config, jobs,\nlabel-filter, deployer, deploy, remove, render, bundle, "
          "operator, podresources, must-gather; and exporter, the process that publishes a node's "
          "zones.\n"
          "\n`fit` exits with 3 where no node's zones have the room.",
      .arguments = {{.name = "ACTION", .help = "explain, fit, or the name of a node"},
                    {.name = "POD", .help = "pod to explain"},
                    {.name = "NODE", .help = "only zones of this node"}},
      .flags = {{.name = "cpu", .value = "AMOUNT", .help = "CPUs that have to fit"},
                {.name = "memory", .value = "AMOUNT", .help = "memory that has to fit"},
                {.name = "device", .value = "NAME=COUNT,...", .help = "devices that have to fit"}},
      .lists = true,
      .actions = {"explain", "fit"},
      .names = "nodes of the list",
      .run = run};
}

}  // namespace athanor::numa
