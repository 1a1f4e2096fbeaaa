// SPDX-License-Identifier: Apache-2.0
// When a target cluster is asked, and what its answer changes.
#include "systems/hearth/probe.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "base/digest.hpp"
#include "kube/text/json.hpp"
#include "systems/hearth/gpus.hpp"
#include "systems/hearth/names.hpp"
#include "systems/hearth/span.hpp"

namespace athanor::hearth {
namespace {

constexpr std::string_view kDefaultInterval = "5m";
constexpr std::int64_t kMostFactor = 6;  // of the interval, between attempts on a dead cluster
constexpr std::size_t kDigestLength = 16;
// Older than any answer.
constexpr Duration kAnyAge = std::chrono::hours(24 * 365 * 100);

std::string selector_text(const Context& context) {
  std::string text;
  for (const auto& [key, value] : context.spec().node_selector) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value);
  }
  return text;
}

// Identifies the kubeconfig itself: a change of a Secret's metadata gives no other answer. The uid,
// which only readers of the Secret know, keeps the digest from confirming a guessed credential.
std::string content_of(const Object& secret) {
  const std::string text = json::print(secret.body()["data"]["kubeconfig"]);
  return sha256_hex(std::string(secret.uid()) + "\n" + text).substr(0, kDigestLength);
}

// All that a new answer could depend on.
Value question_of(const Context& context, const Object& secret) {
  Value question = Value::object({{"cluster", context.name()},
                                  {"namespace", context.settings.secrets_namespace},
                                  {"secret", secret.name()},
                                  {"version", content_of(secret)},
                                  {"selector", selector_text(context)},
                                  {"timeout", context.settings.discovery_timeout_seconds},
                                  {"programs", context.settings.allow_exec_credentials},
                                  {"again", context.object().annotation(name::kRediscover)}});
  if (context.settings.allow_plain_http) {
    question.set("plainHttp", true);
  }
  return question;
}

std::string digest_of(std::string_view text) {
  return sha256_hex(text).substr(0, kDigestLength);
}

// What the annotation says after its time.
std::string secret_digest(const Value& question) {
  return digest_of(question["secret"].str() + " " + question["version"].str());
}
std::string digests_of(const Value& question) {
  return secret_digest(question) + " " + digest_of(json::print(question));
}

LastProbe last_probe(const Context& context, const Value& question) {
  const std::string_view stored = context.object().annotation(name::kLastProbe);
  const std::size_t blank = stored.find(' ');
  if (blank == std::string_view::npos) {
    return {};
  }
  const std::string_view digests = stored.substr(blank + 1);
  return {.at = read_time(stored.substr(0, blank)),
          .same_secret = digests.starts_with(secret_digest(question)),
          .same_question = digests == digests_of(question)};
}

// Up to 5 % more or less, each cluster its own, so that they do not probe together.
Duration with_jitter(const Context& context, Duration interval) {
  const std::string bytes = sha256(context.name());
  const int share = static_cast<unsigned char>(bytes[0]) - 128;  // -128..127
  return interval + interval * share / 2560;
}

Duration interval_of(const Context& context) {
  const std::string& text = context.spec().gpu_discovery_interval;
  const auto own = parse_span(text);
  const bool given = own && *own > Duration::zero() && text != kDefaultInterval;
  return with_jitter(context, given ? *own : context.settings.discovery_interval());
}

std::int64_t failures_of(const Context& context) {
  return context.spec().hardware
             ? std::max<std::int64_t>(context.spec().hardware->consecutive_failures, 0)
             : 0;
}

std::optional<Instant> last_success(const Context& context) {
  return context.spec().hardware ? read_time(context.spec().hardware->last_discovery)
                                 : std::nullopt;
}

// Returns when the next probe is due (docs/spec/hearth.md 7.6, 7.7); the epoch: at once.
Instant due_time(const Context& context, const LastProbe& last) {
  if (!last.at || !last.same_question) {
    return {};
  }
  const std::int64_t failures = failures_of(context);
  if (failures == 0) {
    const auto success = last_success(context);
    return success ? end_of(*success, interval_of(context)) : Instant();
  }
  if (failures < kFailuresToUnreachable) {
    return *last.at + context.settings.context();
  }
  const std::int64_t doublings = std::min<std::int64_t>(failures - kFailuresToUnreachable + 1, 3);
  const std::int64_t factor = std::min(std::int64_t{1} << doublings, kMostFactor);
  const Duration wait = std::min<Duration>(interval_of(context), kAnyAge) * factor;
  return end_of(*last.at, wait);
}

Value to_value(const api::ClusterGpu& gpu) {
  return Value::object({{"vendor", gpu.vendor},
                        {"model", gpu.model},
                        {"shortName", gpu.short_name},
                        {"count", gpu.count.value_or(0)},
                        {"nodeCount", gpu.node_count.value_or(0)}});
}

