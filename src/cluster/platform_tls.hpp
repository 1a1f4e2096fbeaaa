// SPDX-License-Identifier: Apache-2.0
// What a process that serves HTTPS needs to follow OpenShift's TLS profile (docs/spec/das.md 10.6).
#pragma once

#include <functional>
#include <span>

#include "runtime/engine/engine_host.hpp"
#include "runtime/view/operator.hpp"
#include "runtime/view/tls_profile.hpp"
#include "runtime/view/view.hpp"

namespace athanor::cluster {

// Keeps the profile's kind in a driver's caches; reconciles nothing.
const Operator& platform_tls_operator();

// Reports the profile while the driver runs, whether the process leads or not. To be the driver's
// journal, or called by it.
class TlsFollower final : public runtime::EngineJournal {
 public:
  using Reader = std::function<void(const View& view, Instant now)>;
  // Takes the driver's `inspect`. Calls `take` on the driver's thread with each profile that
  // differs from the one before; an empty one, as at the start: the cluster has none.
  TlsFollower(std::function<void(Reader reader)> inspect,
              std::function<void(const TlsProfile& profile)> take);
  // Passes all input on to `next`, which may be null; before the driver starts.
  void pass_on_to(runtime::EngineJournal* next) { next_ = next; }
  void input(const runtime::Engine& engine, const runtime::Input& input, Instant now) override;
  void ran(std::span<const runtime::Effect> effects, Instant now) override;

 private:
  void look(const View& view);

  std::function<void(Reader reader)> inspect_;
  std::function<void(const TlsProfile& profile)> take_;
  runtime::EngineJournal* next_ = nullptr;
  TlsProfile last_{};  // of the driver's thread
};

}  // namespace athanor::cluster
