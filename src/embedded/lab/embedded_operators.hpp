// SPDX-License-Identifier: Apache-2.0
// The control plane's own controllers, beside those of the systems.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "embedded/apiserver/admission.hpp"
#include "embedded/apiserver/converter.hpp"
#include "runtime/view/admission.hpp"
#include "runtime/view/operator.hpp"

namespace athanor::lab {

// The section "kueue" of the controllers' configuration, from variables KUEUE_*. The error's
// message names the variable and the rule.
Result<Value> queueing_config(const std::map<std::string, std::string>& environment);

// Queueing, pipelines, workloads, scheduler, nodes.
std::vector<const Operator*> embedded_operators();
// Whether an operator or loop does what kube-controller-manager or kube-scheduler does, under their
// name for it.
bool is_external(std::string_view name);
// What they read their settings from; made at the start when missing.
std::vector<Value> embedded_objects();
// Kueue's and Tekton's webhooks ("kueue", "tekton"; none for another system), for API servers
// elsewhere.
std::vector<Webhook> embedded_webhooks(std::string_view system);
// What Kueue's and Tekton's webhooks do, as admission steps (spec/kueue.md 5, spec/tekton.md 4, 5).
std::vector<apiserver::AdmissionStep> embedded_admission();
// Between the served versions of kinds that differ in more than their apiVersion; nullptr for all
// others.
const apiserver::Converter* embedded_converter(std::string_view group, std::string_view kind);

}  // namespace athanor::lab
