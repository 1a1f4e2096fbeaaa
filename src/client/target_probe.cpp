// SPDX-License-Identifier: Apache-2.0
// A few threads read Secrets and get credentials ready; one drives all conversations with clusters.
#include "client/target_probe.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "base/condition_variable.hpp"
#include "base/mutex.hpp"
#include "client/cluster_config.hpp"
#include "client/connection.hpp"
#include "client/transfers.hpp"
#include "kube/text/http_status.hpp"
#include "kube/text/json.hpp"
#include "kube/text/kubeconfig.hpp"

namespace athanor::client {
namespace {

constexpr int kPageSize = 500;
constexpr int kDeadlineFactor = 3;  // of the time limit of one request: the whole visit

struct Question {
  Key secret{};
  std::string selector{};
  std::chrono::seconds timeout{10};
  bool programs = false;
  bool plain_http = false;
};

std::optional<Question> parse_question(const std::string& query) {
  const auto parsed = json::parse(query.substr(std::min(query.find(':') + 1, query.size())));
  if (!parsed.ok() || !parsed->is_object()) {
    return std::nullopt;
  }
  const Value& question = *parsed;
  return Question{.secret = {question["namespace"].str(), question["secret"].str()},
                  .selector = question["selector"].str(),
                  .timeout = std::chrono::seconds(
                      std::clamp<std::int64_t>(question["timeout"].as_int(10), 1, 3600)),
                  .programs = question["programs"].as_bool(),
                  .plain_http = question["plainHttp"].as_bool()};
}

Error cause(std::string text) {
  return {.code = 503, .reason = "Unreachable", .message = std::move(text)};
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The words of 6.2 row 9 for a transfer without an answer.
std::string why(const Error& error, std::chrono::seconds limit) {
  const std::string low = lower(error.message);
  if (error.code == 504 || contains(low, "timeout") || contains(low, "deadline exceeded") ||
      contains(low, "timed out")) {
    return fmt::format("timeout after {}s", limit.count());
  }
  for (const char* known : {"connection refused", "no such host"}) {
    if (contains(low, known)) {
      return known;
    }
  }
  for (const char* mark : {"tls: ", "x509: "}) {
    if (const std::size_t at = low.find(mark); at != std::string::npos) {
      return "TLS: " + error.message.substr(at + std::string_view(mark).size());
    }
  }
  if (contains(low, "certificate") || contains(low, "ssl") || contains(low, "tls")) {
    return "TLS: " + error.message;
  }
  return error.message;
}

ClusterConfig config_of(const KubeTarget& target) {
  ClusterConfig config;
  config.server = target.server;
  config.certificate_authority.text = target.ca_pem;
  config.insecure_skip_verify = target.insecure_skip_verify;
  config.tls_server_name = target.tls_server_name;
  config.proxy_url = target.proxy_url;
  config.client_certificate.text = target.certificate_pem;
  config.client_key.text = target.key_pem;
  config.token = target.token;
  config.username = target.username;
  config.password = target.password;
  return config;
}

Result<ClusterConfig> read_config(const Value& secret, const Question& question) {
  const KubeconfigReading reading = read_kubeconfig_data(
      secret["data"],
      {.allow_programs = question.programs, .allow_plain_http = question.plain_http});
  if (reading.flaw != KubeconfigFlaw::None) {
    return cause("the kubeconfig changed meanwhile");
  }
  if (!reading.target.runs_program) {
    return config_of(reading.target);
  }
  const auto document = parse_kubeconfig_data(secret["data"]);
  return cluster_config_of(document.value_or(Value()), reading.target.context, ".",
                           {.allow_exec = true, .allow_files = false, .in_cluster = false});
}

// What is asked of one cluster, in turn, and what its answers contain: nodes by pages, the
// version, and what identifies the cluster, whatever it is called; the last two are optional: what
// goes wrong with them is ignored. Of one thread at a time.
class Visit {
 public:
  Visit(Question question, ClusterConfig config, Identity identity)
      : question_(std::move(question)),
        config_(std::make_shared<const ClusterConfig>(std::move(config))),
        identity_(std::move(identity)),
        left_(kDeadlineFactor * question_.timeout) {}

  // The next request.
  [[nodiscard]] Fetch ask(std::size_t limit) const {
    const Duration once = std::min<Duration>(question_.timeout, left_);
    return {.config = config_,
            .identity = identity_,
            .path = path(),
            .connect_timeout = once,
            .head_timeout = once,
            .timeout = std::min<Duration>(2 * question_.timeout, left_),
            .response_limit = limit,
            .first = begun_};
  }

  // Takes its answer; nullopt: there is more to ask.
  std::optional<Result<Value>> take(const ApiResult& result, Duration took) {
    begun_ = true;
    left_ -= took;
    auto answer = body_of(result);
    switch (stage_) {
      case Stage::Nodes:
        if (answer.ok()) {
          answer = add(*std::move(answer));
        }
        if (!answer.ok()) {
          return answer;
        }
        if (!token_.empty()) {
          return left_ > Duration::zero() ? std::nullopt
                                          : std::optional<Result<Value>>(cause(too_long()));
        }
        stage_ = Stage::Version;
        break;
      case Stage::Version:
        version_ = answer.ok() ? (*answer)["gitVersion"].str() : std::string();
        stage_ = Stage::Identity;
        break;
      case Stage::Identity:
        uid_ = answer.ok() ? (*answer)["metadata"]["uid"].str() : std::string();
        return complete();
    }
    return left_ > Duration::zero() ? std::nullopt : std::optional(complete());
  }

 private:
  enum class Stage : std::uint8_t { Nodes, Version, Identity };

  // A cluster whose namespaces cannot be read is known by its address.
  [[nodiscard]] Result<Value> complete() const {
    Value value = summary_.value();
    value.set("serverVersion", version_);
    value.set("clusterId", uid_.empty() ? config_->server : uid_);
    return value;
  }

  [[nodiscard]] std::string path() const {
    switch (stage_) {
      case Stage::Version:
        return "/version";
      case Stage::Identity:
        return "/api/v1/namespaces/kube-system";
      case Stage::Nodes:
        break;
    }
    std::string text = fmt::format("/api/v1/nodes?limit={}", kPageSize);
    if (!question_.selector.empty()) {
      text += "&labelSelector=" + escape(question_.selector);
    }
    if (!token_.empty()) {
      text += "&continue=" + escape(token_);
    }
    return text;
  }

  [[nodiscard]] std::string too_long() const {
    return fmt::format("timeout after {}s", (kDeadlineFactor * question_.timeout).count());
  }

  [[nodiscard]] Result<Value> body_of(const ApiResult& result) const {
    if (result.status >= 300 || (result.status > 0 && result.status < 200)) {
      const std::string_view phrase = reason_phrase(result.status);
      return cause(fmt::format("HTTP {}{}{}", result.status, phrase.empty() ? "" : " ", phrase));
    }
    if (result.error) {
      // What ends at the end of the whole visit was not this request's fault.
      return cause(why(*result.error, left_ > Duration::zero()
                                          ? question_.timeout
                                          : kDeadlineFactor * question_.timeout));
    }
    return result.body;
  }

  Result<Value> add(const Value& page) {
    if (page["kind"].as_string() != "NodeList" || !page["metadata"].is_object()) {
      return cause("the answer is no list of nodes");
    }
    for (const Value& node : page["items"].items()) {
      summary_.add(node);
    }
    token_ = page["metadata"]["continue"].str();
    return Value();
  }

  Question question_;
  std::shared_ptr<const ClusterConfig> config_;
  Identity identity_;
  Duration left_;
  NodeSummary summary_{};
  std::string token_{};
  std::string version_{};
  std::string uid_{};
  bool begun_ = false;
  Stage stage_ = Stage::Nodes;
};

}  // namespace

struct TargetProbe::State {
  struct Job {
    Question question{};
    Done done{};
  };

