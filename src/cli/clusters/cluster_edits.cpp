// SPDX-License-Identifier: Apache-2.0
// athanor clusters add, check and remove, athanor lock and unlock: edits of FournosClusters and
// Secrets that kubectl could make, too (docs/hearth.md).
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "api/builtin.hpp"
#include "api/kueue.hpp"
#include "base/clock.hpp"
#include "base/digest.hpp"
#include "base/files/text_file.hpp"
#include "cli/flags/environment.hpp"
#include "cli/output/filter.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/chosen_names.hpp"
#include "cli/session/reconnection.hpp"
#include "cli/session/verbs.hpp"
#include "kube/names/names.hpp"
#include "kube/text/json.hpp"
#include "kube/text/kubeconfig.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "systems/hearth/kubeconfig_text.hpp"
#include "views/cluster_view.hpp"

namespace athanor::cli {
namespace {

constexpr const char* kManager = "?fieldManager=athanor-clusters";
constexpr const char* kDiscoveryLabel = "fournos.dev/cluster-kubeconfig";
constexpr const char* kOffboarded = "fournos.dev/offboarded";

const Kind& cluster_kind() {
  return api::kFournosCluster;
}

int misuse(std::string_view what) {
  Terminal(STDERR_FILENO).print(fmt::format("athanor: {}\n", what));
  return 2;
}

Result<Value> merge(Session& session, const Kind& kind, const std::string& ns,
                    const std::string& name, Value patch) {
  return session.connection().call({.method = "PATCH",
                                    .path = Session::path(kind, ns, name) + kManager,
                                    .body = std::move(patch),
                                    .content_type = "application/merge-patch+json"});
}

// Writes what `edit` makes of the spec, as long as the cluster is the one that was read; it is read
// again when it was written in between, as Hearth does all the time. Nothing: `edit` wants none.
Result<void> edit_spec(
    Session& session, const std::string& name,
    const std::function<Result<std::optional<Value>>(const Object& cluster)>& edit) {
  constexpr int kTries = 50;
  for (int tries = 1;; ++tries) {
    ATHANOR_TRY(const Object cluster, session.get(cluster_kind(), session.ns(), name));
    ATHANOR_TRY(std::optional<Value> spec, edit(cluster));
    if (!spec) {
      return {};
    }
    const auto written =
        merge(session, cluster_kind(), session.ns(), name,
              Value::object(
                  {{"metadata", Value::object({{"resourceVersion", cluster.resource_version()}})},
                   {"spec", *std::move(spec)}}));
    if (written.ok()) {
      return {};
    }
    if (written.error().reason != "Conflict" || tries == kTries) {
      return written.error();
    }
  }
}

// Reads the cluster again and again until `done` likes it, also while the API server is away for a
// while; nullopt: it is gone. The error says that the time was up.
Result<std::optional<Object>> wait_for(Session& session, const std::string& name,
                                       std::chrono::seconds limit,
                                       const std::function<bool(const Object&)>& done) {
  constexpr std::chrono::milliseconds kPause{200};
  const auto end = std::chrono::steady_clock::now() + limit;
  while (true) {
    auto cluster = session.get(cluster_kind(), session.ns(), name);
    if (!cluster.ok() && cluster.error().code == 404) {
      return std::optional<Object>();
    }
    if (!cluster.ok() && !is_passing(cluster.error())) {
      return cluster.error();
    }
    if (cluster.ok() && done(*cluster)) {
      return std::optional<Object>(*std::move(cluster));
    }
    if (std::chrono::steady_clock::now() >= end) {
      return Error{.code = 504,
                   .reason = "Timeout",
                   .message = fmt::format("{} is not there after {} s", name, limit.count())};
    }
    std::this_thread::sleep_for(kPause);
  }
}

Value secret_of(const ClusterAddOptions& options, const std::string& kubeconfig) {
  Value metadata = Value::object({{"name", "kubeconfig-" + options.name},
                                  {"namespace", options.secrets_namespace},
                                  {"labels", Value::object({{kDiscoveryLabel, "true"}})}});
  Value annotations = Value::object();
  if (!options.owner.empty()) {
    annotations.set("fournos.dev/owner", options.owner);
  }
  if (!options.lock_time.empty()) {
    annotations.set("fournos.dev/ttl", options.lock_time);
  }
  if (!annotations.empty()) {
    metadata.set("annotations", std::move(annotations));
  }
  return Value::object({{"apiVersion", "v1"},
                        {"kind", "Secret"},
                        {"metadata", std::move(metadata)},
                        {"type", "Opaque"},
                        {"data", Value::object({{"kubeconfig", base64_encode(kubeconfig)}})}});
}

// A Secret that is there already: with the new kubeconfig, when there is one, and no longer marked
// as offboarded.
Result<Value> renew(Session& session, const ClusterAddOptions& options,
                    const std::string& kubeconfig) {
  Value patch = Value::object(
      {{"metadata", Value::object({{"labels", Value::object({{kDiscoveryLabel, "true"}})},
                                   {"annotations", Value::object({{kOffboarded, Value()}})}})}});
  if (!kubeconfig.empty()) {
    patch.set("data", Value::object({{"kubeconfig", base64_encode(kubeconfig)}}));
  }
  return merge(session, api::kSecret, options.secrets_namespace, "kubeconfig-" + options.name,
               std::move(patch));
}

// What Hearth would call Invalid is not handed in at all.
Result<void> check(const ClusterAddOptions& options, const std::string& kubeconfig) {
  const Value data = Value::object({{"kubeconfig", base64_encode(kubeconfig)}});
  const std::string flaw = hearth::flaw_text(read_kubeconfig_data(data, {.as_kubectl = true}),
                                             "kubeconfig-" + options.name, options.name);
  if (!flaw.empty()) {
    return Error::bad_request(
        fmt::format("{}: {} (--no-check hands it in nevertheless)", options.kubeconfig, flaw));
  }
  return {};
}

Result<Value> put_secret(Session& session, const ClusterAddOptions& options) {
  std::string kubeconfig;
  if (options.kubeconfig.empty()) {
    return renew(session, options, kubeconfig);
  }
  ATHANOR_TRY(kubeconfig, read_text_file(options.kubeconfig));
  if (!options.no_check) {
    ATHANOR_TRY_VOID(check(options, kubeconfig));
  }
  auto created = session.connection().call(
      {.method = "POST",
       .path = Session::path(api::kSecret, options.secrets_namespace) + kManager,
       .body = secret_of(options, kubeconfig)});
  if (created.ok() || created.error().code != 409 || !options.replace) {
    return created;
  }
  return renew(session, options, kubeconfig);
}

bool is_settled(const Object& cluster) {
  const Value& status = cluster.status();
  const std::string_view state = status["kubeconfigStatus"].as_string();
  return (state == "Valid" && status.contains("lastProbeTime")) ||
         (!state.empty() && state != "Valid");
}

// The cluster's line and what is wrong with it; the exit code.
int report(const Object& cluster) {
  const Terminal out(STDOUT_FILENO);
  const std::vector<std::string> troubles = views::cluster_troubles(cluster);
  const Value& status = cluster.status();
  out.print(fmt::format("{}: {}{}{}\n", cluster.name(), views::usable_state(cluster),
                        status["gpuSummary"].as_string().empty() ? "" : ", ",
                        status["gpuSummary"].as_string()));
  for (const std::string& trouble : troubles) {
    out.print(trouble + "\n");
  }
  return troubles.empty() ? 0 : 1;
}

// The API takes any number; a lock that ends at once, or with the century, is a slip of the hand.
std::string flaw_of_lock_time(const std::string& text) {
  if (text.empty()) {
    return {};
  }
  const auto length = views::is_lock_time(text) ? parse_length(text) : std::nullopt;
  return length && *length > Duration()
             ? std::string()
             : fmt::format("--for: \"{}\" is not a time such as 30m, 4h or 2d", text);
}

// A lock is its owner's: others have to say that they mean it.
Result<void> check_owner(const Object& cluster, const std::string& asker, bool take_over,
                         std::string_view deed) {
  const std::string holder = cluster.spec()["owner"].str();
  if (holder.empty() || holder == asker || take_over) {
    return {};
  }
  return Error::conflict(fmt::format("{} is locked for {}{}; --take-over {} nevertheless",
                                     cluster.name(), holder,
                                     asker.empty() ? "" : ", not for " + asker, deed));
}

// Deletes the cluster as it was looked at: who locks it in between keeps it.
Result<void> take_out(Session& session, const ClusterRemoveOptions& options,
                      const std::string& name) {
  const std::string asker = options.owner.empty() ? user_name() : options.owner;
  Value patch = Value::object();
  if (!options.policy.empty()) {
    patch.set("spec", Value::object({{"deletionPolicy", options.policy}}));
  }
  if (options.delete_kubeconfig) {
    patch.set_path({"metadata", "annotations"},
                   Value::object({{"fournos.dev/delete-kubeconfig", "true"}}));
  }
  constexpr int kTries = 50;
  for (int tries = 1;; ++tries) {
    ATHANOR_TRY(Object cluster, session.get(cluster_kind(), session.ns(), name));
    ATHANOR_TRY_VOID(check_owner(cluster, asker, options.take_over, "removes it"));
    if (!patch.empty()) {
      ATHANOR_TRY(Value patched, merge(session, cluster_kind(), session.ns(), name, patch));
      cluster = Object(std::move(patched));
      ATHANOR_TRY_VOID(check_owner(cluster, asker, options.take_over, "removes it"));
    }
    const Value unchanged =
        Value::object({{"uid", cluster.uid()}, {"resourceVersion", cluster.resource_version()}});
    const auto deleted = session.connection().call(
        {.method = "DELETE",
         .path = Session::path(cluster_kind(), session.ns(), name),
         .body = Value::object(
             {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"preconditions", unchanged}})});
    if (deleted.ok()) {
      return {};
    }
    if (deleted.error().reason != "Conflict" || tries == kTries) {
      return deleted.error();
    }
  }
}

}  // namespace

