// SPDX-License-Identifier: Apache-2.0
// Defaults and denials of the kueue.x-k8s.io kinds.
#include "embedded/kueue/rules/admission.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "api/kueue.hpp"
#include "base/time.hpp"
#include "embedded/kueue/cycle/snapshot.hpp"
#include "embedded/kueue/rules/field_rules.hpp"
#include "embedded/kueue/rules/workload_rules.hpp"
#include "kube/names/names.hpp"
#include "kube/text/json.hpp"
#include "kube/text/quantity.hpp"

namespace athanor::kueue {
namespace {

constexpr std::size_t kMostFlavors = 256;
constexpr std::size_t kMostResources = 256;
constexpr std::size_t kMostCombinations = 512;

// Whose quotas are checked.
struct QuotaOwner {
  bool in_cohort = false;
  bool is_cluster_queue = false;
};

// One flavor's quotas against the resources its group covers.
void check_flavor(Errors& errors, const std::string& path, const Value& flavor,
                  const Value& covered, const QuotaOwner& owner) {
  const Value& resources = flavor["resources"];
  for (std::size_t k = 0; k < resources.size(); ++k) {
    const std::string at = fmt::format("{}.resources[{}]", path, k);
    const Value& quota = resources[k];
    if (quota["name"] != covered[k]) {
      invalid(errors, at + ".name", json::print(quota["name"]),
              "must match the name in coveredResources");
    }
    check_not_negative(errors, at + ".nominalQuota", quota["nominalQuota"]);
    for (const char* limit : {"borrowingLimit", "lendingLimit"}) {
      if (quota[limit].is_null()) {
        continue;
      }
      check_not_negative(errors, fmt::format("{}.{}", at, limit), quota[limit]);
      if (!owner.in_cohort) {
        invalid(errors, fmt::format("{}.{}", at, limit), shown_quantity(quota[limit]),
                fmt::format("must be nil when {} is empty",
                            owner.is_cluster_queue ? "cohort" : "parent"));
      }
    }
    const auto lending = Quantity::parse(quota["lendingLimit"]);
    const auto nominal = Quantity::parse(quota["nominalQuota"]);
    if (owner.is_cluster_queue && lending && nominal && *lending > *nominal) {
      invalid(errors, at + ".lendingLimit", json::quote(lending->text()),
              "must be less than or equal to the nominalQuota");
    }
  }
}

void check_groups(Errors& errors, const Value& groups, const QuotaOwner& owner) {
  std::set<std::string> seen_resources;
  std::set<std::string> seen_flavors;
  std::size_t flavors_total = 0;
  std::size_t resources_total = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::string path = fmt::format("spec.resourceGroups[{}]", i);
    const Value& covered = groups[i]["coveredResources"];
    for (std::size_t j = 0; j < covered.size(); ++j) {
      const std::string at = fmt::format("{}.coveredResources[{}]", path, j);
      if (const auto wrong = validate_label_key(covered[j].str())) {
        invalid(errors, at, json::print(covered[j]), *wrong);
      }
      if (!seen_resources.insert(covered[j].str()).second) {
        errors.push_back(fmt::format("{}: Duplicate value: {}", at, json::print(covered[j])));
      }
    }
    const Value& flavors = groups[i]["flavors"];
    for (std::size_t j = 0; j < flavors.size(); ++j) {
      const std::string at = fmt::format("{}.flavors[{}]", path, j);
      if (!seen_flavors.insert(flavors[j]["name"].str()).second) {
        errors.push_back(
            fmt::format("{}.name: Duplicate value: {}", at, json::print(flavors[j]["name"])));
      }
      check_flavor(errors, at, flavors[j], covered, owner);
    }
    flavors_total += flavors.size();
    resources_total += covered.size();
    if (flavors.size() * covered.size() > kMostCombinations) {
      invalid(errors, path, "\"object\"",
              fmt::format(
                  "number of flavor-resource combinations in a resourceGroup must be ≤ {}, got {}",
                  kMostCombinations, flavors.size() * covered.size()));
    }
  }
  if (flavors_total > kMostFlavors) {
    invalid(errors, "spec.resourceGroups", "\"object\"",
            fmt::format("total number of flavors across all resourceGroups must be ≤ {}, got {}",
                        kMostFlavors, flavors_total));
  }
  if (resources_total > kMostResources) {
    invalid(errors, "spec.resourceGroups", "\"object\"",
            fmt::format(
                "total number of covered resources across all resourceGroups must be ≤ {}, got {}",
                kMostResources, resources_total));
  }
}

void check_admission_checks(Errors& errors, const Value& spec) {
  std::string known;
  std::set<std::string> flavors;
  for (const Value& group : spec["resourceGroups"].items()) {
    for (const Value& flavor : group["flavors"].items()) {
      if (flavors.insert(flavor["name"].str()).second) {
        known += (known.empty() ? "" : ", ") + json::print(flavor["name"]);
      }
    }
  }
  const Value& checks = spec.at({"admissionChecksStrategy", "admissionChecks"});
  for (std::size_t i = 0; i < checks.size(); ++i) {
    for (std::size_t j = 0; j < checks[i]["onFlavors"].size(); ++j) {
      const Value& flavor = checks[i]["onFlavors"][j];
      if (!flavors.contains(flavor.str())) {
        errors.push_back(
            fmt::format("spec.admissionChecksStrategy.admissionChecks[{}].onFlavors[{}]: "
                        "Unsupported value: {}: supported values: {}",
                        i, j, json::print(flavor), known));
      }
    }
  }
}

Errors check_flavor_object(const Value& object) {
  Errors errors;
  check_labels(errors, "spec.nodeLabels", object["spec"]["nodeLabels"]);
  std::set<std::pair<std::string, std::string>> seen;
  const Value& taints = object["spec"]["nodeTaints"];
  for (std::size_t i = 0; i < taints.size(); ++i) {
    const std::string at = fmt::format("spec.nodeTaints[{}]", i);
    if (const auto wrong = validate_label_key(taints[i]["key"].as_string())) {
      invalid(errors, at + ".key", json::print(taints[i]["key"]), *wrong);
    }
    if (const auto wrong = validate_label_value(taints[i]["value"].as_string())) {
      invalid(errors, at + ".value", json::print(taints[i]["value"]), *wrong);
    }
    if (!seen.emplace(taints[i]["key"].str(), taints[i]["effect"].str()).second) {
      errors.push_back(fmt::format(
          "spec.nodeTaints[{}]: Duplicate value: {}: taints must be unique by key and effect pair",
          i, json::print(taints[i])));
    }
  }
  check_tolerations(errors, "spec.tolerations", object["spec"]["tolerations"]);
  return errors;
}

struct KindWebhook {
  const char* name = "";
  Errors (*check)(const Value& object, const Value* old) = nullptr;
};

std::string annotation_path(std::string_view name) {
  return fmt::format("metadata.annotations[{}]", name);
}

// The annotation of a ClusterQueue (docs/spec/kueue.md 17).
void check_strict_fifo(Errors& errors, const Value& object) {
  const Value& strict = object["metadata"]["annotations"][kStrictFifo];
  if (strict.is_null()) {
    return;
  }
  const std::string path = annotation_path(kStrictFifo);
  if (strict.as_string() != kPerFlavor) {
    unsupported(errors, path, json::print(strict), {std::string(kPerFlavor)});
  } else if (object["spec"]["queueingStrategy"].as_string() != "StrictFIFO") {
    invalid(errors, path, json::print(strict), "needs spec.queueingStrategy StrictFIFO");
  }
}

// The annotation of a LocalQueue (17).
void check_max_wait(Errors& errors, const Value& object) {
  const Value& wait = object["metadata"]["annotations"][kMaxWait];
  if (wait.is_null()) {
    return;
  }
  const auto duration = parse_go_duration(wait.as_string());
  if (!duration.ok() || *duration <= Duration::zero()) {
    invalid(errors, annotation_path(kMaxWait), json::print(wait),
            "must be a duration above 0, as 30m");
  }
}

Errors check_cluster_queue(const Value& object, const Value* /*old*/) {
  Errors errors;
  const Value& spec = object["spec"];
  check_groups(errors, spec["resourceGroups"],
               {.in_cohort = !spec["cohortName"].as_string().empty(), .is_cluster_queue = true});
  check_selector(errors, "spec.namespaceSelector", spec["namespaceSelector"]);
  check_admission_checks(errors, spec);
  check_strict_fifo(errors, object);
  check_weight(errors, "spec.fairSharing.weight", spec["fairSharing"]["weight"]);
  const Value& fungibility = spec["flavorFungibility"];
  if (const Value& wanted = fungibility["preference"];
      !wanted.is_null() && (fungibility["whenCanBorrow"].as_string() != "TryNextFlavor" ||
                            fungibility["whenCanPreempt"].as_string() != "TryNextFlavor")) {
    invalid(errors, "spec.flavorFungibility.preference", json::print(wanted),
            fmt::format("preference {} requires both whenCanBorrow and whenCanPreempt to be "
                        "TryNextFlavor",
                        json::print(wanted)));
  }
  return errors;
}

Errors check_local_queue(const Value& object, const Value* /*old*/) {
  Errors errors;
  check_max_wait(errors, object);
  return errors;
}

Errors check_cohort(const Value& object, const Value* /*old*/) {
  Errors errors;
  const Value& spec = object["spec"];
  check_groups(errors, spec["resourceGroups"],
               {.in_cohort = !spec["parentName"].as_string().empty()});
  check_weight(errors, "spec.fairSharing.weight", spec["fairSharing"]["weight"]);
  return errors;
}

Errors check_resource_flavor(const Value& object, const Value* /*old*/) {
  return check_flavor_object(object);
}

void add_finalizer(Value& object) {
  const Value& before = object["metadata"]["finalizers"];
  if (!object["metadata"].is_object() || !(before.is_null() || before.is_list())) {
    return;  // of another type: refused by its schema
  }
  Value& finalizers = object.member("metadata").member("finalizers");
  const Value in_use(api::kueue::kInUseFinalizer);
  if (std::ranges::find(finalizers.items(), in_use) == finalizers.items().end()) {
    finalizers.push_back(in_use);
  }
}

}  // namespace

