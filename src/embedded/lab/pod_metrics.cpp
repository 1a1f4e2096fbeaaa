// SPDX-License-Identifier: Apache-2.0
#include "embedded/lab/pod_metrics.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "embedded/apiserver/subresources/node_host.hpp"
#include "kube/names/selector.hpp"
#include "kube/text/json.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::lab {
namespace {

constexpr std::string_view kGroupVersion = "metrics.k8s.io/v1beta1";
constexpr std::string_view kHost = "metrics-server.kube-system.svc";
constexpr std::string_view kScheme = "://";
constexpr Duration kMeasurePeriod = std::chrono::seconds(15);
constexpr Duration kFresh = std::chrono::seconds(1);
constexpr std::int64_t kKibi = 1024;
constexpr int kOk = 200;
constexpr int kBadRequest = 400;
constexpr int kNothingThere = 404;

Value refusal(int code, std::string_view reason, const std::string& message) {
  return Value::object({{"kind", "Status"},
                        {"apiVersion", "v1"},
                        {"metadata", Value::object()},
                        {"status", "Failure"},
                        {"message", message},
                        {"reason", reason},
                        {"code", code}});
}

std::vector<std::string> path_parts(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0) {
      parts.emplace_back(path.substr(0, end));
    }
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

int hex_digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                        hex_digit(text[i + 2]) >= 0;
    if (escape) {
      result += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      result += text[i] == '+' ? ' ' : text[i];
    }
  }
  return result;
}

std::string query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(part.size() + 1, query.size()));
    if (part.starts_with(name) && part.substr(name.size(), 1) == "=") {
      return unescaped(part.substr(name.size() + 1));
    }
  }
  return {};
}

Value resource(std::string_view name, std::string_view kind, bool namespaced) {
  return Value::object({{"name", name},
                        {"singularName", ""},
                        {"namespaced", namespaced},
                        {"kind", kind},
                        {"verbs", Value::list({"get", "list"})}});
}

bool runs(const Value& pod) {
  return pod["status"]["phase"].as_string() == "Running";
}

// Returns the containers of a running pod, its native sidecars first.
std::vector<Value> going_on(const Value& pod) {
  std::vector<Value> containers;
  for (const Value& container : pod["spec"]["initContainers"].items()) {
    if (container["restartPolicy"].as_string() == "Always") {
      containers.push_back(container);
    }
  }
  for (const Value& container : pod["spec"]["containers"].items()) {
    containers.push_back(container);
  }
  return containers;
}

Value usage_value(std::int64_t cpu_nanocores, std::int64_t memory_bytes) {
  return Value::object({{"cpu", fmt::format("{}n", cpu_nanocores)},
                        {"memory", fmt::format("{}Ki", memory_bytes / kKibi)}});
}

Value metadata_of(const Value& object, Instant now) {
  Value metadata = Value::object({{"name", object["metadata"]["name"]}});
  for (const char* member : {"namespace", "labels"}) {
    if (object["metadata"].contains(member)) {
      metadata.set(member, object["metadata"][member]);
    }
  }
  metadata.set("creationTimestamp", format_time(now));
  return metadata;
}

// Returns what a container requests, as the usage of one that only takes time.
std::pair<std::int64_t, std::int64_t> requested(const Value& container) {
  constexpr std::int64_t kOfMilli = 1'000'000;
  const Value& requests = container["resources"]["requests"];
  const auto cpu = Quantity::parse(requests["cpu"]);
  const auto memory = Quantity::parse(requests["memory"]);
  return {cpu ? cpu->milli_value() * kOfMilli : 0, memory ? memory->value() : 0};
}

}  // namespace

void PodMetrics::look(Instant now) {
  {
    const MutexLock lock(mutex_);
    if (last_ && now >= last_->at && now - last_->at < kMeasurePeriod) {
      return;
    }
  }
  measure(now);
}

void PodMetrics::measure(Instant now) {
  if (sources_.processes == nullptr) {
    return;
  }
  Sample sample{.at = now, .pods = sources_.processes->usage()};
  const MutexLock lock(mutex_);
  before_ = std::exchange(last_, std::move(sample));
}

