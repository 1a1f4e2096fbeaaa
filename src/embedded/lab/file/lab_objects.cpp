// SPDX-License-Identifier: Apache-2.0
// The Kubernetes objects that a lab file describes.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/digest.hpp"
#include "embedded/lab/file/lab_file.hpp"
#include "embedded/nodes/emulated_node.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"

namespace athanor::lab {
namespace {

constexpr const char* kClusterLabel = "fournos.dev/cluster";
constexpr const char* kQueueAccessLabel = "fournos.dev/queue-access";
constexpr const char* kKueue = "kueue.x-k8s.io/v1beta2";

Value make_object(const char* api_version, const char* kind, std::string_view name,
                  std::string_view ns = {}) {
  Value metadata = Value::object({{"name", name}});
  if (!ns.empty()) {
    metadata.set("namespace", ns);
  }
  return Value::object({{"apiVersion", api_version}, {"kind", kind}, {"metadata", metadata}});
}

Value namespace_object(const Lab& lab) {
  Value object = make_object("v1", "Namespace", lab.ns);
  object.set_path({"metadata", "labels"}, Value::object({{kQueueAccessLabel, "true"}}));
  return object;
}

Value node_object(const Node& node, const std::string& name) {
  nodes::NewNode made{.name = name,
                      .capacity = node.capacity,
                      .labels = node.labels,
                      .annotations = node.annotations};
  for (const Taint& taint : node.taints) {
    Value entry = Value::object({{"key", taint.key}, {"effect", taint.effect}});
    if (!taint.value.empty()) {
      entry.set("value", taint.value);
    }
    made.taints.push_back(std::move(entry));
  }
  return nodes::node_object(made);
}

}  // namespace

Value kubeconfig_secret(const Lab& lab, const std::string& cluster, const std::string& text) {
  Value object = make_object("v1", "Secret", cluster + "-kubeconfig", lab.ns);
  object.set("type", "Opaque");
  object.set("data", Value::object({{"kubeconfig", base64_encode(text)}}));
  return object;
}

namespace {

Value flavor_object(const Cluster& cluster) {
  Value object = make_object(kKueue, "ResourceFlavor", cluster.name);
  object.set_path({"spec", "nodeLabels"}, Value::object({{kClusterLabel, cluster.name}}));
  return object;
}

// Every resource any cluster has quota of: Kueue wants each flavor to list all of them, in one
// order.
std::vector<std::string> covered_resources(const Lab& lab) {
  std::set<std::string> names;
  for (const Cluster& cluster : lab.clusters) {
    for (const auto& [resource, amount] : cluster.quota) {
      names.insert(resource);
    }
  }
  return {names.begin(), names.end()};
}

Value cluster_queue_object(const Lab& lab, const Queue& queue) {
  const std::vector<std::string> covered = covered_resources(lab);
  Value group = Value::object();
  for (const std::string& resource : covered) {
    group.member("coveredResources").push_back(resource);
  }
  Value groups = Value::list();  // none without clusters: Hearth makes the first
  for (const Cluster& cluster : lab.clusters) {
    Value flavor = Value::object({{"name", cluster.name}});
    for (const std::string& resource : covered) {
      const auto quota = cluster.quota.find(resource);
      flavor.member("resources")
          .push_back(Value::object(
              {{"name", resource},
               {"nominalQuota", quota == cluster.quota.end() ? "0" : quota->second}}));
    }
    group.member("flavors").push_back(std::move(flavor));
  }
  if (!lab.clusters.empty()) {
    groups.push_back(std::move(group));
  }
  Value object = make_object(kKueue, "ClusterQueue", queue.name);
  object.set("spec",
             Value::object(
                 {{"namespaceSelector",
                   Value::object({{"matchLabels", Value::object({{kQueueAccessLabel, "true"}})}})},
                  {"queueingStrategy", queue.strategy},
                  {"preemption", Value::object({{"withinClusterQueue", "LowerPriority"},
                                                {"reclaimWithinCohort", "Any"}})},
                  {"resourceGroups", std::move(groups)}}));
  return object;
}

Value local_queue_object(const Lab& lab, const Queue& queue) {
  Value object = make_object(kKueue, "LocalQueue", queue.name, lab.ns);
  object.set("spec", Value::object({{"clusterQueue", queue.name}}));
  return object;
}

// Puts an object of a manifest into the namespace that replaces its own, with the accounts that
// its role binding names.
void move(Value& object, const std::map<std::string, std::string>& moved) {
  const auto follow = [&moved](Value& holder, std::string_view member) {
    const auto to = moved.find(holder[member].str());
    if (to != moved.end()) {
      holder.set(member, to->second);
    }
  };
  if (!object["metadata"].is_object()) {
    return;
  }
  follow(object.member("metadata"),
         object["kind"].as_string() == "Namespace" ? "name" : "namespace");
  if (object["subjects"].is_list()) {
    Value& subjects = object.member("subjects");
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      if (subjects[i].is_object()) {
        follow(subjects.item(i), "namespace");
      }
    }
  }
}

}  // namespace

Result<std::vector<Value>> lab_objects(const Lab& lab, const ReadFile& read_file) {
  std::vector<Value> objects{namespace_object(lab)};
  for (const Node& node : lab.nodes) {
    for (int i = 1; i <= node.count; ++i) {
      objects.push_back(
          node_object(node, node.count == 1 ? node.name : fmt::format("{}-{}", node.name, i)));
    }
  }
  for (const Cluster& cluster : lab.clusters) {
    objects.push_back(flavor_object(cluster));
    if (!cluster.kubeconfig.empty()) {
      objects.push_back(kubeconfig_secret(lab, cluster.name, cluster.kubeconfig));
    }
  }
  for (const auto& [name, value] : lab.priority_classes) {
    Value object = make_object(kKueue, "WorkloadPriorityClass", name);
    object.set("value", value);
    objects.push_back(std::move(object));
  }
  for (const Queue& queue : lab.queues) {
    objects.push_back(cluster_queue_object(lab, queue));
    objects.push_back(local_queue_object(lab, queue));
  }
  for (const std::string& name : lab.manifests) {
    ATHANOR_TRY(const std::string text, read_file(name));
    auto documents = yaml::parse_all(text);
    if (!documents.ok()) {
      return documents.error().with_context(name);
    }
    for (Value& document : *documents) {
      if (!document["kind"].is_string() || !document["apiVersion"].is_string()) {
        return Error::bad_request(fmt::format("{}: an object without apiVersion or kind", name));
      }
      move(document, lab.moved);
      objects.push_back(std::move(document));
    }
  }
  return objects;
}

}  // namespace athanor::lab
