// SPDX-License-Identifier: Apache-2.0
// Objects that exist from the start (docs/spec/apiserver.md 14.5).
#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "embedded/apiserver/request/options.hpp"
#include "embedded/kinds/resource_info.hpp"
#include "embedded/store/store.hpp"

namespace athanor::apiserver {

// What the installation reads and writes; all must outlive the call.
struct BootstrapInput {
  store::Store& store;
  const ResourceTable& table;
  const Options& options;
  Entropy& entropy;
  Instant now{};
};

// Creates what is missing and adds back what was taken out of it; writes nothing otherwise. RBAC
// objects only with Options::default_roles. Fails when the store does.
Result<void> install_bootstrap_objects(const BootstrapInput& input);

}  // namespace athanor::apiserver