// Of the two newest measurements; of a container that is new, since its start. One that only takes
// time uses what it requests.
PodMetrics::Rate PodMetrics::rate_of(const Value& pod, const Value& container) {
  const std::string uid = pod["metadata"]["uid"].str();
  const std::string name = container["name"].str();
  const MutexLock lock(mutex_);
  const auto in = [&](const std::optional<Sample>& sample) -> const nodes::ContainerUsage* {
    const auto found = sample ? sample->pods.find(uid) : decltype(last_->pods.end()){};
    if (!sample || found == sample->pods.end()) {
      return nullptr;
    }
    const auto used = found->second.find(name);
    return used == found->second.end() ? nullptr : &used->second;
  };
  const nodes::ContainerUsage* now = in(last_);
  if (now == nullptr) {
    const auto [cpu, memory] = requested(container);
    return {.cpu_nanocores = cpu, .memory_bytes = memory};
  }
  const nodes::ContainerUsage* then = in(before_);
  const auto started = parse_time(pod["status"]["startTime"].as_string());
  const Instant since = then != nullptr ? before_->at : started.value_or(last_->at);
  const std::int64_t used =
      now->cpu_nanoseconds - (then != nullptr ? then->cpu_nanoseconds : std::int64_t{0});
  const std::int64_t microseconds = std::max<std::int64_t>((last_->at - since).count(), 1000);
  constexpr std::int64_t kMicroseconds = 1'000'000;
  return {.cpu_nanocores = std::max<std::int64_t>(used, 0) * kMicroseconds / microseconds,
          .memory_bytes = std::max<std::int64_t>(now->memory_bytes, 0),
          .cpu_nanoseconds = now->cpu_nanoseconds};
}

Value PodMetrics::metrics_of_pod(const Value& pod) {
  const Instant now = sources_.clock();
  Value containers = Value::list();
  for (const Value& container : going_on(pod)) {
    const Rate rate = rate_of(pod, container);
    containers.push_back(
        Value::object({{"name", container["name"]},
                       {"usage", usage_value(rate.cpu_nanocores, rate.memory_bytes)}}));
  }
  return Value::object({{"kind", "PodMetrics"},
                        {"apiVersion", kGroupVersion},
                        {"metadata", metadata_of(pod, now)},
                        {"timestamp", format_time(now)},
                        {"window", "15s"},
                        {"containers", std::move(containers)}});
}

Value PodMetrics::metrics_of_node(const Value& node) {
  const Instant now = sources_.clock();
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  for (const Value& pod : pods_of(node["metadata"]["name"].as_string())) {
    for (const Value& container : going_on(pod)) {
      const Rate rate = runs(pod) ? rate_of(pod, container) : Rate{};
      cpu += rate.cpu_nanocores;
      memory += rate.memory_bytes;
    }
  }
  return Value::object({{"kind", "NodeMetrics"},
                        {"apiVersion", kGroupVersion},
                        {"metadata", metadata_of(node, now)},
                        {"timestamp", format_time(now)},
                        {"window", "15s"},
                        {"usage", usage_value(cpu, memory)}});
}

Value PodMetrics::metrics_list(std::string_view kind, std::string_view ns, std::string_view query,
                               int& code) {
  const auto selector = LabelSelector::parse(query_value(query, "labelSelector"));
  if (!selector.ok()) {
    code = kBadRequest;
    return refusal(code, "BadRequest", selector.error().message);
  }
  const bool pods = kind == "PodMetrics";
  Value items = Value::list();
  for (const Value& object : stored(pods ? "pods" : "nodes", ns)) {
    if (selector->matches(object["metadata"]["labels"]) && (!pods || runs(object))) {
      items.push_back(pods ? metrics_of_pod(object) : metrics_of_node(object));
    }
  }
  return Value::object({{"kind", fmt::format("{}List", kind)},
                        {"apiVersion", kGroupVersion},
                        {"metadata", Value::object()},
                        {"items", std::move(items)}});
}

