// SPDX-License-Identifier: Apache-2.0
// The controllers of the webhooks: one keeps the serving certificate in its Secret, the others keep
// the authorities' bundle in whatever registers webhooks that name our Service. Pure; keys are made
// by the probe that makes a new set (kCertificateProbe).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/admission_review.hpp"
#include "kube/value/kind.hpp"
#include "runtime/view/operator.hpp"
#include "webhook/certificates.hpp"

namespace athanor::webhook {

// Kinds that register webhooks.
inline constexpr Kind kValidatingConfiguration{"admissionregistration.k8s.io", "v1",
                                               "ValidatingWebhookConfiguration",
                                               "validatingwebhookconfigurations", false};
inline constexpr Kind kMutatingConfiguration{"admissionregistration.k8s.io", "v1",
                                             "MutatingWebhookConfiguration",
                                             "mutatingwebhookconfigurations", false};

// What View::config answers under kSection.
struct Settings {
  Key secret{};
  WebhookTarget target{};
  CertificateOptions certificates{};
  // The only configurations that are given the bundle; empty: all that lead to the target.
  std::vector<std::string> configurations{};
};
// Section of the configuration that holds Settings.
inline constexpr std::string_view kSection = "webhooks";
// Writes the section; read_settings() reads it.
Value to_value(const Settings& settings);
Settings read_settings(const Value& value);

// Observations "webhook-certificates:<duty>:<resource version, - for no Secret>"; the answer is the
// Secret's new data.
inline constexpr std::string_view kCertificateProbe = "webhook-certificates";
// A parsed query of the certificate probe.
struct CertificateQuery {
  Duty duty = Duty::None;
  std::string version{};
  [[nodiscard]] std::string text() const;
  static CertificateQuery parse(std::string_view query);
};

// Watches custom resource definitions, too, with `conversions`.
std::vector<const Operator*> operators(bool conversions);

// Returns true if every configuration that is to have the authorities' bundle has it.
bool bundles_are_written(const View& view);

}  // namespace athanor::webhook
