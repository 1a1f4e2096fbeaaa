// SPDX-License-Identifier: Apache-2.0
// Reconciling the Secret and the bundles.
#include "webhook/operators.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/builtin.hpp"
#include "base/digest.hpp"

namespace athanor::webhook {
namespace {

constexpr Duration kAnswerAge = std::chrono::seconds(10);  // of keys that were not stored

Value seconds_of(Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

// ---- the certificate

Step store(const Settings& settings, const std::optional<Object>& secret, const Value& data) {
  const Ref target{&api::kSecret, settings.secret};
  if (!secret) {
    return Create{
        .target = target,
        .object = Value::object(
            {{"metadata", Value::object({{"labels", Value::object({
                                                        {"app.kubernetes.io/name", "athanor"},
                                                        {"app.kubernetes.io/component", "webhooks"},
                                                    })}})},
             {"type", "Opaque"},
             {"data", data}})};
  }
  // Replaced, guarded by its version: upstream's roles allow update alone.
  Value body = secret->body();
  body.set("data", data);
  return Replace{.target = target, .object = std::move(body)};
}

Plan keep_certificate(const View& view, const Key& /*key*/, Instant now) {
  const Settings settings = read_settings(view.config(kSection));
  const auto secret = view.get(api::kSecret, settings.secret);
  const CertificateSet set = secret ? read_set(secret->body()["data"]) : CertificateSet();
  const Judgement judgement = judge(set, settings.certificates, now);
  Plan plan;
  if (judgement.duty == Duty::None) {
    plan.wake_at(judgement.next);
    return plan;
  }
  const CertificateQuery query{.duty = judgement.duty,
                               .version = secret ? std::string(secret->resource_version()) : "-"};
  const Observed made = view.observe(query.text(), kAnswerAge);
  if (made.error) {
    return Plan::retry(*made.error);
  }
  if (made.value && now - made.at <= kAnswerAge) {
    plan.then(store(settings, secret, *made.value));
  }
  return plan;
}

// ---- the bundles

// The target with the bundle that the Secret holds; without one there is nothing to write.
WebhookTarget current_target(const View& view) {
  const Settings settings = read_settings(view.config(kSection));
  WebhookTarget target = settings.target;
  if (const auto secret = view.get(api::kSecret, settings.secret)) {
    target.ca_bundle = read_set(secret->body()["data"]).bundle;
  }
  return target;
}

// The merge patch that is due to a configuration; Null: none is.
Value due_patch(const View& view, const WebhookTarget& target, const Object& object) {
  const std::vector<std::string> named = read_settings(view.config(kSection)).configurations;
  const bool ours = named.empty() || std::ranges::find(named, object.name()) != named.end();
  return ours ? cluster::ca_bundle_patch(object.body(), target) : Value();
}

Plan keep_bundle(const View& view, const Kind& kind, const Key& key) {
  Plan plan;
  const auto object = view.get(kind, key);
  const WebhookTarget target = current_target(view);
  if (!object || target.ca_bundle.empty()) {
    return plan;
  }
  if (const Value patch = due_patch(view, target, *object); !patch.is_null()) {
    Value body = object->body();
    body.set("webhooks", patch["webhooks"]);
    plan.then(Replace{.target = {&kind, key}, .object = std::move(body)});
  }
  return plan;
}

Plan keep_validating(const View& view, const Key& key, Instant /*now*/) {
  return keep_bundle(view, kValidatingConfiguration, key);
}
Plan keep_mutating(const View& view, const Key& key, Instant /*now*/) {
  return keep_bundle(view, kMutatingConfiguration, key);
}

// A part of a definition: its schemas are not kept in memory.
Plan keep_conversion(const View& view, const Key& key, Instant /*now*/) {
  Plan plan;
  const auto object = view.get(api::kCustomResourceDefinition, key);
  const WebhookTarget target = current_target(view);
  if (!object || target.ca_bundle.empty()) {
    return plan;
  }
  Value patch = cluster::conversion_bundle_patch(object->body(), target);
  if (!patch.is_null()) {
    plan.then(Patch{.target = {&api::kCustomResourceDefinition, key},
                    .merge = std::move(patch),
                    .guard = {.uid = std::string(object->uid()),
                              .resource_version = std::string(object->resource_version())}});
  }
  return plan;
}

constexpr const Kind* kSecrets[] = {&api::kSecret};
constexpr const Kind* kValidatingReads[] = {&kValidatingConfiguration, &api::kSecret};
constexpr const Kind* kMutatingReads[] = {&kMutatingConfiguration, &api::kSecret};
constexpr const Kind* kConversionReads[] = {&api::kCustomResourceDefinition, &api::kSecret};
constexpr Access kSecretAccess[] = {{&api::kSecret, "create update"}};
constexpr Access kValidatingAccess[] = {{&kValidatingConfiguration, "update"}};
constexpr Access kMutatingAccess[] = {{&kMutatingConfiguration, "update"}};
constexpr Access kConversionAccess[] = {{&api::kCustomResourceDefinition, "patch"}};
constexpr Backoff kBackoff{.first = std::chrono::milliseconds(200),
                           .most = std::chrono::seconds(30)};

constexpr std::array kOperators{Operator{.name = "webhook-certificate",
                                         .primary = &api::kSecret,
                                         .reads = kSecrets,
                                         .writes = kSecrets,
                                         .reconcile = keep_certificate,
                                         .singleton = true,
                                         .backoff = kBackoff,
                                         .access = kSecretAccess},
                                Operator{.name = "webhook-bundle-validating",
                                         .primary = &kValidatingConfiguration,
                                         .reads = kValidatingReads,
                                         .writes = {kValidatingReads, 1},
                                         .reconcile = keep_validating,
                                         .backoff = kBackoff,
                                         .access = kValidatingAccess},
                                Operator{.name = "webhook-bundle-mutating",
                                         .primary = &kMutatingConfiguration,
                                         .reads = kMutatingReads,
                                         .writes = {kMutatingReads, 1},
                                         .reconcile = keep_mutating,
                                         .backoff = kBackoff,
                                         .access = kMutatingAccess}};
constexpr Operator kConversion{.name = "webhook-bundle-conversion",
                               .primary = &api::kCustomResourceDefinition,
                               .reads = kConversionReads,
                               .writes = {kConversionReads, 1},
                               .reconcile = keep_conversion,
                               .backoff = kBackoff,
                               .access = kConversionAccess};

}  // namespace

Value to_value(const Settings& settings) {
  Value hosts = Value::list();
  for (const std::string& host : settings.certificates.hosts) {
    hosts.push_back(host);
  }
  Value configurations = Value::list();
  for (const std::string& name : settings.configurations) {
    configurations.push_back(name);
  }
  return Value::object(
      {{"configurations", configurations},
       {"secretNamespace", settings.secret.ns},
       {"secret", settings.secret.name},
       {"service", settings.target.service},
       {"namespace", settings.target.ns},
       {"url", settings.target.url},
       {"authority", settings.certificates.authority},
       {"organization", settings.certificates.organization},
       {"hosts", hosts},
       {"lifeSeconds", seconds_of(settings.certificates.life)},
       {"authorityLifeSeconds", seconds_of(settings.certificates.authority_life)}});
}

Settings read_settings(const Value& value) {
  Settings settings{.secret = {value["secretNamespace"].str(), value["secret"].str()},
                    .target = {.service = value["service"].str(),
                               .ns = value["namespace"].str(),
                               .url = value["url"].str()}};
  const Value& configurations = value["configurations"];
  for (const Value& name : configurations.items()) {
    settings.configurations.push_back(name.str());
  }
  CertificateOptions& certificates = settings.certificates;
  certificates.authority = value["authority"].str();
  certificates.organization = value["organization"].str();
  const Value& hosts = value["hosts"];
  for (const Value& host : hosts.items()) {
    certificates.hosts.push_back(host.str());
  }
  certificates.life = std::chrono::seconds(value["lifeSeconds"].as_int());
  certificates.authority_life = std::chrono::seconds(value["authorityLifeSeconds"].as_int());
  return settings;
}

std::string CertificateQuery::text() const {
  return fmt::format("{}:{}:{}", kCertificateProbe, name_of(duty), version);
}

CertificateQuery CertificateQuery::parse(std::string_view query) {
  CertificateQuery parsed;
  query.remove_prefix(std::min(kCertificateProbe.size() + 1, query.size()));
  const std::size_t colon = std::min(query.find(':'), query.size());
  for (const Duty duty : {Duty::Everything, Duty::Serving, Duty::Authority, Duty::Prune}) {
    if (query.substr(0, colon) == name_of(duty)) {
      parsed.duty = duty;
    }
  }
  parsed.version = query.substr(std::min(colon + 1, query.size()));
  return parsed;
}

bool bundles_are_written(const View& view) {
  const WebhookTarget target = current_target(view);
  const auto written = [&](const Kind* kind) {
    return std::ranges::all_of(view.list(*kind), [&](const Object& object) {
      return due_patch(view, target, object).is_null();
    });
  };
  return !target.ca_bundle.empty() && written(&kValidatingConfiguration) &&
         written(&kMutatingConfiguration);
}

std::vector<const Operator*> operators(bool conversions) {
  std::vector<const Operator*> all;
  all.reserve(kOperators.size() + 1);
  for (const Operator& one : kOperators) {
    all.push_back(&one);
  }
  if (conversions) {
    all.push_back(&kConversion);
  }
  return all;
}

}  // namespace athanor::webhook
