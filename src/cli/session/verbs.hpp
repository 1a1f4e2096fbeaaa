// SPDX-License-Identifier: Apache-2.0
// The verbs: each does what its options say and returns the program's exit code (0 done, 1 failed,
// 2 misused; options.hpp names two more).
#pragma once

#include <memory>
#include <string>

#include "cli/flags/options.hpp"
#include "cli/session/session.hpp"

namespace athanor::cli {

// Runs the verb to which the options belong.
int run(const UpOptions& options);
int run(const ConsoleOptions& options);
int run(const ControllersOptions& options);
int run(const ExtenderOptions& options);
int run(const ApiServerOptions& options);
int run(const EtcdOptions& options);
int run(const EnvtestOptions& options);
int run(const SubmitOptions& options);
int run(const DescribeOptions& options);
int run(const WaitOptions& options);
int run(const JobsOptions& options);
int run(const LogsOptions& options);
int run(const CancelOptions& options);
int run(const TemplatesOptions& options);
int run(const TemplateSaveOptions& options);
int run(const TemplateDeleteOptions& options);
int run(const ResultsOptions& options);
int run(const CompareOptions& options);
int run(const SchedulesOptions& options);
int run(const ScheduleCreateOptions& options);
int run(const ScheduleActOptions& options);
int run(const ScheduleNextOptions& options);
int run(const LabsOptions& options);
int run(const LabActOptions& options);
int run(const EventsOptions& options);
int run(const TopOptions& options);
int run(const QueueOptions& options);
int run(const AppWrappersOptions& options);
int run(const AppWrapperActOptions& options);
int run(const ClustersOptions& options);
int run(const ClusterCordonOptions& options);
int run(const ClusterAddOptions& options);
int run(const ClusterCheckOptions& options);
int run(const ClusterRemoveOptions& options);
int run(const LockOptions& options);
int run(const UnlockOptions& options);
int run(const BackupOptions& options);
int run(const RestoreOptions& options);
int run(const ImagesOptions& options);
int run(const SimulateOptions& options);
int run(const CrdsOptions& options);
int run(const RbacOptions& options);
int run(const WebhooksOptions& options);
int run(const ReplayOptions& options);
int run(const SystemsOptions& options);
int run(const SystemVerbOptions& options);
int run(const VaultSyncOptions& options);
int run(const VersionOptions& options);
int run(const CompletionOptions& options);
int run(const ManOptions& options);
int run(const Message& message);

// Adds to a 404 about a FournosCluster that the queue knows a cluster of this name.
Error explain_unmanaged(Session& session, const std::string& name, Error error);

// Opens a port to the API server for functions of systems that read it.
Result<std::unique_ptr<VerbContext>> open_context(const Target& target);

// Returns the folder of the lab's state where no flag names one.
std::string default_data();

// Shows a job until it is over: phases, queue position, steps and their log lines. 0 only if it
// Succeeded; kOutcomeUnknown, kInterrupted.
int follow_job(Session& session, const Object& created);
// Returns why a job failed: "step-measure exited with code 7"; empty: it has not, or no step did.
std::string failure_cause(Session& session, const Object& job);
// Returns the job and everything that belongs to it, as a table
// cut to `columns`; 0: whole.
Result<std::string> job_summary(Session& session, const std::string& ns, const std::string& name,
                                std::size_t columns);

}  // namespace athanor::cli
