// SPDX-License-Identifier: Apache-2.0
// One autoscaler.
#include "embedded/workloads/sets/autoscaler.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "api/builtin.hpp"
#include "embedded/workloads/closing.hpp"
#include "kube/names/selector.hpp"
#include "kube/value/condition.hpp"
#include "kube/value/precedence.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::workloads {
namespace {

constexpr const Kind* kScalable[] = {&api::kDeployment, &api::kReplicaSet, &api::kStatefulSet,
                                     &api::kReplicationController};

// Why a metric cannot be had.
struct Missing {
  std::string reason{};  // of the condition
  std::string message{};
  std::string context{};  // "failed to get cpu resource metric value"
};

Missing missing_resource(const Value& source, const char* reason, const char* what) {
  const std::string_view name = source["name"].as_string();
  const std::string_view owner =
      source[source.contains("container") ? "container" : "name"].as_string();
  const char* figure = source["target"].contains("averageValue") ? "usage" : "utilization";
  return {.reason = reason,
          .message = fmt::format(
              "failed to get {} {}: unable to get metrics for resource {}: the autoscaler of a lab "
              "does not read metrics.k8s.io",
              name, figure, name),
          .context = fmt::format("failed to get {} {} metric value", owner, what)};
}

Missing missing(const Value& metric, std::string_view ns) {
  constexpr const char* kNoCustom =
      "unable to fetch metrics from custom metrics API: no custom metrics API "
      "(custom.metrics.k8s.io) registered";
  const std::string_view type = metric["type"].as_string();
  if (type == "Resource") {
    return missing_resource(metric["resource"], "FailedGetResourceMetric", "resource");
  }
  if (type == "ContainerResource") {
    return missing_resource(metric["containerResource"], "FailedGetContainerResourceMetric",
                            "container");
  }
  if (type == "Pods") {
    return {.reason = "FailedGetPodsMetric",
            .message = fmt::format("unable to get metric {}: {}",
                                   metric["pods"]["metric"]["name"].as_string(), kNoCustom),
            .context = "failed to get pods metric value"};
  }
  if (type == "Object") {
    const Value& source = metric["object"];
    return {.reason = "FailedGetObjectMetric",
            .message = fmt::format("unable to get metric {}: {} on {} {}/{}",
                                   source["metric"]["name"].as_string(),
                                   source["describedObject"]["kind"].as_string(), ns,
                                   source["describedObject"]["name"].as_string(), kNoCustom),
            .context = "failed to get object metric value"};
  }
  const std::string_view name = metric["external"]["metric"]["name"].as_string();
  return {
      .reason = "FailedGetExternalMetric",
      .message = fmt::format("unable to get external metric {}/{}/nil: unable to fetch metrics "
                             "from external metrics API: the server could not find the "
                             "requested resource (get {}.external.metrics.k8s.io)",
                             ns, name, name),
      .context = fmt::format(
          "failed to get {} external metric value: failed to get external metric {}", name, name)};
}

class AutoscalerRun {
 public:
  AutoscalerRun(const View& view, const Object& scaler, Instant now)
      : view_(view),
        scaler_(scaler),
        now_(now),
        conditions_(scaler.status()["conditions"]),
        desired_(scaler.status()["desiredReplicas"].as_int()),
        last_scale_(scaler.status()["lastScaleTime"]) {}

  Plan run() {
    if (find_target()) {
      set("AbleToScale", true, "SucceededGetScale",
          "the HPA controller was able to get the target's current scale");
      judge();
    }
    write_status();
    closing_.tell(plan_);
    return std::move(plan_);
  }

 private:
  void set(const char* type, bool status, std::string reason, std::string message) {
    set_condition(conditions_,
                  {.type = type,
                   .status = status ? "True" : "False",
                   .reason = std::move(reason),
                   .message = std::move(message)},
                  now_);
  }

