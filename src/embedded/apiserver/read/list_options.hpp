// SPDX-License-Identifier: Apache-2.0
// The query of a list or watch, checked (docs/spec/apiserver.md 8.2, 8.3, 8.6), and continue
// tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "embedded/apiserver/request/http.hpp"
#include "embedded/kinds/status_error.hpp"
#include "kube/value/kind.hpp"

namespace athanor::apiserver {

// resourceVersionMatch of the query.
enum class VersionMatch : std::uint8_t { Unset, Exact, NotOlderThan };

// The parameters of a list or watch.
struct ListOptions {
  std::optional<std::uint64_t> resource_version{};  // unset: not given or empty
  VersionMatch match = VersionMatch::Unset;
  std::size_t limit = 0;  // 0: no limit
  std::string continue_token{};
  // Watches only.
  std::optional<std::int64_t> timeout_seconds{};
  bool bookmarks = false;
  std::optional<bool> send_initial_events{};
};

// Reads the query; BadRequest or Invalid (422) for values out of range and combinations that are
// not allowed.
StatusResult<ListOptions> read_list_options(const Request& request, bool watch);
// Returns true if such a refusal is left to the storage, which comes after the selectors.
bool is_for_storage(const StatusError& error);

// Where the next page starts.
struct ContinueToken {
  std::uint64_t revision = 0;
  Key after{};  // behind this key
};
// What is listed: the objects of one namespace, of all of them, or of a kind without any.
struct ListScope {
  std::string_view ns{};
  bool namespaced = false;
};
// Encodes the place within what is listed, so that a token of another list means a place too.
std::string print_continue_token(const ContinueToken& token, ListScope scope);
// Parses a token; BadRequest for what print_continue_token() cannot have made.
StatusResult<ContinueToken> parse_continue_token(std::string_view text, ListScope scope);

// Parses a uint64. Error 400 for anything else: "resourceVersion: Invalid value: ...".
StatusResult<std::uint64_t> parse_revision(std::string_view text);

}  // namespace athanor::apiserver
