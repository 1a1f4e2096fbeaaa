// SPDX-License-Identifier: Apache-2.0
// Call: one request on its way through the stages, and Core: what all requests share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/apiserver/request/admission.hpp"
#include "embedded/apiserver/request/authenticate.hpp"
#include "embedded/apiserver/request/authorize.hpp"
#include "embedded/apiserver/request/conversation.hpp"
#include "embedded/apiserver/request/conversion.hpp"
#include "embedded/apiserver/request/dependencies.hpp"
#include "embedded/apiserver/request/flow_index.hpp"
#include "embedded/apiserver/request/http.hpp"
#include "embedded/apiserver/request/negotiate.hpp"
#include "embedded/apiserver/request/options.hpp"
#include "embedded/apiserver/request/request_path.hpp"
#include "embedded/kinds/kind_behaviour.hpp"
#include "embedded/kinds/resource_info.hpp"
#include "embedded/kinds/status_error.hpp"
#include "embedded/kinds/user_info.hpp"

namespace athanor::apiserver {

class WatchHub;          // watch_hub.hpp
class RevisionWaits;     // revision_waits.hpp
class Aggregation;       // aggregation/aggregation.hpp
class DocumentCache;     // document_cache.hpp
class RequestAudit;      // audit/request_audit.hpp
class RequestMetrics;    // request_metrics.hpp
struct ExchangeContext;  // exchange.hpp

// Shared by all requests; every member is safe to use from several threads.
struct Core {
  Core(Options options_in, Dependencies dependencies_in);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  Options options;
  Dependencies dependencies;
  store::Store& store;
  Entropy& entropy;
  ResourceRegistry registry;
  std::unique_ptr<Authenticator> authenticator;
  std::unique_ptr<Authorizer> authorizer;
  std::vector<AdmissionStep> admission;
  std::unique_ptr<WatchHub> watches;
  std::unique_ptr<RevisionWaits> revisions;
  std::unique_ptr<DocumentCache> documents;
  std::unique_ptr<FlowIndex> flows;
  std::unique_ptr<RequestMetrics> metrics;  // never null
  std::unique_ptr<Aggregation> aggregation;
  const ExchangeContext* exchanges = nullptr;  // how watches ask the outside world
  // Held from read to commit by writes of kinds that allocate (KindBehaviour::allocate).
  std::mutex allocation{};
  std::atomic<bool> shutting_down{false};
  std::atomic<int> costly{0};  // requests of clients with costly expressions that run now
};

// One request. `resource` is set once routing found it; handlers run with it set.
struct Call {
  Core& core;
  const Request& request;
  Conversation& conversation;
  Instant now{};
  ResourceTablePtr table{};
  RequestPath path{};
  UserInfo user{};
  const ResourceInfo* resource = nullptr;
  Accepted accepted{};
  bool in_process = false;  // the caller reads Response::value
  std::vector<std::string> warnings{};
  std::int64_t expression_cost = 0;            // of admission: units of all hooks and policies
  std::shared_ptr<std::atomic<int>> costly{};  // set: counted in Core::costly until the end
  std::optional<FlowClass> flow{};
  std::shared_ptr<RequestAudit> audit{};  // null: the request is not audited

  // Annotates the audit of this request; the first value of a key counts.
  void annotate(std::string key, std::string value) const;
  // Returns the context for conversions between versions.
  [[nodiscard]] VersionContext versions() const {
    return {.store = &core.store, .conversation = &conversation};
  }
  // Returns random numbers of this request.
  [[nodiscard]] Entropy& entropy() const { return conversation.entropy(); }
  [[nodiscard]] Key key() const {
    return {resource->namespaced ? path.ns : std::string(), path.name};
  }
  // Returns "deployments.apps" or "Deployment.apps" as messages want them.
  [[nodiscard]] Qualified qualified_resource() const { return {resource->plural, resource->group}; }
  [[nodiscard]] Qualified qualified_kind() const { return {resource->kind, resource->group}; }
  [[nodiscard]] KindContext kind_context(bool dry_run);
};

}  // namespace athanor::apiserver
