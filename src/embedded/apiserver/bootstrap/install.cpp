// SPDX-License-Identifier: Apache-2.0
// Namespaces, priorities, RBAC, the service of the server itself, its API services.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "embedded/apiserver/auth/policy_rule.hpp"
#include "embedded/apiserver/bootstrap/bootstrap.hpp"
#include "embedded/apiserver/bootstrap/flow_objects.hpp"
#include "embedded/apiserver/bootstrap/rbac_objects.hpp"
#include "embedded/apiserver/write/decode.hpp"
#include "embedded/kinds/kind_behaviour.hpp"
#include "embedded/kinds/network/address_kinds.hpp"
#include "embedded/kinds/network/service_addresses.hpp"
#include "kube/schema/data.hpp"
#include "kube/text/json.hpp"

namespace athanor::apiserver {
namespace {

// In what order clients look through the groups: those of the reference.
constexpr std::pair<std::string_view, std::int64_t> kGroupPriorities[] = {
    {"", 18000},
    {"apps", 17800},
    {"events.k8s.io", 17750},
    {"authentication.k8s.io", 17700},
    {"authorization.k8s.io", 17600},
    {"autoscaling", 17500},
    {"batch", 17400},
    {"certificates.k8s.io", 17300},
    {"networking.k8s.io", 17200},
    {"policy", 17100},
    {"rbac.authorization.k8s.io", 17000},
    {"storage.k8s.io", 16800},
    {"apiextensions.k8s.io", 16700},
    {"admissionregistration.k8s.io", 16700},
    {"scheduling.k8s.io", 16600},
    {"coordination.k8s.io", 16500},
    {"node.k8s.io", 16300},
    {"discovery.k8s.io", 16200},
    {"resource.k8s.io", 16200},
    {"flowcontrol.apiserver.k8s.io", 16100},
};

std::int64_t group_priority(std::string_view group) {
  for (const auto& [name, priority] : kGroupPriorities) {
    if (name == group) {
      return priority;
    }
  }
  return 1000;
}

std::int64_t version_priority(std::string_view group, std::string_view version) {
  if (group.empty()) {
    return 1;
  }
  if (group == "autoscaling" && version == "v2") {
    return 30;
  }
  return group == "resource.k8s.io" || group == "flowcontrol.apiserver.k8s.io" ? 21 : 15;
}

constexpr std::array<std::string_view, 4> kNamespaces = {"default", "kube-node-lease",
                                                         "kube-public", "kube-system"};
constexpr std::string_view kAutoUpdate = "rbac.authorization.kubernetes.io/autoupdate";
constexpr std::string_view kInstalledRbacGroup = "rbac.authorization.k8s.io";

// Loops whose name differs from that of their reference's account; both have its role.
struct LoopRole {
  std::string_view loop{};
  std::string_view role{};
};
constexpr std::array kLoopRoles = {
    LoopRole{"garbage-collector-controller", "system:controller:generic-garbage-collector"},
    LoopRole{"serviceaccount-controller", "system:controller:service-account-controller"},
    LoopRole{"root-ca-certificate-publisher-controller",
             "system:controller:root-ca-cert-publisher"},
    LoopRole{"daemonset-controller", "system:controller:daemon-set-controller"},
    LoopRole{"endpoints-controller", "system:controller:endpoint-controller"},
    LoopRole{"pod-garbage-collector-controller", "system:controller:pod-garbage-collector"},
    LoopRole{"node-lifecycle-controller", "system:controller:node-controller"},
    LoopRole{"taint-eviction-controller", "system:controller:node-controller"},
    LoopRole{"persistentvolume-binder-controller", "system:controller:persistent-volume-binder"},
    LoopRole{"persistentvolumeclaim-protection-controller",
             "system:controller:pvc-protection-controller"},
    LoopRole{"persistentvolume-protection-controller",
             "system:controller:pv-protection-controller"},
    LoopRole{"resourceclaim-controller", "system:controller:resource-claim-controller"},
};

Value rule_list(const Value& rules) {
  return rules.is_list() ? rules : Value::list();
}

bool covers(const std::vector<PolicyRule>& held, const Value& wanted) {
  // Wanted rules are few and small: asked part by part, as an escalation check would.
  for (const PolicyRule& part : split_rule(read_rule(wanted))) {
    Attributes attributes;
    attributes.verb = part.verbs.front();
    if (!part.non_resource_urls.empty()) {
      attributes.is_resource = false;
      attributes.path = part.non_resource_urls.front();
    } else {
      const std::string& resource = part.resources.front();
      const std::size_t slash = resource.find('/');
      attributes.group = part.api_groups.front();
      attributes.resource = resource.substr(0, slash);
      attributes.subresource =
          slash == std::string::npos ? std::string() : resource.substr(slash + 1);
      attributes.name = part.resource_names.empty() ? std::string() : part.resource_names.front();
    }
    if (std::none_of(held.begin(), held.end(),
                     [&](const PolicyRule& rule) { return rule.allows(attributes); })) {
      return false;
    }
  }
  return true;
}

class Installation {
 public:
  explicit Installation(const BootstrapInput& input) : input_(input) {}

