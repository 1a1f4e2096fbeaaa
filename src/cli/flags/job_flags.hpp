// SPDX-License-Identifier: Apache-2.0
// The verbs that make jobs, show one object, and wait: with their flags.
#pragma once

#include "cli/flags/options.hpp"

namespace athanor::flags {
class Verb;
}

namespace athanor::cli {

// Options of `athanor templates` and of the verbs below it.
struct TemplateVerbs {
  TemplatesOptions list{};
  TemplateSaveOptions save{};
  TemplateDeleteOptions remove{};
};

// Adds the flags that fill a job's spec and metadata (--cluster, --gpu, ...).
void add_job_fields(flags::Verb& verb, SubmitOptions& options);

// Adds one verb.
void add_submit(flags::Verb& app, SubmitOptions& options);
void add_rerun(flags::Verb& app, SubmitOptions& options);
void add_describe(flags::Verb& app, DescribeOptions& options);
void add_wait(flags::Verb& app, WaitOptions& options);
void add_logs(flags::Verb& app, LogsOptions& options);
void add_cancel(flags::Verb& app, CancelOptions& options);
// Adds templates with the verbs below it.
void add_templates(flags::Verb& app, TemplateVerbs& parsed);
// Returns what `athanor templates` or the verb below it was given.
Command chosen_of_templates(const flags::Verb& templates, TemplateVerbs& parsed);

}  // namespace athanor::cli
