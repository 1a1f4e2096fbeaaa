// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/job_flags.hpp"

#include <utility>

#include "cli/flags/list_flags.hpp"
#include "cli/flags/target_flags.hpp"
#include "flags/verb.hpp"

namespace athanor::cli {

void add_job_fields(flags::Verb& verb, SubmitOptions& options) {
  verb.add_option("--name", options.name, "name of the job (default: made from the project's)");
  verb.add_option("--owner", options.owner, "team or person (default: $USER)");
  verb.add_option("--display-name", options.display_name, "display name");
  verb.add_option("--pipeline", options.pipeline, "Tekton Pipeline to run");
  verb.add_option("--cluster", options.cluster, "pin the job to this cluster");
  verb.add_option("--gpu", options.gpu, "GPUs, as TYPE:COUNT")->type_name("TYPE:COUNT");
  verb.add_option("--project", options.project, "forge project");
  verb.add_option("--arg", options.args, "forge argument; repeatable");
  verb.add_option("--config", options.config, "forge config override, as PATH=VALUE; repeatable")
      ->type_name("PATH=VALUE");
  verb.add_option("--engine", options.engine, "execution engine, a mapping as YAML or JSON")
      ->type_name("YAML");
  verb.add_option("--env", options.env, "environment variable, as NAME=VALUE; repeatable")
      ->type_name("NAME=VALUE");
  verb.add_option("--secret-ref", options.secret_refs, "Secret handed to the pipeline; repeatable");
  verb.add_option("--priority", options.priority, "WorkloadPriorityClass");
  verb.add_option("--ttl", options.ttl, "time after its end when the job is deleted, as 30m or 2d");
  verb.add_option("--start-at", options.start_at, "time before which it does not start (RFC 3339)")
      ->type_name("TIME");
  verb.add_flag("--lock-only", options.lock_only, "hold the cluster and run nothing");
  verb.add_option("--lock-until", options.lock_until, "end of the lock of --lock-only (RFC 3339)")
      ->type_name("TIME");
  verb.add_option("--label", options.labels, "label, as NAME=VALUE; repeatable")
      ->type_name("NAME=VALUE");
  verb.add_option("--annotation", options.annotations, "annotation, as NAME=VALUE; repeatable")
      ->type_name("NAME=VALUE");
  verb.add_flag("--exclusive", options.exclusive, "take the whole cluster (needs --cluster)");
  verb.add_flag("--clusterless", options.clusterless, "run without a cluster");
}

namespace {

// Course of a submitted job.
void add_submission(flags::Verb& verb, SubmitOptions& options) {
  verb.add_flag("--follow", options.follow,
                "stay and show phases, queue position, steps and their logs");
  verb.add_flag(
      "--dry-run", options.dry_run,
      "have the server check the job, and look for what would stop it, without storing it");
  add_output(verb, options.output);
}

}  // namespace

void add_submit(flags::Verb& app, SubmitOptions& options) {
  auto& verb = *app.add_subcommand("submit", "Submit benchmark jobs, from flags or from files");
  verb.footer(
      "  athanor submit --cluster cluster-2 --gpu a100:2 --project llmd --arg cks --follow\n"
      "  athanor submit -f job.yaml --cluster cluster-1 --follow\n"
      "  athanor submit -f suite/ --label suite=nightly\n"
      "  athanor submit --template llm-nightly --cluster cluster-2\n"
      "  athanor jobs X -o yaml | athanor submit -f - --gpu h200:8\n\n"
      "Flags beside a manifest replace its fields. Of several jobs the server checks all first: "
      "one\n"
      "that it refuses keeps the others back, unless --keep-going is given. A manifest that was\n"
      "printed from a stored job makes a job with a new name.\n"
      "Stays for a second: a job that fails at once is reported with its reason and exit code 1.\n"
      "With --follow the exit code is 0 only if the job Succeeded, and 3 when the API server went\n"
      "away before its end was known: the job continues.");
  add_target(verb, options.target);
  verb.add_option("-f,--file", options.files,
                  "manifest of FournosJobs, YAML or JSON, or a folder of such; - reads standard "
                  "input; repeatable")
      ->allow_extra_args(false);
  verb.add_option("--template", options.job_template,
                  "a saved job (athanor templates) that the flags complete")
      ->type_name("NAME");
  verb.add_flag("--from-environment", options.from_environment,
                "submit the job of the variable FJOB_JSON: what the pods of a schedule do");
  verb.add_flag("--keep-going", options.keep_going, "submit the valid ones of several jobs");
  add_job_fields(verb, options);
  add_submission(verb, options);
}

void add_rerun(flags::Verb& app, SubmitOptions& options) {
  auto& verb = *app.add_subcommand("rerun", "Submit copies of jobs, with other values");
  verb.footer(
      "  athanor rerun nightly-x7k2p --follow\n"
      "  athanor rerun nightly-x7k2p --cluster cluster-2 --gpu h200:8\n"
      "  athanor rerun -l suite=nightly");
  add_target(verb, options.target);
  add_choice(verb, options.rerun, "the jobs");
  add_job_fields(verb, options);
  add_submission(verb, options);
}

namespace {

// Objects of several kinds, or kinds and the labels of all that are meant.
void add_subjects(flags::Verb& verb, std::vector<std::string>& objects, std::string& labels) {
  verb.add_option("objects", objects, "KIND/NAME; a name alone is a job; beside -l KIND");
  verb.add_option("-l,--selector", labels,
                  "all objects of these kinds (default: jobs) with these labels: a=b,c in (d,e),!f")
      ->type_name("LABELS");
  verb.verify([&objects, &labels]() -> Result<void> {
    return objects.empty() && labels.empty()
               ? Result<void>(Error::bad_request("give KIND/NAME, or -l LABELS"))
               : Result<void>();
  });
}

}  // namespace

void add_describe(flags::Verb& app, DescribeOptions& options) {
  auto& verb = *app.add_subcommand(
      "describe", "Show an object with timeline, children, events and why it waits");
  verb.footer(
      "  athanor describe jobs/my-job\n"
      "  athanor describe clusters/cluster-1 queues/fournos-queue\n"
      "  athanor describe slices/gpu-node -o json\n\n"
      "Kinds: jobs, clusters, queues, appwrappers, schedules, slices and zones (of a node), "
      "workloads.");
  add_target(verb, options.target);
  add_subjects(verb, options.objects, options.labels);
  verb.add_option("--clusters-namespace", options.clusters_ns, "namespace of the FournosClusters")
      ->envname("HEARTH_NAMESPACE")
      ->default_val("hearth");
  add_output(verb, options.output, {Output::Table, Output::Json, Output::Yaml});
}

void add_wait(flags::Verb& app, WaitOptions& options) {
  auto& verb = *app.add_subcommand("wait", "Wait until objects end, or reach the state of --for");
  verb.footer(
      "  athanor wait jobs/a jobs/b --timeout 2h\n"
      "  athanor wait clusters/edge --for condition=Locked\n"
      "  athanor wait jobs/a --for phase=Running\n\n"
      "The exit code is 0 if all jobs Succeeded, or all objects are as --for says; 1 if one ended\n"
      "otherwise or the time is up; 3 if the API server went away. A cluster is waited for until "
      "it\n"
      "is Valid, a queue until it is Active.");
  add_target(verb, options.target);
  add_subjects(verb, options.objects, options.labels);
  verb.add_option("--for", options.wanted, "phase=PHASE, condition=TYPE[=STATUS] or delete")
      ->type_name("GOAL");
  verb.add_option("--timeout", options.timeout, "longest time, as 90s, 1h30m or 2d (default: none)")
      ->type_name("TIME");
  verb.add_option("--clusters-namespace", options.clusters_ns, "namespace of the FournosClusters")
      ->envname("HEARTH_NAMESPACE")
      ->default_val("hearth");
}

void add_logs(flags::Verb& app, LogsOptions& options) {
  auto& verb = *app.add_subcommand("logs", "Print the logs of jobs, or of other workloads");
  verb.footer(
      "  athanor logs my-job -f\n"
      "  athanor logs my-job --failed --tail 50\n"
      "  athanor logs pipelinerun/my-job --task run -c step-run --timestamps\n"
      "  athanor logs job.batch/train --since 10m --prefix\n"
      "  athanor logs -l team=llm -f\n\n"
      "A name alone is a job, else a PipelineRun, batch Job, AppWrapper, JobSet or pod of that "
      "name.\n"
      "Kinds: jobs, pipelineruns, taskruns, batchjobs (job.batch), jobsets, appwrappers, pods,\n"
      "workloads, pytorchjobs, rayjobs, rayclusters, leaderworkersets, deployments, "
      "statefulsets.\n"
      "Each line begins with [task/step] or [pod/container]; of several workloads with\n"
      "[pod/NAME/CONTAINER].");
  add_target(verb, options.target);
  verb.add_option("workload", options.words, "KIND/NAME, or the name alone; several are read");
  verb.add_option("-l,--selector", options.labels,
                  "select by labels instead of names: jobs, or pods if no job has them; with a "
                  "kind, objects of it")
      ->type_name("LABELS");
  verb.verify([&options]() -> Result<void> {
    if (options.words.empty() && options.labels.empty()) {
      return Error::bad_request("give the name of a workload, or -l LABELS");
    }
    return {};
  });
  verb.add_flag("-f,--follow", options.follow, "print new lines until the workload ends");
  verb.add_option("--task", options.task, "only this pipeline task");
  verb.add_option("-c,--container", options.container,
                  "only this container or step; init containers are printed only with this flag");
  verb.add_flag("--failed", options.failed, "only containers that ended with a code other than 0");
  verb.add_flag("-p,--previous", options.previous,
                "print the previous instance of restarted containers");
  verb.add_option("--tail", options.tail, "the last lines of each container (default: all)")
      ->check(flags::in_range(0, 1'000'000'000))
      ->type_name("LINES");
  verb.add_option("--since", options.since, "lines since: 90s, 1h30m, 2d ago, or a time (RFC 3339)")
      ->type_name("TIME");
  verb.add_flag("--timestamps", options.timestamps, "begin each line with its time");
  auto* prefix = verb.add_flag("--prefix", options.prefix,
                               "begin each line with [pod/NAME/CONTAINER], as kubectl does");
  verb.add_flag("--no-prefix", options.no_prefix, "print the lines alone")->excludes(prefix);
}

void add_cancel(flags::Verb& app, CancelOptions& options) {
  auto& verb = *app.add_subcommand("cancel", "Stop jobs");
  add_target(verb, options.target);
  add_choice(verb, options.choice, "the jobs");
  verb.add_flag("--terminate", options.terminate, "skip the pipeline's finally tasks");
}

void add_templates(flags::Verb& app, TemplateVerbs& parsed) {
  auto& list = *app.add_subcommand("templates", "List saved jobs, save and delete them");
  list.footer(
      "  athanor templates save llm-nightly --pipeline fournos-full --project llmd --gpu h200:8\n"
      "  athanor templates save llm-nightly --from nightly-x7k2p\n"
      "  athanor submit --template llm-nightly --cluster cluster-2\n"
      "  athanor templates llm-nightly -o yaml\n\n"
      "A template is a ConfigMap with the label athanor.dev/template=job in the jobs' namespace; "
      "its\n"
      "key job.yaml is a FournosJob.");
  list.require_subcommand(0, 1);
  add_target(list, parsed.list.target);
  list.add_flag("-A,--all-namespaces", parsed.list.all_namespaces, "templates of every namespace");
  add_list_flags(list, parsed.list.list,
                 {.names = "names of templates", .owners = true, .since = true});
  auto& save = *list.add_subcommand("save", "Save a job from flags, a file or a stored job");
  save.footer("The flags are those of athanor submit. A template of the same name is replaced.");
  add_target(save, parsed.save.job.target);
  save.add_option("template", parsed.save.name, "the template's name")->required();
  save.add_option("--description", parsed.save.description, "description in one line");
  auto* file = save.add_option("-f,--file", parsed.save.job.files, "manifest of one FournosJob")
                   ->allow_extra_args(false);
  save.add_option("--from", parsed.save.from, "a stored job")->excludes(file)->type_name("JOB");
  add_job_fields(save, parsed.save.job);
  auto& remove = *list.add_subcommand("delete", "Delete templates");
  add_target(remove, parsed.remove.target);
  add_choice(remove, parsed.remove.choice, "the templates");
}

Command chosen_of_templates(const flags::Verb& templates, TemplateVerbs& parsed) {
  if (templates.got_subcommand("save")) {
    inherit(parsed.save.job.target, parsed.list.target, "");
    return std::move(parsed.save);
  }
  if (templates.got_subcommand("delete")) {
    inherit(parsed.remove.target, parsed.list.target, "");
    return std::move(parsed.remove);
  }
  return std::move(parsed.list);
}

}  // namespace athanor::cli
