// SPDX-License-Identifier: Apache-2.0
// Checking, copying and dropping the Secrets of a run.
#include "systems/fournos/secrets.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "api/builtin.hpp"
#include "systems/fournos/children.hpp"
#include "systems/fournos/messages.hpp"
#include "systems/fournos/status_write.hpp"

namespace athanor::fournos {
namespace {

// Copies that no list shows are asked for so long after they are due: not for every old job at
// every resync. What is left goes with the job.
constexpr Duration kSearch = std::chrono::hours(1);

bool copies_secrets(const Job& job) {
  return job.dialect == Dialect::Engine && !job.lock_only;
}

// Jobs on a cluster may hold a copy of its kubeconfig.
bool may_copy(const Job& job) {
  return copies_secrets(job) || (!job.lock_only && !job.clusterless);
}

std::vector<std::string> copy_names(const Job& job) {
  std::vector<std::string> names;
  if (!job.clusterless) {
    names.push_back(kubeconfig_copy_name(job));
  }
  if (!copies_secrets(job)) {
    return names;
  }
  for (const std::string& ref : job.spec().secret_refs) {
    names.push_back(secret_copy_name(job, ref));
  }
  return names;
}

// Wants one copy. A Secret of that name that is not this job's is a conflict, unless it is about to
// go.
void require_secret_copy(const Context& context, SecretsReady& ready, const Object& source,
                         const std::string& copy_name, bool vault_entry) {
  const Child child = child_of(context, api::kSecret, copy_name);
  if (!child.known) {
    ready.waiting = true;
    ready.steps.merge(await_answer(context));
    return;
  }
  const bool mine = child.object.owned_by(context.job.object().uid());
  const auto controller_name = [&] {
    for (const OwnerReference& owner : child.object.owners()) {
      if (owner.kind == api::kFournosJob.name) {
        return owner.name;
      }
    }
    return std::string();
  };
  if (child.state != Child::State::Absent && !mine && controller_name() != context.job.name()) {
    ready.failure = fmt::format(text::kSecretConflict, copy_name);
    ready.reason = "SecretNameConflict";
    return;
  }
  Ensured ensured =
      ensure(context, api::kSecret, secret_copy(context, source, copy_name, vault_entry));
  if (ensured.state == Ensured::State::Refused) {
    ready.failure =
        vault_entry ? ensured.reason : fmt::format(text::kCopyKubeconfig, ensured.reason);
    ready.reason = vault_entry ? kBadSecretRef : "KubeconfigNotFound";
    return;
  }
  ready.waiting = ready.waiting || ensured.state == Ensured::State::Waiting;
  ready.steps.merge(std::move(ensured.steps));
}

void want_kubeconfig(const Context& context, SecretsReady& ready) {
  const Key own{context.settings.secrets_namespace,
                kubeconfig_secret_name(context, context.job.status().cluster)};
  const Confirmed sure =
      read_confirmed(context, api::kSecret, hearth_secret(context).value_or(own));
  if (!sure.known) {
    ready.waiting = true;
    ready.steps.merge(await_answer(context));
    return;
  }
  const std::optional<Object>& source = sure.object;
  if (!source) {
    ready.failure = fmt::format(text::kCopyKubeconfig, http_reason(404));
    ready.reason = "KubeconfigNotFound";
    return;
  }
  require_secret_copy(context, ready, *source, kubeconfig_copy_name(context.job), false);
}

void require_secret_ref(const Context& context, SecretsReady& ready, const std::string& ref) {
  const Confirmed sure = read_confirmed(
      context, api::kSecret, {context.settings.secrets_namespace, vault_secret_name(context, ref)});
  const std::optional<Object>& source = sure.object;
  if (!source) {
    return;  // check_secret_refs() has spoken
  }
  const std::string copy_name = secret_copy_name(context.job, ref);
  require_secret_copy(context, ready, *source, copy_name, true);
  SecretMount mount{.ref = ref, .secret = copy_name};
  for (const Member& entry : source->body()["data"].members()) {
    mount.keys.emplace_back(entry.key());
  }
  std::sort(mount.keys.begin(), mount.keys.end());
  ready.mounts.push_back(std::move(mount));
}

}  // namespace

RefsChecked check_secret_refs(const Context& context) {
  const std::string& ns = context.settings.secrets_namespace;
  for (const std::string& ref : context.job.spec().secret_refs) {
    const std::string secret_name = vault_secret_name(context, ref);
    const Confirmed source = read_confirmed(context, api::kSecret, {ns, secret_name});
    if (!source.known) {
      return {.known = false};
    }
    if (!source.object) {
      return {.bad = fmt::format(text::kSecretMissing, secret_name, ref, ns)};
    }
    if (source.object->label(name::kVaultEntry) != "true") {
      return {.bad = fmt::format(text::kSecretNotVault, secret_name)};
    }
  }
  return {};
}

SecretsReady copy_secrets(const Context& context) {
  SecretsReady ready;
  if (may_copy(context.job) && !knows_kubeconfig(context)) {
    ready.waiting = true;
    ready.steps.merge(await_answer(context));
    return ready;
  }
  if (!copies_secrets(context.job)) {
    if (may_copy(context.job) && hearth_secret(context)) {
      want_kubeconfig(context, ready);
    }
    return ready;
  }
  if (!context.job.clusterless) {
    want_kubeconfig(context, ready);
  }
  const RefsChecked refs = check_secret_refs(context);
  if (!refs.known) {
    ready.waiting = true;
    ready.steps.merge(await_answer(context));
    return ready;
  }
  if (ready.failure.empty() && !refs.bad.empty()) {
    ready.failure = refs.bad;
    ready.reason = kBadSecretRef;
  }
  for (const std::string& ref : context.job.spec().secret_refs) {
    if (ready.failure.empty()) {
      require_secret_ref(context, ready, ref);
    }
  }
  return ready;
}

Plan expire_secrets(const Context& context) {
  Plan plan;
  if (!may_copy(context.job)) {
    return plan;
  }
  const Instant due = ended_at(context.job.object()) + context.settings.secret_grace();
  if (due + kSearch < context.now && is_hidden(context, api::kSecret)) {
    return plan;
  }
  for (const std::string& copy_name : copy_names(context.job)) {
    const Child child = child_of(context, api::kSecret, copy_name);
    if (!child.known) {
      plan.merge(await_answer(context));
      continue;
    }
    if (!child.object.owned_by(context.job.object().uid())) {
      continue;
    }
    if (due > context.now) {
      plan.wake_at(due);
    } else {
      remove_if_allowed(context, plan, child);
    }
  }
  return plan;
}

}  // namespace athanor::fournos
