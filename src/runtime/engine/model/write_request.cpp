// SPDX-License-Identifier: Apache-2.0
// From steps to requests, and from requests to method, path and query.
#include "runtime/engine/model/write_request.hpp"

namespace athanor::runtime {

namespace {

std::string_view mode_text(Propagation mode) {
  switch (mode) {
    case Propagation::Background:
      return "Background";
    case Propagation::Foreground:
      return "Foreground";
    case Propagation::Orphan:
      return "Orphan";
  }
  return "Background";
}

Value identified(Value body, const Ref& ref) {
  body.set("apiVersion", ref.kind->api_version());
  body.set("kind", ref.kind->name);
  if (!ref.key.name.empty()) {
    body.set_path({"metadata", "name"}, ref.key.name);
  }
  if (ref.kind->namespaced) {
    body.set_path({"metadata", "namespace"}, ref.key.ns);
  }
  return body;
}

Value guarded(Value body, const Guard& guard) {
  if (!guard.uid.empty()) {
    body.set_path({"metadata", "uid"}, guard.uid);
  }
  if (!guard.resource_version.empty()) {
    body.set_path({"metadata", "resourceVersion"}, guard.resource_version);
  }
  return body;
}

}  // namespace

std::string collection_path(const Kind& kind, std::string_view ns) {
  std::string path = kind.group.empty() ? "/api/" : "/apis/" + std::string(kind.group) + "/";
  path += kind.version;
  if (kind.namespaced && !ns.empty()) {
    path += "/namespaces/";
    path += ns;
  }
  path += "/";
  path += kind.plural;
  return path;
}

HttpForm http_form(const WriteRequest& write) {
  HttpForm form{.path = collection_path(*write.target.kind, write.target.key.ns),
                .content_type = "application/json"};
  if (!write.manager.empty() && write.verb != WriteVerb::Delete) {
    form.query.emplace_back("fieldManager", write.manager);
  }
  const bool binding = write.subresource == "binding";
  if (write.verb != WriteVerb::Create) {
    form.path += "/" + write.target.key.name;
    if (!write.subresource.empty()) {
      form.path += "/" + write.subresource;
    }
  }
  switch (write.verb) {
    case WriteVerb::Create:
      form.method = "POST";
      break;
    case WriteVerb::Replace:
      form.method = binding ? "POST" : "PUT";
      break;
    case WriteVerb::MergePatch:
      form.method = "PATCH";
      form.content_type = "application/merge-patch+json";
      break;
    case WriteVerb::Apply:
      form.method = "PATCH";
      form.content_type = "application/apply-patch+yaml";
      form.query.emplace_back("force", write.force ? "true" : "false");
      break;
    case WriteVerb::Delete:
      form.method = "DELETE";
      break;
  }
  return form;
}

WriteRequest request_for(const Apply& step) {
  return {.verb = WriteVerb::Apply,
          .target = step.target,
          .body = identified(step.fields, step.target),
          .manager = step.manager,
          .force = step.force};
}

WriteRequest request_for(const Create& step) {
  return {.verb = WriteVerb::Create,
          .target = step.target,
          .body = identified(step.object, step.target)};
}

WriteRequest request_for(const Patch& step) {
  return {.verb = WriteVerb::MergePatch,
          .target = step.target,
          .subresource = step.subresource,
          .body = guarded(step.merge, step.guard)};
}

WriteRequest request_for(const Replace& step) {
  const bool own_type = step.subresource.empty() || step.subresource == "status";
  Value body = own_type ? identified(step.object, step.target) : step.object;
  body.erase_path({"metadata", "managedFields"});  // of a cache: not all of them
  return {.verb = WriteVerb::Replace,
          .target = step.target,
          .subresource = step.subresource,
          .body = std::move(body)};
}

WriteRequest request_for(const Delete& step) {
  Value options = Value::object({{"apiVersion", "v1"},
                                 {"kind", "DeleteOptions"},
                                 {"propagationPolicy", mode_text(step.mode)}});
  if (step.grace_seconds) {
    options.set("gracePeriodSeconds", *step.grace_seconds);
  }
  if (!step.guard.uid.empty()) {
    options.set_path({"preconditions", "uid"}, step.guard.uid);
  }
  if (!step.guard.resource_version.empty()) {
    options.set_path({"preconditions", "resourceVersion"}, step.guard.resource_version);
  }
  return {.verb = WriteVerb::Delete, .target = step.target, .body = std::move(options)};
}

WriteRequest applied_status_request(const Status& step, const Guard& guard) {
  Value status = Value::object();
  for (const Member& member : step.status.members()) {
    if (!member.value.is_null()) {
      status.set(member.key(), member.value);
    }
  }
  return {.verb = WriteVerb::Apply,
          .target = step.target,
          .subresource = "status",
          .body = guarded(identified(Value::object({{"status", std::move(status)}}), step.target),
                          guard),
          .manager = step.applied_as,
          .force = true};
}

WriteRequest status_request(const Status& step, const Value& patch, const Guard& guard) {
  return {.verb = WriteVerb::MergePatch,
          .target = step.target,
          .subresource = "status",
          .body = guarded(Value::object({{"status", patch}}), guard)};
}

}  // namespace athanor::runtime
