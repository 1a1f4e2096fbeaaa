// SPDX-License-Identifier: Apache-2.0
// The server: a request through its stages, and what time alone brings (docs/spec/apiserver.md 3).
#include "embedded/apiserver/core/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/cancellation.hpp"
#include "base/log.hpp"
#include "embedded/apiserver/aggregation/aggregation.hpp"
#include "embedded/apiserver/audit/request_audit.hpp"
#include "embedded/apiserver/bootstrap/bootstrap.hpp"
#include "embedded/apiserver/core/request_metrics.hpp"
#include "embedded/apiserver/crd/crd_controller.hpp"
#include "embedded/apiserver/read/document_cache.hpp"
#include "embedded/apiserver/read/watch_hub.hpp"
#include "embedded/apiserver/request/call.hpp"
#include "embedded/apiserver/request/exchange.hpp"
#include "embedded/apiserver/request/flow_index.hpp"
#include "embedded/apiserver/request/respond.hpp"
#include "embedded/apiserver/request/revision_waits.hpp"
#include "embedded/apiserver/request/route.hpp"
#include "embedded/apiserver/resources/event_expiry.hpp"

namespace athanor::apiserver {

Core::Core(Options options_in, Dependencies dependencies_in)
    : options(std::move(options_in)),
      dependencies(std::move(dependencies_in)),
      store(*dependencies.store),
      entropy(*dependencies.entropy),
      authenticator(make_authenticator(options, dependencies)),
      authorizer(make_authorizer(options, dependencies)),
      admission(built_in_admission()),
      watches(std::make_unique<WatchHub>(store)),
      revisions(std::make_unique<RevisionWaits>(store)),
      documents(std::make_unique<DocumentCache>()),
      flows(std::make_unique<FlowIndex>(store)),
      metrics(std::make_unique<RequestMetrics>()),
      aggregation(std::make_unique<Aggregation>(*this)) {
  if (dependencies.admission) {
    // Webhooks see the object after the built-in steps, quotas after all other steps.
    std::vector<AdmissionStep> more = dependencies.admission();
    const auto webhooks = std::find_if(
        admission.begin(), admission.end(),
        [](const AdmissionStep& step) { return step.name == "MutatingAdmissionWebhook"; });
    admission.insert(webhooks, std::make_move_iterator(more.begin()),
                     std::make_move_iterator(more.end()));
  }
  std::erase_if(admission, [this](const AdmissionStep& step) {
    return std::ranges::find(options.disabled_admission, step.name) !=
           options.disabled_admission.end();
  });
}

Core::~Core() = default;

namespace {

constexpr std::size_t kWarningLimit = 256;    // bytes of one text
constexpr std::size_t kWarningsLimit = 4096;  // bytes of all
constexpr std::chrono::minutes kRestoreEvery{1};
constexpr std::string_view kCrds = "customresourcedefinitions";

// A warning as a header shows it.
std::string warning_text(std::string_view warning) {
  std::string text;
  for (const char c : warning) {
    if (c == '"' || c == '\\') {
      text += '\\';
    }
    text += c == '\n' || c == '\r' ? ' ' : c;
  }
  return text;
}

// Each once; when they are too long together, each is cut.
void add_warnings(const std::vector<std::string>& warnings, Response& response) {
  std::vector<std::string_view> unique;
  std::unordered_set<std::string_view> seen;
  std::size_t total = 0;
  for (const std::string_view warning : warnings) {
    if (seen.insert(warning).second) {
      unique.push_back(warning);
      total += warning.size();
    }
  }
  const bool cut = total > kWarningsLimit;
  total = 0;
  for (const std::string_view warning : unique) {
    if (total > kWarningsLimit) {
      break;
    }
    const std::string_view shown = cut ? warning.substr(0, kWarningLimit) : warning;
    total += shown.size();
    response.headers.emplace_back("Warning", fmt::format("299 - \"{}\"", warning_text(shown)));
  }
}

// The answer of a request whose work ended under way (docs/spec/apiserver.md 2.9).
StatusError given_up(Cancellation::Reason reason) {
  return reason == Cancellation::Reason::Ending
             ? status::of(Error::unavailable("the server is shutting down"))
             : status::timeout("request did not complete within the allotted timeout");
}

bool is_mutating(std::string_view method) {
  return method != "GET" && method != "HEAD" && method != "OPTIONS";
}

// What must get through whatever the load (docs/spec/apiserver.md 18).
bool exempt_from_limits(const Call& call) {
  const auto& groups = call.user.groups;
  const RequestPath& path = call.path;
  return std::find(groups.begin(), groups.end(), "system:masters") != groups.end() ||
         path.verb == "watch" || path.group == "coordination.k8s.io" ||
         (!path.is_resource &&
          (call.request.path.starts_with("/healthz") || call.request.path.starts_with("/livez") ||
           call.request.path.starts_with("/readyz")));
}

class ServerImpl final : public Server {
 public:
  ServerImpl(Options options, Dependencies dependencies)
      : core_(std::move(options), std::move(dependencies)),
        crds_(core_),
        events_(core_.store, core_.options.event_ttl) {
    exchanges_ = {.pass = [this](const Request& request, Instant now,
                                 Conversation& talk) { return pass(request, now, talk); },
                  .entropy = &core_.entropy,
                  .clock = core_.dependencies.clock,
                  .outside = core_.dependencies.outside,
                  .revisions = core_.revisions.get(),
                  .request_timeout = core_.options.request_timeout};
    core_.exchanges = &exchanges_;
  }