  Result<void> run() {
    ATHANOR_TRY_VOID(namespaces());
    ATHANOR_TRY_VOID(priorities());
    if (input_.options.default_roles) {
      ATHANOR_TRY_VOID(rbac());
    }
    ATHANOR_TRY_VOID(own_service());
    ATHANOR_TRY_VOID(service_network());
    ATHANOR_TRY_VOID(addresses());
    ATHANOR_TRY_VOID(authentication_map());
    ATHANOR_TRY_VOID(api_services());
    ATHANOR_TRY_VOID(flows());
    if (writes_.empty()) {
      return {};
    }
    const auto done = input_.store.commit(writes_, input_.now);
    // Another writer was there first: the next time finds what it left.
    return done.ok() || done.error().code == 409 ? Result<void>() : Result<void>(done.error());
  }

 private:
  [[nodiscard]] store::StoredPtr find(std::string_view storage, const Value& object) const {
    const Value& metadata = object["metadata"];
    return input_.store.get(storage, {metadata["namespace"].str(), metadata["name"].str()});
  }

  Result<void> write(std::string_view storage, const Value& object, store::Revision expected) {
    const ResourceInfo* resource = input_.table.by_storage(storage);
    if (resource == nullptr) {
      return Error::internal(fmt::format("{} is not served", storage));
    }
    auto normal = normalize(*resource, object);
    if (!normal.ok()) {
      return normal.error().to_error().with_context(storage);
    }
    const Value& metadata = (*normal)["metadata"];
    writes_.push_back({.resource = std::string(storage),
                       .key = {metadata["namespace"].str(), metadata["name"].str()},
                       .body = *std::move(normal),
                       .expected = expected});
    return {};
  }

  Result<void> create(std::string_view storage, Value object) {
    const ResourceInfo* resource = input_.table.by_storage(storage);
    if (resource == nullptr) {
      return Error::internal(fmt::format("{} is not served", storage));
    }
    Value& metadata = object.member("metadata");
    metadata.set("uid", input_.entropy.uuid_at(input_.now));
    metadata.set("creationTimestamp", format_time(input_.now));
    if (resource->has_generation) {
      metadata.set("generation", 1);
    }
    if (const KindBehaviour* behaviour = resource->behaviour; behaviour != nullptr) {
      const KindContext context{.resource = *resource,
                                .store = input_.store,
                                .table = input_.table,
                                .service_cluster_ip_range = input_.options.service_cluster_ip_range,
                                .entropy = input_.entropy,
                                .now = input_.now};
      if (behaviour->prepare_create != nullptr) {
        behaviour->prepare_create(object, context);
      }
      if (behaviour->apply_defaults != nullptr) {
        behaviour->apply_defaults(object, context);
      }
    }
    return write(storage, object, 0);
  }

  Result<void> create_missing(std::string_view storage, Value object) {
    return find(storage, object) != nullptr ? Result<void>() : create(storage, std::move(object));
  }

  Result<void> namespaces() {
    for (const std::string_view name : kNamespaces) {
      ATHANOR_TRY_VOID(create_missing(
          "namespaces", Value::object({{"kind", "Namespace"},
                                       {"apiVersion", "v1"},
                                       {"metadata", Value::object({{"name", name}})}})));
    }
    return {};
  }

  Result<void> priorities() {
    struct Row {
      std::string_view name{};
      std::int64_t value = 0;
      std::string_view description{};
    };
    constexpr std::array kRows = {
        Row{"system-cluster-critical", 2'000'000'000,
            "Used for system critical pods that must run in the cluster, but can be moved to "
            "another node if necessary."},
        Row{"system-node-critical", 2'000'001'000,
            "Used for system critical pods that must not be moved from their current node."}};
    for (const Row& row : kRows) {
      ATHANOR_TRY_VOID(
          create_missing("priorityclasses.scheduling.k8s.io",
                         Value::object({{"kind", "PriorityClass"},
                                        {"apiVersion", "scheduling.k8s.io/v1"},
                                        {"metadata", Value::object({{"name", row.name}})},
                                        {"value", row.value},
                                        {"description", row.description}})));
    }
    return {};
  }