void record_success(const Context& context, const Value& answer, Instant at, MainPatch& patch) {
  const GpuCount counted = count_gpus(answer["nodes"], context.settings);
  Value gpus = Value::list();
  for (const api::ClusterGpu& gpu : counted.gpus) {
    gpus.push_back(to_value(gpu));
  }
  patch.set({"spec", "hardware", "gpus"}, std::move(gpus));
  patch.set({"spec", "hardware", "totalGPUs"}, counted.total);
  patch.set({"spec", "hardware", "lastDiscovery"}, format_time(at));
  patch.set({"spec", "hardware", "consecutiveFailures"}, 0);
  if (context.object().spec()["hardware"].contains("lastError")) {
    patch.set({"spec", "hardware", "lastError"}, nullptr);
  }
  if (const std::string id = answer["clusterId"].str();
      !id.empty() && context.object().annotation(name::kClusterId) != id) {
    patch.annotate(name::kClusterId, id);
  }
  if (!last_success(context)) {
    return;
  }
  const std::string before = summary_of(context.spec().hardware->gpus);
  const std::string now = summary_of(counted.gpus);
  if (before != now) {
    patch.then(context.event("Normal", "GPUsChanged",
                             fmt::format("{} -> {}", before.empty() ? "no GPUs" : before,
                                         now.empty() ? "no GPUs" : now)));
  }
}

void record_failure(const Context& context, const std::string& text, MainPatch& patch) {
  patch.set({"spec", "hardware", "consecutiveFailures"}, failures_of(context) + 1);
  patch.set({"spec", "hardware", "lastError"}, text);
}

void record_attempt(const Context& context, Instant at, const Value& question,
                    const KubeconfigCheck& check, const LastProbe& last, MainPatch& patch) {
  patch.annotate(name::kLastProbe, fmt::format("{} {}", format_time(at), digests_of(question)));
  if (check.insecure && !last.same_secret) {
    patch.then(
        context.event("Warning", "InsecureTLS",
                      fmt::format("the kubeconfig in Secret '{}' does not verify the cluster's "
                                  "certificate",
                                  context.spec().kubeconfig_secret)));
  }
}

bool is_answered(const Observed& seen) {
  return seen.value || seen.error;
}

// An attempt that is not recorded yet: times are stored in whole seconds.
bool is_news(const Observed& seen, const LastProbe& last) {
  return is_answered(seen) && (!last.at || !last.same_question ||
                               std::chrono::floor<std::chrono::seconds>(seen.at) > *last.at);
}

// The status has the last attempt already.
bool is_told(const Context& context, const LastProbe& last) {
  return !last.at || context.status().last_probe_time == format_time(*last.at);
}

// The hub did not hand out the Secret: the last state stays, and it is asked again at the next
// context (6.1).
bool is_secret_withheld(const Context& context, const std::string& query, const Observed& seen,
                        Plan& plan) {
  if (!seen.error || seen.error->reason != kSecretUnreadable) {
    return false;
  }
  const Instant again = seen.at + context.settings.context();
  if (again > context.now) {
    plan.wake_at(again);
  } else {
    static_cast<void>(context.view.observe(query, context.now - again));
  }
  plan.then(context.event(
      "Warning", "KubeconfigUnreadable",
      one_line(fmt::format("Failed to read kubeconfig secret '{}' from {}: {}",
                           context.spec().kubeconfig_secret, context.settings.secrets_namespace,
                           seen.error->message))));
  return true;
}

std::string failure_text(const Context& context, const Error& error) {
  return one_line(
      fmt::format("Failed to connect to cluster '{}': {}", context.name(), error.message));
}

}  // namespace

Probing probe(const Context& context, const KubeconfigCheck& check, MainPatch& patch, Plan& plan) {
  if (!check.usable() || !check.secret) {
    if (!check.flaw.empty() &&
        (!context.spec().hardware || context.spec().hardware->last_error != check.flaw)) {
      patch.set({"spec", "hardware", "lastError"}, check.flaw);
    }
    return {};
  }
  const Value question = question_of(context, *check.secret);
  Probing probing{.last = last_probe(context, question)};
  const Instant due = due_time(context, probing.last);
  if (due > context.now) {
    plan.wake_at(due);
  }
  if (!check.flaw.empty()) {
    if (due <= context.now) {
      record_failure(context, check.flaw, patch);
      record_attempt(context, context.now, question, check, probing.last, patch);
    }
    return probing;
  }
  const std::string query = std::string(kProbePrefix) + json::print(question);
  if (due <= context.now) {
    probing.seen = context.view.observe(query, context.now - due);
    plan.wake_at(context.now + context.settings.context());
  } else if (failures_of(context) >= kFailuresToUnreachable || !is_told(context, probing.last)) {
    // A process without an answer, as after a restart, asks an unreachable cluster at once; of
    // any other the last answer is only needed for the details of the status.
    probing.seen = context.view.observe(query, kAnyAge);
  }
  if (is_secret_withheld(context, query, probing.seen, plan)) {
    probing.seen = {};
  }
  if (!is_news(probing.seen, probing.last)) {
    return probing;
  }
  if (probing.seen.error) {
    record_failure(context, failure_text(context, *probing.seen.error), patch);
  } else {
    record_success(context, *probing.seen.value, probing.seen.at, patch);
  }
  record_attempt(context, probing.seen.at, question, check, probing.last, patch);
  return probing;
}

