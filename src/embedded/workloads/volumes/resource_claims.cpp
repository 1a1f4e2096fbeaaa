// SPDX-License-Identifier: Apache-2.0
#include "embedded/workloads/volumes/resource_claims.hpp"

#include <fmt/core.h>

#include "api/builtin.hpp"
#include "embedded/workloads/controlled_pods.hpp"
#include "runtime/view/failures.hpp"

namespace athanor::workloads {
namespace {

constexpr const char* kPodClaim = "resource.kubernetes.io/pod-claim-name";
// Of a claim that the scheduler made for a pod's extended resources.
constexpr const char* kExtended = "resource.kubernetes.io/extended-resource-claim";
// Keeps an allocated claim until its devices are free.
constexpr const char* kResourceClaimProtection = "resource.kubernetes.io/delete-protection";

// The claim that the pod's status names for one of its entries; empty: none yet.
std::string known_claim(const Object& pod, std::string_view entry) {
  for (const Value& status : pod.status()["resourceClaimStatuses"].items()) {
    if (status["name"].as_string() == entry) {
      return status["resourceClaimName"].str();
    }
  }
  return {};
}

Value resource_claim_of(const Object& pod, std::string_view entry, const std::string& name,
                        const Object& claim_template) {
  const Value& wanted = claim_template.spec();
  Value annotations = wanted["metadata"]["annotations"];
  if (annotations.is_null()) {
    annotations = Value::object();
  }
  annotations.set(kPodClaim, Value(entry));
  Value metadata =
      Value::object({{"name", name},
                     {"namespace", pod.ns()},
                     {"generateName", fmt::format("{}-{}-", pod.name(), entry)},
                     {"annotations", std::move(annotations)},
                     {"ownerReferences", Value::list({controller_reference(pod, api::kPod)})}});
  if (const Value& labels = wanted["metadata"]["labels"]; !labels.is_null()) {
    metadata.set("labels", labels);
  }
  return Value::object({{"apiVersion", "resource.k8s.io/v1"},
                        {"kind", "ResourceClaim"},
                        {"metadata", std::move(metadata)},
                        {"spec", wanted["spec"]}});
}

class PodRun {
 public:
  PodRun(const View& view, const Object& pod) : view_(view), pod_(pod) {}

  Plan run() {
    Value statuses = Value::list();
    for (const Value& entry : pod_.spec()["resourceClaims"].items()) {
      if (entry["resourceClaimTemplateName"].as_string().empty()) {
        continue;  // it names a claim itself
      }
      const std::string name = ensure(entry);
      if (!name.empty()) {
        statuses.push_back(Value::object({{"name", entry["name"]}, {"resourceClaimName", name}}));
      }
    }
    if (!statuses.empty() && statuses != pod_.status()["resourceClaimStatuses"]) {
      plan_.then(Status{.target = {&api::kPod, pod_.key()},
                        .status = Value::object({{"resourceClaimStatuses", std::move(statuses)}}),
                        .guard = {.uid = std::string(pod_.uid())}});
    }
    return std::move(plan_);
  }

 private:
  // The name of the claim, made when it is missing; empty: it cannot be made.
  std::string ensure(const Value& entry) {
    const std::string label = entry["name"].str();
    std::string name = known_claim(pod_, label);
    if (name.empty()) {
      name = hashed_name(fmt::format("{}-{}-", pod_.name(), label),
                         fmt::format("{}/{}", pod_.uid(), label));
    }
    const Ref target{&api::kResourceClaim, {std::string(pod_.ns()), name}};
    if (const auto present = view_.get(api::kResourceClaim, target.key)) {
      return present->owned_by(pod_.uid()) ? name : std::string();
    }
    const std::string from = entry["resourceClaimTemplateName"].str();
    const auto claim_template = view_.get(api::kResourceClaimTemplate, {target.key.ns, from});
    if (!claim_template) {
      fail(
          fmt::format("PodResourceClaim {}: resourceclaimtemplate.resource.k8s.io \"{}\" not found",
                      label, from));
      return {};
    }
    Step step =
        Create{.target = target, .object = resource_claim_of(pod_, label, name, *claim_template)};
    if (const auto error = refused(view_, step)) {
      fail(fmt::format("PodResourceClaim {}: failed to create ResourceClaim: {}", label,
                       error->message));
      plan_.then(std::move(step));  // again after a while
      return {};
    }
    plan_.then(std::move(step));
    return name;
  }