  bool find_target() {
    const Value& reference = scaler_.spec()["scaleTargetRef"];
    const std::string name = reference["name"].str();
    for (const Kind* kind : kScalable) {
      if (reference["kind"].as_string() == kind->name &&
          reference["apiVersion"].as_string() == kind->api_version()) {
        target_ = {kind, {std::string(scaler_.ns()), name}};
      }
    }
    std::string error =
        fmt::format("no matches for kind \"{}\" in group \"{}\"", reference["kind"].as_string(),
                    reference["apiVersion"].as_string());
    if (target_.kind != nullptr) {
      if (const auto object = view_.get(*target_.kind, target_.key)) {
        current_ = object->spec()["replicas"].as_int(1);
        present_ = object->status()["replicas"].as_int();
        return true;
      }
      error = fmt::format("{}{}{} \"{}\" not found", target_.kind->plural,
                          target_.kind->group.empty() ? "" : ".", target_.kind->group, name);
    }
    closing_.emit("Warning", "FailedGetScale", error);
    set("AbleToScale", false, "FailedGetScale",
        "the HPA controller was unable to get the target's current scale: " + error);
    return false;
  }

  void judge() {
    const std::int64_t least = scaler_.spec()["minReplicas"].as_int(1);
    const std::int64_t most = scaler_.spec()["maxReplicas"].as_int();
    if (report_controller()) {
      return;
    }
    const std::vector<Object> all = autoscalers();
    if (all.empty() || all.front().uid() != scaler_.uid()) {
      report_rivals(all);
      return;
    }
    if (current_ == 0 && least != 0) {
      set("ScalingActive", false, "ScalingDisabled",
          "scaling is disabled since the replica count of the target is zero");
      desired_ = 0;
    } else if (current_ > most) {
      rescale(most, "Current number of replicas above Spec.MaxReplicas");
    } else if (current_ < least) {
      rescale(least, "Current number of replicas below Spec.MinReplicas");
    } else {
      if (!report_rivals(all)) {
        report_missing_metrics();
      }
    }
  }

  // The autoscalers of the target, the one that scales it first.
  [[nodiscard]] std::vector<Object> autoscalers() const {
    std::vector<Object> all =
        view_.list(api::kHorizontalPodAutoscaler, {.ns = std::string(scaler_.ns())});
    const Value& target = scaler_.spec()["scaleTargetRef"];
    std::erase_if(all, [&](const Object& other) {
      return other.deleting() || other.spec()["scaleTargetRef"]["kind"] != target["kind"] ||
             other.spec()["scaleTargetRef"]["name"] != target["name"];
    });
    std::ranges::sort(all, precedes);
    return all;
  }

  // Two autoscalers of one target would pull it to and fro: the oldest keeps it within its bounds,
  // and the others change nothing.
  bool report_rivals(std::vector<Object> all) {
    if (all.size() < 2) {
      forget_rivals();
      return false;
    }
    const bool mine = all.front().uid() == scaler_.uid();
    const std::string first = all.front().key().text();
    std::ranges::sort(all, {}, &Object::key);
    std::string names;
    for (const Object& other : all) {
      names += fmt::format("{}{}", names.empty() ? "" : " ", other.key().text());
    }
    const Value selector = view_.get(*target_.kind, target_.key)->spec()["selector"];
    const auto parsed = LabelSelector::from_value(selector);
    std::string text = fmt::format("pods by selector {} are controlled by multiple HPAs: [{}]",
                                   parsed.ok() ? parsed->text() : "", names);
    if (!mine) {
      text += fmt::format("; {} is the oldest and keeps its bounds", first);
    }
    closing_.emit("Warning", "AmbiguousSelector", text);
    set("ScalingActive", false, "AmbiguousSelector", text);
    closing_.emit("Warning", "FailedComputeMetricsReplicas", text);
    return true;
  }

  void forget_rivals() {
    for (std::size_t i = 0; i < conditions_.size(); ++i) {
      if (conditions_[i]["reason"].as_string() == "AmbiguousSelector") {
        conditions_.erase_item(i);
        return;
      }
    }
  }

