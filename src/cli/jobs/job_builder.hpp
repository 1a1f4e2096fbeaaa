// SPDX-License-Identifier: Apache-2.0
// A FournosJob from the flags of `athanor submit`.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cli/options.hpp"
#include "kube/value/value.hpp"

namespace athanor::cli {

// Errors name the flag and show the form it wants. `user` is the owner when --owner is absent.
Result<Value> build_job(const SubmitOptions& options, const std::string& user);
// Parses and checks a manifest: one FournosJob, YAML or JSON.
Result<Value> read_job(std::string_view text, std::string_view name);

}  // namespace athanor::cli