  Result<void> start(Instant now) {
    crds_.sync(now);
    return restore_bootstrap_objects(now);
  }

  Response handle(Request request, Instant now) override {
    return run_exchange(exchanges_, request, now);
  }

  void handle_async(Request request, Instant now, Executor resume,
                    UniqueFunction<void(Response)> done) override {
    start_exchange(exchanges_, std::move(request), now, std::move(resume), std::move(done));
  }

  [[nodiscard]] bool admits(const Request& head, Instant now) override {
    auto user = core_.authenticator->authenticate(head, now);
    if (user.ok()) {
      user = impersonate(core_, head, *std::move(user));
    }
    return user.ok() &&
           core_.authorizer->authorize(attributes_of(parse_request_path(head), head, *user))
               .allowed;
  }

  void tick(Instant now) override {
    crds_.sync(now);
    core_.watches->tick(now);
    core_.revisions->tick(now);
    events_.tick(now);
    core_.aggregation->tick(now);
    core_.store.trim(now);
    if (now - last_restore_ >= kRestoreEvery) {
      if (const auto restored = restore_bootstrap_objects(now); !restored.ok()) {
        log::warn("bootstrap objects could not be restored", {{"error", restored.error().message}});
      }
    }
  }

  void begin_shutdown() override {
    core_.shutting_down = true;
    core_.watches->end({});
    core_.revisions->end();
  }

  void note_refusal(const std::string& loop, int code) override {
    core_.metrics->note_refusal(loop, code);
  }

  [[nodiscard]] const ResourceRegistry& registry() const override { return core_.registry; }

 private:
  // One pass of a request; nullopt: the outside world has to be asked first.
  std::optional<Response> pass(const Request& request, Instant now, Conversation& conversation) {
    conversation.begin_pass();
    Call call{.core = core_, .request = request, .conversation = conversation, .now = now};
    call.in_process = request.credentials.internal_user.has_value();
    const RequestMetrics::Running running(*core_.metrics, is_mutating(request.method));
    StatusResult<Response> served = serve_in_time(call);
    // The answer is delivered, audited and counted, however late it is.
    const CancellationScope to_its_end(nullptr);
    if (!served.ok() && is_pending(served.error())) {
      return std::nullopt;
    }
    Response response = served.ok() ? *std::move(served) : refusal(call, served.error());
    if (call.resource != nullptr && call.request.method != "GET") {
      after_write(call, now);
    }
    add_warnings(call.warnings, response);
    if (call.audit != nullptr) {
      RequestAudit::answered(call.audit, call, response);
    }
    if (!call.in_process) {
      add_headers(call, response);
      core_.metrics->note(call, response.status, core_.dependencies.clock->now() - now);
    }
    return response;
  }

  // Ends with a refusal when the request's work is cancelled.
  StatusResult<Response> serve_in_time(Call& call) {
    try {
      return serve(call);
    } catch (const Cancelled& cancelled) {
      return given_up(cancelled.reason());
    }
  }

