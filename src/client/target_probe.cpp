// SPDX-License-Identifier: Apache-2.0
// One probe is straight-line blocking code on a thread of the pool; the pool chooses what is next.
#include "client/target_probe.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "client/api_client.hpp"
#include "client/cluster_config.hpp"
#include "client/connection.hpp"
#include "kube/json.hpp"
#include "kube/kubeconfig.hpp"

namespace athanor::client {
namespace {

using Steady = std::chrono::steady_clock;

constexpr int kPageSize = 500;
constexpr int kDeadlineFactor = 3;               // of the time limit of one request
constexpr std::size_t kMostRemembered = 10'000;  // clusters that failed last

struct Question {
  Key secret{};
  std::string selector{};
  std::chrono::seconds timeout{10};
  bool programs = false;
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
                  .programs = question["programs"].as_bool()};
}

Error cause(std::string text) {
  return {.code = 503, .reason = "Unreachable", .message = std::move(text)};
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return {};
  }
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
  const KubeconfigReading reading =
      read_kubeconfig_data(secret["data"], {.allow_programs = question.programs});
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

// The conversation with one cluster. `opened` may refuse the client: nobody wants the answer.
class Visit {
 public:
  using Opened = std::function<bool(const std::shared_ptr<ApiClient>&)>;

  Visit(const TargetProbeOptions& options, Entropy& entropy, Question question, Opened opened)
      : options_(options),
        entropy_(entropy),
        question_(std::move(question)),
        opened_(std::move(opened)),
        deadline_(Steady::now() + kDeadlineFactor * question_.timeout) {}

  Result<Value> run() {
    auto secret = options_.read_secret(question_.secret);
    if (!secret.ok()) {
      return cause("the Secret cannot be read");
    }
    auto config = read_config(*secret, question_);
    if (!config.ok()) {
      return cause(config.error().message);
    }
    auto client = ApiClient::open(*std::move(config), *options_.clock, entropy_,
                                  {.qps = 0, .max_in_flight = 1});
    if (!client.ok()) {
      return cause(client.error().message);
    }
    client_ = *std::move(client);
    if (!opened_(client_)) {
      return cause("the program ends");
    }
    auto nodes = read_nodes();
    if (!nodes.ok()) {
      return nodes;
    }
    // Nice to have: whatever goes wrong with it is ignored.
    const auto version = get("/version");
    nodes->set("serverVersion", version.ok() ? (*version)["gitVersion"] : Value(""));
    return nodes;
  }

 private:
  Result<Value> get(std::string path) {
    const Duration left = std::chrono::duration_cast<Duration>(deadline_ - Steady::now());
    const std::chrono::seconds whole = kDeadlineFactor * question_.timeout;
    if (left <= Duration::zero()) {
      return cause(fmt::format("timeout after {}s", whole.count()));
    }
    const ApiResult result =
        client_->call({.path = std::move(path),
                       .connect_timeout = std::min<Duration>(question_.timeout, left),
                       .head_timeout = std::min<Duration>(question_.timeout, left),
                       .timeout = std::min<Duration>(2 * question_.timeout, left),
                       .response_limit = options_.answer_limit,
                       .retries = 0});
    if (result.status >= 300 || (result.status > 0 && result.status < 200)) {
      const std::string_view phrase = reason_phrase(result.status);
      return cause(fmt::format("HTTP {}{}{}", result.status, phrase.empty() ? "" : " ", phrase));
    }
    if (result.error) {
      // What ends at the end of the whole visit was not this request's fault.
      return cause(why(*result.error, Steady::now() < deadline_ ? question_.timeout : whole));
    }
    return result.body;
  }

