// SPDX-License-Identifier: Apache-2.0
// What the patches of objects and of their scales share (docs/spec/apiserver.md 9.4, 9.5, 11.2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "embedded/apiserver/core/call.hpp"
#include "embedded/apiserver/write/decode.hpp"
#include "embedded/apiserver/write/write_options.hpp"
#include "kube/apply/managed_fields.hpp"

namespace athanor::apiserver {

// The kinds of patches, by their media types.
enum class PatchType : std::uint8_t { Json, Merge, Strategic, Apply };

// By the Content-Type; 415.
StatusResult<PatchType> patch_type(const Call& call);

// The body of a patch other than apply: 400, 413.
StatusResult<Document> parse_patch(const Call& call, PatchType type, FieldValidation validation);
// The same of an apply, which is YAML.
StatusResult<Document> parse_config(Call& call, const WriteOptions& options);

// A parsed patch. The document must outlive it.
struct Patch {
  PatchType type = PatchType::Merge;  // not Apply
  const Document& document;
};
// What the patch makes of `live`, an object of `resource`, decoded. 400, 422.
StatusResult<Value> patched(Call& call, const WriteOptions& options, const ResourceInfo& resource,
                            const Patch& patch, const Value& live);

// "apps/v1, Kind=Deployment", as errors of an apply say it.
std::string apply_kind(const Value& config);

// Checks that the configuration has the type of the resource and no managers of its own; 400.
StatusResult<void> check_config(const ResourceInfo& resource, const Value& config);

// Checks that name and namespace of the object are those of the URL; 400.
StatusResult<void> check_place(const Call& call, const Value& object);

// The version that the client writes to, if it says one; 400, 409.
StatusResult<void> check_version(const Call& call, std::string_view wanted, const Value& live);

// Makes the refusal of an apply, with a cause FieldManagerConflict for each conflicting field.
StatusError apply_refused(const ApplyError& refused);

}  // namespace athanor::apiserver
