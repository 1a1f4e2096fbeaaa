// SPDX-License-Identifier: Apache-2.0
#include "cluster/platform_tls.hpp"

#include <utility>
#include <variant>

namespace athanor::cluster {
namespace {

Plan reconcile(const View& /*view*/, const Key& /*key*/, Instant /*now*/) {
  return Plan::done();
}

bool concerns_profile(const runtime::Input& input) {
  if (const auto* event = std::get_if<runtime::WatchEvent>(&input)) {
    return event->kind == &kOpenShiftServer && event->type != runtime::WatchEvent::Type::Bookmark;
  }
  const auto* list = std::get_if<runtime::Relisted>(&input);
  return list != nullptr && list->kind == &kOpenShiftServer && list->last;
}

}  // namespace

const Operator& platform_tls_operator() {
  static constexpr const Kind* kReads[] = {&kOpenShiftServer};
  static const Operator kOperator{
      .name = "tls-profile", .primary = &kOpenShiftServer, .reads = kReads, .reconcile = reconcile};
  return kOperator;
}

TlsFollower::TlsFollower(std::function<void(Reader reader)> inspect,
                         std::function<void(const TlsProfile& profile)> take)
    : inspect_(std::move(inspect)), take_(std::move(take)) {}

void TlsFollower::input(const runtime::Engine& engine, const runtime::Input& input, Instant now) {
  if (next_ != nullptr) {
    next_->input(engine, input, now);
  }
  if (concerns_profile(input)) {
    // Once the engine has taken it.
    inspect_([this](const View& view, Instant /*now*/) { look(view); });
  }
}

void TlsFollower::ran(std::span<const runtime::Effect> effects, Instant now) {
  if (next_ != nullptr) {
    next_->ran(effects, now);
  }
}

void TlsFollower::look(const View& view) {
  const auto server = view.get(kOpenShiftServer, {"", "cluster"});
  TlsProfile profile =
      server ? read_tls_profile(server->spec()["tlsSecurityProfile"]) : TlsProfile();
  if (profile != last_) {
    last_ = std::move(profile);
    take_(last_);
  }
}

}  // namespace athanor::cluster
