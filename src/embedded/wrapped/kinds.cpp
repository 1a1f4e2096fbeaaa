// SPDX-License-Identifier: Apache-2.0
#include "embedded/wrapped/kinds.hpp"

#include "api/describe_ops.hpp"

namespace athanor::wrapped {
namespace {

constexpr std::string_view kAnyObject =
    R"j({"type": "object", "x-kubernetes-preserve-unknown-fields": true})j";

const api::TypeInfo& root() {
  static const api::FieldInfo kFields[] = {
      {.name = "spec",
       .doc = "As its project defines it.",
       .ops = &api::ops_of<Value>(),
       .rules = {.schema_json = kAnyObject}},
      {.name = "status",
       .doc = "State, as far as the lab emulates it.",
       .ops = &api::ops_of<Value>(),
       .rules = {.schema_json = kAnyObject}},
  };
  static const api::TypeInfo kType{
      .name = "WrappedKind", .doc = "An object of another project.", .fields = kFields};
  return kType;
}

constexpr api::VersionInfo kV1[] = {{.name = "v1", .type = root}};
constexpr api::VersionInfo kV1Alpha1[] = {{.name = "v1alpha1", .type = root}};
constexpr api::VersionInfo kV1Alpha2[] = {{.name = "v1alpha2", .type = root}};
constexpr std::string_view kLws[] = {"lws"};
// The group is a protected one.
constexpr std::pair<std::string_view, std::string_view> kUnapproved[] = {
    {"api-approved.kubernetes.io", "unapproved, emulated by the lab"}};

constexpr api::CustomKind kJobSets{.kind = &kJobSet, .singular = "jobset", .versions = kV1Alpha2};
constexpr api::CustomKind kPyTorchJobs{
    .kind = &kPyTorchJob, .singular = "pytorchjob", .versions = kV1};
constexpr api::CustomKind kRayClusters{
    .kind = &kRayCluster, .singular = "raycluster", .versions = kV1};
constexpr api::CustomKind kRayJobs{.kind = &kRayJob, .singular = "rayjob", .versions = kV1};
constexpr api::CustomKind kLeaderWorkerSets{
    .kind = &kLeaderWorkerSet, .singular = "leaderworkerset", .short_names = kLws, .versions = kV1};
constexpr api::CustomKind kPodGroups{
    .kind = &kPodGroup, .singular = "podgroup", .versions = kV1Alpha1};
constexpr api::CustomKind kSigsPodGroups{.kind = &kSigsPodGroup,
                                         .singular = "podgroup",
                                         .versions = kV1Alpha1,
                                         .annotations = kUnapproved};

}  // namespace

std::span<const api::CustomKind* const> custom_kinds() {
  static constexpr const api::CustomKind* kKinds[] = {
      &kJobSets,          &kPyTorchJobs, &kRayClusters,  &kRayJobs,
      &kLeaderWorkerSets, &kPodGroups,   &kSigsPodGroups};
  return kKinds;
}

}  // namespace athanor::wrapped
