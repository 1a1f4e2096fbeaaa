// SPDX-License-Identifier: Apache-2.0
// The objects a job makes: Workload, PipelineRun, resolve Job, Secret copies. Pure building, no
// decisions on when.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "systems/fournos/job.hpp"

namespace athanor::fournos {

// Returns the job's Workload (docs/spec/fournos.md 7.1). `priority` is the class's value, present
// exactly when spec.priority is set.
Value workload_object(const Context& context, std::optional<std::int64_t> priority);

// One secret reference of a job: the copy's name and keys, as the run mounts them (9.2).
struct SecretMount {
  std::string ref{};
  std::string secret{};
  std::vector<std::string> keys{};  // ascending
};
// Returns the job's PipelineRun (docs/spec/fournos.md 9.3). `pipeline` is the Pipeline when it is
// known: each dialect also passes the other's parameters that it declares, and the artifacts
// workspace.
Value pipeline_run_object(const Context& context, const std::optional<Object>& pipeline,
                          const std::vector<SecretMount>& mounts);

// Returns the resolver's Job, from the template in the settings or the built-in one
// (docs/spec/fournos.md 6.1).
Value resolve_job_object(const Context& context, std::string_view image);

// Copies `source` to the job's namespace, owned by the job but not controlled (section 1).
Value secret_copy(const Context& context, const Object& source, std::string_view name,
                  bool vault_entry);

// Returns names of a job's objects: "<job>-resolve", "<job>-kubeconfig" and "<job>-<ref>".
std::string resolve_job_name(const Job& job);
std::string kubeconfig_copy_name(const Job& job);
std::string secret_copy_name(const Job& job, std::string_view ref);
// Returns the name of a cluster's kubeconfig Secret: from the settings' pattern, else from the
// dialect's.
std::string kubeconfig_secret_name(const Context& context, std::string_view cluster);
// Returns Hearth's place of the kubeconfig of the job's cluster, when the dialect's own Secret is
// missing (docs/spec/hearth.md section 0); nullopt: nowhere else.
std::optional<Key> hearth_secret(const Context& context);
// Returns false if Secrets may not be listed; hearth_secret()'s have then been asked for.
bool knows_kubeconfig(const Context& context);
// Returns the name of the synced Secret of a reference, from the settings' pattern.
std::string vault_secret_name(const Context& context, std::string_view ref);

// Returns R9.4: "KEY=<POSIX-quoted>\n" a line, keys ascending.
std::string env_text(const std::map<std::string, std::string>& env);
// Quotes a text for a POSIX shell; a text of plain characters stays as it is.
std::string shell_quote(std::string_view text);

}  // namespace athanor::fournos
