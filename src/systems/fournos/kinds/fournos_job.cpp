// SPDX-License-Identifier: Apache-2.0
// The field tables of FournosJob and its three schemas: one per served dialect and their union.
#include "systems/fournos/kinds/fournos_job.hpp"

#include <fmt/core.h>

#include <array>
#include <string>

#include "api/describe_ops.hpp"

namespace athanor::api {
namespace {

constexpr std::string_view kImmutable = "field is immutable once the job is accepted";
constexpr std::string_view kSeedPhases = "Pending|Admitted|Running|Succeeded|Failed";
constexpr std::string_view kCurrentPhases =
    "Resolving|Pending|Admitted|Running|Stopping|Succeeded|Failed|Stopped";
constexpr std::string_view kAutoPhases =
    "Scheduled|Recurring|Resolving|Pending|Admitted|Running|Stopping|Succeeded|Failed|Stopped";
// A vault entry's name (current), respectively any Secret name (auto: seed jobs name Secrets
// directly).
constexpr std::string_view kVaultEntryPattern = R"(^[a-z0-9]([a-z0-9\-]{0,61}[a-z0-9])?$)";
constexpr std::string_view kSecretNamePattern = R"(^[a-z0-9]([a-z0-9.\-]{0,251}[a-z0-9])?$)";

// The transition rules of R14.8, one a field. They sit at the root because they look at status.
std::string immutable_rules() {
  constexpr std::array kFields{"cluster",  "exclusive", "clusterless",     "lockOnly",
                               "priority", "forge",     "executionEngine", "pipeline"};
  std::string rules = "[";
  for (const std::string field : kFields) {
    const std::string now = fmt::format("(has(self.spec) && has(self.spec.{}))", field);
    const std::string before = fmt::format("(has(oldSelf.spec) && has(oldSelf.spec.{}))", field);
    rules += rules.size() > 1 ? "," : "";
    rules += R"({"rule":"!has(oldSelf.status) || !has(oldSelf.status.phase) || ()";
    rules += fmt::format("{} == {} && (!{} || self.spec.{} == oldSelf.spec.{}))", now, before, now,
                         field, field);
    rules += fmt::format(R"(","message":"{}","fieldPath":".spec.{}"}})", kImmutable, field);
  }
  return rules + "]";
}

// One row of the spec, with its schema facts per dialect.
struct Row {
  FieldInfo field{};
  bool seed = true;
  bool current = true;
};

FieldInfo with(FieldInfo field, const Rules& rules) {
  field.rules = rules;
  return field;
}

using Spec = FournosJobSpec;

constexpr Row kSpecRows[] = {
    {field<&Spec::owner>("owner", "Person or team that asked for the run.")},
    {field<&Spec::display_name>("displayName", "Name shown to people; need not be unique.")},
    {field<&Spec::pipeline>("pipeline", "Tekton Pipeline that does the work.",
                            {.default_json = R"("fournos-full")"})},
    {field<&Spec::cluster>("cluster", "Run on this cluster (a ResourceFlavor) and no other.")},
    {field<&Spec::hardware>(
        "hardware", "GPUs the run needs; without a cluster it may land on any that has them.")},
    {field<&Spec::forge>("forge", "What Forge shall run."), true, false},
    {field<&Spec::execution_engine>("executionEngine",
                                    "One key, the engine's name; its value belongs to the engine.",
                                    {.preserve_unknown = true}),
     false},
    {field<&Spec::env>("env", "Environment of the run.")},
    {field<&Spec::secret_refs>("secretRefs", "Secrets handed to the run.",
                               {.item_pattern = kSecretNamePattern})},
    {field<&Spec::exclusive>("exclusive",
                             "Take the whole cluster: no other job runs there meanwhile.")},
    {field<&Spec::priority>("priority", "WorkloadPriorityClass of the run.")},
    {field<&Spec::clusterless>("clusterless", "Run without any target cluster.",
                               {.default_json = "false"}),
     false},
    {field<&Spec::lock_only>("lockOnly", "Hold the cluster and run nothing."), false},
    {field<&Spec::shutdown>(
         "shutdown", "Stop: end the run, its final tasks included. Terminate: end it at once.",
         {.enum_values = "Stop|Terminate"}),
     false},
    {field<&Spec::ttl>("ttl", "Delete the job this long after it ended: 12h, 7d, 1h30m."), false,
     false},
    {field<&Spec::scheduled_start_time>("scheduledStartTime", "Do not start before this time.",
                                        {.format = "date-time"}),
     false, false},
    {field<&Spec::schedule>(
         "schedule",
         "Five fields of cron, in UTC: at each of these times a copy of this job runs."),
     false, false},
    {field<&Spec::lock_until>("lockUntil", "Hold the cluster until this time (RFC 3339)."), false,
     false},
};

