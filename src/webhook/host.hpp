// SPDX-License-Identifier: Apache-2.0
// Host: everything that webhooks need beside the systems' controllers: the server, the controllers
// of its certificate and of the bundles, and the way from a question to a verdict.
//
// These controllers have an engine of their own, so that the Secret's namespace need not be one
// that the systems watch, and nothing but that one Secret is read.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "client/api_client.hpp"
#include "cluster/cluster_driver.hpp"
#include "cluster/leadership.hpp"
#include "net/serving/served_tls.hpp"
#include "runtime/view/admission.hpp"
#include "webhook/conversion.hpp"
#include "webhook/operators.hpp"

namespace athanor {
class Metrics;
}

namespace athanor::webhook {

// Collaborators and settings of a Host.
struct HostOptions {
  // All pointers but metrics and leadership are required and outlive the host.
  std::shared_ptr<client::ApiClient> client{};
  const Clock* clock = nullptr;
  Entropy* entropy = nullptr;
  Metrics* metrics = nullptr;
  cluster::Leadership* leadership = nullptr;  // without: certificates are made at any time
  std::string address{};
  net::TlsLimits tls{};       // of its port
  bool platform_tls = false;  // the limits are those of OpenShift's TLS profile instead
  Duration platform_look = std::chrono::minutes(10);  // as DriverOptions has it
  std::vector<Webhook> webhooks{};
  Settings settings{};
  bool conversions = false;  // keep the bundle in custom resource definitions, too
  Convert convert{};         // answers conversions; none: they are not found
  // Runs a function with what the systems' controllers see; may drop it when they end.
  std::function<void(std::function<void(const View& view, Instant now)>)> inspect{};
  // Called once, on a thread of the host: a certificate is served, and each configuration that is
  // to have the authorities' bundle has it. May be empty.
  std::function<void()> on_ready{};
};

// start(), drain() and stop() from one thread, the rest from any.
class Host {
 public:
  // Listens. Errors: an address that is none, or is taken.
  static Result<std::unique_ptr<Host>> open(HostOptions options);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host();  // stops

  void start();
  void lead();
  // Ends the controllers; questions are answered on.
  void drain(Duration patience);
  void stop();

  // Returns true if there is a certificate, and connections are taken.
  [[nodiscard]] bool ready() const;
  [[nodiscard]] std::string address() const;

 private:
  struct State;
  explicit Host(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace athanor::webhook
