// SPDX-License-Identifier: Apache-2.0
// The form of a read's answer: whole objects, a Table, or metadata only
// (docs/spec/apiserver.md 5.4, 5.5).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "embedded/apiserver/request/http.hpp"
#include "embedded/apiserver/request/negotiate.hpp"
#include "embedded/kinds/resource_info.hpp"
#include "embedded/kinds/status_error.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

// What a Table row carries besides its cells.
enum class IncludeObject : std::uint8_t { Metadata, Whole, None };
// Reads ?includeObject=; empty: Metadata. BadRequest for other values.
StatusResult<IncludeObject> read_include_object(const Request& request);

// The metadata of a list.
struct ListMetadata {
  std::uint64_t revision = 0;
  std::string continue_token{};
  std::optional<std::uint64_t> remaining{};
};

// Returns one object in the accepted form.
Value shape_object(const ResourceInfo& resource, const Accepted& accepted, IncludeObject include,
                   const Value& object, Instant now);
// Checks that a read can be answered in the accepted form: PartialObjectMetadata of a list, or its
// list of one object: 406.
StatusResult<void> check_shape(const ResourceInfo& resource, const Accepted& accepted, bool list);
// Returns a list in the accepted form.
Value shape_list(const ResourceInfo& resource, const Accepted& accepted, IncludeObject include,
                 const std::vector<Value>& objects, const ListMetadata& metadata, Instant now);

// Returns {"kind":"PartialObjectMetadata",...}
Value partial_metadata(const Accepted& accepted, const Value& object);
// How a Table is made: what its rows have of the objects, and whether it names its columns.
struct TableShape {
  IncludeObject include = IncludeObject::Metadata;
  bool headless = false;
};
// Makes a Table of these objects.
Value make_table(const ResourceInfo& resource, const Accepted& accepted, const TableShape& shape,
                 const std::vector<Value>& objects, Value metadata, Instant now);

}  // namespace athanor::apiserver