Error explain_unmanaged(Session& session, const std::string& name, Error error) {
  if (error.code == 404 && session.get(api::kueue::kResourceFlavor, "", name).ok()) {
    error.message += "; " + views::unmanaged_text(name, session.ns());
  }
  return error;
}

int run(const ClusterAddOptions& options) {
  if (const auto wrong = validate_dns1123_subdomain(options.name);
      wrong || options.name.size() > 63) {
    return misuse(fmt::format("\"{}\" cannot name a cluster: {}", options.name,
                              wrong ? *wrong : "must be no more than 63 characters"));
  }
  if (const std::string wrong = flaw_of_lock_time(options.lock_time); !wrong.empty()) {
    return misuse(wrong);
  }
  auto session = Session::open(options.target);
  if (!session.ok()) {
    return fail(session.error());
  }
  const auto put = put_secret(*session, options);
  if (!put.ok()) {
    Error error = put.error();
    if (error.code == 409) {
      error.message += "; --replace gives it this kubeconfig";
    } else if (error.code == 404 && options.kubeconfig.empty()) {
      error.message += "; --kubeconfig FILE makes it";
    }
    return fail(error);
  }
  Terminal(STDOUT_FILENO)
      .print(fmt::format("secret/kubeconfig-{} is in namespace {}\n", options.name,
                         options.secrets_namespace));
  if (!options.wait) {
    return 0;
  }
  // Until Hearth has seen the Secret there is no cluster.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(options.timeout);
  while (std::chrono::steady_clock::now() < end) {
    const auto cluster =
        wait_for(*session, options.name, std::chrono::seconds(options.timeout), is_settled);
    if (!cluster.ok()) {
      return fail(cluster.error());
    }
    if (*cluster) {
      return report(**cluster);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return fail({.code = 504,
               .reason = "Timeout",
               .message = fmt::format("there is no FournosCluster {} after {} s: does Hearth run, "
                                      "and does it watch {}?",
                                      options.name, options.timeout, options.secrets_namespace)});
}

namespace {

Result<int> check_one(Session& session, const ClusterCheckOptions& options,
                      const std::string& name) {
  const auto before = session.get(cluster_kind(), session.ns(), name);
  if (!before.ok()) {
    return explain_unmanaged(session, name, before.error());
  }
  const std::string last = before->status()["lastProbeTime"].str();
  // Times of probes are whole seconds: the next one shall not look like the last.
  if (const auto probed = parse_time(last)) {
    std::this_thread::sleep_for(*probed + std::chrono::seconds(1) - wall_clock()->now());
  }
  ATHANOR_TRY_VOID(merge(
      session, cluster_kind(), session.ns(), name,
      Value::object(
          {{"metadata",
            Value::object(
                {{"annotations", Value::object({{"fournos.dev/rediscover",
                                                 format_micro_time(wall_clock()->now())}})}})}})));
  const auto after =
      wait_for(session, name, std::chrono::seconds(options.timeout), [&](const Object& cluster) {
        const Value& status = cluster.status();
        const std::string_view state = status["kubeconfigStatus"].as_string();
        return state == "Missing" || state == "Invalid" ||
               (is_settled(cluster) && status["lastProbeTime"].as_string() != last);
      });
  if (!after.ok()) {
    return after.error().code == 504
               ? Error{.code = 504,
                       .reason = "Timeout",
                       .message = fmt::format("{} was not probed within {} s: does Hearth run?",
                                              name, options.timeout)}
               : after.error();
  }
  if (!*after) {
    return Error::not_found(fmt::format("{} was deleted", name));
  }
  return report(**after);
}

// Stays until the cluster is gone, and says what it waits for.
Result<int> wait_for_removal(Session& session, const ClusterRemoveOptions& options,
                             const std::string& name) {
  const Terminal out(STDOUT_FILENO);
  std::string last_line;
  const auto gone =
      wait_for(session, name, std::chrono::seconds(options.timeout), [&](const Object& cluster) {
        for (const std::string& line : views::cluster_troubles(cluster)) {
          if (line.starts_with("Offboarding") && line != last_line) {
            last_line = line;
            out.print(line + "\n");
          }
        }
        return false;
      });
  if (!gone.ok()) {
    return gone.error().code == 504 ? Error{.code = 504,
                                            .reason = "Timeout",
                                            .message = fmt::format("{} is still there after {} s",
                                                                   name, options.timeout)}
                                    : gone.error();
  }
  out.print(fmt::format("{} is gone\n", name));
  return 0;
}

// Asks for the end of all clusters before it waits for that of the first.
Result<int> remove_all(Session& session, const ClusterRemoveOptions& options,
                       const std::vector<std::string>& names) {
  std::vector<std::string> leaving;
  const int refused = for_each_name(names, [&](const std::string& name) -> Result<int> {
    const auto deleted = take_out(session, options, name);
    if (!deleted.ok()) {
      return explain_unmanaged(session, name, deleted.error());
    }
    Terminal(STDOUT_FILENO).print(fmt::format("{} is leaving\n", name));
    leaving.push_back(name);
    return 0;
  });
  const int stayed = !options.wait ? 0 : for_each_name(leaving, [&](const std::string& name) {
    return wait_for_removal(session, options, name);
  });
  return std::max(refused, stayed);
}

Result<void> ask_for_lock(Session& session, const LockOptions& options, const std::string& name,
                          const std::string& owner) {
  const auto locked =
      edit_spec(session, name, [&](const Object& cluster) -> Result<std::optional<Value>> {
        const std::string holder = cluster.spec()["owner"].str();
        if (!holder.empty() && holder != owner && !options.take_over) {
          return Error::conflict(fmt::format(
              "{} is locked for {}; --take-over hands the lock to {}", name, holder, owner));
        }
        return std::optional(Value::object(
            {{"owner", owner},
             {"ttl", options.lock_time.empty() ? Value() : Value(options.lock_time)}}));
      });
  return locked.ok() ? Result<void>() : explain_unmanaged(session, name, locked.error());
}

std::string end_of_lock(const LockOptions& options) {
  return options.lock_time.empty() ? "until it is unlocked" : "for " + options.lock_time;
}

Result<int> wait_for_lock(Session& session, const LockOptions& options, const std::string& name,
                          const std::string& owner) {
  const auto held =
      wait_for(session, name, std::chrono::seconds(options.timeout), [&](const Object& now) {
        return now.status()["lockState"].as_string() == "Held" || now.spec()["owner"] != owner;
      });
  if (!held.ok()) {
    return held.error().code == 504
               ? Error{.code = 504,
                       .reason = "Timeout",
                       .message = fmt::format("the lock of {} is not held after {} s", name,
                                              options.timeout)}
               : held.error();
  }
  if (!*held || (*held)->spec()["owner"].as_string() != owner) {
    return Error::conflict(fmt::format("the lock of {} was given away", name));
  }
  Terminal(STDOUT_FILENO)
      .print(fmt::format("{} is locked for {}, {}\n", name, owner, end_of_lock(options)));
  return 0;
}

// Asks for all locks before it waits for the first.
Result<int> lock_all(Session& session, const LockOptions& options,
                     const std::vector<std::string>& names, const std::string& owner) {
  std::vector<std::string> asked;
  const int refused = for_each_name(names, [&](const std::string& name) -> Result<int> {
    ATHANOR_TRY_VOID(ask_for_lock(session, options, name, owner));
    asked.push_back(name);
    if (!options.wait) {
      Terminal(STDOUT_FILENO)
          .print(fmt::format("{} is being locked for {}, {}\n", name, owner, end_of_lock(options)));
    }
    return 0;
  });
  const int free = !options.wait ? 0 : for_each_name(asked, [&](const std::string& name) {
    return wait_for_lock(session, options, name, owner);
  });
  return std::max(refused, free);
}

Result<int> unlock_one(Session& session, const UnlockOptions& options, const std::string& name) {
  const std::string asker = options.owner.empty() ? user_name() : options.owner;
  std::string holder;
  const auto unlocked =
      edit_spec(session, name, [&](const Object& cluster) -> Result<std::optional<Value>> {
        holder = cluster.spec()["owner"].str();
        ATHANOR_TRY_VOID(check_owner(cluster, asker, options.take_over, "unlocks it"));
        return holder.empty() ? std::nullopt : std::optional(Value::object({{"owner", ""}}));
      });
  if (!unlocked.ok()) {
    return explain_unmanaged(session, name, unlocked.error());
  }
  Terminal(STDOUT_FILENO)
      .print(holder.empty()
                 ? fmt::format("{} is not locked\n", name)
                 : fmt::format("{} is being unlocked; it was locked for {}\n", name, holder));
  return 0;
}

// Opens a session and acts on the clusters that are meant.
int on_clusters(const Target& target, const NameChoice& choice,
                const std::function<Result<int>(Session& session,
                                                const std::vector<std::string>& names)>& act) {
  auto session = Session::open(target);
  if (!session.ok()) {
    return fail(session.error());
  }
  const auto names = chosen_names(*session, cluster_kind(), choice);
  if (!names.ok()) {
    return fail(names.error());
  }
  const auto code = act(*session, *names);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace

int run(const ClusterCheckOptions& options) {
  return on_clusters(options.target, options.choice, [&](Session& session, const auto& names) {
    return Result<int>(for_each_name(
        names, [&](const std::string& name) { return check_one(session, options, name); }));
  });
}

int run(const ClusterRemoveOptions& options) {
  return on_clusters(options.target, options.choice, [&](Session& session, const auto& names) {
    return remove_all(session, options, names);
  });
}

int run(const LockOptions& options) {
  const std::string owner = options.owner.empty() ? user_name() : options.owner;
  if (owner.find_first_not_of(" \t") == std::string::npos) {
    return misuse("give --owner NAME: $USER is not set");
  }
  if (const std::string wrong = flaw_of_lock_time(options.lock_time); !wrong.empty()) {
    return misuse(wrong);
  }
  return on_clusters(options.target, options.choice, [&](Session& session, const auto& names) {
    return lock_all(session, options, names, owner);
  });
}

int run(const UnlockOptions& options) {
  return on_clusters(options.target, options.choice, [&](Session& session, const auto& names) {
    return Result<int>(for_each_name(
        names, [&](const std::string& name) { return unlock_one(session, options, name); }));
  });
}

}  // namespace athanor::cli
