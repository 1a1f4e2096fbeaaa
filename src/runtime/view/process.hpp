// SPDX-License-Identifier: Apache-2.0
// Process: how upstream's own executable of a system is set up, so that `athanor controllers
// --systems=NAME` can take its place in its Deployment: its ConfigMap, flags and variables, as one
// description of what this program shall run. Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/value/value.hpp"

namespace athanor {

// Findings of the process at its start.
struct ProcessInput {
  std::string ns{};                                         // the operator's namespace
  Value config{};                                           // of the ConfigMap, parsed
  std::map<std::string, std::string, std::less<>> flags{};  // of upstream that were given
  std::map<std::string, std::string> variables{};
  std::string image{};  // of the process's own pod; empty: unknown
};

// Consequences of these findings.
struct ProcessSetup {
  struct Webhooks {
    std::string address{};
    std::string ns{};  // of Service and Secret
    std::string service{};
    std::string secret{};
    std::string authority{};  // common name and organization
    std::string organization{};
    std::vector<std::string> configurations{};  // that are given the bundle
    std::vector<std::string> definitions{};     // likewise: those with a conversion
  };

  Value settings{};                    // the system's section, as a document
  std::vector<std::string> systems{};  // more of them that run; "-name": a controller that does not
  bool leader_elect = false;
  std::string metrics_address{};  // "0": none
  bool metrics_secure = true;     // TLS; callers are authenticated and authorized
  std::string health_address{};
  std::optional<Webhooks> webhooks{};   // nullopt: none are served
  std::string log_level{};              // empty: this program's own
  std::string log_format{};             // likewise
  std::vector<std::string> warnings{};  // of what has no effect here
};

// A system's own process: its ConfigMap, flags and names, where these are another program's.
struct Process {
  std::string_view config_map{};  // its default name; empty: it has none
  std::string_view config_key{};  // of one that is made
  std::string_view namespace_variable{};
  // Names the process's own pod, whose image set_up() gets; empty: the pod is not read.
  std::string_view pod_variable{};
  // Where neither the variable nor the account names one; empty: one of them must.
  std::string_view default_namespace{};
  // Upstream's flags that it takes, besides leader-elect.
  std::span<const std::string_view> flags{};
  // Returns the text of a ConfigMap that is made.
  std::string (*default_config)(const std::string& ns) = nullptr;
  // Returns the setup. Errors name the setting or flag, and its value.
  Result<ProcessSetup> (*set_up)(const ProcessInput& input) = nullptr;
};

}  // namespace athanor
