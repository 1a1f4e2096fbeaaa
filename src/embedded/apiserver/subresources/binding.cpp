// SPDX-License-Identifier: Apache-2.0
// Binding a pod to a node, and finalizing a namespace (docs/spec/apiserver.md 12.3, 12.4).
#include <fmt/format.h>

#include "embedded/apiserver/request/respond.hpp"
#include "embedded/apiserver/request/subresource.hpp"
#include "embedded/apiserver/subresources/pod_subresources.hpp"
#include "embedded/apiserver/write/decode.hpp"
#include "embedded/apiserver/write/write.hpp"
#include "embedded/apiserver/write/written_response.hpp"
#include "kube/names/field_error.hpp"
#include "kube/schema/types.hpp"
#include "kube/value/condition.hpp"

namespace athanor::apiserver {
namespace {

constexpr Qualified kPodBinding{.name = "pods/binding", .group = ""};

// Adds the binding's labels or annotations to the pod's.
void merge_texts(const Value& from, std::string_view field, Value& pod) {
  if (from["metadata"][field].empty()) {
    return;
  }
  Value& target = pod.member("metadata").member(field);
  for (const Member& member : from["metadata"][field].members()) {
    target.set(member.key(), member.value);
  }
}

StatusResult<Value> bound_pod(const Value& pod, const Value& binding, Instant now) {
  const std::string name = pod["metadata"]["name"].str();
  const std::string_view uid = binding["metadata"]["uid"].as_string();
  if (!uid.empty() && uid != pod["metadata"]["uid"].as_string()) {
    return status::conflict(
        kPodBinding, name,
        fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", uid,
                    pod["metadata"]["uid"].as_string()));
  }
  if (pod["metadata"].contains("deletionTimestamp")) {
    return status::conflict(
        kPodBinding, name,
        fmt::format("pod {} is being deleted, cannot be assigned to a host", name));
  }
  if (const std::string_view node = pod["spec"]["nodeName"].as_string(); !node.empty()) {
    return status::conflict(kPodBinding, name,
                            fmt::format("pod {} is already assigned to node \"{}\"", name, node));
  }
  if (!pod["spec"]["schedulingGates"].empty()) {
    return status::conflict(kPodBinding, name,
                            fmt::format("pod {} has non-empty .spec.schedulingGates", name));
  }
  Value bound = pod;
  bound.member("spec").set("nodeName", binding["target"]["name"]);
  merge_texts(binding, "labels", bound);
  merge_texts(binding, "annotations", bound);
  set_condition(bound.member("status").member("conditions"),
                {.type = "PodScheduled", .status = "True", .reason = {}, .message = {}}, now);
  return bound;
}

}  // namespace

StatusResult<Response> handle_binding(Call& call) {
  ATHANOR_TRY(const WriteOptions options, read_write_options(call.request, "CreateOptions"));
  ATHANOR_TRY(Value binding,
              read_body(call, {.group = "",
                               .version = "v1",
                               .kind = "Binding",
                               .schema = BuiltinTypes::get().by_kind("", "v1", "Binding")}));
  const std::string node = binding["target"]["name"].str();
  const std::string kind = binding["target"]["kind"].str();
  std::vector<FieldError> errors;
  if (!kind.empty() && kind != "Node") {
    errors.push_back(
        FieldError::not_supported("target.kind", binding["target"]["kind"], {"Node", "<empty>"}));
  }
  if (node.empty()) {
    errors.push_back(FieldError::required("target.name"));
  }
  if (!errors.empty()) {
    return status::invalid({.name = "Binding", .group = ""}, call.path.name, errors);
  }
  const std::string named = binding["metadata"]["name"].str();
  if (call.path.name.empty()) {
    if (named.empty()) {
      return status::bad_request("Name parameter required.");
    }
    call.path.name = named;
    call.resource = call.table->find("", "v1", "pods");
  } else if (named != call.path.name) {
    return status::bad_request("name in URL does not match name in Binding object");
  }
  ATHANOR_TRY_VOID(admit_posted(call, "binding", binding, options));
  UpdateInput input;
  input.admitted = true;
  input.subresource = "binding";
  input.from_patch = true;
  input.tracked = true;
  input.transform = [&](const Value& pod) { return bound_pod(pod, binding, call.now); };
  ATHANOR_TRY(const Written written, update_object(call, options, input));
  Response response = value_response(call, success_status(std::nullopt, 201), 201);
  response.durable_after = written.revision;
  return response;
}

StatusResult<Response> handle_finalize(Call& call) {
  ATHANOR_TRY(const WriteOptions options, read_write_options(call.request, "UpdateOptions"));
  ATHANOR_TRY(const Value object, decode_object(call, options));
  UpdateInput input;
  input.subresource = "finalize";
  input.transform = [&object](const Value& live) -> StatusResult<Value> {
    Value changed = live;
    const Value& finalizers = object["spec"]["finalizers"];
    if (finalizers.empty()) {
      changed.member("spec").erase("finalizers");
    } else {
      changed.member("spec").set("finalizers", finalizers);
    }
    if (const Value* revision = object["metadata"].find("resourceVersion")) {
      changed.member("metadata").set("resourceVersion", *revision);
    }
    return changed;
  };
  ATHANOR_TRY(Written written, update_object(call, options, input));
  return written_response(call, std::move(written));
}

}  // namespace athanor::apiserver