// The rows of one of the two exact schemas, with what differs from the union.
template <FournosApi A>
const TypeInfo& spec_type() {
  static const std::vector<FieldInfo> kFields = [] {
    constexpr bool kSeed = A == FournosApi::Seed;
    std::vector<FieldInfo> fields;
    for (const Row& row : kSpecRows) {
      const std::string_view name = row.field.name;
      if (!(kSeed ? row.seed : row.current)) {
        continue;
      }
      if (name == "forge") {
        fields.push_back(with(row.field, {.required = true}));
      } else if (name == "exclusive") {
        fields.push_back(with(row.field, {.default_json = kSeed ? "false" : "true"}));
      } else if (name == "lockOnly") {
        fields.push_back(with(row.field, {.default_json = "false"}));
      } else if (name == "secretRefs") {
        fields.push_back(with(row.field, {.item_pattern = kSeed ? "" : kVaultEntryPattern}));
      } else {
        fields.push_back(row.field);
      }
    }
    return fields;
  }();
  static const TypeInfo kType{
      .name = "FournosJobSpec", .doc = "What shall run, and where.", .fields = kFields};
  return kType;
}

constexpr std::string_view kConditions = R"({
  "type": "array",
  "items": {"type": "object", "required": ["type", "status"], "properties": {
    "type": {"type": "string"}, "status": {"type": "string"},
    "lastTransitionTime": {"type": "string", "format": "date-time"},
    "reason": {"type": "string"}, "message": {"type": "string"}}}})";
constexpr std::string_view kAutoConditions = R"({
  "type": "array",
  "items": {"type": "object", "required": ["type", "status"], "properties": {
    "type": {"type": "string"}, "status": {"type": "string"},
    "lastTransitionTime": {"type": "string", "format": "date-time"},
    "reason": {"type": "string"}, "message": {"type": "string"},
    "observedGeneration": {"type": "integer", "format": "int64"}}}})";

using Status = FournosJobStatus;
constexpr std::string_view kStatusDoc = "How far the run is; written by the operator alone.";

constexpr FieldInfo phase_field(std::string_view phases) {
  return field<&Status::phase>("phase", "Where the run stands.", {.enum_values = phases});
}
constexpr FieldInfo conditions_field(std::string_view schema) {
  return field<&Status::conditions>("conditions", "Resolved, WorkloadAdmitted, PipelineRunReady.",
                                    {.schema_json = schema});
}
constexpr FieldInfo kClusterField =
    field<&Status::cluster>("cluster", "Cluster that the run was given.");
constexpr FieldInfo kPipelineRunField =
    field<&Status::pipeline_run>("pipelineRun", "Name of the PipelineRun.");
constexpr FieldInfo kDashboardField =
    field<&Status::dashboard_url>("dashboardURL", "Web page of the PipelineRun.");
constexpr FieldInfo kMessageField =
    field<&Status::message>("message", "What it does or waits for, in words.");
constexpr FieldInfo kEngineStatusField = field<&Status::engine_status>(
    "engineStatus", "Belongs to the execution engine.", {.preserve_unknown = true});

const TypeInfo& seed_status() {
  static const FieldInfo kFields[] = {
      phase_field(kSeedPhases), kClusterField, kPipelineRunField,
      kDashboardField,          kMessageField, conditions_field(kConditions)};
  static const TypeInfo kType{.name = "FournosJobStatus", .doc = kStatusDoc, .fields = kFields};
  return kType;
}

const TypeInfo& current_status() {
  static const FieldInfo kFields[] = {phase_field(kCurrentPhases),
                                      kClusterField,
                                      kPipelineRunField,
                                      kDashboardField,
                                      kMessageField,
                                      conditions_field(kConditions),
                                      kEngineStatusField};
  static const TypeInfo kType{.name = "FournosJobStatus", .doc = kStatusDoc, .fields = kFields};
  return kType;
}

constexpr std::string_view kRootDoc = "One benchmark run on one cluster.";

// A root whose spec and status are the given types; schema alone.
template <FournosApi A, const TypeInfo& (*StatusType)()>
const TypeInfo& root_type() {
  static const MemberOps kSpecOps{.shape = Shape::Object, .type = &spec_type<A>};
  static const MemberOps kStatusOps{.shape = Shape::Object, .type = StatusType};
  static const FieldInfo kFields[] = {
      {.name = "spec", .doc = "What shall run, and where.", .ops = &kSpecOps},
      {.name = "status", .doc = kStatusDoc, .ops = &kStatusOps},
  };
  static const TypeInfo kType{.name = "FournosJob", .doc = kRootDoc, .fields = kFields};
  return kType;
}

