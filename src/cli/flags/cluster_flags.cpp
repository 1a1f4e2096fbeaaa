// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/cluster_flags.hpp"

#include <string>
#include <tuple>
#include <utility>

#include "cli/flags/list_flags.hpp"
#include "cli/flags/target_flags.hpp"
#include "flags/verb.hpp"

namespace athanor::cli {
namespace {

constexpr EnvironmentDefault kHearthNamespace{.variable = "HEARTH_NAMESPACE",
                                              .otherwise = "hearth"};

// The API server as everywhere; clusters are in Hearth's namespace, not in the context's.
void add_hub(flags::Verb& verb, Target& target) {
  add_home(verb, target, kHearthNamespace, "namespace of the FournosClusters");
  add_identity(verb, target);
}

// A lock is its owner's; others have to say that they mean it.
void add_asker(flags::Verb& verb, std::string& owner, bool& take_over) {
  verb.add_option("--owner", owner, "owner who asks (default: $USER)");
  verb.add_flag("--take-over,--force", take_over,
                "act although another owner has locked the cluster");
}

void add_timeout(flags::Verb& verb, int& seconds) {
  verb.add_option("--timeout", seconds, "time limit in seconds")
      ->check(flags::in_range(1, 86400))
      ->capture_default_str();
}

void add_cluster_adding(flags::Verb& clusters, ClusterAddOptions& options) {
  auto& verb = *clusters.add_subcommand(
      "add", "Add a cluster: make the labelled Secret with its kubeconfig that Hearth looks for");
  verb.footer(
      "  athanor clusters add edge --kubeconfig edge.kubeconfig --wait\n\n"
      "Without --kubeconfig, a removed cluster is onboarded again from its remaining Secret.");
  add_hub(verb, options.target);
  verb.add_option("name", options.name, "the cluster")->required();
  verb.add_option("--kubeconfig", options.kubeconfig,
                  "kubeconfig file of the new cluster; the API server's is that of $KUBECONFIG");
  verb.add_option("--secrets-namespace", options.secrets_namespace, "namespace of the Secret")
      ->envname("HEARTH_SECRETS_NAMESPACE")
      ->capture_default_str();
  verb.add_option("--owner", options.owner, "owner of the cluster's lock from the start");
  verb.add_option("--for", options.lock_time, "duration, as 30m, 4h or 2d (default: no end)");
  verb.add_flag("--replace", options.replace, "take this kubeconfig when there is one already");
  verb.add_flag("--no-check", options.no_check, "do not check the kubeconfig first");
  verb.add_flag("--wait", options.wait, "wait until the GPUs of the cluster are known");
  add_timeout(verb, options.timeout);
}

void add_cordons(flags::Verb& clusters, ClusterVerbs& parsed) {
  ClusterCordonOptions& options = parsed.cordon;
  const std::tuple<const char*, const char*, ClusterCordonVerb> verbs[] = {
      {"cordon", "Admit no new jobs; running jobs continue", ClusterCordonVerb::Cordon},
      {"uncordon", "Admit new jobs again", ClusterCordonVerb::Uncordon},
      {"drain", "Cordon clusters and wait until their jobs have ended", ClusterCordonVerb::Drain}};
  for (const auto& [name, help, chosen] : verbs) {
    auto& verb = *clusters.add_subcommand(name, help);
    add_file(verb, options.target);
    add_hub(verb, options.target);
    add_choice(verb, options.choice, "the clusters");
    if (chosen == ClusterCordonVerb::Drain) {
      verb.add_flag("--cancel", options.cancel, "stop the jobs");
      add_timeout(verb, options.timeout);
    }
    verb.callback([&options, kind = chosen] { options.verb = kind; });
  }
  auto& describe = *clusters.add_subcommand(
      "describe", "Show clusters with timeline, jobs, events and what is wrong");
  add_file(describe, parsed.describe.target);
  add_hub(describe, parsed.describe.target);
  add_choice(describe, parsed.described, "the clusters");
  add_output(describe, parsed.describe.output, {Output::Table, Output::Json, Output::Yaml});
}

}  // namespace

void add_cluster_verbs(flags::Verb& app, ClusterVerbs& parsed) {
  auto& clusters =
      *app.add_subcommand("clusters", "List clusters with their GPUs, locks, queues and use");
  clusters.footer(
      "  athanor clusters -w\n"
      "  athanor clusters edge -o wide\n"
      "  athanor clusters add edge --kubeconfig edge.kubeconfig\n"
      "  athanor clusters check edge\n"
      "  athanor clusters remove edge --wait");
  clusters.require_subcommand(0, 1);
  add_file(clusters, parsed.list.target);
  add_hub(clusters, parsed.list.target);
  add_list_flags(clusters, parsed.list.list,
                 {.names = "names of clusters; a single one is shown with what is wrong with it",
                  .phases = "clusters in this state: Valid, Missing, Invalid, Unreachable, Leaving "
                            "or Cordoned",
                  .owners = true,
                  .since = true,
                  .more = {Output::Fleet}});
  add_cluster_adding(clusters, parsed.add);

  add_cordons(clusters, parsed);

  auto& check =
      *clusters.add_subcommand("check", "Ask clusters for their GPUs now; 0: all is well");
  add_file(check, parsed.check.target);
  add_hub(check, parsed.check.target);
  add_choice(check, parsed.check.choice, "the clusters");
  add_timeout(check, parsed.check.timeout);

  ClusterRemoveOptions& leaving = parsed.remove;
  auto& remove = *clusters.add_subcommand("remove", "Take clusters out of service");
  add_file(remove, leaving.target);
  add_hub(remove, leaving.target);
  add_choice(remove, leaving.choice, "the clusters");
  remove
      .add_option("--policy", leaving.policy,
                  "Drain: running jobs end first; Force: they are terminated; Retain: flavor and "
                  "quota stay")
      ->check(flags::one_of({"Drain", "Force", "Retain"}));
  add_asker(remove, leaving.owner, leaving.take_over);
  remove.add_flag("--delete-kubeconfig", leaving.delete_kubeconfig, "delete the Secret, too");
  remove.add_flag("--wait", leaving.wait, "stay until it is gone, and say what it waits for");
  add_timeout(remove, leaving.timeout);
}

void add_locks(flags::Verb& app, ClusterVerbs& parsed) {
  LockOptions& options = parsed.lock;
  auto& lock =
      *app.add_subcommand("lock", "Lock whole clusters: running jobs finish, new ones wait");
  lock.footer("  athanor lock edge --for 4h --wait");
  add_file(lock, options.target);
  add_hub(lock, options.target);
  add_choice(lock, options.choice, "the clusters");
  lock.add_option("--for", options.lock_time,
                  "time of the lock, as 30m, 4h or 2d (default: until it is unlocked)");
  lock.add_option("--owner", options.owner, "owner of the lock (default: $USER)");
  lock.add_flag("--take-over,--force", options.take_over, "take over the lock of another owner");
  lock.add_flag("--wait", options.wait, "stay until the lock is held");
  add_timeout(lock, options.timeout);

  auto& unlock = *app.add_subcommand("unlock", "Release the locks of clusters");
  add_file(unlock, parsed.unlock.target);
  add_hub(unlock, parsed.unlock.target);
  add_choice(unlock, parsed.unlock.choice, "the clusters");
  add_asker(unlock, parsed.unlock.owner, parsed.unlock.take_over);
}

Command chosen_of_clusters(const flags::Verb& clusters, ClusterVerbs& parsed) {
  const Target& outer = parsed.list.target;
  if (clusters.got_subcommand("add")) {
    inherit(parsed.add.target, outer, kHearthNamespace.value());
    return std::move(parsed.add);
  }
  for (const char* verb : {"cordon", "uncordon", "drain"}) {
    if (clusters.got_subcommand(verb)) {
      inherit(parsed.cordon.target, outer, kHearthNamespace.value());
      return std::move(parsed.cordon);
    }
  }
  if (clusters.got_subcommand("describe")) {
    inherit(parsed.describe.target, outer, kHearthNamespace.value());
    parsed.describe.labels = std::move(parsed.described.labels);
    if (!parsed.describe.labels.empty()) {
      parsed.describe.objects.emplace_back("clusters");
    }
    for (const std::string& name : parsed.described.names) {
      parsed.describe.objects.push_back("clusters/" + name);
    }
    // -n is that of the clusters here.
    parsed.describe.clusters_ns = std::exchange(parsed.describe.target.ns, {});
    return std::move(parsed.describe);
  }
  if (clusters.got_subcommand("check")) {
    inherit(parsed.check.target, outer, kHearthNamespace.value());
    return std::move(parsed.check);
  }
  if (clusters.got_subcommand("remove")) {
    inherit(parsed.remove.target, outer, kHearthNamespace.value());
    return std::move(parsed.remove);
  }
  return std::move(parsed.list);
}

}  // namespace athanor::cli
