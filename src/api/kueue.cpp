// SPDX-License-Identifier: Apache-2.0
// The Kueue kinds as served: names, versions, columns; the v1beta1 schemas; the kinds that are
// stored alone.
#include "api/kueue.hpp"

#include <algorithm>
#include <vector>

#include "api/describe_ops.hpp"
#include "api/kueue_schemas.hpp"
#include "api/kueue_stored.hpp"

namespace athanor::api {

using namespace kueue;

namespace {

using Fields = std::vector<FieldInfo>;
using TypeFunction = const TypeInfo& (*)();

// The fields of a v1beta2 type without those that v1beta1 names otherwise, and then v1beta1's own.
Fields older(const TypeInfo& type, std::initializer_list<std::string_view> without, Fields own) {
  Fields fields;
  for (const FieldInfo& field : type.fields) {
    if (std::find(without.begin(), without.end(), field.name) == without.end()) {
      fields.push_back(field);
    }
  }
  fields.insert(fields.end(), own.begin(), own.end());
  return fields;
}

FieldInfo object_field(std::string_view name, std::string_view doc, const MemberOps& ops,
                       const Rules& rules = {}) {
  return {.name = name, .doc = doc, .ops = &ops, .rules = rules};
}

const TypeInfo& fungibility_v1beta1() {
  static const FieldInfo kFields[] = {
      schema_field<std::string>(
          "whenCanBorrow", "What to do when the workload fits by borrowing.",
          {.default_json = R"("Borrow")", .enum_values = "MayStopSearch|TryNextFlavor|Borrow"}),
      schema_field<std::string>("whenCanPreempt",
                                "What to do when the workload fits by preempting.",
                                {.default_json = R"("TryNextFlavor")",
                                 .enum_values = "MayStopSearch|TryNextFlavor|Preempt"}),
      schema_field<std::string>("preference",
                                "Which of the two to prefer when both are TryNextFlavor.",
                                {.enum_values = "BorrowingOverPreemption|PreemptionOverBorrowing"}),
  };
  static const TypeInfo kType{.name = "FlavorFungibility", .fields = kFields};
  return kType;
}

const TypeInfo& cluster_queue_spec_v1beta1() {
  static const MemberOps kFungibility{.shape = Shape::Object, .type = fungibility_v1beta1};
  static const Fields kFields =
      older(Describe<ClusterQueueSpec>::type(), {"cohortName", "flavorFungibility"},
            {schema_field<std::string>("cohort", "Cohort to borrow from and lend to.",
                                       {.max_length = 253}),
             object_field("flavorFungibility", "When to look at the next flavor.", kFungibility,
                          {.default_json = "{}"}),
             schema_field<std::vector<std::string>>(
                 "admissionChecks", "Checks beside quota, for all flavors.", {.max_items = 64})});
  static const TypeInfo kType{
      .name = "ClusterQueueSpec", .fields = kFields, .validations_json = R"json([
        {"rule": "has(self.cohort) || !has(self.resourceGroups) || self.resourceGroups.all(g, g.flavors.all(f, f.resources.all(r, !has(r.borrowingLimit))))",
         "message": "borrowingLimit must be nil when cohort is empty"},
        {"rule": "!has(self.admissionChecks) || size(self.admissionChecks) == 0 || !has(self.admissionChecksStrategy)",
         "message": "Either AdmissionChecks or AdmissionCheckStrategy can be set, but not both"}])json"};
  return kType;
}

const TypeInfo& cluster_queue_status_v1beta1() {
  static const Fields kFields =
      older(Describe<ClusterQueueStatus>::type(), {},
            {schema_field<Value>("pendingWorkloadsStatus", "Accepted and dropped.",
                                 {.preserve_unknown = true})});
  static const TypeInfo kType{.name = "ClusterQueueStatus", .fields = kFields};
  return kType;
}

const TypeInfo& local_queue_status_v1beta1() {
  static const FieldInfo kUsage = field<&LocalQueueStatus::flavors_usage>(
      "flavorUsage", "Quota used through this queue.",
      {.max_items = 256, .list_type = "map", .list_keys = "name"});
  static const Fields kFields =
      older(Describe<LocalQueueStatus>::type(), {"flavorsUsage"},
            {kUsage, schema_field<Value>("flavors", "Accepted and dropped.", {.schema_json = R"({
          "type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}})"})});
  static const TypeInfo kType{.name = "LocalQueueStatus", .fields = kFields};
  return kType;
}

const TypeInfo& workload_spec_v1beta1() {
  static const Fields kFields =
      older(Describe<WorkloadSpec>::type(), {"priorityClassRef"},
            {schema_field<std::string>("priorityClassName", "Class the priority was taken from.",
                                       {.max_length = 253}),
             schema_field<std::string>(
                 "priorityClassSource", "Which kind of class that is.",
                 {.default_json = R"("")",
                  .enum_values =
                      "kueue.x-k8s.io/workloadpriorityclass|scheduling.k8s.io/priorityclass|"})});
  static const TypeInfo kType{
      .name = "WorkloadSpec",
      .fields = kFields,
      .validations_json = R"json([{"rule": "!has(self.priorityClassName) || has(self.priority)",
                               "message": "priority should not be nil when priorityClassName is set"}])json"};
  return kType;
}

