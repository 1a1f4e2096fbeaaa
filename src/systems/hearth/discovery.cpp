// SPDX-License-Identifier: Apache-2.0
// From labelled Secrets to FournosClusters (docs/spec/hearth.md section 4). Nothing of a Secret's
// data is read here.
#include <optional>

#include <fmt/format.h>

#include "api/builtin.hpp"
#include "kube/names/names.hpp"
#include "runtime/view/live.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "systems/hearth/names.hpp"
#include "systems/hearth/operators.hpp"
#include "systems/hearth/secret_name.hpp"
#include "systems/hearth/settings.hpp"
#include "systems/hearth/span.hpp"

namespace athanor::hearth {
namespace {

Plan warn_of_secret(const Object& secret, std::string_view reason, std::string note) {
  Plan plan;
  plan.then(Emit{.about = {&api::kSecret, secret.key()},
                 .about_uid = std::string(secret.uid()),
                 .type = "Warning",
                 .reason = std::string(reason),
                 .note = std::move(note)});
  return plan;
}

// S14: what upstream's framework copied into annotations.
void clean(const Object& secret, Value& merge) {
  for (const Member& annotation : secret.metadata()["annotations"].members()) {
    if (annotation.key().starts_with(name::kKopfPrefix)) {
      merge.set_path({"metadata", "annotations", annotation.key()}, nullptr);
    }
  }
}

void patch_secret(Plan& plan, const Object& secret, Value merge) {
  if (!merge.empty()) {
    plan.then(Patch{.target = {&api::kSecret, secret.key()},
                    .merge = std::move(merge),
                    .guard = {.uid = std::string(secret.uid())}});
  }
}

Plan create(const Settings& settings, const Object& secret, const std::string& cluster) {
  Plan plan;
  Value object = Value::object(
      {{"apiVersion", api::kFournosCluster.api_version()}, {"kind", api::kFournosCluster.name}});
  object.set("metadata",
             Value::object({{"name", cluster},
                            {"namespace", settings.ns},
                            {"labels", Value::object({{name::kAutoDiscovered, "true"},
                                                      {name::kManagedBy, name::kHearth}})}}));
  Value spec = Value::object({{"kubeconfigSecret", secret.name()}});
  if (const std::string_view owner = secret.annotation(name::kOwner); !owner.empty()) {
    spec.set("owner", owner);
  }
  if (const std::string_view ttl = secret.annotation(name::kTtl); !ttl.empty()) {
    if (parse_span(ttl)) {
      spec.set("ttl", ttl);
    } else {
      plan.merge(warn_of_secret(
          secret, "InvalidTTL",
          fmt::format("annotation {}: not a duration such as 30m, 4h or 2d", name::kTtl)));
    }
  }
  object.set("spec", std::move(spec));
  plan.then(Create{.target = {&api::kFournosCluster, {settings.ns, cluster}},
                   .object = std::move(object)});
  return plan;
}

bool wants_cluster(const Object& secret) {
  return secret.label(name::kKubeconfigLabel) == "true" && !secret.deleting() &&
         secret.annotation(name::kOffboarded).empty();
}

// The Secret may have been put away a moment ago, and the cluster be gone for that reason: past the
// caches it is certain.
Plan onboard(const View& view, const Settings& settings, const Object& secret,
             const std::string& cluster, Instant now) {
  const Live live = read_live(view, api::kSecret, secret.key(), now);
  Plan plan;
  if (!live.known) {
    plan.wake_at(now + kLiveAge);
  } else if (!live.objects.empty() && wants_cluster(live.objects.front())) {
    plan = create(settings, live.objects.front(), cluster);
  }
  return plan;
}

// Manual offboarding has no finalizer: whether a cluster never was or is gone is remembered on the
// Secret (10.1).
Plan remember(const View& view, const Settings& settings, const Object& secret,
              const std::string& cluster, Instant now) {
  const bool present = view.get(api::kFournosCluster, {settings.ns, cluster}).has_value();
  const bool known = !secret.annotation(name::kOnboarded).empty();
  if (present == known) {
    return present ? Plan::done() : onboard(view, settings, secret, cluster, now);
  }
  Plan plan;
  Value merge = Value::object();
  if (present) {
    merge.set_path({"metadata", "annotations", name::kOnboarded}, format_time(now));
  } else {
    merge.set_path({"metadata", "annotations", name::kOnboarded}, nullptr);
    merge.set_path({"metadata", "annotations", name::kOffboarded}, format_time(now));
  }
  patch_secret(plan, secret, std::move(merge));
  return plan;
}

Plan discover(const View& view, const Settings& settings, const Object& secret, Instant now) {
  const std::string cluster = cluster_of_secret(secret.name(), settings.secret_pattern);
  if (cluster.empty()) {
    return warn_of_secret(secret, "InvalidClusterName",
                          fmt::format("the name is not of the form {}", settings.secret_pattern));
  }
  const NameError wrong = validate_dns1123_subdomain(cluster);
  if (wrong || cluster.size() > kLongestName) {
    return warn_of_secret(
        secret, "InvalidClusterName",
        wrong ? fmt::format("'{}' cannot be a cluster's name: {}", cluster, *wrong)
              : fmt::format("'{}' cannot be a cluster's name: must be no more than {} "
                            "bytes",
                            cluster, kLongestName));
  }
  if (!settings.offboards()) {
    return remember(view, settings, secret, cluster, now);
  }
  return view.get(api::kFournosCluster, {settings.ns, cluster})
             ? Plan::done()
             : onboard(view, settings, secret, cluster, now);
}

Plan reconcile_secret(const View& view, const Key& key, Instant now) {
  const auto settings = api::decode<Settings>(view.config("hearth"));
  if (key.ns != settings.secrets_namespace && key.ns != settings.ns) {
    return Plan::done();
  }
  const auto secret = view.get(api::kSecret, key);
  if (!secret || secret->deleting() || secret->label(name::kKubeconfigLabel) != "true") {
    return Plan::done();
  }
  if (key.ns != settings.secrets_namespace) {
    return warn_of_secret(
        *secret, "WrongNamespace",
        fmt::format("kubeconfig Secrets belong into namespace {}", settings.secrets_namespace));
  }
  Plan plan;
  Value merge = Value::object();
  clean(*secret, merge);
  patch_secret(plan, *secret, std::move(merge));
  if (wants_cluster(*secret)) {
    plan.merge(discover(view, settings, *secret, now));
  }
  return plan;
}

constexpr const Kind* kDiscoveryReads[] = {&api::kFournosCluster};
constexpr const Kind* kDiscoveryWrites[] = {&api::kSecret, &api::kFournosCluster};
constexpr Access kDiscoveryAccess[] = {{&api::kSecret, "get patch"},
                                       {&api::kFournosCluster, "create"},
                                       {&api::kEvent, "create patch"}};

}  // namespace

std::string cluster_of_secret(std::string_view secret, const std::string& pattern) {
  constexpr std::string_view kPlace = "{cluster}";
  const std::size_t at = pattern.find(kPlace);
  const std::string_view before = std::string_view(pattern).substr(0, at);
  const std::string_view behind = std::string_view(pattern).substr(at + kPlace.size());
  if (secret.size() <= before.size() + behind.size() || !secret.starts_with(before) ||
      !secret.ends_with(behind)) {
    return {};
  }
  secret.remove_prefix(before.size());
  secret.remove_suffix(behind.size());
  return std::string(secret);
}

const Operator& discovery_operator() {
  static constexpr Operator kOperator{
      .name = "hearth-discovery",
      .primary = &api::kSecret,
      .reads = kDiscoveryReads,
      .writes = kDiscoveryWrites,
      .reconcile = reconcile_secret,
      .backoff = {.first = std::chrono::seconds(1), .most = std::chrono::seconds(60)},
      // Whether there is a cluster is all that matters here.
      .overlooks = [](const Kind& kind, const Object& /*before*/,
                      const Object& /*after*/) { return &kind == &api::kFournosCluster; },
      .access = kDiscoveryAccess,
  };
  return kOperator;
}

}  // namespace athanor::hearth
