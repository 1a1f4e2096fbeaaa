// SPDX-License-Identifier: Apache-2.0
// Acquire, renew, lose, release.
#include "runtime/engine/elector.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.hpp"

namespace athanor::runtime {

namespace {

constexpr double kJitter = 1.2;  // client-go's JitterFactor

std::string_view holder_of(const Object& lease) {
  return lease.spec()["holderIdentity"].as_string();
}

Duration duration_of(const Object& lease) {
  return std::chrono::seconds(lease.spec()["leaseDurationSeconds"].as_int());
}

}  // namespace

Result<void> check(const ElectorOptions& options) {
  if (options.lease_duration <= options.renew_deadline) {
    return Error::bad_request("leaseDuration must be greater than renewDeadline");
  }
  if (options.renew_deadline <=
      std::chrono::duration_cast<Duration>(options.retry_period * kJitter)) {
    return Error::bad_request("renewDeadline must be greater than retryPeriod*JitterFactor");
  }
  if (options.lease_duration < std::chrono::seconds(1)) {
    return Error::bad_request("leaseDuration must be at least one second");
  }
  if (options.retry_period <= Duration::zero()) {
    return Error::bad_request("retryPeriod must be greater than zero");
  }
  if (options.identity.empty() || options.lease.name.empty() || options.lease.ns.empty()) {
    return Error::bad_request("a lease needs a namespace, a name and an identity");
  }
  return {};
}

Elector::Elector(ElectorOptions options) : options_(std::move(options)) {
  ATHANOR_CHECK(options_.entropy != nullptr, "jitter needs a source");
}

bool Elector::may_write(Steady now) const {
  return (state_ == State::Leading) && now < deadline_;
}

bool Elector::held_by_us() const {
  return observed_ && holder_of(*observed_) == options_.identity;
}

// Between one and 2.2 periods, so that candidates do not come together.
Steady Elector::retry_at(Steady now) {
  const auto share = static_cast<std::int64_t>(options_.entropy->next() % 1000);
  const auto spread = std::chrono::duration_cast<Duration>(options_.retry_period * kJitter);
  return now + options_.retry_period + spread * share / 1000;
}

void Elector::wake(Steady at, ElectorEffects& effects) {
  wake_ = at;
  effects.emplace_back(WakeElector{.at = at});
}

void Elector::start(Steady now, Instant wall, ElectorEffects& effects) {
  ATHANOR_CHECK(state_ == State::Idle, "an elector starts once");
  state_ = State::Waiting;
  attempt(now, wall, effects);
}

void Elector::attempt(Steady now, Instant wall, ElectorEffects& effects) {
  if (request_) {
    return;
  }
  // A leader that has seen nothing since renews without asking; a leader in between makes the
  // update conflict, and the next attempt reads.
  if (state_ == State::Leading && held_by_us()) {
    write(now, wall, effects);
    return;
  }
  request_ = Request{.id = ++last_id_, .write = false, .sent = now};
  effects.emplace_back(ReadLease{.id = last_id_});
}

void Elector::tick(Steady now, Instant wall, ElectorEffects& effects) {
  if (state_ == State::Leading && now >= deadline_) {
    lose("the lease was not renewed in time", effects);
    return;
  }
  if (!wake_ || now < *wake_) {
    return;
  }
  wake_.reset();
  if (state_ == State::Waiting || state_ == State::Leading) {
    attempt(now, wall, effects);
  }
  if (state_ == State::Leading && !wake_) {
    wake(deadline_, effects);
  }
}

void Elector::answer(std::uint64_t id, const Result<Object>& lease, Steady now, Instant wall,
                     ElectorEffects& effects) {
  if (!request_ || request_->id != id) {
    return;  // of an elector that gave up
  }
  const Request request = *request_;
  request_.reset();
  if (state_ == State::Releasing) {
    state_ = State::Ended;
    return;
  }
  if (state_ == State::Ended) {
    return;
  }
  if (state_ == State::Leading && now >= deadline_) {
    lose("the lease was not renewed in time", effects);
    return;
  }
  if (!request.write) {
    if (lease.ok()) {
      read_back(*lease, now, wall, effects);
    } else if (lease.error().code == 404) {
      read_back(std::nullopt, now, wall, effects);
    } else {
      failed(now, effects);
    }
  } else if (!lease.ok()) {
    if (state_ == State::Leading) {
      // The server's state is unknown: read before the next update.
      observed_.reset();
    }
    failed(now, effects);
  } else {
    observe(*lease, now, effects);
    if (!held_by_us() || now >= request.sent + options_.renew_deadline) {
      failed(now, effects);
      return;
    }
    deadline_ = request.sent + options_.renew_deadline;
    if (state_ == State::Waiting) {
      state_ = State::Leading;
      effects.emplace_back(BecameLeader{});
    }
    wake(std::min(now + options_.retry_period, deadline_), effects);
  }
  if (stopping_) {
    release(now, wall, effects);
  }
}

// The record counts as new when anything in it changed; its age is measured here, never by its
// times.
void Elector::observe(const Object& lease, Steady now, ElectorEffects& effects) {
  if (!observed_ || !(observed_->spec() == lease.spec())) {
    observed_at_ = now;
  }
  observed_ = lease;
  const std::string holder(holder_of(lease));
  if (holder != told_ && !holder.empty()) {
    told_ = holder;
    effects.emplace_back(LeaderIs{.identity = holder});
  }
}

void Elector::read_back(const std::optional<Object>& lease, Steady now, Instant wall,
                        ElectorEffects& effects) {
  if (!lease) {
    if (state_ == State::Leading) {
      lose("the lease is gone", effects);
      return;
    }
    observed_.reset();
    write(now, wall, effects);
    return;
  }
  observe(*lease, now, effects);
  const std::string_view holder = holder_of(*lease);
  if (state_ == State::Leading && !held_by_us()) {
    lose(fmt::format("the lease went to {}", holder), effects);
    return;
  }
  const Steady end = observed_at_ + duration_of(*lease);
  if (!holder.empty() && !held_by_us() && now < end) {
    // At its end, not up to two periods later: there is no leader meanwhile.
    wake(std::min(retry_at(now), end), effects);
    return;
  }
  write(now, wall, effects);
}

Value Elector::body(Instant wall) const {
  const std::string stamp = format_micro_time(wall);
  const Value none;
  const Value& old = observed_ ? observed_->spec() : none;
  const bool ours = held_by_us();
  Value spec = old.is_object() ? old : Value::object();
  spec.set("holderIdentity", options_.identity);
  spec.set("leaseDurationSeconds",
           std::chrono::duration_cast<std::chrono::seconds>(options_.lease_duration).count());
  spec.set("acquireTime", ours && old["acquireTime"].is_string() ? old["acquireTime"] : stamp);
  spec.set("renewTime", stamp);
  const std::int64_t transitions = old["leaseTransitions"].as_int();
  spec.set("leaseTransitions", observed_ && !ours ? transitions + 1 : transitions);
  return spec;
}

void Elector::write(Steady now, Instant wall, ElectorEffects& effects) {
  Value lease =
      observed_ ? observed_->body()
                : Value::object({{"apiVersion", "coordination.k8s.io/v1"},
                                 {"kind", "Lease"},
                                 {"metadata", Value::object({{"name", options_.lease.name},
                                                             {"namespace", options_.lease.ns}})}});
  lease.set("spec", body(wall));
  request_ = Request{.id = ++last_id_, .write = true, .sent = now};
  effects.emplace_back(
      WriteLease{.id = last_id_, .create = !observed_.has_value(), .body = std::move(lease)});
}

void Elector::failed(Steady now, ElectorEffects& effects) {
  if (state_ == State::Leading) {
    wake(std::min(now + options_.retry_period, deadline_), effects);
    return;
  }
  wake(retry_at(now), effects);
}

void Elector::lose(std::string why, ElectorEffects& effects) {
  state_ = State::Ended;
  wake_.reset();
  effects.emplace_back(LostLeadership{.why = std::move(why)});
}

void Elector::stop(Steady now, Instant wall, ElectorEffects& effects) {
  if (stopping_) {
    return;
  }
  stopping_ = true;
  wake_.reset();
  if (request_ && state_ == State::Leading) {
    return;  // its answer comes first: an update behind it would conflict
  }
  release(now, wall, effects);
}

void Elector::release(Steady now, Instant wall, ElectorEffects& effects) {
  const bool give_back =
      state_ == State::Leading && options_.release_on_cancel && held_by_us() && now < deadline_;
  if (!give_back) {
    state_ = State::Ended;
    return;
  }
  const std::string stamp = format_micro_time(wall);
  Value lease = observed_->body();
  Value spec = observed_->spec();
  spec.set("holderIdentity", "");
  spec.set("leaseDurationSeconds", 1);
  spec.set("acquireTime", stamp);
  spec.set("renewTime", stamp);
  lease.set("spec", std::move(spec));
  state_ = State::Releasing;
  request_ = Request{.id = ++last_id_, .write = true, .sent = now};
  effects.emplace_back(WriteLease{.id = last_id_, .create = false, .body = std::move(lease)});
}

}  // namespace athanor::runtime