  explicit State(TargetProbeOptions given)
      : options(std::move(given)), transfers(options.concurrency) {}

  TargetProbeOptions options;
  Mutex mutex{};  // guards what follows
  ConditionVariable news{};
  std::deque<Job> jobs ATHANOR_GUARDED_BY(mutex){};
  bool stopping ATHANOR_GUARDED_BY(mutex) = false;
  std::vector<std::thread> threads{};
  Transfers transfers;  // ends first: its thread calls back

  // Reads Secrets and, where that is allowed, runs the programs of credentials: both may block.
  void prepare_jobs() {
    MutexLock lock(mutex);
    while (true) {
      news.wait(lock, [&]() ATHANOR_REQUIRES(mutex) { return stopping || !jobs.empty(); });
      if (stopping) {
        return;
      }
      Job job = std::move(jobs.front());
      jobs.pop_front();
      lock.unlock();
      prepare(std::move(job));
      lock.lock();
    }
  }

  void prepare(Job job) {
    const auto secret = options.read_secret(job.question.secret);
    if (!secret.ok()) {
      job.done(Error{.code = secret.error().code,
                     .reason = std::string(kSecretUnreadable),
                     .message = secret.error().message});
      return;
    }
    auto config = read_config(*secret, job.question);
    if (!config.ok()) {
      job.done(cause(config.error().message));
      return;
    }
    auto identity = Credentials::create(*config, *options.clock)->get();
    if (!identity.ok()) {
      job.done(cause(identity.error().message));
      return;
    }
    go_on(
        std::make_shared<Visit>(std::move(job.question), *std::move(config), *std::move(identity)),
        std::move(job.done));
  }

  void go_on(std::shared_ptr<Visit> visit, Done done) {
    Fetch next = visit->ask(options.answer_limit);
    transfers.send(std::move(next), [this, visit = std::move(visit), done = std::move(done)](
                                        const ApiResult& result, Duration took) mutable {
      if (auto answer = visit->take(result, took)) {
        done(*std::move(answer));
      } else {
        go_on(std::move(visit), std::move(done));
      }
    });
  }
};

TargetProbe::TargetProbe(TargetProbeOptions options)
    : state_(std::make_unique<State>(std::move(options))) {
  const std::size_t count = std::max<std::size_t>(state_->options.concurrency, 1);
  for (std::size_t i = 0; i < count; ++i) {
    state_->threads.emplace_back([state = state_.get()] { state->prepare_jobs(); });
  }
}

TargetProbe::~TargetProbe() {
  {
    const MutexLock lock(state_->mutex);
    state_->stopping = true;
    state_->news.notify_all();
  }
  state_->transfers.stop();
  for (std::thread& thread : state_->threads) {
    thread.join();
  }
}

void TargetProbe::ask(const std::string& query, Done done) {
  auto question = parse_question(query);
  if (!question) {
    done(Error::bad_request("not a question about a cluster"));
    return;
  }
  const MutexLock lock(state_->mutex);
  state_->jobs.push_back({.question = *std::move(question), .done = std::move(done)});
  state_->news.notify_all();
}

}  // namespace athanor::client
