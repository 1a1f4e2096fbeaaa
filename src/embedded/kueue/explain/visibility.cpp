// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/explain/visibility.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "api/kueue.hpp"
#include "embedded/kueue/cycle/waiting.hpp"
#include "embedded/kueue/explain/explain.hpp"
#include "embedded/kueue/model/configuration.hpp"
#include "embedded/kueue/model/workload_info.hpp"

namespace athanor::kueue {
namespace {

constexpr std::string_view kGroup = "visibility.kueue.x-k8s.io";
constexpr std::string_view kVersions[] = {"v1beta2", "v1beta1"};
constexpr std::string_view kService = "kueue-visibility-server";
constexpr std::int64_t kDefaultLimit = 1000;
constexpr int kBadRequest = 400;
constexpr int kNotFound = 404;

std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> segments;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) {
      segments.emplace_back(path.substr(0, end));
    }
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return segments;
}

GroupAnswer refusal(int code, std::string_view reason, const std::string& message) {
  return {.code = code,
          .body = Value::object({{"kind", "Status"},
                                 {"apiVersion", "v1"},
                                 {"metadata", Value::object()},
                                 {"status", "Failure"},
                                 {"message", message},
                                 {"reason", reason},
                                 {"code", code}})};
}

// A whole number of the query; nullopt: no number, or a negative one.
std::optional<std::int64_t> number_of(std::string_view query, std::string_view name,
                                      std::int64_t absent) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view part = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (!part.starts_with(name) || part.substr(name.size(), 1) != "=") {
      continue;
    }
    const std::string_view text = part.substr(name.size() + 1);
    std::int64_t number = 0;
    const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && at == text.data() + text.size() && number >= 0
               ? std::optional(number)
               : std::nullopt;
  }
  return absent;
}

Value resource(std::string_view name, bool namespaced, std::string_view kind, Value verbs) {
  return Value::object({{"name", name},
                        {"singularName", ""},
                        {"namespaced", namespaced},
                        {"kind", kind},
                        {"verbs", std::move(verbs)}});
}

Value resource_list(std::string_view version) {
  const Value none = Value::list();
  const Value get = Value::list({"get"});
  return Value::object(
      {{"kind", "APIResourceList"},
       {"apiVersion", "v1"},
       {"groupVersion", fmt::format("{}/{}", kGroup, version)},
       {"resources",
        Value::list(
            {resource("clusterqueues", false, "ClusterQueue", none),
             resource("clusterqueues/pendingworkloads", false, "PendingWorkloadsSummary", get),
             resource("localqueues", true, "LocalQueue", none),
             resource("localqueues/pendingworkloads", true, "PendingWorkloadsSummary", get),
             resource("workloads", true, "Workload", none),
             resource("workloads/explain", true, "WorkloadExplanation", get)})}});
}

Value item_of(const PendingWorkload& pending) {
  const Object& workload = pending.workload;
  Value metadata = Value::object({{"name", workload.name()},
                                  {"namespace", workload.ns()},
                                  {"creationTimestamp", workload.metadata()["creationTimestamp"]}});
  if (!workload.metadata()["ownerReferences"].empty()) {
    metadata.set("ownerReferences", workload.metadata()["ownerReferences"]);
  }
  return Value::object({{"metadata", std::move(metadata)},
                        {"priority", workload.spec()["priority"].as_int()},
                        {"localQueueName", workload.spec()["queueName"]},
                        {"positionInClusterQueue", pending.in_cluster_queue},
                        {"positionInLocalQueue", pending.in_local_queue}});
}

GroupAnswer summary(const std::vector<PendingWorkload>& pending, std::string_view version,
                    std::string_view query) {
  const auto offset = number_of(query, "offset", 0);
  const auto limit = number_of(query, "limit", kDefaultLimit);
  if (!offset || !limit) {
    return refusal(kBadRequest, "BadRequest",
                   "offset and limit must be whole numbers of at least 0");
  }
  Value items = Value::list();
  for (std::size_t i = static_cast<std::size_t>(*offset);
       i < pending.size() && items.size() < static_cast<std::size_t>(*limit); ++i) {
    items.push_back(item_of(pending[i]));
  }
  return {.body = Value::object({{"kind", "PendingWorkloadsSummary"},
                                 {"apiVersion", fmt::format("{}/{}", kGroup, version)},
                                 {"metadata", Value::object()},
                                 {"items", std::move(items)}})};
}

GroupAnswer of_cluster_queue(const View& view, const std::string& name, std::string_view version,
                             std::string_view query) {
  if (!view.get(api::kueue::kClusterQueue, {"", name})) {
    return refusal(kNotFound, "NotFound",
                   fmt::format("clusterqueues.{} \"{}\" not found", kGroup, name));
  }
  return summary(pending_workloads(view, name), version, query);
}

GroupAnswer of_local_queue(const View& view, const Key& key, std::string_view version,
                           std::string_view query) {
  const auto queue = view.get(api::kueue::kLocalQueue, key);
  if (!queue) {
    return refusal(kNotFound, "NotFound",
                   fmt::format("localqueues.{} \"{}\" not found", kGroup, key.name));
  }
  std::vector<PendingWorkload> pending =
      pending_workloads(view, queue->spec()["clusterQueue"].as_string());
  std::erase_if(pending, [&](const PendingWorkload& one) {
    return one.workload.ns() != key.ns || one.workload.spec()["queueName"].as_string() != key.name;
  });
  return summary(pending, version, query);
}

