// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/exporter/writing.hpp"

#include "kube/apply/patch.hpp"
#include "kube/text/json.hpp"
#include "systems/numa/model/kinds.hpp"

namespace athanor::numa {

WriteStep WritePlanner::next(const Value& content) const {
  if (!patch_mode_ || last_.is_null() || rounds_ >= patch_resync_) {
    return {.kind = WriteStep::Kind::Replace};
  }
  Value patch = make_merge_patch(last_, content);
  if (patch.is_null() || patch.empty()) {
    return {};
  }
  const auto whole = static_cast<double>(json::print(create_body(node_, content)).size());
  const auto part = static_cast<double>(json::print(patch).size());
  return {.kind = WriteStep::Kind::Patch, .patch = std::move(patch), .patch_ratio = part / whole};
}

void WritePlanner::written(const WriteStep& step, const Value& content) {
  rounds_ = step.kind == WriteStep::Kind::Replace ? 1 : rounds_ + 1;
  last_ = content;
}

void WritePlanner::failed() {
  rounds_ = 0;
  last_ = Value();
}

Value create_body(const std::string& node, const Value& content) {
  Value body = content;
  body.set("apiVersion", kTopologyKind.api_version());
  body.set("kind", kTopologyKind.name);
  body.member("metadata").set("name", node);
  return body;
}

Value update_body(const Object& live, const Value& content) {
  Value body = live.body();
  for (const Member& annotation : content["metadata"]["annotations"].members()) {
    body.set_path({"metadata", "annotations", annotation.key()}, annotation.value);
  }
  if (const Value& owners = content["metadata"]["ownerReferences"]; owners.is_list()) {
    body.set_path({"metadata", "ownerReferences"}, owners);
  }
  body.set("attributes", content["attributes"]);
  body.set("zones", content["zones"]);
  return body == live.body() ? Value() : body;
}

}  // namespace athanor::numa
