// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/core/request_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "base/mutex.hpp"
#include "embedded/apiserver/read/health.hpp"
#include "embedded/apiserver/read/watch_hub.hpp"
#include "embedded/apiserver/request/call.hpp"

namespace athanor::apiserver {
namespace {

std::string upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

std::string_view scope_of(const Call& call) {
  const RequestPath& path = call.path;
  if (call.resource == nullptr) {
    return "";
  }
  if (!path.name.empty()) {
    return "resource";
  }
  return path.ns.empty() ? "cluster" : "namespace";
}

std::string verb_of(const Call& call) {
  const std::string& verb = call.path.verb;
  if (verb == "create") {
    return "POST";
  }
  if (verb == "update") {
    return "PUT";
  }
  constexpr std::array<std::string_view, 6> kOthers = {"get",   "list",   "watch",
                                                       "patch", "delete", "deletecollection"};
  const bool known = std::find(kOthers.begin(), kOthers.end(), verb) != kOthers.end();
  return known ? upper(verb) : "OTHER";
}

std::string_view plain_verb(std::string_view method) {
  constexpr std::array<std::string_view, 6> kMethods = {"GET", "HEAD",  "POST",
                                                        "PUT", "PATCH", "DELETE"};
  const auto known = std::find(kMethods.begin(), kMethods.end(), method);
  return known == kMethods.end() ? "OTHER" : *known;
}

// What names both counters; paths that lead nowhere all count as one, so that no client can make
// the tables grow.
std::string labels_of(const Call& call) {
  const bool known = call.resource != nullptr;
  std::string_view subresource;
  if (!known) {
    subresource = call.path.is_resource ? "" : "other";
  } else if (call.resource->subresource(call.path.subresource) != nullptr) {
    subresource = call.path.subresource;
  }
  return fmt::format(
      R"(component="apiserver",group="{}",resource="{}",scope="{}",subresource="{}",verb="{}",version="{}")",
      known ? call.resource->group : "", known ? call.resource->plural : "", scope_of(call),
      subresource, known ? verb_of(call) : std::string(plain_verb(call.request.method)),
      known ? call.resource->version : "");
}

void head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  fmt::format_to(std::back_inserter(out), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

std::string flow_labels(const FlowClass& flow) {
  return fmt::format(R"(flow_schema="{}",priority_level="{}")", flow.schema, flow.level);
}

std::pair<std::string_view, std::string_view> split_storage(std::string_view storage) {
  const std::size_t dot = storage.find('.');
  return {storage.substr(0, dot),
          dot == std::string_view::npos ? std::string_view() : storage.substr(dot + 1)};
}

}  // namespace

RequestMetrics::Running::Running(RequestMetrics& metrics, bool mutating)
    : count_(mutating ? metrics.mutating_ : metrics.reading_) {
  ++count_;
}
RequestMetrics::Running::~Running() {
  --count_;
}

void RequestMetrics::note(const Call& call, int code, Duration took) {
  const std::string labels = labels_of(call);
  const bool dry = call.request.parameter("dryRun").value_or("") == "All";
  const std::string total =
      fmt::format(R"(code="{}",{},dry_run="{}")", code, labels, dry ? "All" : "");
  const double seconds = std::chrono::duration<double>(took).count();
  const MutexLock lock(mutex_);
  ++totals_[total];
  count_seconds(durations_[labels], seconds);
  if (call.flow) {
    note_flow(call, code, seconds);
  }
}

void RequestMetrics::count_seconds(Histogram& histogram, double seconds) {
  const auto bucket = std::lower_bound(kBuckets.begin(), kBuckets.end(), seconds);
  ++histogram.counts[static_cast<std::size_t>(bucket - kBuckets.begin())];
  histogram.sum += seconds;
}

void RequestMetrics::note_flow(const Call& call, int code, double seconds) {
  constexpr int kTooMany = 429;
  Flow& flow = flows_[flow_labels(*call.flow)];
  if (code == kTooMany && call.request.overdue) {
    ++flow.rejected;
    return;
  }
  ++flow.dispatched;
  count_seconds(flow.execution, seconds);
}

RequestMetrics::Seat::Seat(RequestMetrics& metrics, const FlowClass& flow)
    : metrics_(metrics), labels_(flow_labels(flow)) {
  const MutexLock lock(metrics_.mutex_);
  ++metrics_.flows_[labels_].executing;
}
RequestMetrics::Seat::~Seat() {
  const MutexLock lock(metrics_.mutex_);
  --metrics_.flows_[labels_].executing;
}

void RequestMetrics::note_refusal(const std::string& loop, int code) {
  const MutexLock lock(mutex_);
  ++refusals_[{loop, code}];
}

std::string RequestMetrics::text(const Core& core) const {
  std::string out;
  const auto line = std::back_inserter(out);
  head(out, "apiserver_current_inflight_requests", "gauge", "Requests that are being answered.");
  fmt::format_to(line, "apiserver_current_inflight_requests{{request_kind=\"mutating\"}} {}\n",
                 mutating_.load());
  fmt::format_to(line, "apiserver_current_inflight_requests{{request_kind=\"readOnly\"}} {}\n",
                 reading_.load());
  head(out, "apiserver_longrunning_requests", "gauge", "Watches that are open.");
  fmt::format_to(line,
                 "apiserver_longrunning_requests{{component=\"apiserver\",verb=\"WATCH\"}} {}\n",
                 core.watches->size());
  head(out, "apiserver_storage_objects", "gauge", "Stored objects by resource.");
  for (const std::string& resource : core.store.resources()) {
    fmt::format_to(line, "apiserver_storage_objects{{resource=\"{}\"}} {}\n", resource,
                   core.store.count(resource, ""));
  }
  head(out, "apiserver_watch_events_total", "counter", "Events handed to watches.");
  for (const auto& [storage, events] : core.watches->events()) {
    const auto [resource, group] = split_storage(storage);
    fmt::format_to(line, "apiserver_watch_events_total{{group=\"{}\",resource=\"{}\"}} {}\n", group,
                   resource, events);
  }
  const MutexLock lock(mutex_);
  head(out, "apiserver_request_total", "counter", "Requests by what they asked and their answer.");
  for (const auto& [labels, count] : totals_) {
    fmt::format_to(line, "apiserver_request_total{{{}}} {}\n", labels, count);
  }
  head(out, "athanor_loop_refusals_total", "counter",
       "Requests of control loops that were refused.");
  for (const auto& [refusal, count] : refusals_) {
    fmt::format_to(line, "athanor_loop_refusals_total{{loop=\"{}\",code=\"{}\"}} {}\n",
                   refusal.first, refusal.second, count);
  }
  constexpr std::string_view kDuration = "apiserver_request_duration_seconds";
  head(out, kDuration, "histogram", "How long answers took.");
  for (const auto& [labels, histogram] : durations_) {
    add_histogram(out, kDuration, labels, histogram);
  }
  add_flows(out);
  return out;
}

void RequestMetrics::add_histogram(std::string& out, std::string_view name,
                                   const std::string& labels, const Histogram& histogram) {
  const auto line = std::back_inserter(out);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kBuckets.size(); ++i) {
    sum += histogram.counts[i];
    fmt::format_to(line, "{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, kBuckets[i], sum);
  }
  sum += histogram.counts.back();
  fmt::format_to(line, "{}_bucket{{{},le=\"+Inf\"}} {}\n", name, labels, sum);
  fmt::format_to(line, "{}_sum{{{}}} {}\n", name, labels, histogram.sum);
  fmt::format_to(line, "{}_count{{{}}} {}\n", name, labels, sum);
}

void RequestMetrics::add_flows(std::string& out) const {
  const auto line = std::back_inserter(out);
  const std::map<std::string, Flow, std::less<>>* flows = &flows_;
  const auto family = [&](std::string_view name, std::string_view type, std::string_view help,
                          auto value, std::string_view more = "") {
    head(out, name, type, help);
    for (const auto& [labels, flow] : *flows) {
      fmt::format_to(line, "{}{{{}{}}} {}\n", name, labels, more, value(flow));
    }
  };
  family("apiserver_flowcontrol_current_executing_requests", "gauge",
         "Requests that are being answered.", [](const Flow& flow) { return flow.executing; });
  family("apiserver_flowcontrol_dispatched_requests_total", "counter", "Requests that were served.",
         [](const Flow& flow) { return flow.dispatched; });
  family(
      "apiserver_flowcontrol_rejected_requests_total", "counter",
      "Requests that waited too long to be served.", [](const Flow& flow) { return flow.rejected; },
      R"(,reason="time-out")");
  constexpr std::string_view kExecution = "apiserver_flowcontrol_request_execution_seconds";
  head(out, kExecution, "histogram", "How long requests were served.");
  for (const auto& [labels, flow] : flows_) {
    add_histogram(out, kExecution, labels + R"(,type="regular")", flow.execution);
  }
}

std::string RequestMetrics::health_text(const Core& core) {
  std::string out;
  head(out, "kubernetes_healthcheck", "gauge", "1: the check passes.");
  for (const HealthCheck& check : health_checks(core)) {
    fmt::format_to(std::back_inserter(out),
                   "kubernetes_healthcheck{{name=\"{}\",type=\"{}\"}} {}\n", check.name,
                   check.endpoint, check.passes ? 1 : 0);
  }
  return out;
}

}  // namespace athanor::apiserver