  void fail(std::string note) {
    plan_.then(Emit{.about = {&api::kPod, pod_.key()},
                    .about_uid = std::string(pod_.uid()),
                    .type = "Warning",
                    .reason = "FailedResourceClaimCreation",
                    .note = std::move(note)});
  }

  const View& view_;
  const Object& pod_;
  Plan plan_{};
};

Plan reconcile_pod(const View& view, const Key& key, Instant /*now*/) {
  const auto pod = view.get(api::kPod, key);
  if (!pod || pod->deleting() || is_over(*pod)) {
    return Plan::done();
  }
  return PodRun(view, *pod).run();
}

// Whether a consumer still needs the claim. Others than pods look after themselves.
bool consumes(const View& view, const Key& claim, const Value& consumer) {
  if (!consumer["apiGroup"].as_string().empty() || consumer["resource"].as_string() != "pods") {
    return true;
  }
  const auto pod = view.get(api::kPod, {claim.ns, consumer["name"].str()});
  return pod && pod->uid() == consumer["uid"].as_string() && !is_over(*pod);
}

void unprotect(Plan& plan, const Object& claim) {
  Value finalizers = Value::list();
  for (const Value& one : claim.metadata()["finalizers"].items()) {
    if (one.as_string() != kResourceClaimProtection) {
      finalizers.push_back(one);
    }
  }
  plan.then(Patch{.target = {&api::kResourceClaim, claim.key()},
                  .merge = Value::object(
                      {{"metadata", Value::object({{"finalizers",
                                                    finalizers.empty() ? Value() : finalizers}})}}),
                  .guard = {.uid = std::string(claim.uid()),
                            .resource_version = std::string(claim.resource_version())}});
}

Plan reconcile_claim(const View& view, const Key& key, Instant /*now*/) {
  Plan plan;
  const auto claim = view.get(api::kResourceClaim, key);
  if (!claim) {
    return plan;
  }
  Value left = Value::list();
  const Value& reserved = claim->status()["reservedFor"];
  for (const Value& consumer : reserved.items()) {
    if (consumes(view, key, consumer)) {
      left.push_back(consumer);
    }
  }
  const bool allocated = !claim->status()["allocation"].is_null();
  const bool unused = left.empty();
  if (left.size() < reserved.size() || (claim->deleting() && allocated && unused)) {
    Value status = Value::object({{"reservedFor", unused ? Value() : std::move(left)}});
    if (unused) {
      status.set("allocation", Value());  // the devices are free for others
    }
    plan.then(Status{.target = {&api::kResourceClaim, key},
                     .status = std::move(status),
                     .guard = {.uid = std::string(claim->uid()),
                               .resource_version = std::string(claim->resource_version())}});
  }
  if (!allocated && claim->has_finalizer(kResourceClaimProtection)) {
    unprotect(plan, *claim);
  }
  const auto owner = claim->controller();
  const bool made = !claim->annotation(kPodClaim).empty() || !claim->annotation(kExtended).empty();
  if (claim->deleting() || !owner || owner->kind != "Pod" || !made) {
    return plan;
  }
  const auto pod = view.get(api::kPod, {key.ns, owner->name});
  if (pod && pod->uid() == owner->uid && is_over(*pod)) {
    plan.then(
        Delete{.target = {&api::kResourceClaim, key}, .guard = {.uid = std::string(claim->uid())}});
  }
  return plan;
}

constexpr const char* kUser = "system:serviceaccount:kube-system:resource-claim-controller";

}  // namespace

const Operator& pod_resource_claim_operator() {
  static const Kind* const kReads[] = {&api::kPod, &api::kResourceClaim,
                                       &api::kResourceClaimTemplate};
  static const Kind* const kWrites[] = {&api::kPod, &api::kResourceClaim, &api::kEvent};
  static const Operator kOperator{.name = "resourceclaim-controller",
                                  .primary = &api::kPod,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_pod,
                                  .user = kUser};
  return kOperator;
}

const Operator& resource_claim_operator() {
  static const Kind* const kReads[] = {&api::kPod, &api::kResourceClaim};
  static const Kind* const kWrites[] = {&api::kResourceClaim};
  static const Operator kOperator{.name = "resourceclaim-release-controller",
                                  .primary = &api::kResourceClaim,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile_claim,
                                  .user = kUser};
  return kOperator;
}

}  // namespace athanor::workloads
