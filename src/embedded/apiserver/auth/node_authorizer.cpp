// SPDX-License-Identifier: Apache-2.0
// The kinds that need a relationship, each with the words of the reference; all others by the rules
// of ClusterRole system:node.
#include "embedded/apiserver/auth/node_authorizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "embedded/apiserver/auth/pod_references.hpp"
#include "embedded/apiserver/auth/rbac_index.hpp"
#include "kube/names/selector.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kNodesGroup = "system:nodes";
constexpr std::string_view kPrefix = "system:node:";
constexpr std::string_view kRole = "system:node";
constexpr std::string_view kLeases = "kube-node-lease";

Decision yes() {
  return {.allowed = true, .reason = ""};
}
Decision no(std::string reason) {
  return {.allowed = false, .reason = std::move(reason)};
}
Decision unrelated(std::string_view node) {
  return no(fmt::format("no relationship found between node '{}' and this object", node));
}

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

constexpr std::array<std::string_view, 3> kReads = {"get", "list", "watch"};
constexpr std::array<std::string_view, 5> kOwn = {"get", "create", "update", "patch", "delete"};

// A lease or CSINode of the node's own name; the name of a new one is admission's business.
Decision own_object(const std::string& node, const Attributes& attributes, std::string_view kind) {
  const bool lease = kind == "lease";
  if (!is_one_of(attributes.verb, kOwn)) {
    return no(lease ? "can only get, create, update, patch, or delete a node lease"
                    : "can only get, create, update, patch, or delete a CSINode");
  }
  if (lease && attributes.ns != kLeases) {
    return no("can only access leases in the \"kube-node-lease\" system namespace");
  }
  if (!lease && !attributes.subresource.empty()) {
    return no("cannot authorize CSINode subresources");
  }
  if (attributes.verb != "create" && attributes.name != node) {
    return no(lease ? "can only access node lease with the same name as the requesting node"
                    : "can only access CSINode with the same name as the requesting node");
  }
  return yes();
}

Decision own_node(const std::string& node, const Attributes& attributes) {
  if (is_one_of(attributes.verb, kReads) && attributes.subresource.empty()) {
    return attributes.name == node
               ? yes()
               : no(fmt::format("node '{}' cannot read '{}', only its own Node object", node,
                                attributes.name));
  }
  // Which node is written is NodeRestriction's business.
  constexpr std::array<std::string_view, 3> kWrites = {"create", "update", "patch"};
  const bool status = attributes.subresource == "status" && attributes.verb != "create";
  if ((attributes.subresource.empty() || status) && is_one_of(attributes.verb, kWrites)) {
    return yes();
  }
  return no("");
}

// Slices and claims of devices are chosen by a field.
bool selects(const Attributes& attributes, std::string_view field, std::string_view value) {
  const auto fields = parse_field_selector(attributes.field_selector);
  return fields.ok() && std::ranges::any_of(*fields, [&](const FieldRequirement& requirement) {
           return requirement.equal && requirement.field == field && requirement.value == value;
         });
}

Decision resource_slices(const std::string& node, const Attributes& attributes) {
  if (!attributes.subresource.empty()) {
    return no("cannot authorize ResourceSlice subresources");
  }
  const bool one = is_one_of(attributes.verb, kOwn);
  const bool many = attributes.verb == "list" || attributes.verb == "watch" ||
                    attributes.verb == "deletecollection";
  if (one) {
    return yes();  // whose slice it is, is NodeRestriction's business
  }
  return many && selects(attributes, "spec.nodeName", node)
             ? yes()
             : no("can only list/watch/deletecollection resourceslices with nodeName field "
                  "selector");
}

}  // namespace

NodeAuthorizer::NodeAuthorizer(store::Store& store, const RbacIndex& rbac)
    : store_(store), rbac_(rbac) {}

std::optional<Decision> NodeAuthorizer::authorize(const Attributes& attributes) const {
  if (!attributes.user->in_group(kNodesGroup) || !attributes.user->name.starts_with(kPrefix)) {
    return std::nullopt;
  }
  const std::string node = attributes.user->name.substr(kPrefix.size());
  if (node.empty()) {
    return no(fmt::format("unknown node for user \"{}\"", attributes.user->name));
  }
  if (attributes.is_resource) {
    return of_kind(node, attributes);
  }
  return rbac_.cluster_role_allows(kRole, attributes) ? yes() : no("");
}

Decision NodeAuthorizer::of_kind(const std::string& node, const Attributes& attributes) const {
  const std::string resource = store::resource_name(attributes.resource, attributes.group);
  if (resource == "secrets") {
    return read_by_pods(node, attributes, pod_reads_secret);
  }
  if (resource == "configmaps") {
    return read_by_pods(node, attributes, pod_reads_config_map);
  }
  if (resource == "persistentvolumeclaims" || resource == "resourceclaims.resource.k8s.io") {
    return get_by_pods(node, attributes);
  }
  if (resource == "persistentvolumes") {
    return volume(node, attributes);
  }
  if (resource == "volumeattachments.storage.k8s.io") {
    return attachment(node, attributes);
  }
  if (resource == "serviceaccounts") {
    if (attributes.verb != "create" || attributes.subresource != "token" ||
        attributes.name.empty()) {
      return no("can only create tokens for individual service accounts");
    }
    return some_pod(node, attributes.ns, attributes.name, pod_runs_as) ? yes() : unrelated(node);
  }
  if (resource == "leases.coordination.k8s.io") {
    return own_object(node, attributes, "lease");
  }
  if (resource == "csinodes.storage.k8s.io") {
    return own_object(node, attributes, "csinode");
  }
  if (resource == "resourceslices.resource.k8s.io") {
    return resource_slices(node, attributes);
  }
  if (resource == "nodes") {
    return own_node(node, attributes);
  }
  if (resource == "pods" && is_one_of(attributes.verb, kReads)) {
    return pods(node, attributes);
  }
  return rbac_.cluster_role_allows(kRole, attributes) ? yes() : no("");
}