void apply_defaults(Value& object) {
  const std::string_view kind = object["kind"].as_string();
  if (kind == "ClusterQueue" || kind == "ResourceFlavor") {
    add_finalizer(object);
  }
}

void without_min_counts(Value& object) {
  const Value& spec = object["spec"];
  if (!spec.is_object() || !spec["podSets"].is_list()) {
    return;  // refused by its schema
  }
  Value pod_sets = Value::list();
  for (Value pod_set : spec["podSets"].items()) {
    if (pod_set.is_object()) {
      pod_set.erase("minCount");
    }
    pod_sets.push_back(std::move(pod_set));
  }
  object.member("spec").set("podSets", std::move(pod_sets));
}

Result<void> validate(const Value& object, const Value* old) {
  static const std::map<std::string_view, KindWebhook> kWebhooks{
      {"ClusterQueue", {"vclusterqueue.kb.io", check_cluster_queue}},
      {"ResourceFlavor", {"vresourceflavor.kb.io", check_resource_flavor}},
      {"Workload", {"vworkload.kb.io", check_workload}},
      {"LocalQueue", {"vlocalqueue.kb.io", check_local_queue}},
      {"Cohort", {"vcohort.kb.io", check_cohort}}};
  const auto webhook = kWebhooks.find(object["kind"].as_string());
  if (webhook == kWebhooks.end()) {
    return {};
  }
  const Errors errors = webhook->second.check(object, old);
  if (errors.empty()) {
    return {};
  }
  std::string joined;
  for (const std::string& error : errors) {
    joined += (joined.empty() ? "" : ", ") + error;
  }
  return Error{.code = 403,
               .reason = "Forbidden",
               .message = fmt::format("admission webhook \"{}\" denied the request: {}",
                                      webhook->second.name,
                                      errors.size() == 1 ? joined : "[" + joined + "]")};
}

}  // namespace athanor::kueue
