// SPDX-License-Identifier: Apache-2.0
// The embedded API server as a machine: requests in, responses out. It opens no socket, starts no
// thread, reads no clock. Thread-safe: the transport's threads and the in-process controllers call
// handle() side by side.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "base/unique_function.hpp"
#include "embedded/apiserver/http.hpp"
#include "embedded/store/store.hpp"

namespace athanor::apiserver {

struct AdmissionStep;    // admission.hpp
class AuditSink;         // audit/request_audit.hpp
struct AuditPolicy;      // audit/audit_policy.hpp
class Outside;           // outside.hpp
class ResourceRegistry;  // resource_info.hpp
class Converter;         // converter.hpp

// Signs and checks service account tokens; implemented beside the keys (transport), faked in
// simulation.
class TokenSigner {
 public:
  virtual ~TokenSigner() = default;
  // A JWT over the claims (a JSON object).
  virtual Result<std::string> sign(const Value& claims) = 0;
  // The claims of a token whose signature holds; Unauthorized otherwise. Expiry is the caller's
  // business.
  virtual Result<Value> verify(std::string_view token) = 0;
  [[nodiscard]] virtual std::string issuer() const = 0;  // of what sign() makes
  // Whether tokens that name this issuer are taken.
  [[nodiscard]] virtual bool accepts_issuer(std::string_view name) const {
    return name == issuer();
  }
  [[nodiscard]] virtual Value jwks() const = 0;
};

// Logs of pods, wherever they run (nodes/). ns, pod, container; see docs/spec/apiserver.md 12.5 for
// the options.
struct LogOptions {
  std::string container{};
  bool follow = false;
  bool previous = false;
  bool timestamps = false;
  std::optional<std::int64_t> tail_lines{};
  std::optional<std::int64_t> limit_bytes{};
  std::optional<Instant> since{};
};
class PodLogs {
 public:
  virtual ~PodLogs() = default;
  // The text so far, or with `follow` a stream that ends when the container ends. NotFound: no such
  // container's log yet.
  virtual Result<std::unique_ptr<Stream>> open(const Key& pod, std::string_view pod_uid,
                                               const LogOptions& options) = 0;
};

class PodStreams;  // pod_streams.hpp

struct StaticToken {
  std::string token{}, user{}, uid{};
  std::vector<std::string> groups{};
};

// --requestheader-*: what proxies that authenticate say about whom they speak for.
struct FrontProxy {
  std::vector<std::string> allowed_names{};  // of their certificates; empty: any
  std::vector<std::string> username_headers{"X-Remote-User"};
  std::vector<std::string> uid_headers{"X-Remote-Uid"};
  std::vector<std::string> group_headers{"X-Remote-Group"};
  std::vector<std::string> extra_prefixes{"X-Remote-Extra-"};
};

struct Options {
  std::string advertise_host = "127.0.0.1";
  int advertise_port = 0;
  std::string ca_certificate_pem{};  // for kube-root-ca.crt and extension-apiserver-authentication
  // What aggregated API servers know this one by, and the CA that they check it with; may be empty.
  std::string proxy_client_certificate_pem{};
  std::string proxy_client_key_pem{};
  std::string requestheader_ca_pem{};
  FrontProxy front_proxy{};
  bool bootstrap_tokens = true;  // tokens of Secrets bootstrap-token-ID are taken
  std::vector<StaticToken> tokens{};
  bool always_allow = false;  // --authorization-mode=AlwaysAllow
  bool anonymous = true;      // false: requests without credentials are refused, too
  // Audiences that tokens are meant for and made for; empty: the issuer alone.
  std::vector<std::string> api_audiences{};
  // Admission steps left out, by name.
  std::vector<std::string> disabled_admission{};
  Duration event_ttl = std::chrono::hours(1);
  // Watches without a wish of their own live this long at least, and at most twice as long.
  std::chrono::seconds min_request_timeout{1800};
  // Of everything but watches and other long requests.
  Duration request_timeout = std::chrono::seconds(60);
  std::string service_cluster_ip_range = "10.96.0.0/16";
  std::shared_ptr<const AuditPolicy> audit_policy{};  // null: nothing is audited
  // The quota loop of this server runs: quotas hold as soon as they are there. Otherwise what their
  // status says holds, whoever fills it.
  bool counts_quotas = true;
};

// Runs a task later, on a thread of the owner's choice.
using Executor = std::function<void(UniqueFunction<void()> task)>;

struct Dependencies {
  store::Store* store = nullptr;
  Clock* clock = nullptr;
  Entropy* entropy = nullptr;
  TokenSigner* tokens = nullptr;           // may be null: no tokens
  PodLogs* logs = nullptr;                 // may be null: logs answer 501
  Outside* outside = nullptr;              // may be null: every call of a webhook fails
  PodStreams* streams = nullptr;           // may be null: exec, attach, portforward answer 501
  AuditSink* audit = nullptr;              // may be null: nothing is audited
  std::function<std::string()> metrics{};  // the text of /metrics; may be empty
  // Conversion between the versions of a custom kind (group, kind) without a webhook; may be empty
  // or answer null (converter.hpp).
  std::function<const Converter*(std::string_view group, std::string_view kind)> converter{};
  // Further admission steps, behind the built-in mutating ones and before quota (admission.hpp);
  // may be empty.
  std::function<std::vector<AdmissionStep>()> admission{};
};

class Server {
 public:
  static Result<std::unique_ptr<Server>> create(Options options, Dependencies dependencies);
  virtual ~Server() = default;

  // Waits for the webhooks that the request concerns; only for threads that may.
  virtual Response handle(Request request, Instant now) = 0;
  // Never waits. `done` gets the answer, once: on this thread if nobody outside had to be asked,
  // else in a task of `resume`. The server outlives both.
  virtual void handle_async(Request request, Instant now, Executor resume,
                            UniqueFunction<void(Response)> done);
  // What the server owes to time alone: event TTL, watch timeouts and bookmarks, history. About
  // every 250 ms.
  virtual void tick(Instant now) = 0;
  // From now on /readyz answers 500 and watches end.
  virtual void begin_shutdown() = 0;
  // What is served: what the control loops work on (loops/control_loop.hpp).
  [[nodiscard]] virtual const ResourceRegistry& registry() const = 0;
};

// Makes bytes of `response.value` as the request asked for (JSON, YAML, pretty), where there is
// one, and compresses a large body for a client that takes gzip (docs/spec/apiserver.md 2.5, 2.6).
void encode(const Request& request, Response& response);

}  // namespace athanor::apiserver