  Result<void> rbac() {
    ATHANOR_TRY(std::vector<BootstrapObject> objects, parse_rbac(data::rbac_text()));
    for (const LoopRole& row : kLoopRoles) {
      objects.push_back(loop_binding(row));
    }
    for (BootstrapObject& entry : objects) {
      const store::StoredPtr stored = find(entry.storage, entry.object);
      if (stored == nullptr) {
        ATHANOR_TRY_VOID(create(entry.storage, std::move(entry.object)));
      } else {
        ATHANOR_TRY_VOID(reconcile(entry, *stored));
      }
    }
    return {};
  }

  static BootstrapObject loop_binding(const LoopRole& row) {
    return {fmt::format("clusterrolebindings.{}", kInstalledRbacGroup),
            Value::object(
                {{"kind", "ClusterRoleBinding"},
                 {"apiVersion", fmt::format("{}/v1", kInstalledRbacGroup)},
                 {"metadata",
                  Value::object({{"name", fmt::format("athanor:controller:{}", row.loop)}})},
                 {"roleRef", Value::object({{"apiGroup", kInstalledRbacGroup},
                                            {"kind", "ClusterRole"},
                                            {"name", row.role}})},
                 {"subjects", Value::list({Value::object({{"kind", "ServiceAccount"},
                                                          {"name", row.loop},
                                                          {"namespace", "kube-system"}})})}})};
  }

  // Adds what is missing, takes nothing away.
  Result<void> reconcile(const BootstrapObject& wanted, const store::Stored& stored) {
    if (stored.body["metadata"]["annotations"][kAutoUpdate].as_string() == "false") {
      return {};
    }
    Value object = stored.body;
    for (const std::string_view part : {"labels", "annotations"}) {
      for (const Member& member : wanted.object["metadata"][part].members()) {
        if (!object["metadata"][part].contains(member.key())) {
          object.member("metadata").member(part).set(member.key(), member.value);
        }
      }
    }
    // The rules of aggregated roles are the aggregation's business.
    if (wanted.object["aggregationRule"].is_null()) {
      const std::vector<PolicyRule> held = read_rules(stored.body["rules"]);
      for (const Value& rule : wanted.object["rules"].items()) {
        if (!covers(held, rule)) {
          Value rules = rule_list(object["rules"]);
          object.set("rules", rules.push_back(rule));
        }
      }
    }
    for (const Value& subject : wanted.object["subjects"].items()) {
      const auto present = object["subjects"].items();
      if (std::find(present.begin(), present.end(), subject) == present.end()) {
        Value subjects = rule_list(object["subjects"]);
        object.set("subjects", subjects.push_back(subject));
      }
    }
    return object == stored.body ? Result<void>() : write(wanted.storage, object, stored.revision);
  }

  // Writes `fields` over the stored object, or creates it.
  Result<void> ensure(std::string_view storage, Value object,
                      std::initializer_list<std::string_view> fields) {
    const store::StoredPtr stored = find(storage, object);
    if (stored == nullptr) {
      return create(storage, std::move(object));
    }
    Value changed = stored->body;
    for (const std::string_view field : fields) {
      if (changed[field] != object[field]) {
        changed.set(field, object[field]);
      }
    }
    return changed == stored->body ? Result<void>() : write(storage, changed, stored->revision);
  }

  Result<void> own_service() {
    const auto range = AddressRange::parse(input_.options.service_cluster_ip_range);
    if (!range) {
      return Error::internal(fmt::format("service addresses: {} is not an IPv4 network",
                                         input_.options.service_cluster_ip_range));
    }
    const std::int64_t port = input_.options.advertise_port;
    const std::string address = format_ipv4(range->at(1));
    Value service = parse_own(R"({"kind":"Service","apiVersion":"v1",
      "metadata":{"name":"kubernetes","namespace":"default",
                  "labels":{"component":"apiserver","provider":"kubernetes"}},
      "spec":{"type":"ClusterIP","ports":[{"name":"https","protocol":"TCP","port":443}]}})");
    service.member("spec").set("clusterIP", address);
    service.member("spec").set("clusterIPs", Value::list({address}));
    // Port 0: not known yet; a service without target stays with its own port.
    const Value target = port > 0 ? Value(port) : Value(443);
    service.member("spec").member("ports").item(0).set("targetPort", target);
    const store::StoredPtr stored = find("services", service);
    if (stored == nullptr) {
      ATHANOR_TRY_VOID(create("services", std::move(service)));
    } else if (stored->body["spec"]["ports"][0]["targetPort"] != target) {
      Value changed = stored->body;
      changed.member("spec").set("ports", service["spec"]["ports"]);
      ATHANOR_TRY_VOID(write("services", changed, stored->revision));
    }
    return own_endpoints(port);
  }