// Why a Workload waits (docs/spec/kueue.md 17).
GroupAnswer explanation_of(const View& view, const Key& key, std::string_view version,
                           Instant now) {
  const auto workload = view.get(api::kueue::kWorkload, key);
  if (!workload) {
    return refusal(kNotFound, "NotFound",
                   fmt::format("workloads.{} \"{}\" not found", kGroup, key.name));
  }
  Value body =
      Value::object({{"kind", "WorkloadExplanation"},
                     {"apiVersion", fmt::format("{}/{}", kGroup, version)},
                     {"metadata", Value::object({{"name", key.name}, {"namespace", key.ns}})}});
  body.set("explanation", explain(view, *workload, now).to_value());
  return {.body = std::move(body)};
}

GroupAnswer answer(const View& view, const GroupRequest& request) {
  const std::string_view query = request.query;
  const std::vector<std::string> parts = segments_of(request.path);
  const bool known = parts.size() >= 3 && parts[0] == "apis" && parts[1] == kGroup &&
                     std::ranges::find(kVersions, parts[2]) != std::end(kVersions);
  if (known && parts.size() == 3) {
    return {.body = resource_list(parts[2])};
  }
  if (known && parts.size() == 6 && parts[3] == "clusterqueues" && parts[5] == "pendingworkloads") {
    return of_cluster_queue(view, parts[4], parts[2], query);
  }
  if (known && parts.size() == 8 && parts[3] == "namespaces" && parts[5] == "localqueues" &&
      parts[7] == "pendingworkloads") {
    return of_local_queue(view, {parts[4], parts[6]}, parts[2], query);
  }
  if (known && parts.size() == 8 && parts[3] == "namespaces" && parts[5] == "workloads" &&
      parts[7] == "explain") {
    return explanation_of(view, {parts[4], parts[6]}, parts[2], request.now);
  }
  return refusal(kNotFound, "NotFound", "the server could not find the requested resource");
}

}  // namespace

std::vector<PendingWorkload> pending_workloads(const View& view, std::string_view cluster_queue) {
  std::vector<Object> waiting;
  for (const Object& local : view.list(api::kueue::kLocalQueue)) {
    if (local.spec()["clusterQueue"].as_string() != cluster_queue) {
      continue;
    }
    const std::vector<Object> of_queue = view.list(api::kueue::kWorkload, waiting_in(local.key()));
    waiting.insert(waiting.end(), of_queue.begin(), of_queue.end());
  }
  const RequeueTimestamp timestamp =
      configured_section(view)["requeueTimestamp"].as_string() == "Creation"
          ? RequeueTimestamp::Creation
          : RequeueTimestamp::Eviction;
  // Who waits for its own preemptions goes first (7.2).
  std::ranges::sort(waiting, {}, [&](const Object& workload) {
    return std::pair(!awaits_preemption(workload), queue_order(workload, timestamp));
  });
  std::map<Key, std::int64_t> places;  // so far, by LocalQueue
  std::vector<PendingWorkload> pending;
  for (Object& workload : waiting) {
    const Key queue{std::string(workload.ns()), workload.spec()["queueName"].str()};
    const auto place = static_cast<std::int64_t>(pending.size());
    pending.push_back({.workload = std::move(workload),
                       .in_cluster_queue = place,
                       .in_local_queue = places[queue]++});
  }
  return pending;
}

const ServedGroup& visibility_group() {
  static constexpr ServedGroup kServed{.host = "kueue-visibility-server.kueue-system.svc",
                                       .answer = answer};
  return kServed;
}

std::vector<Value> visibility_objects() {
  constexpr int kPort = 443;
  // The lab answers for this host itself; nothing listens there.
  std::vector<Value> objects{Value::object(
      {{"apiVersion", "v1"},
       {"kind", "Service"},
       {"metadata", Value::object({{"name", kService},
                                   {"namespace", kConfigurationNamespace},
                                   {"annotations",
                                    Value::object({{"athanor.dev/endpoint", "127.0.0.1:443"}})}})},
       {"spec", Value::object({{"ports", Value::list({Value::object(
                                             {{"name", "https"}, {"port", kPort}})})}})}})};
  int priority = 100;
  for (const std::string_view version : kVersions) {
    objects.push_back(Value::object(
        {{"apiVersion", "apiregistration.k8s.io/v1"},
         {"kind", "APIService"},
         {"metadata", Value::object({{"name", fmt::format("{}.{}", version, kGroup)}})},
         {"spec", Value::object({{"group", kGroup},
                                 {"version", version},
                                 {"groupPriorityMinimum", 100},
                                 {"versionPriority", priority--},
                                 {"insecureSkipTLSVerify", true},
                                 {"service", Value::object({{"name", kService},
                                                            {"namespace", kConfigurationNamespace},
                                                            {"port", kPort}})}})}}));
  }
  return objects;
}

}  // namespace athanor::kueue