Decision NodeAuthorizer::read_by_pods(const std::string& node, const Attributes& attributes,
                                      PodVisit refers) const {
  if (!is_one_of(attributes.verb, kReads)) {
    return no("can only read resources of this type");
  }
  if (!attributes.subresource.empty()) {
    return no("cannot read subresource");
  }
  if (attributes.ns.empty()) {
    return no("can only read namespaced object of this type");
  }
  if (attributes.name.empty()) {
    return no("No Object name found");
  }
  return some_pod(node, attributes.ns, attributes.name, refers) ? yes() : unrelated(node);
}

Decision NodeAuthorizer::get_by_pods(const std::string& node, const Attributes& attributes) const {
  const bool claim = attributes.resource == "persistentvolumeclaims";
  const bool status = claim && attributes.subresource == "status";
  if (status && attributes.verb != "update" && attributes.verb != "patch") {
    return no("can only update/patch status of this type");
  }
  if (!status && attributes.verb != "get") {
    return no("can only get individual resources of this type");
  }
  if (!status && !attributes.subresource.empty()) {
    return no("cannot get subresource");
  }
  if (attributes.name.empty()) {
    return no("No Object name found");
  }
  return some_pod(node, attributes.ns, attributes.name,
                  claim ? pod_mounts_claim : pod_uses_resource_claim)
             ? yes()
             : unrelated(node);
}

Decision NodeAuthorizer::pods(const std::string& node, const Attributes& attributes) const {
  if (!attributes.subresource.empty()) {
    return rbac_.cluster_role_allows(kRole, attributes) ? yes() : no("");
  }
  if (attributes.verb != "get") {
    return selects(attributes, "spec.nodeName", node)
               ? yes()
               : no("can only list/watch pods with spec.nodeName field selector");
  }
  const store::StoredPtr pod = store_.get("pods", {attributes.ns, attributes.name});
  return pod != nullptr && pod->body["spec"]["nodeName"].as_string() == node ? yes()
                                                                             : unrelated(node);
}

Decision NodeAuthorizer::volume(const std::string& node, const Attributes& attributes) const {
  if (attributes.verb != "get") {
    return no("can only get individual resources of this type");
  }
  if (!attributes.subresource.empty()) {
    return no("cannot get subresource");
  }
  const store::StoredPtr stored = store_.get("persistentvolumes", {"", attributes.name});
  if (stored == nullptr) {
    return unrelated(node);
  }
  const Value& claim = stored->body["spec"]["claimRef"];
  return some_pod(node, claim["namespace"].as_string(), claim["name"].as_string(), pod_mounts_claim)
             ? yes()
             : unrelated(node);
}

Decision NodeAuthorizer::attachment(const std::string& node, const Attributes& attributes) const {
  if (attributes.verb != "get") {
    return no("can only get individual resources of this type");
  }
  if (!attributes.subresource.empty()) {
    return no("cannot get subresource");
  }
  const store::StoredPtr stored =
      store_.get("volumeattachments.storage.k8s.io", {"", attributes.name});
  return stored != nullptr && stored->body["spec"]["nodeName"].as_string() == node
             ? yes()
             : unrelated(node);
}

bool NodeAuthorizer::some_pod(const std::string& node, std::string_view ns, std::string_view name,
                              PodVisit refers) const {
  std::call_once(watched_, [this] { watch_pods(); });
  std::vector<Key> keys;
  {
    const MutexLock lock(mutex_);
    const auto found = pods_of_.find(node);
    if (found == pods_of_.end()) {
      return false;
    }
    std::ranges::copy_if(found->second, std::back_inserter(keys),
                         [&](const Key& key) { return key.ns == ns; });
  }
  return std::ranges::any_of(keys, [&](const Key& key) {
    const store::StoredPtr pod = store_.get("pods", key);
    return pod != nullptr && pod->body["spec"]["nodeName"].as_string() == node &&
           refers(store_, pod->body, name);
  });
}

void NodeAuthorizer::watch_pods() const {
  listener_ = store_.listen([this](std::span<const store::EventPtr> events) {
    for (const store::EventPtr& event : events) {
      update(*event->object, event->type == store::Event::Type::Deleted);
    }
  });
  if (const auto page = store_.list("pods", {}); page.ok()) {
    for (const store::StoredPtr& pod : page->items) {
      update(*pod, false);
    }
  }
}

void NodeAuthorizer::update(const store::Stored& pod, bool deleted) const {
  if (pod.resource != "pods") {
    return;
  }
  const std::string node = deleted ? "" : pod.body["spec"]["nodeName"].str();
  const MutexLock lock(mutex_);
  if (const auto known = nodes_.find(pod.key); known != nodes_.end()) {
    if (known->second == node) {
      return;
    }
    pods_of_[known->second].erase(pod.key);
    nodes_.erase(known);
  }
  if (!node.empty()) {
    nodes_.emplace(pod.key, node);
    pods_of_[node].insert(pod.key);
  }
}

}  // namespace athanor::apiserver
