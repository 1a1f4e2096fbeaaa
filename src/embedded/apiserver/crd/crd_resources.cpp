// SPDX-License-Identifier: Apache-2.0
#include "embedded/apiserver/crd/crd_resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "cel/rules/schema_rules.hpp"
#include "embedded/apiserver/crd/crd_behaviour.hpp"
#include "embedded/apiserver/crd/crd_schemas.hpp"
#include "embedded/apiserver/request/conversion.hpp"
#include "embedded/store/store.hpp"
#include "kube/schema/structural_schema.hpp"

namespace athanor::apiserver {
namespace {

class SchemaOwner final : public CustomTypes {
 public:
  SchemaOwner(CrdSchemas::Ptr schemas, std::size_t version)
      : schemas_(std::move(schemas)),
        version_(schemas_->versions()[version]),
        trusted_(schemas_->versions().size() == 1) {}
  [[nodiscard]] const cel::SchemaRules* rules() const { return version_.rules.get(); }
  [[nodiscard]] bool embeds() const { return version_.embeds; }
  // What was stored has passed the rules.
  [[nodiscard]] bool trusted() const { return trusted_; }
  void distrust() const { trusted_ = false; }

 private:
  CrdSchemas::Ptr schemas_;
  const CrdSchemas::Version& version_;
  mutable std::atomic<bool> trusted_;
};

std::vector<std::string> texts(const Value& list) {
  std::vector<std::string> result;
  for (const Value& item : list.items()) {
    result.push_back(item.str());
  }
  return result;
}

std::vector<PrinterColumn> printed_columns(const Value& version) {
  std::vector<PrinterColumn> columns;
  columns.push_back({.name = "Name",
                     .type = "string",
                     .format = "name",
                     .description = "Name of the object, unique in its namespace",
                     .priority = 0,
                     .json_path = {}});
  for (const Value& item : version["additionalPrinterColumns"].items()) {
    const std::string path = item["jsonPath"].str();
    std::string description = item["description"].str();
    if (description.empty()) {
      description = fmt::format("Custom resource definition column (in JSONPath format): {}", path);
    }
    columns.push_back({.name = item["name"].str(),
                       .type = item["type"].str(),
                       .format = item["format"].str(),
                       .description = std::move(description),
                       .priority = item["priority"].as_int(),
                       .json_path = path});
  }
  if (columns.size() == 1) {
    columns.push_back(
        {.name = "Age",
         .type = "date",
         .format = {},
         .description =
             "Custom resource definition column (in JSONPath format): .metadata.creationTimestamp",
         .priority = 0,
         .json_path = ".metadata.creationTimestamp"});
  }
  return columns;
}

void add_subresources(const Value& version, ResourceInfo& info) {
  const Value& subresources = version["subresources"];
  if (const Value* scale = subresources.find("scale"); scale != nullptr && scale->is_object()) {
    info.subresources.push_back({.name = "scale",
                                 .group = "autoscaling",
                                 .version = "v1",
                                 .kind = "Scale",
                                 .verbs = {"get", "patch", "update"}});
    info.scale = ScalePaths{.spec_replicas = (*scale)["specReplicasPath"].str(),
                            .status_replicas = (*scale)["statusReplicasPath"].str(),
                            .label_selector = (*scale)["labelSelectorPath"].str()};
  }
  if (const Value* status = subresources.find("status"); status != nullptr && status->is_object()) {
    info.subresources.push_back({.name = "status",
                                 .group = {},
                                 .version = {},
                                 .kind = info.kind,
                                 .verbs = {"get", "patch", "update"}});
  }
}

std::string deprecation_of(const Value& versions, const Value& version, const ResourceInfo& info) {
  if (!version["deprecated"].as_bool()) {
    return {};
  }
  if (const std::string_view own = version["deprecationWarning"].as_string(); !own.empty()) {
    return std::string(own);
  }
  // The newest version that is served and no longer on its way out.
  std::string_view better = version["name"].as_string();
  for (const Value& other : versions.items()) {
    const std::string_view name = other["name"].as_string();
    if (other["served"].as_bool() && !other["deprecated"].as_bool() &&
        version_before(name, better)) {
      better = name;
    }
  }
  std::string text = fmt::format("{} {} is deprecated", info.api_version(), info.kind);
  if (better != version["name"].as_string()) {
    text += fmt::format("; use {}/{} {}", info.group, better, info.kind);
  }
  return text;
}

std::shared_ptr<const ConversionWebhook> conversion_of(const Value& conversion) {
  if (conversion["strategy"].as_string() != "Webhook") {
    return nullptr;
  }
  auto webhook = std::make_shared<ConversionWebhook>();
  webhook->client_config = conversion["webhook"]["clientConfig"];
  for (const Value& version : conversion["webhook"]["conversionReviewVersions"].items()) {
    if (version.as_string() == "v1" || version.as_string() == "v1beta1") {
      webhook->review_version = version.str();
      break;
    }
  }
  return webhook;
}

std::shared_ptr<ResourceInfo> common_part(const Value& crd, const CrdServing& serving) {
  const Value& spec = crd["spec"];
  const Value& names = spec["names"];
  auto info = std::make_shared<ResourceInfo>();
  info->group = spec["group"].str();
  info->plural = names["plural"].str();
  info->singular = names["singular"].str();
  info->kind = names["kind"].str();
  info->list_kind = names["listKind"].str();
  info->namespaced = spec["scope"].as_string() == "Namespaced";
  info->verbs = {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
  info->short_names = texts(names["shortNames"]);
  info->categories = texts(names["categories"]);
  info->is_custom = true;
  info->storage = store::resource_name(info->plural, info->group);
  info->storage_api_version = fmt::format("{}/{}", info->group, storage_version(crd));
  info->storage_kind = info->kind;
  info->converter = serving.converter;
  info->conversion = conversion_of(spec["conversion"]);
  info->has_generation = true;
  info->unconditional_update = false;
  info->crd_name = crd["metadata"]["name"].str();
  info->crd_terminating = serving.terminating;
  info->schema_revision = serving.schema_revision;
  return info;
}

}  // namespace

std::vector<std::shared_ptr<const ResourceInfo>> crd_resources(const Value& crd,
                                                               const CrdServing& serving) {
  std::vector<std::shared_ptr<const ResourceInfo>> resources;
  const Value& versions = crd["spec"]["versions"];
  const CrdSchemas::Ptr schemas = compiled_schemas(serving.schemas, versions);
  if (!schemas->readable()) {
    return resources;
  }
  const std::shared_ptr<ResourceInfo> common = common_part(crd, serving);
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const Value& version = versions[i];
    if (!version["served"].as_bool()) {
      continue;
    }
    auto info = std::make_shared<ResourceInfo>(*common);
    info->version = version["name"].str();
    info->columns = printed_columns(version);
    add_subresources(version, *info);
    for (const Value& field : version["selectableFields"].items()) {
      std::string_view path = field["jsonPath"].as_string();
      if (path.starts_with('.')) {
        path.remove_prefix(1);
      }
      info->selectable_fields.emplace_back(path);
    }
    info->deprecation_warning = deprecation_of(versions, version, *info);
    info->schema = schemas->versions()[i].schema->root();
    info->open_api = version["schema"]["openAPIV3Schema"];
    info->types = std::make_shared<SchemaOwner>(schemas, i);
    resources.push_back(std::move(info));
  }
  return resources;
}

namespace {

const SchemaOwner* owner_of(const ResourceInfo& resource) {
  return dynamic_cast<const SchemaOwner*>(resource.types.get());
}

}  // namespace

const cel::SchemaRules* rules_of(const ResourceInfo& resource) {
  const SchemaOwner* owner = owner_of(resource);
  return owner == nullptr ? nullptr : owner->rules();
}

bool embeds_objects(const ResourceInfo& resource) {
  const SchemaOwner* owner = owner_of(resource);
  return owner != nullptr && owner->embeds();
}

bool passed_rules(const ResourceInfo& resource, std::uint64_t revision) {
  const SchemaOwner* owner = owner_of(resource);
  return owner != nullptr && owner->trusted() && revision > resource.schema_revision;
}

void note_broken_rules(const ResourceInfo& resource) {
  if (const SchemaOwner* owner = owner_of(resource)) {
    owner->distrust();
  }
}

}  // namespace athanor::apiserver