  // A Deployment sizes its ReplicaSets: another size would not last. True: the target is one.
  bool report_controller() {
    const auto object = view_.get(*target_.kind, target_.key);
    const auto owner = object ? object->controller() : std::nullopt;
    if (target_.kind != &api::kReplicaSet || !owner || owner->kind != api::kDeployment.name) {
      return false;
    }
    const std::string text =
        fmt::format("ReplicaSet {} is sized by Deployment {}: only the Deployment can be scaled",
                    target_.key.name, owner->name);
    closing_.emit("Warning", "FailedRescale", text);
    set("AbleToScale", false, "ControlledTarget", text);
    return true;
  }

  void rescale(std::int64_t size, const char* why) {
    Step step = Patch{.target = target_,
                      .merge = Value::object({{"spec", Value::object({{"replicas", size}})}})};
    if (const auto error = refused(view_, step)) {
      closing_.emit("Warning", "FailedRescale",
                    fmt::format("New size: {}; reason: {}; error: {}", size, why, error->message));
      set("AbleToScale", false, "FailedUpdateScale",
          "the HPA controller was unable to update the target scale: " + error->message);
      return;
    }
    plan_.then(std::move(step));
    set("AbleToScale", true, "SucceededRescale",
        fmt::format("the HPA controller was able to update the target scale to {}", size));
    closing_.emit("Normal", "SuccessfulRescale",
                  fmt::format("New size: {}; reason: {}", size, why));
    desired_ = size;
    last_scale_ = format_time(now_);
  }

  void report_missing_metrics() {
    const Value& metrics = scaler_.spec()["metrics"];
    std::optional<Missing> first;
    for (const Value& metric : metrics.items()) {
      Missing one = missing(metric, scaler_.ns());
      closing_.emit("Warning", one.reason, one.message);
      first = first ? first : std::move(one);
    }
    if (!first) {
      return;
    }
    current_metrics_ =
        Value::list(std::vector<Value>(metrics.size(), Value::object({{"type", ""}})));
    set("ScalingActive", false, first->reason,
        "the HPA was unable to compute the replica count: " + first->message);
    closing_.emit("Warning", "FailedComputeMetricsReplicas",
                  fmt::format("invalid metrics ({} invalid out of {}), first error is: {}: {}",
                              metrics.size(), metrics.size(), first->context, first->message));
  }

  void write_status() {
    plan_.then(Status{
        .target = {&api::kHorizontalPodAutoscaler, scaler_.key()},
        .status = Value::object({{"currentReplicas", present_ == 0 ? Value() : Value(present_)},
                                 {"desiredReplicas", desired_},
                                 {"lastScaleTime", last_scale_},
                                 {"currentMetrics", current_metrics_},
                                 {"conditions", conditions_}}),
        .guard = {.uid = std::string(scaler_.uid())}});
  }

  const View& view_;
  const Object& scaler_;
  Instant now_;
  Value conditions_;
  std::int64_t desired_;
  Value last_scale_;
  Value current_metrics_{};  // as many as were asked for, each of no type
  Ref target_{};
  std::int64_t current_ = 0;
  std::int64_t present_ = 0;
  Closing closing_{api::kHorizontalPodAutoscaler, scaler_};
  Plan plan_{};
};

Plan reconcile_autoscaler(const View& view, const Key& key, Instant now) {
  const auto scaler = view.get(api::kHorizontalPodAutoscaler, key);
  return scaler && !scaler->deleting() ? AutoscalerRun(view, *scaler, now).run() : Plan::done();
}

}  // namespace

const Operator& autoscaler_operator() {
  static const Kind* const kReads[] = {&api::kHorizontalPodAutoscaler, &api::kDeployment,
                                       &api::kReplicaSet, &api::kStatefulSet,
                                       &api::kReplicationController};
  static const Kind* const kWrites[] = {
      &api::kHorizontalPodAutoscaler, &api::kDeployment, &api::kReplicaSet, &api::kStatefulSet,
      &api::kReplicationController,   &api::kEvent};
  static const Operator kOperator{
      .name = "horizontal-pod-autoscaler-controller",
      .primary = &api::kHorizontalPodAutoscaler,
      .reads = kReads,
      .writes = kWrites,
      .reconcile = reconcile_autoscaler,
      .user = "system:serviceaccount:kube-system:horizontal-pod-autoscaler"};
  return kOperator;
}

}  // namespace athanor::workloads