const TypeInfo& workload_status_v1beta1() {
  static const Fields kFields =
      older(Describe<WorkloadStatus>::type(), {"accumulatedPastExecutionTimeSeconds"},
            {schema_field<std::int32_t>("accumulatedPastExexcutionTimeSeconds",
                                        "Time admitted in earlier rounds.", {.minimum = 0})});
  static const TypeInfo kType{.name = "WorkloadStatus", .fields = kFields};
  return kType;
}

constexpr std::string_view no_rules() {
  return {};
}

template <TypeFunction SpecType, TypeFunction StatusType,
          std::string_view (*RootRules)() = no_rules>
const TypeInfo& root_v1beta1() {
  static const MemberOps kSpec{.shape = Shape::Object, .type = SpecType};
  static const MemberOps kStatus{.shape = Shape::Object, .type = StatusType};
  static const FieldInfo kFields[] = {object_field("spec", "What is asked for.", kSpec),
                                      object_field("status", "What is.", kStatus)};
  static const TypeInfo kType{.name = "Root", .fields = kFields, .validations_json = RootRules()};
  return kType;
}

constexpr PrinterColumn kAge{
    .name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"};
constexpr PrinterColumn kWorkloadColumns[] = {
    {.name = "Queue", .type = "string", .json_path = ".spec.queueName", .doc = "Queue it waits in"},
    {.name = "Reserved in",
     .type = "string",
     .json_path = ".status.admission.clusterQueue",
     .doc = "ClusterQueue that gives the quota"},
    {.name = "Admitted",
     .type = "string",
     .json_path = R"(.status.conditions[?(@.type=='Admitted')].status)"},
    {.name = "Finished",
     .type = "string",
     .json_path = R"(.status.conditions[?(@.type=='Finished')].status)"},
    kAge,
};
constexpr PrinterColumn kPending{
    .name = "Pending Workloads", .type = "integer", .json_path = ".status.pendingWorkloads"};
constexpr PrinterColumn kAdmitted{.name = "Admitted Workloads",
                                  .type = "integer",
                                  .json_path = ".status.admittedWorkloads",
                                  .priority = 1};
constexpr PrinterColumn kStrategy{
    .name = "Strategy", .type = "string", .json_path = ".spec.queueingStrategy", .priority = 1};
constexpr PrinterColumn kClusterQueueColumns[] = {
    {.name = "Cohort", .type = "string", .json_path = ".spec.cohortName"},
    kStrategy,
    kPending,
    kAdmitted};
constexpr PrinterColumn kClusterQueueColumnsV1beta1[] = {
    {.name = "Cohort", .type = "string", .json_path = ".spec.cohort"},
    kStrategy,
    kPending,
    kAdmitted};
constexpr PrinterColumn kLocalQueueColumns[] = {
    {.name = "ClusterQueue", .type = "string", .json_path = ".spec.clusterQueue"},
    kPending,
    kAdmitted};
constexpr PrinterColumn kClassColumns[] = {
    {.name = "Value", .type = "integer", .json_path = ".value"}};
constexpr PrinterColumn kMultiKueueClusterColumns[] = {
    {.name = "Connected",
     .type = "string",
     .json_path = R"(.status.conditions[?(@.type=='Active')].status)"},
    kAge};
constexpr std::string_view kWorkloadFields[] = {".status.admission.clusterQueue"};

// Both versions of a kind; `before` and `after` differ in their root alone.
struct Versions {
  VersionInfo list[2];
};
constexpr Versions both(VersionInfo after, TypeFunction before,
                        std::span<const PrinterColumn> columns_before) {
  after.name = "v1beta2";
  VersionInfo older = after;
  older.name = "v1beta1";
  older.storage = false;
  older.deprecation_warning = kDeprecationWarning;
  older.type = before;
  older.columns = columns_before;
  // The same in both versions, Kubernetes refuses them beside schemas that differ.
  older.selectable_fields = {};
  return {.list = {older, after}};
}
constexpr Versions both(const VersionInfo& after) {
  return both(after, after.type, after.columns);
}

constexpr Versions kFlavorVersions =
    both({.type = &Describe<ResourceFlavor>::type, .status_subresource = false});
constexpr Versions kClusterQueueVersions =
    both({.type = &Describe<ClusterQueue>::type, .columns = kClusterQueueColumns},
         &root_v1beta1<cluster_queue_spec_v1beta1, cluster_queue_status_v1beta1>,
         kClusterQueueColumnsV1beta1);
constexpr Versions kLocalQueueVersions = both(
    {.type = &Describe<LocalQueue>::type, .columns = kLocalQueueColumns},
    &root_v1beta1<&Describe<LocalQueueSpec>::type, local_queue_status_v1beta1>, kLocalQueueColumns);
constexpr Versions kWorkloadVersions =
    both({.type = &Describe<Workload>::type,
          .columns = kWorkloadColumns,
          .selectable_fields = kWorkloadFields},
         &root_v1beta1<workload_spec_v1beta1, workload_status_v1beta1, workload_rules_v1beta1>,
         kWorkloadColumns);
constexpr Versions kClassVersions = both({.type = &Describe<WorkloadPriorityClass>::type,
                                          .status_subresource = false,
                                          .columns = kClassColumns});
constexpr Versions kCohortVersions = both({.type = &Describe<Cohort>::type});
constexpr Versions kCheckVersions = both({.type = &Describe<AdmissionCheck>::type});
constexpr Versions kTopologyVersions = both({.type = &topology_type, .status_subresource = false});
constexpr Versions kMultiKueueConfigVersions =
    both({.type = &multi_kueue_config_type, .status_subresource = false});
constexpr Versions kMultiKueueClusterVersions =
    both({.type = &multi_kueue_cluster_type, .columns = kMultiKueueClusterColumns},
         &multi_kueue_cluster_type_v1beta1, kMultiKueueClusterColumns);
constexpr Versions kProvisioningVersions =
    both({.type = &provisioning_request_config_type, .status_subresource = false});

constexpr std::string_view kWorkloadShort[] = {"kwl", "kueueworkload", "kueueworkloads"};
constexpr std::string_view kClusterQueueShort[] = {"cq"};
constexpr std::string_view kLocalQueueShort[] = {"queue", "queues", "lq"};
constexpr std::string_view kFlavorShort[] = {"flavor", "flavors", "rf"};
constexpr std::string_view kClassShort[] = {"wpc"};
constexpr std::string_view kCohortShort[] = {"co"};
constexpr std::string_view kCheckShort[] = {"ac"};
constexpr std::string_view kTopologyShort[] = {"topo"};
constexpr std::string_view kMultiKueueClusterShort[] = {"mkc"};
constexpr std::string_view kMultiKueueConfigShort[] = {"mkconf"};

constexpr CustomKind kCustom[] = {
    {.kind = &kWorkload,
     .singular = "workload",
     .short_names = kWorkloadShort,
     .versions = kWorkloadVersions.list},
    {.kind = &kClusterQueue,
     .singular = "clusterqueue",
     .short_names = kClusterQueueShort,
     .versions = kClusterQueueVersions.list},
    {.kind = &kLocalQueue,
     .singular = "localqueue",
     .short_names = kLocalQueueShort,
     .versions = kLocalQueueVersions.list},
    {.kind = &kResourceFlavor,
     .singular = "resourceflavor",
     .short_names = kFlavorShort,
     .versions = kFlavorVersions.list},
    {.kind = &kWorkloadPriorityClass,
     .singular = "workloadpriorityclass",
     .short_names = kClassShort,
     .versions = kClassVersions.list},
    {.kind = &kCohort,
     .singular = "cohort",
     .short_names = kCohortShort,
     .versions = kCohortVersions.list},
    {.kind = &kAdmissionCheck,
     .singular = "admissioncheck",
     .short_names = kCheckShort,
     .versions = kCheckVersions.list},
    {.kind = &kTopology,
     .singular = "topology",
     .short_names = kTopologyShort,
     .versions = kTopologyVersions.list},
    {.kind = &kMultiKueueCluster,
     .singular = "multikueuecluster",
     .short_names = kMultiKueueClusterShort,
     .versions = kMultiKueueClusterVersions.list},
    {.kind = &kMultiKueueConfig,
     .singular = "multikueueconfig",
     .short_names = kMultiKueueConfigShort,
     .versions = kMultiKueueConfigVersions.list},
    {.kind = &kProvisioningRequestConfig,
     .singular = "provisioningrequestconfig",
     .versions = kProvisioningVersions.list},
};

}  // namespace

std::span<const CustomKind* const> kueue_kinds() {
  static const std::vector<const CustomKind*> kKinds = [] {
    std::vector<const CustomKind*> kinds;
    for (const CustomKind& custom : kCustom) {
      kinds.push_back(&custom);
    }
    return kinds;
  }();
  return kKinds;
}

}  // namespace athanor::api