Value PodMetrics::group_answer(std::string_view path, std::string_view query, int& code) {
  const std::vector<std::string> parts = path_parts(path);
  if (parts.size() < 3 || parts[1] + "/" + parts[2] != kGroupVersion) {
    code = kNothingThere;
    return refusal(code, "NotFound", "the server could not find the requested resource");
  }
  if (parts.size() == 3) {
    return Value::object({{"kind", "APIResourceList"},
                          {"apiVersion", "v1"},
                          {"groupVersion", kGroupVersion},
                          {"resources", Value::list({resource("nodes", "NodeMetrics", false),
                                                     resource("pods", "PodMetrics", true)})}});
  }
  {
    const Instant now = sources_.clock();
    bool fresh = false;
    {
      const MutexLock lock(mutex_);
      fresh = last_ && now >= last_->at && now - last_->at < kFresh;
    }
    if (!fresh) {
      measure(now);
    }
  }
  const bool in_namespace = parts.size() >= 6 && parts[3] == "namespaces" && parts[5] == "pods";
  const std::string ns = in_namespace ? parts[4] : std::string();
  const std::size_t at = in_namespace ? 5 : 3;
  const bool pods = parts[at] == "pods";
  if ((pods || parts[at] == "nodes") && parts.size() == at + 1) {
    return metrics_list(pods ? "PodMetrics" : "NodeMetrics", ns, query, code);
  }
  if (parts.size() == at + 2 && (pods ? in_namespace : parts[at] == "nodes")) {
    const auto found = sources_.store().get(pods ? "pods" : "nodes", {ns, parts[at + 1]});
    if (found != nullptr && (!pods || runs(found->body))) {
      return pods ? metrics_of_pod(found->body) : metrics_of_node(found->body);
    }
    code = kNothingThere;
    return refusal(
        code, "NotFound",
        pods ? fmt::format("podmetrics.metrics.k8s.io \"{}/{}\" not found", ns, parts[at + 1])
             : fmt::format("nodemetrics.metrics.k8s.io \"{}\" not found", parts[at + 1]));
  }
  code = kNothingThere;
  return refusal(code, "NotFound", "the server could not find the requested resource");
}

Value PodMetrics::summary_of(std::string_view node) {
  const std::string now = format_time(sources_.clock());
  const auto cpu = [&](const Rate& rate) {
    return Value::object({{"time", now},
                          {"usageNanoCores", rate.cpu_nanocores},
                          {"usageCoreNanoSeconds", rate.cpu_nanoseconds}});
  };
  const auto memory = [&](const Rate& rate) {
    return Value::object({{"time", now},
                          {"workingSetBytes", rate.memory_bytes},
                          {"usageBytes", rate.memory_bytes},
                          {"rssBytes", rate.memory_bytes}});
  };
  const auto add = [](Rate& sum, const Rate& rate) {
    sum.cpu_nanocores += rate.cpu_nanocores;
    sum.cpu_nanoseconds += rate.cpu_nanoseconds;
    sum.memory_bytes += rate.memory_bytes;
  };
  Rate all;
  Value pods = Value::list();
  for (const Value& pod : pods_of(node)) {
    if (!runs(pod)) {
      continue;
    }
    Rate sum;
    Value containers = Value::list();
    for (const Value& container : going_on(pod)) {
      const Rate rate = rate_of(pod, container);
      add(sum, rate);
      containers.push_back(Value::object({{"name", container["name"]},
                                          {"startTime", pod["status"]["startTime"]},
                                          {"cpu", cpu(rate)},
                                          {"memory", memory(rate)}}));
    }
    add(all, sum);
    const Value& metadata = pod["metadata"];
    pods.push_back(Value::object({{"podRef", Value::object({{"name", metadata["name"]},
                                                            {"namespace", metadata["namespace"]},
                                                            {"uid", metadata["uid"]}})},
                                  {"startTime", pod["status"]["startTime"]},
                                  {"containers", std::move(containers)},
                                  {"cpu", cpu(sum)},
                                  {"memory", memory(sum)}}));
  }
  return Value::object(
      {{"node", Value::object({{"nodeName", node}, {"cpu", cpu(all)}, {"memory", memory(all)}})},
       {"pods", std::move(pods)}});
}

