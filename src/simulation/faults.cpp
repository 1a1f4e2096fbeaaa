// SPDX-License-Identifier: Apache-2.0
// Names, lists and chances of faults.
#include "simulation/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace athanor::sim {

namespace {

constexpr std::array<std::string_view, kFaultKinds> kNames = {
    "write-conflict", "write-error",    "write-overload", "write-lost",    "write-lost-applied",
    "engine-crash",   "handover",       "server-restart", "old-cache",     "watch-delay",
    "watch-reorder",  "watch-coalesce", "watch-gap",      "clock-forward", "clock-back",
    "pod-death",      "node-death",     "agent-crash"};

constexpr std::size_t index_of(Fault fault) {
  return static_cast<std::size_t>(fault);
}

std::optional<std::uint64_t> number(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

Result<PlacedFault> parse_one(std::string_view text) {
  const auto at = text.find('@');
  const auto colon = text.find(':', at == std::string_view::npos ? 0 : at);
  const auto kind = fault_named(text.substr(0, at));
  if (!kind) {
    return Error::bad_request(fmt::format("no fault is called \"{}\"", text.substr(0, at)));
  }
  const auto occasion =
      at == std::string_view::npos
          ? std::nullopt
          : number(text.substr(at + 1, colon == std::string_view::npos ? colon : colon - at - 1),
                   10);
  const auto amount = colon == std::string_view::npos ? std::optional<std::uint64_t>(0)
                                                      : number(text.substr(colon + 1), 16);
  if (!occasion || !amount) {
    return Error::bad_request(fmt::format("\"{}\" is not of the form KIND@OCCASION:AMOUNT", text));
  }
  return PlacedFault{.kind = *kind, .occasion = *occasion, .amount = *amount};
}

}  // namespace

std::string_view name_of(Fault fault) {
  return kNames.at(index_of(fault));
}

std::optional<Fault> fault_named(std::string_view name) {
  const auto* at = std::find(kNames.begin(), kNames.end(), name);
  if (at == kNames.end()) {
    return std::nullopt;
  }
  return static_cast<Fault>(at - kNames.begin());
}

const std::array<Fault, kFaultKinds>& all_faults() {
  static const std::array<Fault, kFaultKinds> kAll = [] {
    std::array<Fault, kFaultKinds> all{};
    for (std::size_t i = 0; i < kFaultKinds; ++i) {
      all.at(i) = static_cast<Fault>(i);
    }
    return all;
  }();
  return kAll;
}

Faults stormy() {
  return {.conflict = 0.05,
          .error = 0.03,
          .overload = 0.02,
          .lost = 0.02,
          .lost_applied = 0.03,
          .crash = 0.02,
          .lag = 0.2,
          .gap = 0.02,
          .old_replica = true,
          .handover = 0.01,
          .server_restart = 0.01,
          .coalesce = 0.1,
          .clock = 0.01};
}

std::string to_text(const FaultList& faults) {
  std::string text;
  for (const PlacedFault& fault : faults) {
    text += fmt::format("{}{}@{}:{:x}", text.empty() ? "" : ",", name_of(fault.kind),
                        fault.occasion, fault.amount);
  }
  return text.empty() ? "none" : text;
}

Result<FaultList> parse_faults(std::string_view text) {
  FaultList faults;
  if (text == "none") {
    return faults;
  }
  while (!text.empty()) {
    const auto comma = text.find(',');
    ATHANOR_TRY(PlacedFault one, parse_one(text.substr(0, comma)));
    faults.push_back(one);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return faults;
}

FaultSource::FaultSource(Faults rates, std::optional<FaultList> placed, std::uint64_t seed)
    : by_list_(placed.has_value()), entropy_(seeded_entropy(seed ^ 0xfa017fa017fa017fULL)) {
  const auto set = [&](Fault kind, double rate) { rates_.at(index_of(kind)) = rate; };
  set(Fault::WriteConflict, rates.conflict);
  set(Fault::WriteError, rates.error);
  set(Fault::WriteOverload, rates.overload);
  set(Fault::WriteLost, rates.lost);
  set(Fault::WriteLostApplied, rates.lost_applied);
  set(Fault::EngineCrash, rates.crash);
  set(Fault::Handover, rates.handover);
  set(Fault::ServerRestart, rates.server_restart);
  set(Fault::OldCache, rates.old_replica ? 0.5 : 0);
  // What is late is late for all where watches share one order, for one resource where not.
  set(Fault::WatchDelay, rates.ordered ? rates.lag : rates.lag / 4);
  set(Fault::WatchReorder, rates.ordered ? 0 : rates.lag);
  set(Fault::WatchCoalesce, rates.coalesce);
  set(Fault::WatchGap, rates.gap);
  set(Fault::ClockForward, rates.clock / 2);
  set(Fault::ClockBack, rates.clock / 2);
  set(Fault::PodDeath, rates.pod_death);
  set(Fault::NodeDeath, rates.node_death);
  set(Fault::AgentCrash, rates.agent_crash);
  any_ = by_list_ ? !placed->empty()
                  : std::any_of(rates_.begin(), rates_.end(), [](double rate) { return rate > 0; });
  if (by_list_) {
    for (const PlacedFault& fault : *placed) {
      placed_.insert_or_assign({fault.kind, fault.occasion}, fault.amount);
    }
  }
}

bool FaultSource::includes(Fault kind) const {
  return rate(kind) > 0 || std::any_of(placed_.begin(), placed_.end(), [kind](const auto& placed) {
           return placed.first.first == kind;
         });
}

std::optional<std::uint64_t> FaultSource::strike(Fault kind) {
  const std::uint64_t occasion = ++occasions_.at(index_of(kind));
  if (stopped_ || !any_) {
    return std::nullopt;
  }
  std::optional<std::uint64_t> amount;
  if (by_list_) {
    const auto at = placed_.find({kind, occasion});
    if (at != placed_.end()) {
      amount = at->second;
    }
  } else if (const double rate = rates_.at(index_of(kind)); rate > 0) {
    constexpr std::uint64_t kSteps = 1'000'000;
    const std::uint64_t draw = entropy_->next();
    if (static_cast<double>(draw % kSteps) < rate * static_cast<double>(kSteps)) {
      amount = entropy_->next() >> 40;  // short enough to print
    }
  }
  if (amount) {
    injected_.push_back({.kind = kind, .occasion = occasion, .amount = *amount});
  }
  return amount;
}

}  // namespace athanor::sim
