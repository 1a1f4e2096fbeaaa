// SPDX-License-Identifier: Apache-2.0
// The options of a delete, from its body or its query (docs/spec/apiserver.md 10).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "embedded/apiserver/request/call.hpp"

namespace athanor::apiserver {

// propagationPolicy; Unset: the kind's default.
enum class Propagation : std::uint8_t { Unset, Background, Foreground, Orphan };

// The options of one delete; what was not given is unset or empty.
struct DeleteOptions {
  bool dry_run = false;
  Propagation propagation = Propagation::Unset;
  bool explicit_no_orphans = false;  // orphanDependents: false in the body
  std::optional<std::int64_t> grace_seconds{};
  std::string precondition_uid{};
  std::string precondition_revision{};
  Value as_sent{};        // for admission
  bool admitted = false;  // admission has seen the request (an eviction)
};

// Reads body and query; BadRequest for what cannot be read, Invalid (422) for values that are not
// allowed.
StatusResult<DeleteOptions> read_delete_options(Call& call);
// Reads a parsed Value (an Eviction's deleteOptions).
StatusResult<DeleteOptions> parse_delete_options(const Value& body);

}  // namespace athanor::apiserver
