// SPDX-License-Identifier: Apache-2.0
// Dependencies: the ports that the API server works through; faked in tests and simulation.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/unique_function.hpp"
#include "kube/value/value.hpp"

namespace athanor::store {
class Store;
}

namespace athanor::apiserver {

struct AdmissionStep;  // request/admission.hpp
class AuditSink;       // audit/request_audit.hpp
class Converter;       // embedded/kinds/converter.hpp
class CrdSchemaCache;  // crd/crd_schemas.hpp
class Outside;         // outside.hpp
class PodLogs;         // pod_logs.hpp
class PodStreams;      // streaming/pod_streams.hpp
class TokenSigner;     // token_signer.hpp

// Runs a task later, on a thread of the owner's choice.
using Executor = std::function<void(UniqueFunction<void()> task)>;

// Pointers are not owned and must outlive the server; store, clock and entropy are required.
struct Dependencies {
  store::Store* store = nullptr;
  Clock* clock = nullptr;
  Entropy* entropy = nullptr;
  TokenSigner* tokens = nullptr;           // may be null: no tokens
  PodLogs* logs = nullptr;                 // may be null: logs answer 501
  Outside* outside = nullptr;              // may be null: every call of a webhook fails
  PodStreams* streams = nullptr;           // may be null: exec, attach, portforward answer 501
  AuditSink* audit = nullptr;              // may be null: nothing is audited
  CrdSchemaCache* crd_schemas = nullptr;   // may be null, or shared by several servers
  std::function<std::string()> metrics{};  // the text of /metrics; may be empty
  // The JSON of /debug/queue, what the controllers of this process do; may be empty.
  std::function<Result<Value>()> queue{};
  // Conversion between the versions of a custom kind (group, kind) without a webhook; may be empty
  // or answer null (converter.hpp).
  std::function<const Converter*(std::string_view group, std::string_view kind)> converter{};
  // Further admission steps, behind the built-in mutating ones and before quota (admission.hpp);
  // may be empty.
  std::function<std::vector<AdmissionStep>()> admission{};
};

}  // namespace athanor::apiserver
