// SPDX-License-Identifier: Apache-2.0
// The rows of 6.1 and 6.2 that need no network.
#include "systems/hearth/kubeconfig.hpp"

#include <fmt/format.h>

#include "api/builtin.hpp"
#include "kube/text/kubeconfig.hpp"
#include "runtime/view/failures.hpp"
#include "systems/hearth/kubeconfig_text.hpp"
#include "systems/hearth/names.hpp"
#include "systems/hearth/span.hpp"

namespace athanor::hearth {

std::string flaw_text(const KubeconfigReading& reading, const std::string& secret,
                      const std::string& cluster) {
  switch (reading.flaw) {
    case KubeconfigFlaw::None:
      return {};
    case KubeconfigFlaw::NotText:
      return fmt::format("Secret '{}' has invalid base64 kubeconfig data", secret);
    case KubeconfigFlaw::Absent:
      return fmt::format("Secret '{}' has no 'kubeconfig' key", secret);
    case KubeconfigFlaw::NotYaml:
      return fmt::format("Secret '{}' kubeconfig is not valid YAML", secret);
    case KubeconfigFlaw::NoContexts:
      return fmt::format("Kubeconfig for '{}' has no contexts", cluster);
    case KubeconfigFlaw::Unusable:
      return one_line(fmt::format("Invalid kubeconfig for cluster '{}': {}", cluster, reading.why));
  }
  return {};
}

KubeconfigCheck check_kubeconfig(const Context& context) {
  KubeconfigCheck check;
  const std::string& name = context.spec().kubeconfig_secret;
  const std::string& ns = context.settings.secrets_namespace;
  if (name.empty()) {
    check.state = state::kInvalid;
    check.cause = "spec.kubeconfigSecret is not set";
    return check;
  }
  if (const auto error = unreadable(context.view, api::kSecret, ns)) {
    check.state = state::kInvalid;
    check.cause = one_line(
        fmt::format("Failed to read kubeconfig secret '{}' from {}: {}", name, ns, error->message));
    return check;
  }
  check.secret = context.view.get(api::kSecret, {ns, name});
  if (!check.secret) {
    check.state = state::kMissing;
    check.cause = fmt::format("Kubeconfig secret '{}' not found in {}", name, ns);
    return check;
  }
  const KubeconfigReading reading = read_kubeconfig_data(
      check.secret->body()["data"], {.allow_programs = context.settings.allow_exec_credentials,
                                     .allow_plain_http = context.settings.allow_plain_http,
                                     .as_kubectl = true});
  check.flaw = flaw_text(reading, name, context.name());
  check.insecure = reading.target.insecure_skip_verify;
  if (!check.flaw.empty() && context.settings.checks_content()) {
    check.state = state::kInvalid;
    check.cause = check.flaw;
  } else {
    check.state = state::kValid;
  }
  return check;
}

}  // namespace athanor::hearth