  Result<void> service_network() {
    Value network = parse_own(R"({"kind":"ServiceCIDR","apiVersion":"networking.k8s.io/v1",
      "metadata":{"name":"kubernetes"},"spec":{},
      "status":{"conditions":[{"type":"Ready","status":"True","reason":"",
                               "message":"Kubernetes default Service CIDR is ready"}]}})");
    network.member("spec").set("cidrs",
                               Value::list({Value(input_.options.service_cluster_ip_range)}));
    network.member("status")
        .member("conditions")
        .item(0)
        .set("lastTransitionTime", format_time(input_.now));
    return create_missing(kServiceNetworks, std::move(network));
  }

  // Services from before there were such objects have theirs, and what belonged to a service that
  // is gone goes.
  Result<void> addresses() {
    const auto services = input_.store.list("services", {});
    for (const store::StoredPtr& stored :
         services.ok() ? services->items : std::vector<store::StoredPtr>()) {
      for (const Value& ip : stored->body["spec"]["clusterIPs"].items()) {
        if (ip.as_string() != "None") {
          ATHANOR_TRY_VOID(create_missing(
              kAddresses, address_object(ip.as_string(), stored->key.ns, stored->key.name)));
        }
      }
    }
    const std::string own = own_address();
    if (!own.empty()) {
      ATHANOR_TRY_VOID(create_missing(kAddresses, address_object(own, "default", "kubernetes")));
    }
    const auto held = input_.store.list(kAddresses, {});
    for (const store::StoredPtr& stored :
         held.ok() ? held->items : std::vector<store::StoredPtr>()) {
      if (stored->key.name != own && is_leaked(stored->body)) {
        writes_.push_back({.resource = std::string(kAddresses),
                           .key = stored->key,
                           .body = std::nullopt,
                           .expected = stored->revision});
      }
    }
    return {};
  }

  // The first address of the network belongs to this server.
  [[nodiscard]] std::string own_address() const {
    const auto range = AddressRange::parse(input_.options.service_cluster_ip_range);
    return range ? format_ipv4(range->at(1)) : std::string();
  }

  [[nodiscard]] bool is_leaked(const Value& address) const {
    if (address["metadata"]["labels"]["ipaddress.kubernetes.io/managed-by"].as_string() !=
        "ipallocator.k8s.io") {
      return false;
    }
    const Value& parent = address["spec"]["parentRef"];
    const store::StoredPtr service =
        input_.store.get("services", {parent["namespace"].str(), parent["name"].str()});
    if (service == nullptr) {
      return true;
    }
    const auto ips = service->body["spec"]["clusterIPs"].items();
    return std::find(ips.begin(), ips.end(), address["metadata"]["name"]) == ips.end();
  }