  Result<Value> read_nodes() {
    NodeSummary summary;
    std::string token;
    do {
      std::string path = fmt::format("/api/v1/nodes?limit={}", kPageSize);
      if (!question_.selector.empty()) {
        path += "&labelSelector=" + escape(question_.selector);
      }
      if (!token.empty()) {
        path += "&continue=" + escape(token);
      }
      ATHANOR_TRY(const Value page, get(std::move(path)));
      if (page["kind"].as_string() != "NodeList" || !page["metadata"].is_object()) {
        return cause("the answer is no list of nodes");
      }
      for (const Value& node : page["items"].items()) {
        summary.add(node);
      }
      token = page["metadata"]["continue"].str();
    } while (!token.empty());
    return summary.value();
  }

  const TargetProbeOptions& options_;
  Entropy& entropy_;
  Question question_;
  Opened opened_;
  Steady::time_point deadline_;
  std::shared_ptr<ApiClient> client_{};
};

}  // namespace

struct TargetProbe::State {
  struct Job {
    Question question{};
    Done done{};
  };

  explicit State(TargetProbeOptions given) : options(std::move(given)) {}

  TargetProbeOptions options;
  std::mutex mutex{};  // guards what follows
  std::condition_variable news{};
  std::deque<Job> jobs{};
  std::set<Key> failed{};                          // Secrets of clusters that did not answer last
  std::size_t failing = 0;                         // jobs of such clusters under way
  std::set<std::shared_ptr<ApiClient>> clients{};  // under way
  bool stopping = false;
  std::vector<std::thread> threads{};

  // A quarter of the threads is enough for those that failed; one at least.
  [[nodiscard]] std::size_t most_failing() const {
    return std::max<std::size_t>(options.concurrency / 4, 1);
  }

  // The first job that may run now.
  std::deque<Job>::iterator next_job() {
    return std::find_if(jobs.begin(), jobs.end(), [&](const Job& job) {
      return !failed.contains(job.question.secret) || failing < most_failing();
    });
  }

  Result<Value> visit(Question question, Entropy& entropy) {
    std::shared_ptr<ApiClient> used;
    Visit visit(options, entropy, std::move(question), [&](const auto& client) {
      const std::lock_guard lock(mutex);
      used = client;
      return !stopping && clients.insert(client).second;
    });
    Result<Value> answer = visit.run();
    const std::lock_guard lock(mutex);
    clients.erase(used);
    return answer;
  }

  void work() {
    const std::unique_ptr<Entropy> entropy = system_entropy();
    std::unique_lock lock(mutex);
    while (true) {
      news.wait(lock, [&] { return stopping || next_job() != jobs.end(); });
      if (stopping) {
        return;
      }
      const auto at = next_job();
      Job job = std::move(*at);
      jobs.erase(at);
      const bool was_failing = failed.contains(job.question.secret);
      failing += was_failing ? 1 : 0;
      const Key secret = job.question.secret;
      lock.unlock();
      Result<Value> answer = visit(std::move(job.question), *entropy);
      const bool good = answer.ok();
      job.done(std::move(answer));
      lock.lock();
      failing -= was_failing ? 1 : 0;
      if (good) {
        failed.erase(secret);
      } else if (failed.size() < kMostRemembered) {
        failed.insert(secret);
      }
      news.notify_all();
    }
  }
};

TargetProbe::TargetProbe(TargetProbeOptions options)
    : state_(std::make_unique<State>(std::move(options))) {
  const std::size_t count = std::max<std::size_t>(state_->options.concurrency, 1);
  for (std::size_t i = 0; i < count; ++i) {
    state_->threads.emplace_back([state = state_.get()] { state->work(); });
  }
}

TargetProbe::~TargetProbe() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    state_->news.notify_all();
  }
  std::set<std::shared_ptr<ApiClient>> clients;
  {
    const std::lock_guard lock(state_->mutex);
    clients = state_->clients;
  }
  for (const auto& client : clients) {
    client->stop();
  }
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
  const std::lock_guard lock(state_->mutex);
  state_->jobs.push_back({.question = *std::move(question), .done = std::move(done)});
  state_->news.notify_all();
}

}  // namespace athanor::client
