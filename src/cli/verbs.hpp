// SPDX-License-Identifier: Apache-2.0
// The verbs: each does what its options say and returns the program's exit code (0 done, 1 failed,
// 2 misused).
#pragma once

#include <string>

#include "cli/options.hpp"
#include "cli/session.hpp"

namespace athanor::cli {

int run(const UpOptions& options);
int run(const ControllersOptions& options);
int run(const ApiServerOptions& options);
int run(const EtcdOptions& options);
int run(const EnvtestOptions& options);
int run(const SubmitOptions& options);
int run(const JobsOptions& options);
int run(const LogsOptions& options);
int run(const CancelOptions& options);
int run(const QueueOptions& options);
int run(const AppWrappersOptions& options);
int run(const AppWrapperActOptions& options);
int run(const ClustersOptions& options);
int run(const ClusterAddOptions& options);
int run(const ClusterCheckOptions& options);
int run(const ClusterRemoveOptions& options);
int run(const LockOptions& options);
int run(const UnlockOptions& options);
int run(const BackupOptions& options);
int run(const RestoreOptions& options);
int run(const SimulateOptions& options);
int run(const CrdsOptions& options);
int run(const RbacOptions& options);
int run(const WebhooksOptions& options);
int run(const ReplayOptions& options);
int run(const SystemsOptions& options);
int run(const SystemVerbOptions& options);
int run(const VersionOptions& options);
int run(const CompletionOptions& options);
int run(const Message& message);

// The folder of the lab's state that no flag names.
std::string default_data();

// Shows a job until it is over: phases, queue position, steps and their log lines. 0 only if it
// Succeeded.
int follow_job(Session& session, const Object& created);
// The job and everything that belongs to it, as a table.
Result<std::string> job_summary(Session& session, const std::string& ns, const std::string& name);

}  // namespace athanor::cli
