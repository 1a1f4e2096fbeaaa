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

std::string selector_text(const Tick& tick) {
  std::string text;
  for (const auto& [key, value] : tick.spec().node_selector) {
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
Value question_of(const Tick& tick, const Object& secret) {
  Value question = Value::object({{"cluster", tick.name()},
                                  {"namespace", tick.settings.secrets_namespace},
                                  {"secret", secret.name()},
                                  {"version", content_of(secret)},
                                  {"selector", selector_text(tick)},
                                  {"timeout", tick.settings.discovery_timeout_seconds},
                                  {"programs", tick.settings.allow_exec_credentials},
                                  {"again", tick.object().annotation(name::kRediscover)}});
  if (tick.settings.allow_plain_http) {
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

LastProbe last_probe(const Tick& tick, const Value& question) {
  const std::string_view stored = tick.object().annotation(name::kLastProbe);
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
Duration with_jitter(const Tick& tick, Duration interval) {
  const std::string bytes = sha256(tick.name());
  const int share = static_cast<unsigned char>(bytes[0]) - 128;  // -128..127
  return interval + interval * share / 2560;
}

Duration interval_of(const Tick& tick) {
  const std::string& text = tick.spec().gpu_discovery_interval;
  const auto own = parse_span(text);
  const bool given = own && *own > Duration::zero() && text != kDefaultInterval;
  return with_jitter(tick, given ? *own : tick.settings.discovery_interval());
}

std::int64_t failures_of(const Tick& tick) {
  return tick.spec().hardware
             ? std::max<std::int64_t>(tick.spec().hardware->consecutive_failures, 0)
             : 0;
}

std::optional<Instant> last_success(const Tick& tick) {
  return tick.spec().hardware ? read_time(tick.spec().hardware->last_discovery) : std::nullopt;
}

// Returns when the next probe is due (docs/spec/hearth.md 7.6, 7.7); the epoch: at once.
Instant due_time(const Tick& tick, const LastProbe& last) {
  if (!last.at || !last.same_question) {
    return {};
  }
  const std::int64_t failures = failures_of(tick);
  if (failures == 0) {
    const auto success = last_success(tick);
    return success ? end_of(*success, interval_of(tick)) : Instant();
  }
  if (failures < kFailuresToUnreachable) {
    return *last.at + tick.settings.tick();
  }
  const std::int64_t doublings = std::min<std::int64_t>(failures - kFailuresToUnreachable + 1, 3);
  const std::int64_t factor = std::min(std::int64_t{1} << doublings, kMostFactor);
  const Duration wait = std::min<Duration>(interval_of(tick), kAnyAge) * factor;
  return end_of(*last.at, wait);
}

Value to_value(const api::ClusterGpu& gpu) {
  return Value::object({{"vendor", gpu.vendor},
                        {"model", gpu.model},
                        {"shortName", gpu.short_name},
                        {"count", gpu.count.value_or(0)},
                        {"nodeCount", gpu.node_count.value_or(0)}});
}

void record_success(const Tick& tick, const Value& answer, Instant at, MainPatch& patch) {
  const GpuCount counted = count_gpus(answer["nodes"], tick.settings);
  Value gpus = Value::list();
  for (const api::ClusterGpu& gpu : counted.gpus) {
    gpus.push_back(to_value(gpu));
  }
  patch.set({"spec", "hardware", "gpus"}, std::move(gpus));
  patch.set({"spec", "hardware", "totalGPUs"}, counted.total);
  patch.set({"spec", "hardware", "lastDiscovery"}, format_time(at));
  patch.set({"spec", "hardware", "consecutiveFailures"}, 0);
  if (tick.object().spec()["hardware"].contains("lastError")) {
    patch.set({"spec", "hardware", "lastError"}, nullptr);
  }
  if (!last_success(tick)) {
    return;
  }
  const std::string before = summary_of(tick.spec().hardware->gpus);
  const std::string now = summary_of(counted.gpus);
  if (before != now) {
    patch.then(tick.event("Normal", "GPUsChanged",
                          fmt::format("{} -> {}", before.empty() ? "no GPUs" : before,
                                      now.empty() ? "no GPUs" : now)));
  }
}

void record_failure(const Tick& tick, const std::string& text, MainPatch& patch) {
  patch.set({"spec", "hardware", "consecutiveFailures"}, failures_of(tick) + 1);
  patch.set({"spec", "hardware", "lastError"}, text);
}

void record_attempt(const Tick& tick, Instant at, const Value& question,
                    const KubeconfigCheck& check, const LastProbe& last, MainPatch& patch) {
  patch.annotate(name::kLastProbe, fmt::format("{} {}", format_time(at), digests_of(question)));
  if (check.insecure && !last.same_secret) {
    patch.then(tick.event("Warning", "InsecureTLS",
                          fmt::format("the kubeconfig in Secret '{}' does not verify the cluster's "
                                      "certificate",
                                      tick.spec().kubeconfig_secret)));
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
bool is_told(const Tick& tick, const LastProbe& last) {
  return !last.at || tick.status().last_probe_time == format_time(*last.at);
}

// The hub did not hand out the Secret: the last state stays, and it is asked again at the next tick
// (6.1).
bool is_secret_withheld(const Tick& tick, const std::string& query, const Observed& seen,
                        Plan& plan) {
  if (!seen.error || seen.error->reason != kSecretUnreadable) {
    return false;
  }
  const Instant again = seen.at + tick.settings.tick();
  if (again > tick.now) {
    plan.wake_at(again);
  } else {
    static_cast<void>(tick.view.observe(query, tick.now - again));
  }
  plan.then(
      tick.event("Warning", "KubeconfigUnreadable",
                 one_line(fmt::format("Failed to read kubeconfig secret '{}' from {}: {}",
                                      tick.spec().kubeconfig_secret,
                                      tick.settings.secrets_namespace, seen.error->message))));
  return true;
}

std::string failure_text(const Tick& tick, const Error& error) {
  return one_line(fmt::format("Failed to connect to cluster '{}': {}", tick.name(), error.message));
}

}  // namespace

Probing probe(const Tick& tick, const KubeconfigCheck& check, MainPatch& patch, Plan& plan) {
  if (!check.usable() || !check.secret) {
    if (!check.flaw.empty() &&
        (!tick.spec().hardware || tick.spec().hardware->last_error != check.flaw)) {
      patch.set({"spec", "hardware", "lastError"}, check.flaw);
    }
    return {};
  }
  const Value question = question_of(tick, *check.secret);
  Probing probing{.last = last_probe(tick, question)};
  const Instant due = due_time(tick, probing.last);
  if (due > tick.now) {
    plan.wake_at(due);
  }
  if (!check.flaw.empty()) {
    if (due <= tick.now) {
      record_failure(tick, check.flaw, patch);
      record_attempt(tick, tick.now, question, check, probing.last, patch);
    }
    return probing;
  }
  const std::string query = std::string(kProbePrefix) + json::print(question);
  if (due <= tick.now) {
    probing.seen = tick.view.observe(query, tick.now - due);
    plan.wake_at(tick.now + tick.settings.tick());
  } else if (failures_of(tick) >= kFailuresToUnreachable || !is_told(tick, probing.last)) {
    // A process without an answer, as after a restart, asks an unreachable cluster at once; of
    // any other the last answer is only needed for the details of the status.
    probing.seen = tick.view.observe(query, kAnyAge);
  }
  if (is_secret_withheld(tick, query, probing.seen, plan)) {
    probing.seen = {};
  }
  if (!is_news(probing.seen, probing.last)) {
    return probing;
  }
  if (probing.seen.error) {
    record_failure(tick, failure_text(tick, *probing.seen.error), patch);
  } else {
    record_success(tick, *probing.seen.value, probing.seen.at, patch);
  }
  record_attempt(tick, probing.seen.at, question, check, probing.last, patch);
  return probing;
}

std::string kubeconfig_state(const Tick& tick, const KubeconfigCheck& check,
                             const Probing& probing) {
  if (!check.usable()) {
    return check.state;
  }
  return std::string(failures_of(tick) >= kFailuresToUnreachable && probing.last.same_secret
                         ? state::kUnreachable
                         : state::kValid);
}

namespace {

// The state's condition, and an event when the state is another one than before.
void write_state(const Tick& tick, const KubeconfigCheck& check, const Probing& probing,
                 StatusWrite& status) {
  const std::string now = kubeconfig_state(tick, check, probing);
  const std::string& before = tick.status().kubeconfig_status;
  std::string cause = check.cause;
  if (now == state::kUnreachable && tick.spec().hardware) {
    cause = tick.spec().hardware->last_error;
  }
  status.set("kubeconfigStatus", now);
  status.condition(condition::kKubeconfigValid, now == state::kValid, now, cause);
  if (now == before) {
    return;
  }
  if (now == state::kUnreachable) {
    status.then(tick.event("Warning", "ClusterUnreachable", cause));
  } else if (now != state::kValid) {
    status.then(tick.event("Warning", "Kubeconfig" + now, cause));
  } else if (before != state::kUnreachable) {
    status.then(tick.event(
        "Normal", "KubeconfigValid",
        fmt::format("the kubeconfig in Secret '{}' is usable", tick.spec().kubeconfig_secret)));
  } else if (failures_of(tick) == 0) {
    status.then(tick.event("Normal", "ClusterReachable", "the cluster answers again"));
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
std::string notes_of(const Tick& tick, const Value& answer) {
  constexpr std::size_t kMostNames = 5;
  const GpuCount counted = count_gpus(answer["nodes"], tick.settings);
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

void write_gpus(const Tick& tick, const KubeconfigCheck& check, const Probing& probing,
                StatusWrite& status) {
  const api::ClusterHardware hardware = tick.spec().hardware.value_or(api::ClusterHardware());
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
    text += notes_of(tick, *probing.seen.value);
  } else if (const Value& stored = stored_condition(tick, condition::kGpuDiscovered);
             stored["status"].as_string() == "True" &&
             stored["message"].as_string().starts_with(text)) {
    text = stored["message"].str();
  }
  status.condition(condition::kGpuDiscovered, true, "Discovered", one_line(text));
}

}  // namespace

void write_discovery(const Tick& tick, const KubeconfigCheck& check, const Probing& probing,
                     StatusWrite& status) {
  write_state(tick, check, probing, status);
  write_gpus(tick, check, probing, status);
  if (probing.last.at) {
    status.set("lastProbeTime", format_time(*probing.last.at));
  }
  if (probing.seen.value && !probing.seen.error) {
    const Value& answer = *probing.seen.value;
    if (!answer["serverVersion"].as_string().empty()) {
      status.set("serverVersion", answer["serverVersion"]);
    }
    status.set("nodeCount", answer["nodeCount"].as_int());
  }
}

}  // namespace athanor::hearth
