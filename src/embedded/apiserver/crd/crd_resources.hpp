// SPDX-License-Identifier: Apache-2.0
// From a CustomResourceDefinition to the resources that it serves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "embedded/kinds/converter.hpp"
#include "embedded/kinds/resource_info.hpp"
#include "kube/value/value.hpp"

namespace athanor::cel {
class SchemaRules;  // cel/schema_rules.hpp
}

namespace athanor::apiserver {

class CrdSchemaCache;  // crd_schemas.hpp

// What a definition's resources are served with, beside its spec.
struct CrdServing {
  const Converter* converter = nullptr;  // between its versions; null: apiVersion alone changes
  std::uint64_t schema_revision = 0;     // objects written later fit the schema
  bool terminating = false;
  CrdSchemaCache* schemas = nullptr;  // may be null
};

// Returns one entry per served version; empty when a schema cannot be read (which validation
// refuses before).
std::vector<std::shared_ptr<const ResourceInfo>> crd_resources(const Value& crd,
                                                               const CrdServing& serving);

// Returns the CEL rules of a custom resource's schema; nullptr when it has none.
const cel::SchemaRules* rules_of(const ResourceInfo& resource);
// Returns true if its objects may hold other objects (x-kubernetes-embedded-resource).
bool embeds_objects(const ResourceInfo& resource);
// Returns true if an object last written at `revision` has passed the rules of this resource: it
// was written since they hold, through the only version, and no older object has been found that
// breaks them and was kept all the same.
bool passed_rules(const ResourceInfo& resource, std::uint64_t revision);
// Records that such an object has been found.
void note_broken_rules(const ResourceInfo& resource);

}  // namespace athanor::apiserver
