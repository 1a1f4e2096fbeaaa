// SPDX-License-Identifier: Apache-2.0
// Admission: ordered steps that change, then judge, a write (docs/spec/apiserver.md 15). The
// built-in ones are in admission/; the systems' own webhooks join the chain through
// Dependencies::admission.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/time.hpp"
#include "embedded/apiserver/request/options.hpp"
#include "embedded/kinds/resource_info.hpp"
#include "embedded/kinds/status_error.hpp"
#include "embedded/kinds/user_info.hpp"
#include "embedded/store/store.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/value.hpp"

namespace athanor::apiserver {

class Authorizer;
struct Call;  // call.hpp

// What a write does, as webhooks see it.
enum class Operation : std::uint8_t { Create, Update, Delete, Connect };
std::string_view operation_name(Operation operation);  // "CREATE", ...

// Which mutating webhooks ran, and whether the mutating steps have to run once more, as a webhook
// changed what an earlier one had seen (docs/spec/apiserver.md 15.2).
struct Reinvocation {
  bool second_round = false;
  bool wanted = false;
  std::set<std::string> ran{};    // since the last change; those with reinvocationPolicy IfNeeded
  std::set<std::string> again{};  // to be called in the second round
  Value last_output{};            // of the webhooks of the first round
};

// One write under way, as the steps see and change it. Systems' webhooks see an AdmissionRequest
// (runtime/view/admission.hpp), made from this.
struct AdmissionAttributes {
  Operation operation = Operation::Create;
  const ResourceInfo* resource = nullptr;
  std::string subresource{};
  Key key{};
  Value object{};      // Null on Delete. Mutating steps change it; validating ones must not.
  Value old_object{};  // Null on Create
  Value options{};     // CreateOptions, UpdateOptions, DeleteOptions as sent
  const UserInfo* user = nullptr;
  bool dry_run = false;
  std::vector<std::string> warnings{};  // become Warning headers
  // Committed together with the object, all or nothing (a quota's usage). `expected` set: when it
  // no longer holds, the server runs admission again.
  std::vector<store::Write> extra_writes{};
  Reinvocation reinvocation{};
};

// What steps may look at. Lives for one request.
struct AdmissionContext {
  const store::Store& store;
  const ResourceTable& table;
  const Authorizer& authorizer;
  const Options& options;
  Entropy& entropy;
  Instant now{};
  Call* call = nullptr;  // the request under way; for steps that ask the outside world
};

// One step. `mutate` or `validate` may be empty. A refusal ends the request.
struct AdmissionStep {
  std::string name{};  // as --disable-admission-plugins knows it
  std::function<StatusResult<void>(AdmissionAttributes&, const AdmissionContext&)> mutate{};
  std::function<StatusResult<void>(AdmissionAttributes&, const AdmissionContext&)> validate{};
};

// Returns the steps in order. Defined in admission/.
std::vector<AdmissionStep> built_in_admission();

}  // namespace athanor::apiserver