constexpr PrinterColumn kColumns[] = {
    {.name = "Owner", .type = "string", .json_path = ".spec.owner"},
    {.name = "Display Name", .type = "string", .json_path = ".spec.displayName", .priority = 1},
    {.name = "Exclusive", .type = "boolean", .json_path = ".spec.exclusive", .priority = 1},
    {.name = "Phase", .type = "string", .json_path = ".status.phase"},
    {.name = "Cluster", .type = "string", .json_path = ".status.cluster"},
    {.name = "Message", .type = "string", .json_path = ".status.message"},
    {.name = "Age", .type = "date", .json_path = ".metadata.creationTimestamp"},
};
constexpr std::string_view kShortNames[] = {"fj", "fjob", "fjobs"};

constexpr VersionInfo kAutoVersions[] = {
    {.name = "v1", .type = &Describe<FournosJob>::type, .columns = kColumns}};
constexpr VersionInfo kSeedVersions[] = {
    {.name = "v1", .type = &root_type<FournosApi::Seed, &seed_status>, .columns = kColumns}};
constexpr VersionInfo kCurrentVersions[] = {
    {.name = "v1", .type = &root_type<FournosApi::Current, &current_status>, .columns = kColumns}};

constexpr CustomKind custom(std::span<const VersionInfo> versions) {
  return {.kind = &kFournosJob,
          .singular = "fournosjob",
          .short_names = kShortNames,
          .versions = versions};
}
constexpr CustomKind kAuto = custom(kAutoVersions);
constexpr CustomKind kSeed = custom(kSeedVersions);
constexpr CustomKind kCurrent = custom(kCurrentVersions);

}  // namespace

const TypeInfo& Describe<FournosHardware>::type() {
  using T = FournosHardware;
  static const FieldInfo kFields[] = {
      field<&T::gpu_type>("gpuType", "GPU model, such as a100.",
                          {.required = true, .pattern = "^[a-z0-9]+$"}),
      field<&T::gpu_count>("gpuCount", "How many GPUs.", {.required = true, .minimum = 1}),
  };
  static const TypeInfo kType{.name = "FournosHardware", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<FournosForge>::type() {
  using T = FournosForge;
  static const FieldInfo kFields[] = {
      field<&T::project>("project", "Path of the Forge project.", {.required = true}),
      field<&T::args>("args", "Arguments of the project; may be empty.", {.required = true}),
      field<&T::config_overrides>("configOverrides", "Settings laid over the project's own.",
                                  {.preserve_unknown = true}),
  };
  static const TypeInfo kType{.name = "FournosForge", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<FournosJobSpec>::type() {
  static const std::vector<FieldInfo> kFields = [] {
    std::vector<FieldInfo> fields;
    for (const Row& row : kSpecRows) {
      fields.push_back(row.field);
    }
    return fields;
  }();
  static const TypeInfo kType{
      .name = "FournosJobSpec", .doc = "What shall run, and where.", .fields = kFields};
  return kType;
}

const TypeInfo& Describe<FournosJobStatus>::type() {
  static const FieldInfo kFields[] = {
      phase_field(kAutoPhases),
      kClusterField,
      kPipelineRunField,
      kDashboardField,
      kMessageField,
      conditions_field(kAutoConditions),
      kEngineStatusField,
      field<&Status::completion_time>("completionTime", "When it ended."),
      field<&Status::evictions>(
          "evictions", "How often Kueue took the cluster away and the run was queued again.",
          {.format = "int64", .minimum = 0}),
      field<&Status::redirected_from>("redirectedFrom",
                                      "Cluster of the spec, which did not answer while it waited."),
      field<&Status::redirect_count>("redirectCount", "How often it left such a cluster.",
                                     {.format = "int64", .minimum = 0}),
      field<&Status::last_scheduled_time>("lastScheduledTime",
                                          "Latest time of its schedule for which a copy was made."),
  };
  static const TypeInfo kType{.name = "FournosJobStatus", .doc = kStatusDoc, .fields = kFields};
  return kType;
}

const TypeInfo& Describe<FournosJob>::type() {
  static const std::string kRules = immutable_rules();
  static const FieldInfo kFields[] = {
      field<&FournosJob::spec>("spec", "What shall run, and where."),
      field<&FournosJob::status>("status", kStatusDoc),
  };
  static const TypeInfo kType{
      .name = "FournosJob", .doc = kRootDoc, .fields = kFields, .validations_json = kRules};
  return kType;
}

const CustomKind& fournos_job_crd(FournosApi api) {
  switch (api) {
    case FournosApi::Auto:
      return kAuto;
    case FournosApi::Seed:
      return kSeed;
    case FournosApi::Current:
      return kCurrent;
  }
  return kAuto;
}

}  // namespace athanor::api