Value PodMetrics::kubelet_answer(std::string_view node, std::string_view path, int& code) {
  if (path == "/stats/summary" || path == "/stats/summary/") {
    measure(sources_.clock());
    return summary_of(node);
  }
  if (path == "/pods" || path == "/pods/") {
    Value items = Value::list();
    for (const Value& pod : pods_of(node)) {
      items.push_back(pod);
    }
    return Value::object({{"kind", "PodList"},
                          {"apiVersion", "v1"},
                          {"metadata", Value::object()},
                          {"items", std::move(items)}});
  }
  if (path == "/healthz") {
    return "ok";
  }
  code = kNothingThere;
  return "404 page not found";
}

std::unique_ptr<apiserver::OutsideAnswer> PodMetrics::answer(
    const apiserver::OutsideRequest& request) {
  std::string_view url = request.url;
  url.remove_prefix(std::min(url.find(kScheme), url.size()));
  url.remove_prefix(std::min(kScheme.size(), url.size()));
  const std::size_t slash = std::min(url.find('/'), url.size());
  const std::string_view authority = url.substr(0, slash);
  const std::string_view host = authority.substr(0, authority.find(':'));
  url.remove_prefix(slash);
  const std::string_view path = url.substr(0, url.find('?'));
  const std::string_view query = path.size() < url.size() ? url.substr(path.size() + 1) : "";
  const bool node = host.ends_with(apiserver::kNodeHost);
  if (host != kHost && !node) {
    return nullptr;
  }
  int code = kOk;
  Value body =
      node ? kubelet_answer(host.substr(0, host.size() - apiserver::kNodeHost.size()), path, code)
           : group_answer(path, query, code);
  auto reply = std::make_unique<apiserver::OutsideAnswer>();
  const bool text = body.is_string();
  reply->headers = {{"content-type", text ? "text/plain; charset=utf-8" : "application/json"}};
  reply->status = code;
  reply->body = text ? body.str() : json::print(body);
  return reply;
}

std::vector<Value> PodMetrics::stored(std::string_view resource, std::string_view ns) const {
  std::vector<Value> bodies;
  const auto page = sources_.store().list(resource, {.ns = std::string(ns)});
  if (page.ok()) {
    for (const store::StoredPtr& object : page->items) {
      bodies.push_back(object->body);
    }
  }
  return bodies;
}

std::vector<Value> PodMetrics::pods_of(std::string_view node) const {
  std::vector<Value> pods = stored("pods", "");
  std::erase_if(pods,
                [&](const Value& pod) { return pod["spec"]["nodeName"].as_string() != node; });
  return pods;
}

std::vector<Value> PodMetrics::objects() {
  constexpr int kPort = 443;
  const Value service = Value::object(
      {{"apiVersion", "v1"},
       {"kind", "Service"},
       {"metadata", Value::object({{"name", "metrics-server"},
                                   {"namespace", "kube-system"},
                                   // The lab answers for this host itself; nothing listens there.
                                   {"annotations",
                                    Value::object({{"athanor.dev/endpoint", "127.0.0.1:443"}})}})},
       {"spec",
        Value::object(
            {{"ports", Value::list({Value::object({{"name", "https"}, {"port", kPort}})})}})}});
  const Value group = Value::object(
      {{"apiVersion", "apiregistration.k8s.io/v1"},
       {"kind", "APIService"},
       {"metadata", Value::object({{"name", "v1beta1.metrics.k8s.io"}})},
       {"spec", Value::object({{"group", "metrics.k8s.io"},
                               {"version", "v1beta1"},
                               {"groupPriorityMinimum", 100},
                               {"versionPriority", 100},
                               {"insecureSkipTLSVerify", true},
                               {"service", Value::object({{"name", "metrics-server"},
                                                          {"namespace", "kube-system"},
                                                          {"port", kPort}})}})}});
  return {service, group};
}

}  // namespace athanor::lab