std::string kubeconfig_state(const Context& context, const KubeconfigCheck& check,
                             const Probing& probing) {
  if (!check.usable()) {
    return check.state;
  }
  return std::string(failures_of(context) >= kFailuresToUnreachable && probing.last.same_secret
                         ? state::kUnreachable
                         : state::kValid);
}

namespace {

// The state's condition, and an event when the state is another one than before.
void write_state(const Context& context, const KubeconfigCheck& check, const Probing& probing,
                 StatusWrite& status) {
  const std::string now = kubeconfig_state(context, check, probing);
  const std::string& before = context.status().kubeconfig_status;
  std::string cause = check.cause;
  if (now == state::kUnreachable && context.spec().hardware) {
    cause = context.spec().hardware->last_error;
  }
  status.set("kubeconfigStatus", now);
  status.condition(condition::kKubeconfigValid, now == state::kValid, now, cause);
  if (now == before) {
    return;
  }
  if (now == state::kUnreachable) {
    status.then(context.event("Warning", "ClusterUnreachable", cause));
  } else if (now != state::kValid) {
    status.then(context.event("Warning", "Kubeconfig" + now, cause));
  } else if (before != state::kUnreachable) {
    status.then(context.event(
        "Normal", "KubeconfigValid",
        fmt::format("the kubeconfig in Secret '{}' is usable", context.spec().kubeconfig_secret)));
  } else if (failures_of(context) == 0) {
    status.then(context.event("Normal", "ClusterReachable", "the cluster answers again"));
  }
}

std::int64_t nodes_with_gpus(const api::ClusterHardware& hardware) {
  std::int64_t nodes = 0;
  for (const api::ClusterGpu& gpu : hardware.gpus) {
    nodes += gpu.node_count.value_or(0);
  }
  return nodes;
}

// What the answer has beside the numbers.
std::string notes_of(const Context& context, const Value& answer) {
  constexpr std::size_t kMostNames = 5;
  const GpuCount counted = count_gpus(answer["nodes"], context.settings);
  std::string notes;
  if (counted.unlabelled_nodes > 0) {
    notes += fmt::format("; model label missing on {} nodes", counted.unlabelled_nodes);
  }
  if (!counted.skipped.empty()) {
    notes += fmt::format("; not counted, as their amounts are no quantities: {}",
                         counted.skipped.front());
    for (std::size_t i = 1; i < std::min(counted.skipped.size(), kMostNames); ++i) {
      notes += ", " + counted.skipped[i];
    }
  }
  return notes;
}

void write_gpus(const Context& context, const KubeconfigCheck& check, const Probing& probing,
                StatusWrite& status) {
  const api::ClusterHardware hardware = context.spec().hardware.value_or(api::ClusterHardware());
  status.set("gpuSummary", summary_of(hardware.gpus));
  const std::string error = check.flaw.empty() ? hardware.last_error : check.flaw;
  if (!error.empty()) {
    status.condition(condition::kGpuDiscovered, false, "DiscoveryFailed", error);
    return;
  }
  if (hardware.last_discovery.empty()) {
    status.condition(condition::kGpuDiscovered, false, "Pending", "");
    return;
  }
  std::string text =
      fmt::format("{} GPUs on {} nodes", hardware.total_gpus, nodes_with_gpus(hardware));
  if (probing.seen.value && !probing.seen.error) {
    text += notes_of(context, *probing.seen.value);
  } else if (const Value& stored = stored_condition(context, condition::kGpuDiscovered);
             stored["status"].as_string() == "True" &&
             stored["message"].as_string().starts_with(text)) {
    text = stored["message"].str();
  }
  status.condition(condition::kGpuDiscovered, true, "Discovered", one_line(text));
}

}  // namespace

void write_discovery(const Context& context, const KubeconfigCheck& check, const Probing& probing,
                     StatusWrite& status) {
  write_state(context, check, probing, status);
  write_gpus(context, check, probing, status);
  if (probing.last.at) {
    status.set("lastProbeTime", format_time(*probing.last.at));
  }
  if (probing.seen.value && !probing.seen.error) {
    const Value& answer = *probing.seen.value;
    if (!answer["serverVersion"].as_string().empty()) {
      status.set("serverVersion", answer["serverVersion"]);
    }
    status.set("nodeCount", answer["nodeCount"].as_int());
    Value nodes = gpu_nodes(answer["nodes"], context.settings);
    if (!nodes.empty() || context.object().status().contains("nodes")) {
      status.set("nodes", std::move(nodes));
    }
  }
}

}  // namespace athanor::hearth
