// SPDX-License-Identifier: Apache-2.0
// Defaults and table of Deployments, ReplicaSets, StatefulSets, DaemonSets,
// ReplicationControllers and ControllerRevisions (docs/spec/apiserver.md 14).
#include <fmt/format.h>

#include <array>
#include <charconv>

#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/kind_table.hpp"
#include "embedded/kinds/pods/pod_spec.hpp"
#include "embedded/kinds/pods/pod_warnings.hpp"
#include "embedded/kinds/pods/volume_warnings.hpp"
#include "embedded/kinds/workloads/workload_cells.hpp"
#include "embedded/kinds/workloads/workload_validation.hpp"

namespace athanor::apiserver {
namespace {

// Counted by the DaemonSet controllers of old.
constexpr std::string_view kTemplateGeneration = "deprecated.daemonset.template.generation";

void default_deployment(Value& object, const KindContext& /*context*/) {
  edit_member(object, "spec", [](Value& spec) {
    default_to(spec, "replicas", 1);
    edit_member(spec, "strategy", [](Value& strategy) {
      default_to(strategy, "type", "RollingUpdate");
      if (strategy["type"].as_string() == "RollingUpdate") {
        edit_member(strategy, "rollingUpdate", [](Value& update) {
          default_to(update, "maxUnavailable", "25%");
          default_to(update, "maxSurge", "25%");
        });
      }
    });
    default_to(spec, "revisionHistoryLimit", 10);
    default_to(spec, "progressDeadlineSeconds", 600);
    edit_member(spec, "template", default_pod_template);
  });
}

void default_replica_set(Value& object, const KindContext& /*context*/) {
  edit_member(object, "spec", [](Value& spec) {
    default_to(spec, "replicas", 1);
    edit_member(spec, "template", default_pod_template);
  });
}

void default_replication_controller(Value& object, const KindContext& /*context*/) {
  const Value labels = object["spec"]["template"]["metadata"]["labels"];
  edit_member(object, "spec", [&](Value& spec) {
    default_to(spec, "replicas", 1);
    if (spec["selector"].empty() && !labels.empty()) {
      spec.set("selector", labels);
    }
    if (spec["template"].is_object()) {
      edit_member(spec, "template", default_pod_template);
    }
  });
  if (object["metadata"]["labels"].empty() && !labels.empty()) {
    object.member("metadata").set("labels", labels);
  }
}

void default_claim_template(Value& claim) {
  default_to(claim, "kind", "PersistentVolumeClaim");
  default_to(claim, "apiVersion", "v1");
  edit_member(claim, "spec", [](Value& spec) { default_to(spec, "volumeMode", "Filesystem"); });
  edit_member(claim, "status", [](Value& status) { default_to(status, "phase", "Pending"); });
}

void default_stateful_set(Value& object, const KindContext& /*context*/) {
  edit_member(object, "spec", [](Value& spec) {
    default_to(spec, "replicas", 1);
    default_to(spec, "podManagementPolicy", "OrderedReady");
    edit_member(spec, "updateStrategy", [](Value& strategy) {
      const bool unsaid = strategy["type"].as_string().empty();
      if (unsaid) {
        strategy.set("type", "RollingUpdate");
      }
      if (unsaid || (strategy["type"].as_string() == "RollingUpdate" &&
                     strategy["rollingUpdate"].is_object())) {
        edit_member(strategy, "rollingUpdate",
                    [](Value& update) { default_to(update, "partition", 0); });
      }
    });
    default_to(spec, "revisionHistoryLimit", 10);
    edit_member(spec, "persistentVolumeClaimRetentionPolicy", [](Value& policy) {
      default_to(policy, "whenDeleted", "Retain");
      default_to(policy, "whenScaled", "Retain");
    });
    edit_items(spec, "volumeClaimTemplates", default_claim_template);
    edit_member(spec, "template", default_pod_template);
  });
  edit_member(object, "status", [](Value& status) {
    default_to(status, "replicas", 0);
    default_to(status, "availableReplicas", 0);
  });
}

void default_daemon_set(Value& object, const KindContext& /*context*/) {
  edit_member(object, "spec", [](Value& spec) {
    edit_member(spec, "updateStrategy", [](Value& strategy) {
      default_to(strategy, "type", "RollingUpdate");
      if (strategy["type"].as_string() == "RollingUpdate") {
        edit_member(strategy, "rollingUpdate", [](Value& update) {
          default_to(update, "maxUnavailable", 1);
          default_to(update, "maxSurge", 0);
        });
      } else if (strategy["rollingUpdate"].is_object()) {
        // Of no use, but a number all the same.
        edit_member(strategy, "rollingUpdate", [](Value& update) {
          default_to(update, "maxUnavailable", 0);
          default_to(update, "maxSurge", 0);
        });
      }
    });
    default_to(spec, "revisionHistoryLimit", 10);
    edit_member(spec, "template", default_pod_template);
  });
  if (!object["metadata"]["annotations"].contains(kTemplateGeneration)) {
    object.member("metadata").member("annotations").set(kTemplateGeneration, "0");
  }
}

void set_template_generation(Value& object, std::int64_t generation) {
  object.member("metadata")
      .member("annotations")
      .set(kTemplateGeneration, std::to_string(generation));
}

void prepare_daemon_set(Value& object, const KindContext& /*context*/) {
  set_template_generation(object, 1);
}

// Counts the versions of the template. What the client wrote there does not count.
void finish_daemon_set_update(Value& object, const Value& old_object,
                              const KindContext& /*context*/) {
  const Value& kept = old_object["metadata"]["annotations"][kTemplateGeneration];
  if (object["spec"]["template"] != old_object["spec"]["template"]) {
    std::int64_t count = 0;
    const std::string_view text = kept.as_string();
    std::from_chars(text.data(), text.data() + text.size(), count);
    set_template_generation(object, count + 1);
  } else if (!kept.is_null() && object["metadata"]["annotations"][kTemplateGeneration] != kept) {
    object.member("metadata").member("annotations").set(kTemplateGeneration, kept);
  }
}

// A template is looked at whenever its owner changed.
void warn_of_template_of(const Value& owner, const Value& object, const Value& old_object,
                         const KindContext& context) {
  if (object["metadata"]["generation"] != old_object["metadata"]["generation"]) {
    warn_of_pod_spec(owner["spec"]["template"]["spec"], "spec.template.spec", *context.warnings);
  }
}

void warn_of_template(const Value& object, const Value& old_object, const KindContext& context) {
  warn_of_template_of(object, object, old_object, context);
}

// The reference looks at the template that is left behind.
void warn_of_replication_controller(const Value& object, const Value& old_object,
                                    const KindContext& context) {
  warn_of_template_of(old_object.is_null() ? object : old_object, object, old_object, context);
}

// Only a template that changes is looked at again.
void warn_of_daemon_set(const Value& object, const Value& old_object, const KindContext& context) {
  if (object["spec"]["template"] != old_object["spec"]["template"]) {
    warn_of_template(object, old_object, context);
  }
}

void warn_of_stateful_set(const Value& object, const Value& old_object,
                          const KindContext& context) {
  if (context.subresource == "status") {
    return;
  }
  warn_of_template(object, old_object, context);
  const Value& claims = object["spec"]["volumeClaimTemplates"];
  for (std::size_t i = 0; i < claims.size(); ++i) {
    // On updates the reference spells it so.
    const std::string path =
        at("spec.volumeClaimTemplates", i) + (old_object.is_null() ? "" : ".Spec");
    warn_of_claim(claims[i]["spec"], path, *context.warnings);
  }
  if (object["spec"]["revisionHistoryLimit"].as_int() < 0) {
    constexpr std::string_view kNegativeLimit =
        "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= "
        "0 is recommended";
    context.warnings->emplace_back(kNegativeLimit);
  }
}

constexpr std::array kWorkloadRows = {
    KindRow{.group = "apps",
            .plural = "deployments",
            .behaviour = {.apply_defaults = &default_deployment,
                          .validate_create = &validate_deployment,
                          .validate_update = &validate_deployment_update,
                          .warn = &warn_of_template,
                          .cells = &deployment_cells}},
    KindRow{.group = "apps",
            .plural = "replicasets",
            .behaviour = {.apply_defaults = &default_replica_set,
                          .validate_create = &validate_replica_set,
                          .validate_update = &validate_replica_set_update,
                          .warn = &warn_of_template,
                          .cells = &replica_set_cells}},
    KindRow{.group = "",
            .plural = "replicationcontrollers",
            .behaviour = {.apply_defaults = &default_replication_controller,
                          .validate_create = &validate_replication_controller,
                          .validate_update = &validate_replication_controller_update,
                          .warn = &warn_of_replication_controller,
                          .cells = &replication_controller_cells}},
    KindRow{.group = "apps",
            .plural = "statefulsets",
            .behaviour = {.apply_defaults = &default_stateful_set,
                          .validate_create = &validate_stateful_set,
                          .validate_update = &validate_stateful_set_update,
                          .warn = &warn_of_stateful_set,
                          .cells = &stateful_set_cells}},
    KindRow{.group = "apps",
            .plural = "daemonsets",
            .behaviour = {.apply_defaults = &default_daemon_set,
                          .prepare_create = &prepare_daemon_set,
                          .finish_update = &finish_daemon_set_update,
                          .validate_create = &validate_daemon_set,
                          .validate_update = &validate_daemon_set_update,
                          .warn = &warn_of_daemon_set,
                          .cells = &daemon_set_cells}},
    KindRow{.group = "apps",
            .plural = "controllerrevisions",
            .behaviour = {.validate_create = &validate_controller_revision,
                          .validate_update = &validate_controller_revision_update,
                          .cells = &controller_revision_cells}},
};

}  // namespace

std::span<const KindRow> workload_rows() {
  return kWorkloadRows;
}

}  // namespace athanor::apiserver
