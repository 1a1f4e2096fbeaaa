// SPDX-License-Identifier: Apache-2.0
// Asking the target cluster: when, and what comes of the answer (docs/spec/hearth.md 6.4, 7).
// Private to this folder but for the form of the observation, which drivers answer:
//
//   query   "cluster:" and a JSON object: {"cluster": its name, "namespace", "secret": where the
//           kubeconfig is,
//           "version": of the kubeconfig, "selector": label selector of nodes ("" for all),
//           "timeout": seconds, "programs": credentials may run one, "again": any text}. Nothing of
//           it is secret.
//   answer  {"serverVersion", "nodeCount", "nodes": [{"names": ["n1"], "count": 1, "labels":
//           {...gpu labels}, "allocatable": {...gpu resources}, "ready": true, "schedulable":
//           true}], "clusterId": the uid of namespace kube-system, else the server's address}: like
//           nodes are one entry, nodes without GPUs are counted alone.
//   error   its message is the cause, one line without secrets: "HTTP 401 Unauthorized", "timeout
//           after 10s", "connection refused", "no such host", "TLS: ...". With the reason
//           SecretUnreadable it is the hub that did not answer, and nothing is known of the
//           cluster.
#pragma once

#include <optional>
#include <string>

#include "systems/hearth/cluster.hpp"
#include "systems/hearth/kubeconfig.hpp"

namespace athanor::hearth {

// Prefix of the observation's query, and the reason of an unreadable Secret.
inline constexpr std::string_view kProbePrefix = "cluster:";
inline constexpr std::string_view kSecretUnreadable = "SecretUnreadable";

// What is stored of the last attempt, the annotation fournos.dev/last-probe: its time, and digests
// of the kubeconfig and of the question.
struct LastProbe {
  std::optional<Instant> at{};
  bool same_secret = false;    // the Secret is the one that was used
  bool same_question = false;  // nor has anything else changed that matters to a probe
};

// Result of probe().
struct Probing {
  LastProbe last{};
  Observed seen{};  // the answer that the last attempt got, while it is known
};
// Asks when it is due, and puts an answer that is new into `patch`. `plan` gets the wake-up.
Probing probe(const Context& context, const KubeconfigCheck& check, MainPatch& patch, Plan& plan);

// Returns Valid, Missing, Invalid or Unreachable.
std::string kubeconfig_state(const Context& context, const KubeconfigCheck& check,
                             const Probing& probing);
// Writes KubeconfigValid, GPUDiscovered and the fields beside them.
void write_discovery(const Context& context, const KubeconfigCheck& check, const Probing& probing,
                     StatusWrite& status);

}  // namespace athanor::hearth
