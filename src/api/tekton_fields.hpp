// SPDX-License-Identifier: Apache-2.0
// Rows of the Tekton field tables: types that only the schema knows. Included by api/tekton*.cpp
// alone.
#pragma once

#include "api/describe_ops.hpp"

namespace athanor::api::tekton_schema {

using TypeOf = const TypeInfo& (*)();

template <TypeOf T>
struct Nested {
  static constexpr MemberOps kObject{.shape = Shape::Object, .type = T};
  static constexpr MemberOps kList{.shape = Shape::List, .element = &kObject};
};

constexpr FieldInfo row(std::string_view name, std::string_view doc, const MemberOps& ops,
                        const Rules& rules = {}) {
  return {.name = name, .doc = doc, .ops = &ops, .member = nullptr, .rules = rules};
}
template <TypeOf T>
constexpr FieldInfo object(std::string_view name, std::string_view doc) {
  return row(name, doc, Nested<T>::kObject);
}
template <TypeOf T>
constexpr FieldInfo list(std::string_view name, std::string_view doc) {
  return row(name, doc, Nested<T>::kList, {.list_type = "atomic"});
}
constexpr FieldInfo text(std::string_view name, std::string_view doc) {
  return row(name, doc, ops_of<std::string>());
}
constexpr FieldInfo number(std::string_view name, std::string_view doc) {
  return row(name, doc, ops_of<std::int64_t>());
}
constexpr FieldInfo flag(std::string_view name, std::string_view doc) {
  return row(name, doc, ops_of<bool>());
}
constexpr FieldInfo instant(std::string_view name, std::string_view doc) {
  return row(name, doc, ops_of<Instant>());
}
constexpr FieldInfo texts(std::string_view name, std::string_view doc) {
  return row(name, doc, ops_of<std::vector<std::string>>(), {.list_type = "atomic"});
}
constexpr FieldInfo text_map(std::string_view name, std::string_view doc) {
  return row(name, doc, ops_of<std::map<std::string, std::string>>());
}
// Takes anything: a core type that Kubernetes itself checks in a pod, or a value of any shape.
constexpr FieldInfo any(std::string_view name, std::string_view doc) {
  return row(name, doc, ops_of<Value>());
}
// Describes an object of a core type.
constexpr FieldInfo core(std::string_view name, std::string_view doc) {
  return row(name, doc, ops_of<Value>(),
             {.schema_json = R"j({"type":"object","x-kubernetes-preserve-unknown-fields":true})j"});
}
// Describes a list of objects of a core type.
constexpr FieldInfo cores(std::string_view name, std::string_view doc) {
  return row(name, doc, ops_of<Value>(),
             {.schema_json = R"j({"type":"array","x-kubernetes-list-type":"atomic",
                 "items":{"type":"object","x-kubernetes-preserve-unknown-fields":true}})j"});
}

// Types that several kinds share.
const TypeInfo& param_type();
const TypeInfo& workspace_binding_type();
const TypeInfo& pod_template_type();
const TypeInfo& step_spec_type();
const TypeInfo& sidecar_spec_type();
const TypeInfo& condition_type();
const TypeInfo& resolver_ref_type();
const TypeInfo& metadata_type();
const TypeInfo& provenance_type();

// Returns the types of specs and statuses.
const TypeInfo& task_spec_type();
const TypeInfo& step_action_spec_type();
const TypeInfo& pipeline_spec_type();
const TypeInfo& task_run_spec_type();
const TypeInfo& task_run_status_type();
const TypeInfo& pipeline_run_spec_type();
const TypeInfo& pipeline_run_status_type();

// Returns the types of v1beta1 that differ.
const TypeInfo& task_spec_beta_type();
const TypeInfo& pipeline_spec_beta_type();
const TypeInfo& task_run_spec_beta_type();
const TypeInfo& task_run_status_beta_type();
const TypeInfo& pipeline_run_spec_beta_type();
const TypeInfo& pipeline_run_status_beta_type();

}  // namespace athanor::api::tekton_schema
