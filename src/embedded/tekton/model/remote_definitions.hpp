// SPDX-License-Identifier: Apache-2.0
// Definitions that are not in the API server: resolvers http, hub, git and bundles
// (docs/spec/tekton.md 1).
// What they ask of the world outside is an observation, so that a run waits without blocking
// anything.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor::tekton {

// The reason of the error of a definition that is still on its way.
inline constexpr std::string_view kAwaited = "AwaitingRemoteResource";
// Returns true for that error.
bool is_awaited(const Error& error);

// A Pipeline, Task or StepAction, and where it came from.
struct Definition {
  Object object{};
  Value source{};  // {uri, digest, entryPoint} of status.provenance; Null: a local one
};

// Returns true for a resolver that fetch_definition() knows.
bool is_remote_resolver(std::string_view resolver);

// Checks that a resolver's params are among `known`.
Result<void> check_params(const Value& ref, std::initializer_list<std::string_view> known);
// Checks param `kind` of a resolver: absent, or the word for `kind`.
Result<void> check_kind_param(const Kind& kind, const Value& ref);

// Fetches the definition that `ref` {resolver, params} describes, in the storage version of `kind`;
// an answer counts for ten minutes. `ns`: of the run, whose Secrets it may name. Errors: kAwaited;
// what is wrong with the params, or what was fetched.
Result<Definition> fetch_definition(const View& view, const Kind& kind, const Value& ref,
                                    std::string_view ns);

}  // namespace athanor::tekton
