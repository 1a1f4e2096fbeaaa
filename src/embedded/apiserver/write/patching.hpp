// SPDX-License-Identifier: Apache-2.0
// What the patches of objects and of their scales share (docs/spec/apiserver.md 9.4, 9.5, 11.2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "embedded/apiserver/request/call.hpp"
#include "embedded/apiserver/write/decode.hpp"
#include "embedded/apiserver/write/write_options.hpp"
#include "kube/apply/managed_fields.hpp"

namespace athanor::apiserver {

// The kinds of patches, by their media types.
enum class PatchType : std::uint8_t { Json, Merge, Strategic, Apply };

// Returns the type by the Content-Type. Error 415.
StatusResult<PatchType> patch_type(const Call& call);

// Parses the body of a patch other than apply. Errors 400, 413.
StatusResult<Document> parse_patch(const Call& call, PatchType type, FieldValidation validation);
// Parses the body of an apply, which is YAML. Errors 400, 413.
StatusResult<Document> parse_config(Call& call, const WriteOptions& options);

// A parsed patch. The document must outlive it.
struct Patch {
  PatchType type = PatchType::Merge;  // not Apply
  const Document& document;
};
// Returns `live`, an object of `resource`, with the patch applied, decoded. Errors 400, 422.
StatusResult<Value> patched(Call& call, const WriteOptions& options, const ResourceInfo& resource,
                            const Patch& patch, const Value& live);

// Returns "apps/v1, Kind=Deployment", as errors of an apply say it.
std::string apply_kind(const Value& config);

// Checks that the configuration has the type of the resource and no managers of its own; 400.
StatusResult<void> check_config(const ResourceInfo& resource, const Value& config);

// Checks that name and namespace of the object are those of the URL; 400.
StatusResult<void> check_place(const Call& call, const Value& object);

// Checks the version that the client writes to, if it names one. Errors 400, 409.
StatusResult<void> check_version(const Call& call, std::string_view wanted, const Value& live);

// Makes the refusal of an apply, with a cause FieldManagerConflict for each conflicting field.
StatusError apply_refused(const ApplyError& refused);

}  // namespace athanor::apiserver
