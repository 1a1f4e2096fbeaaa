// SPDX-License-Identifier: Apache-2.0
// The audit's policy file and log file (docs/spec/apiserver.md 18).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "embedded/apiserver/audit/request_audit.hpp"

namespace athanor::lab {

// Named like kube-apiserver's flags --audit-*.
struct AuditOptions {
  std::string policy_file{};    // empty: nothing is audited
  std::string log_path{};       // "-": stdout; empty: nothing is audited
  std::int64_t max_size = 0;    // MiB of a file; then a new one is begun; 0: 100
  std::int64_t max_backup = 0;  // older files kept; 0: all
  std::int64_t max_age = 0;     // days that they are kept; 0: always
};

// The policy and the sink of the log. `sink` is null where `policy` is.
struct Audit {
  std::shared_ptr<const apiserver::AuditPolicy> policy{};  // null: nothing is audited
  std::unique_ptr<apiserver::AuditSink> sink{};
};

// Opens the audit. Errors: a policy that cannot be read, a log that cannot be written.
Result<Audit> open_audit(const AuditOptions& options, const Clock& clock);

}  // namespace athanor::lab
