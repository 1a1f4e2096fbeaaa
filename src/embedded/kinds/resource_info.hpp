// SPDX-License-Identifier: Apache-2.0
// What the server knows of each served resource version, built-in and custom, and the registry of
// all of them: one immutable table that is swapped whole, so that routing, discovery and OpenAPI
// never disagree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "kube/schema/schema.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

struct KindBehaviour;      // kind_behaviour.hpp
class Converter;           // converter.hpp
struct ConversionWebhook;  // apiserver/request/conversion.hpp

// How metadata.name is checked (docs/spec/apiserver.md 7).
enum class NameRule : std::uint8_t { Subdomain, Label, Label1035, NamespaceName, PathSegment };

// A column of Tables.
struct PrinterColumn {
  std::string name{};
  std::string type = "string";
  std::string format{};
  std::string description{};
  std::int64_t priority = 0;
  std::string json_path{};  // custom resources; built-in cells come from KindBehaviour::cells
};

// A subresource as discovery shows it.
struct SubresourceInfo {
  std::string name{};              // "status", "scale", "binding"
  std::string group{}, version{};  // empty: those of the resource
  std::string kind{};
  std::vector<std::string> verbs{};
};

// Where a custom resource keeps what its scale subresource shows.
struct ScalePaths {
  std::string spec_replicas{};
  std::string status_replicas{};
  std::string label_selector{};  // empty: none
};

// Keeps the schemas of one custom resource alive.
struct CustomTypes {
  virtual ~CustomTypes() = default;
};

// One served version of a resource.
struct ResourceInfo {
  std::string group{}, version{};
  std::string plural{}, singular{}, kind{}, list_kind{};
  bool namespaced = true;
  std::vector<std::string> verbs{}, short_names{}, categories{};
  std::vector<SubresourceInfo> subresources{};  // sorted by name
  SchemaPtr schema = nullptr;                   // of the whole object
  bool is_custom = false;
  bool stored = true;  // false: reviews and bindings, which are answered and forgotten

  std::string storage{};              // store::Stored::resource: "pods", "deployments.apps"
  std::string storage_api_version{};  // of the stored objects
  std::string storage_kind{};
  // Between this version and the stored one; nullptr: apiVersion alone changes
  // (docs/spec/apiserver.md 13.6 None).
  const Converter* converter = nullptr;
  // Custom resources: the converter, where the CRD says Webhook.
  std::shared_ptr<const ConversionWebhook> conversion{};

  // docs/spec/apiserver.md 14.3
  bool has_generation = false;
  bool unconditional_update = true;
  bool put_creates = false;
  bool delete_returns_object = false;
  NameRule name_rule = NameRule::Subdomain;

  std::vector<PrinterColumn> columns{};  // the first is Name
  // Besides metadata.name and metadata.namespace: label and path of each field
  // (docs/spec/apiserver.md 8.5).
  std::vector<std::string> selectable_fields{};
  std::optional<ScalePaths> scale{};
  const KindBehaviour* behaviour = nullptr;  // built-in kinds only; may be null
  std::string deprecation_warning{};
  std::string crd_name{};        // custom resources: the CRD
  bool crd_terminating = false;  // custom resources: nothing can be created any more
  // Custom resources: objects written after this revision already fit the schema.
  std::uint64_t schema_revision = 0;
  Value open_api{};                            // custom resources: openAPIV3Schema as written
  std::shared_ptr<const CustomTypes> types{};  // owner of `schema`

  [[nodiscard]] std::string api_version() const;
  [[nodiscard]] const SubresourceInfo* subresource(std::string_view name) const;
  [[nodiscard]] bool has_verb(std::string_view verb) const;
  [[nodiscard]] bool has_status() const { return subresource("status") != nullptr; }
};

// One API group as discovery shows it.
struct GroupInfo {
  std::string name{};                   // "" for core
  std::vector<std::string> versions{};  // preferred first
};

// An immutable state of everything served.
class ResourceTable {
 public:
  explicit ResourceTable(std::vector<std::shared_ptr<const ResourceInfo>> resources);
  // Adds `added` to everything of `base`, whose entries win. Costs O(added) and a copy of the lists
  // of `base`.
  ResourceTable(std::shared_ptr<const ResourceTable> base,
                const std::vector<std::shared_ptr<const ResourceInfo>>& added);

  [[nodiscard]] const ResourceInfo* find(std::string_view group, std::string_view version,
                                         std::string_view plural) const;
  // Returns the version whose objects are stored under `storage` as they are; nullptr: unknown.
  [[nodiscard]] const ResourceInfo* by_storage(std::string_view storage) const;
  [[nodiscard]] const ResourceInfo* by_kind(std::string_view api_version,
                                            std::string_view kind) const;
  // Returns the groups in discovery order (docs/spec/apiserver.md 4.1).
  [[nodiscard]] const std::vector<GroupInfo>& groups() const { return groups_; }
  [[nodiscard]] bool has_group(std::string_view group) const;
  [[nodiscard]] bool has_version(std::string_view group, std::string_view version) const;
  // Returns those of one group-version, sorted by plural.
  [[nodiscard]] std::vector<const ResourceInfo*> resources(std::string_view group,
                                                           std::string_view version) const;
  [[nodiscard]] const std::vector<std::shared_ptr<const ResourceInfo>>& all() const { return all_; }
  // Increases with every table of one registry; names cached documents.
  [[nodiscard]] std::uint64_t serial() const { return serial_; }

 private:
  friend class ResourceRegistry;
  void add(std::span<const std::shared_ptr<const ResourceInfo>> resources);

  std::shared_ptr<const ResourceTable> base_{};  // may be null
  std::vector<std::shared_ptr<const ResourceInfo>> all_{};
  // Without what `base_` has.
  std::map<std::string, const ResourceInfo*, std::less<>> by_path_{};  // "group/version/plural"
  std::map<std::string, const ResourceInfo*, std::less<>> by_storage_{};
  std::map<std::string, const ResourceInfo*, std::less<>> by_kind_{};  // "group/version/Kind"
  std::vector<GroupInfo> groups_{};
  std::uint64_t serial_ = 1;
};
using ResourceTablePtr = std::shared_ptr<const ResourceTable>;

// The current table. Thread-safe.
class ResourceRegistry {
 public:
  // Starts with the built-in resources.
  ResourceRegistry();

  [[nodiscard]] ResourceTablePtr table() const;
  // Replaces everything that a CRD serves; an empty list removes it. One atomic step.
  void set_custom(const std::string& crd_name,
                  std::vector<std::shared_ptr<const ResourceInfo>> versions);

 private:
  void rebuild() ATHANOR_REQUIRES(mutex_);

  mutable Mutex mutex_{};
  std::map<std::string, std::vector<std::shared_ptr<const ResourceInfo>>> custom_
      ATHANOR_GUARDED_BY(mutex_){};
  const ResourceTablePtr built_in_;
  ResourceTablePtr table_ ATHANOR_GUARDED_BY(mutex_){};
  std::uint64_t serial_ ATHANOR_GUARDED_BY(mutex_) = 0;
};

// Returns every resource of docs/spec/apiserver.md Appendix D, with its schema, flags, columns and
// behaviour.
std::vector<std::shared_ptr<const ResourceInfo>> built_in_resources();

// Orders API versions as Kubernetes: v2, v1, v1beta1, v1alpha1, then others.
bool version_before(std::string_view a, std::string_view b);

}  // namespace athanor::apiserver