  StatusResult<Response> serve(Call& call) {
    call.path = parse_request_path(call.request);
    if (!is_long_running(call.path)) {
      if (const auto time = allotted_time(call.request, core_.options.request_timeout);
          !time.ok()) {
        return status::bad_request(time.error().message);
      }
    }
    auto user = core_.authenticator->authenticate(call.request, call.now);
    begin_audit(call, user);
    ATHANOR_TRY(call.user, std::move(user));
    ATHANOR_TRY(call.user, impersonate(core_, call.request, std::move(call.user)));
    if (call.audit != nullptr && !call.request.header("impersonate-user").empty()) {
      call.audit->acts_as(call.user);
    }
    const Attributes attributes = attributes_of(call.path, call.request, call.user);
    const Decision decision = core_.authorizer->authorize(attributes);
    if (!call.in_process && (call.path.verb == "watch" || !is_long_running(call.path))) {
      call.flow = core_.flows->classify(attributes);
    }
    std::optional<RequestMetrics::Seat> seat;
    if (call.flow) {
      seat.emplace(*core_.metrics, *call.flow);
    }
    call.annotate("authorization.k8s.io/decision", decision.allowed ? "allow" : "forbid");
    call.annotate("authorization.k8s.io/reason", decision.reason);
    if (!decision.allowed) {
      return access_denied(attributes, decision);
    }
    if (call.request.without_body) {
      return status::too_many_requests("the rights of the request changed, please try again", 1);
    }
    if (call.conversation.expired) {
      return status::timeout(
          "request did not complete within requested timeout - context deadline exceeded");
    }
    if (call.request.overdue && !exempt_from_limits(call)) {
      return status::too_many_requests("too many requests, please try again later", 1);
    }
    call.table = core_.registry.table();
    if (auto elsewhere = core_.aggregation->serve(call)) {
      return *std::move(elsewhere);
    }
    return call.path.is_resource ? route_resource(call) : route_plain(call);
  }

  static void begin_audit(Call& call, const StatusResult<UserInfo>& user) {
    if (call.core.options.audit_policy == nullptr) {
      return;
    }
    call.user = user.ok() ? *user : UserInfo();
    if (call.conversation.audit == nullptr) {
      call.conversation.audit = RequestAudit::begin(call, user.ok());
    }
    call.audit = call.conversation.audit;
    if (call.audit != nullptr) {
      call.audit->begin_pass();
    }
  }

  // A Status in the form that the client takes (docs/spec/apiserver.md 5.1, 5.3).
  static Response refusal(const Call& call, const StatusError& error) {
    Response response = error_response(error);
    if (response.value && !call.in_process) {
      const bool custom = call.resource != nullptr && call.resource->is_custom;
      response.content_type = content_type_of(negotiate_error(call.request, custom));
    }
    return response;
  }

  // A definition that was written takes effect before its writer hears of it.
  void after_write(const Call& call, Instant now) {
    if (call.resource->plural == kCrds || call.resource->crd_terminating) {
      crds_.sync(now);
    }
  }

  void add_headers(const Call& call, Response& response) {
    const std::string_view audit = call.request.header("audit-id");
    response.headers.emplace_back("Audit-Id", call.audit != nullptr ? call.audit->id()
                                              : audit.empty()       ? core_.entropy.uuid()
                                                                    : std::string(audit));
    if (call.flow) {
      response.headers.emplace_back("X-Kubernetes-Pf-Flowschema-Uid", call.flow->schema_uid);
      response.headers.emplace_back("X-Kubernetes-Pf-Prioritylevel-Uid", call.flow->level_uid);
    }
    const bool has_cache_rule =
        std::any_of(response.headers.begin(), response.headers.end(),
                    [](const auto& header) { return header.first == "Cache-Control"; });
    if (!has_cache_rule) {
      response.headers.emplace_back("Cache-Control", "no-cache, private");
    }
  }

  // What clients may count on, even if it was deleted.
  Result<void> restore_bootstrap_objects(Instant now) {
    last_restore_ = now;
    const store::Revision before = core_.store.revision();
    if (before == restored_) {
      return {};  // nothing was written since
    }
    ATHANOR_TRY_VOID(install_missing(now));
    restored_ = before;
    return {};
  }

  Result<void> install_missing(Instant now) {
    return install_bootstrap_objects({.store = core_.store,
                                      .table = *core_.registry.table(),
                                      .options = core_.options,
                                      .entropy = core_.entropy,
                                      .now = now});
  }

  // Touched by start() and tick() alone.
  Instant last_restore_{};
  std::optional<store::Revision> restored_{};  // nothing was missing then
  Core core_;
  CrdController crds_;
  EventExpiry events_;
  ExchangeContext exchanges_{};
};

}  // namespace

// NOLINTNEXTLINE(performance-unnecessary-value-param): servers that wait keep it
void Server::handle_async(Request request, Instant now, Executor /*resume*/,
                          UniqueFunction<void(Response)> done) {
  done(handle(std::move(request), now));
}

bool Server::admits(const Request& /*head*/, Instant /*now*/) {
  return true;
}

Result<std::unique_ptr<Server>> Server::create(Options options, Dependencies dependencies) {
  if (dependencies.store == nullptr || dependencies.entropy == nullptr ||
      dependencies.clock == nullptr) {
    return Error::internal("the API server needs a store, a clock and entropy");
  }
  const Instant now = dependencies.clock->now();
  auto server = std::make_unique<ServerImpl>(std::move(options), std::move(dependencies));
  ATHANOR_TRY_VOID(server->start(now));
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace athanor::apiserver
