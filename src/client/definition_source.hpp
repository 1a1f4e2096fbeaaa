// SPDX-License-Identifier: Apache-2.0
// DefinitionSource: fetches definitions of pipelines and tasks over HTTP: the answers to the
// observations of Tekton's resolvers (docs/spec/tekton.md 1). Addresses come from users: what is
// fetched is bounded in size and time, link-local addresses are refused, and a server may redirect
// to itself, or to an https server alone.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor::client {

// The probe's name: its queries begin with it and a colon, and go on with {"url": …}.
inline constexpr std::string_view kDefinitionProbe = "definition";

// Thread-safe. Destroying it ends what is under way.
class DefinitionSource {
 public:
  // Called once; {"url": …, "text": …}, or an error that names the URL.
  using Done = std::function<void(Result<Value>)>;

  DefinitionSource();
  DefinitionSource(const DefinitionSource&) = delete;
  DefinitionSource& operator=(const DefinitionSource&) = delete;
  ~DefinitionSource();

  void ask(const std::string& query, Done done);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns the address that a server redirects to, or why it is not followed (BadRequest).
Result<std::string> redirected(const std::string& from, const std::string& location);

}  // namespace athanor::client
