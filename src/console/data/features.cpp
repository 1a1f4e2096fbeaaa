// SPDX-License-Identifier: Apache-2.0
#include "console/data/features.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "api/kueue_configuration.hpp"
#include "api/tekton.hpp"
#include "console/data/row_texts.hpp"
#include "systems/appwrapper/model/kinds.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "systems/numa/model/kinds.hpp"

namespace athanor::console {
namespace {

struct Feature {
  std::string_view name{};
  const Kind* kind = nullptr;
};
constexpr Kind kTokenReview{"authentication.k8s.io", "v1", "TokenReview", "tokenreviews", false};
constexpr Kind kAccessReview{"authorization.k8s.io", "v1", "SubjectAccessReview",
                             "subjectaccessreviews", false};
// Names of the API server for who a viewer is; all of the whole cluster.
constexpr Kind kUser{"", "v1", "User", "users", false};
constexpr Kind kGroup{"", "v1", "Group", "groups", false};
constexpr Kind kAccount{"", "v1", "ServiceAccount", "serviceaccounts", false};
constexpr Access kAsks[] = {{.kind = &kTokenReview, .verbs = "create"},
                            {.kind = &kAccessReview, .verbs = "create"},
                            {.kind = &kUser, .verbs = "impersonate"},
                            {.kind = &kGroup, .verbs = "impersonate"},
                            {.kind = &kAccount, .verbs = "impersonate"}};
constexpr Access kReadsLogs[] = {{.kind = &api::kPod, .verbs = "get", .subresource = "log"}};

constexpr Feature kFeatures[] = {{"jobs", &api::kFournosJob},
                                 {"queue", &api::kueue::kClusterQueue},
                                 {"clusters", &api::kFournosCluster},
                                 {"appwrappers", &appwrapper::kAppWrapper},
                                 {"mig", &das::kNodeAccelerator},
                                 {"numa", &numa::kTopologyKind},
                                 {"schedules", &api::kCronJob},
                                 {"pipelines", &api::kPipelineRun},
                                 {"nodes", &api::kNode}};

// Rights to Kueue's ConfigMap alone. Not a Role: its namespace need not exist.
Value configuration_role() {
  return Value::object(
      {{"kind", "ClusterRole"},
       {"rules", Value::list({Value::object(
                     {{"apiGroups", Value::list({""})},
                      {"resources", Value::list({kQueueConfiguration.plural})},
                      {"resourceNames", Value::list({api::kueue::kConfigurationName})},
                      {"verbs", Value::list({"list", "watch"})}})})}});
}

std::string full_name(const Kind& kind) {
  return kind.group.empty() ? std::string(kind.plural)
                            : fmt::format("{}.{}", kind.plural, kind.group);
}

std::string absence_of(const Facts& facts, const Kind& kind) {
  constexpr int kAbsent = 404;
  constexpr int kForbidden = 403;
  const KindObjects* state = facts.state(kind);
  if (state == nullptr || !state->error) {
    return {};
  }
  if (state->error->code == kAbsent) {
    return fmt::format("this cluster has no {}", full_name(kind));
  }
  if (state->error->code == kForbidden) {
    return fmt::format("the console may not list {}", full_name(kind));
  }
  return state->error->message;
}

}  // namespace

std::vector<FollowedKind> followed_kinds(const Settings& settings) {
  const std::string jobs = settings.only_namespace();
  return {{.kind = &api::kFournosJob, .ns = jobs, .always = true},
          {.kind = &api::kPipelineRun, .ns = jobs},
          {.kind = &api::kTaskRun, .ns = jobs},
          {.kind = &api::kCronJob, .ns = jobs},
          {.kind = &api::kueue::kWorkload, .always = true},
          {.kind = &api::kueue::kLocalQueue},
          {.kind = &api::kueue::kClusterQueue},
          {.kind = &api::kueue::kResourceFlavor},
          {.kind = &api::kueue::kCohort},
          {.kind = &api::kueue::kAdmissionCheck},
          {.kind = &api::kueue::kWorkloadPriorityClass},
          {.kind = &kQueueConfiguration,
           .ns = std::string(api::kueue::kConfigurationNamespace),
           .field_selector = fmt::format("metadata.name={}", api::kueue::kConfigurationName)},
          {.kind = &api::kFournosCluster, .always = true},
          {.kind = &api::kNode},
          {.kind = &api::kNamespace},
          {.kind = &api::kPod, .always = settings.log_archive_bytes > 0},
          {.kind = &das::kNodeAccelerator},
          {.kind = &das::kAllocationClaim, .always = true},
          {.kind = &numa::kTopologyKind, .keep_managers = true},
          {.kind = &appwrapper::kAppWrapper, .always = true}};
}

std::vector<runtime::RbacPart> console_rights(const Settings& settings) {
  static const std::vector<const Kind*> kKinds = [] {
    std::vector<const Kind*> kinds;
    for (const FollowedKind& one : followed_kinds({})) {
      if (one.kind != &kQueueConfiguration) {
        kinds.push_back(one.kind);
      }
    }
    return kinds;
  }();
  static const Operator kWatching{.name = "console", .reads = kKinds, .access = kAsks};
  static const Operator kKeepingLogs{.name = "console-logs", .access = kReadsLogs};
  Places places;
  for (const FollowedKind& one : followed_kinds(settings)) {
    if (!one.ns.empty() && one.kind != &kQueueConfiguration) {
      places[one.kind] = {.watched = {one.ns}};
    }
  }
  std::vector<runtime::RbacPart> parts{{.operators = {&kWatching},
                                        .places = std::move(places),
                                        .granted_roles = {configuration_role()}}};
  if (settings.log_archive_bytes > 0) {
    const std::string jobs = settings.only_namespace();
    parts.push_back(
        {.operators = {&kKeepingLogs},
         .places = jobs.empty() ? Places() : Places{{&api::kPod, {.watched = {jobs}}}}});
  }
  return parts;
}

const Kind* find_shown_kind(std::string_view api_version, std::string_view name) {
  static const Kind* const kKinds[] = {&api::kFournosJob,
                                       &api::kFournosCluster,
                                       &api::kPipelineRun,
                                       &api::kTaskRun,
                                       &api::kCronJob,
                                       &api::kueue::kWorkload,
                                       &api::kueue::kLocalQueue,
                                       &api::kueue::kClusterQueue,
                                       &api::kueue::kResourceFlavor,
                                       &api::kueue::kCohort,
                                       &api::kNode,
                                       &api::kPod,
                                       &api::kSecret,
                                       &api::kConfigMap,
                                       &api::kService,
                                       &api::kJob,
                                       &api::kDeployment,
                                       &api::kStatefulSet,
                                       &api::kReplicaSet,
                                       &api::kPersistentVolumeClaim,
                                       &das::kNodeAccelerator,
                                       &das::kAllocationClaim,
                                       &numa::kTopologyKind,
                                       &appwrapper::kAppWrapper};
  const auto found = std::ranges::find_if(kKinds, [&](const Kind* kind) {
    return kind->name == name && (api_version.empty() || kind->api_version() == api_version);
  });
  return found == std::end(kKinds) ? nullptr : *found;
}

Value feature_list(const Facts& facts, bool history) {
  Value list = Value::list();
  for (const Feature& feature : kFeatures) {
    const std::string reason = absence_of(facts, *feature.kind);
    Value one = Value::object({{"name", feature.name}, {"present", reason.empty()}});
    set_text(one, "reason", reason);
    list.push_back(std::move(one));
  }
  Value kept = Value::object({{"name", "history"}, {"present", history}});
  if (!history) {
    kept.set("reason", "the history cannot be read now");
  }
  list.push_back(std::move(kept));
  return list;
}

}  // namespace athanor::console