  // Where the server answers, unless only this machine could reach it.
  Result<void> own_endpoints(std::int64_t port) {
    const std::string& host = input_.options.advertise_host;
    const bool loopback = host.starts_with("127.") && !input_.options.advertise_loopback;
    if (!parse_ipv4(host) || loopback || port <= 0) {
      return {};
    }
    Value endpoints = parse_own(R"({"kind":"Endpoints","apiVersion":"v1",
      "metadata":{"name":"kubernetes","namespace":"default",
                  "labels":{"endpointslice.kubernetes.io/skip-mirror":"true"}}})");
    endpoints.set(
        "subsets",
        Value::list({Value::object(
            {{"addresses", Value::list({Value::object({{"ip", host}})})},
             {"ports", Value::list({Value::object(
                           {{"name", "https"}, {"port", port}, {"protocol", "TCP"}})})}})}));
    ATHANOR_TRY_VOID(ensure("endpoints", std::move(endpoints), {"subsets"}));
    Value slice = parse_own(R"({"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1",
      "metadata":{"name":"kubernetes","namespace":"default",
                  "labels":{"kubernetes.io/service-name":"kubernetes"}},
      "addressType":"IPv4"})");
    slice.set("endpoints",
              Value::list({Value::object({{"addresses", Value::list({host})},
                                          {"conditions", Value::object({{"ready", true}})}})}));
    slice.set(
        "ports",
        Value::list({Value::object({{"name", "https"}, {"port", port}, {"protocol", "TCP"}})}));
    return ensure("endpointslices.discovery.k8s.io", std::move(slice), {"endpoints", "ports"});
  }

  // What extension servers and the stock controllers read at their start.
  Result<void> authentication_map() {
    Value map = parse_own(R"({"kind":"ConfigMap","apiVersion":"v1",
      "metadata":{"name":"extension-apiserver-authentication","namespace":"kube-system"},
      "data":{}})");
    const FrontProxy& proxy = input_.options.front_proxy;
    const auto add = [&](std::string_view key, const std::vector<std::string>& names) {
      Value list = Value::list();
      for (const std::string& name : names) {
        list.push_back(name);
      }
      map.member("data").set(key, json::print(list));
    };
    add("requestheader-allowed-names", proxy.allowed_names);
    add("requestheader-extra-headers-prefix", proxy.extra_prefixes);
    add("requestheader-group-headers", proxy.group_headers);
    add("requestheader-uid-headers", proxy.uid_headers);
    add("requestheader-username-headers", proxy.username_headers);
    if (!input_.options.ca_certificate_pem.empty()) {
      map.member("data").set("client-ca-file", input_.options.ca_certificate_pem);
    }
    if (const std::string& ca = input_.options.requestheader_ca_pem; !ca.empty()) {
      map.member("data").set("requestheader-client-ca-file", ca);
    }
    return ensure("configmaps", std::move(map), {"data"});
  }

  Result<void> flows() {
    static const std::vector<BootstrapObject> kKnown = flow_objects({});
    const bool complete = std::all_of(kKnown.begin(), kKnown.end(), [&](const auto& entry) {
      return find(entry.storage, entry.object) != nullptr;
    });
    if (complete) {
      return {};
    }
    for (BootstrapObject& entry : flow_objects(input_.now)) {
      ATHANOR_TRY_VOID(create_missing(entry.storage, std::move(entry.object)));
    }
    return {};
  }

  Result<void> api_services() {
    for (const GroupInfo& group : input_.table.groups()) {
      if (group.name == "apiregistration.k8s.io") {
        continue;  // who keeps the list is not on it
      }
      for (const std::string& version : group.versions) {
        const auto resources = input_.table.resources(group.name, version);
        if (resources.empty() || resources.front()->is_custom) {
          continue;
        }
        constexpr std::string_view kServices = "apiservices.apiregistration.k8s.io";
        if (input_.store.get(kServices, {"", fmt::format("{}.{}", version, group.name)}) ==
            nullptr) {
          ATHANOR_TRY_VOID(create(kServices, api_service(group.name, version)));
        }
      }
    }
    return {};
  }

  [[nodiscard]] Value api_service(const std::string& group, const std::string& version) const {
    Value spec = Value::object({{"version", version}});
    if (!group.empty()) {
      spec.set("group", group);
    }
    spec.set("groupPriorityMinimum", group_priority(group));
    spec.set("versionPriority", version_priority(group, version));
    const Value condition = Value::object({{"type", "Available"},
                                           {"status", "True"},
                                           {"lastTransitionTime", format_time(input_.now)},
                                           {"reason", "Local"},
                                           {"message", "Local APIServices are always available"}});
    return Value::object(
        {{"kind", "APIService"},
         {"apiVersion", "apiregistration.k8s.io/v1"},
         {"metadata",
          Value::object({{"name", fmt::format("{}.{}", version, group)},
                         {"labels", Value::object({{"kube-aggregator.kubernetes.io/automanaged",
                                                    "onstart"}})}})},
         {"spec", std::move(spec)},
         {"status", Value::object({{"conditions", Value::list({condition})}})}});
  }

  // A literal of this file.
  static Value parse_own(std::string_view text) { return json::parse(text).value_or(Value()); }

  const BootstrapInput& input_;
  std::vector<store::Write> writes_{};
};

}  // namespace

Result<void> install_bootstrap_objects(const BootstrapInput& input) {
  return Installation(input).run();
}

}  // namespace athanor::apiserver
