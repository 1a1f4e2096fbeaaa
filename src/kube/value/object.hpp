// SPDX-License-Identifier: Apache-2.0
// Object: a Value read as a Kubernetes object. Cheap to copy (one shared node).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"

namespace athanor {

struct OwnerReference {
  std::string api_version{};
  std::string kind{};
  std::string name{};
  std::string uid{};
  bool controller = false;
  bool block_owner_deletion = false;
  [[nodiscard]] Value to_value() const;
};

class Object {
 public:
  Object() = default;
  explicit Object(Value body) : body_(std::move(body)) {}

  [[nodiscard]] const Value& body() const { return body_; }
  [[nodiscard]] const Value& metadata() const { return body_["metadata"]; }
  [[nodiscard]] const Value& spec() const { return body_["spec"]; }
  [[nodiscard]] const Value& status() const { return body_["status"]; }
  [[nodiscard]] std::string_view api_version() const { return body_["apiVersion"].as_string(); }
  [[nodiscard]] std::string_view kind() const { return body_["kind"].as_string(); }
  [[nodiscard]] std::string_view name() const { return metadata()["name"].as_string(); }
  [[nodiscard]] std::string_view ns() const { return metadata()["namespace"].as_string(); }
  [[nodiscard]] Key key() const { return {std::string(ns()), std::string(name())}; }
  [[nodiscard]] std::string_view uid() const { return metadata()["uid"].as_string(); }
  [[nodiscard]] std::string_view resource_version() const {
    return metadata()["resourceVersion"].as_string();
  }
  [[nodiscard]] std::int64_t generation() const { return metadata()["generation"].as_int(); }
  [[nodiscard]] std::string_view label(std::string_view key) const {
    return metadata()["labels"][key].as_string();
  }
  [[nodiscard]] std::string_view annotation(std::string_view key) const {
    return metadata()["annotations"][key].as_string();
  }
  [[nodiscard]] bool deleting() const { return metadata().contains("deletionTimestamp"); }
  [[nodiscard]] std::optional<Instant> creation_time() const;
  [[nodiscard]] std::optional<Instant> deletion_time() const;
  [[nodiscard]] std::vector<OwnerReference> owners() const;
  // Returns the owner with controller: true.
  [[nodiscard]] std::optional<OwnerReference> controller() const;
  [[nodiscard]] bool has_finalizer(std::string_view finalizer) const;
  [[nodiscard]] bool owned_by(std::string_view owner_uid) const;

 private:
  Value body_{};
};

}  // namespace athanor
