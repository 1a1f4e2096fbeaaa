// SPDX-License-Identifier: Apache-2.0
// Stage 3 of a request: from the body's bytes to an object of the expected type
// (docs/spec/apiserver.md 5.2, 9.1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "embedded/apiserver/request/call.hpp"
#include "embedded/apiserver/write/write_options.hpp"
#include "kube/schema/prune.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// A parsed document and the duplicate keys in it.
struct Document {
  Value value{};
  std::vector<std::string> duplicates{};     // of JSON: their paths
  std::vector<std::string> repeated_keys{};  // of YAML: `line 3: key "a" already set in map`
};
// Returns the sentence of Go's strict YAML parser about the repeated keys; empty: there are none.
std::string repeated_keys_error(const Document& document);

// What a body is read as when it does not say, and how errors name it.
struct BodyType {
  std::string_view api_version{};
  std::string_view kind{};
};
// Parses the body as a document.
StatusResult<Document> parse_body(const Call& call, const BodyType& type, bool allow_protobuf);

// Reports a normalisation's issues as field validation wants: Strict refuses, Warn warns.
StatusResult<void> report_issues(Call& call, FieldValidation validation, const FieldIssues& issues,
                                 std::string_view kind, std::string_view version);

// Returns an object of the call's resource (of its version): kind checked, unknown fields dropped,
// values canonical. `issues` may be null.
StatusResult<Value> normalize(const ResourceInfo& resource, const Value& object,
                              FieldIssues* issues = nullptr, Nulls nulls = Nulls::Dropped);
// Normalises likewise, walking only the top-level members that are not those of `base`, which is
// normal already.
StatusResult<Value> normalize_changed(const ResourceInfo& resource, const Value& base,
                                      const Value& object, FieldIssues* issues = nullptr);

// Decodes the body of a POST or PUT of the resource: parsed, checked, normalised, issues reported.
StatusResult<Value> decode_object(Call& call, const WriteOptions& options);

// 413 above this many bytes.
inline constexpr std::size_t kBodyLimit = 3'145'728;

}  // namespace athanor::apiserver
