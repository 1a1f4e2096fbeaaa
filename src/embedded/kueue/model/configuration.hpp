// SPDX-License-Identifier: Apache-2.0
// The configuration that holds in the embedded engine (api/kueue_configuration.hpp), and what is
// said about its ConfigMap. Pure.
#pragma once

#include "api/kueue_configuration.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/view.hpp"

namespace athanor::kueue {

using api::kueue::apply_configuration;
using api::kueue::Configuration;
using api::kueue::kConfigurationKey;
using api::kueue::kConfigurationName;
using api::kueue::kConfigurationNamespace;
using api::kueue::kSystemTransformations;
using api::kueue::read_configuration;

// Returns the present settings: view.config("kueue") and, while readable, the ConfigMap on top.
// Reads a ConfigMap. The webhook refuses one that is not readable: what held before stays.
Value configured_section(const View& view);

// Says by an event on the ConfigMap that it is followed and what in it has no effect, or what is
// wrong in it.
const Operator& configuration_operator();

}  // namespace athanor::kueue
