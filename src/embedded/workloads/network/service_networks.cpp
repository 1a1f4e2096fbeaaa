// SPDX-License-Identifier: Apache-2.0
#include "embedded/workloads/network/service_networks.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "kube/value/condition.hpp"

namespace athanor::workloads {
namespace {

constexpr std::string_view kFinalizer = "networking.k8s.io/service-cidr-finalizer";
constexpr unsigned kBits = 32;

std::optional<std::uint32_t> number_of(std::string_view digits) {
  std::uint32_t number = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = code == std::errc() && end == digits.data() + digits.size();
  return whole ? std::optional(number) : std::nullopt;
}

// Of an IPv4 address; the server gives no others away.
std::optional<std::uint32_t> address_number(std::string_view text) {
  constexpr int kParts = 4;
  constexpr std::uint32_t kMostOfPart = 255;
  std::uint32_t address = 0;
  for (int part = 0; part < kParts; ++part) {
    const std::size_t dot = part + 1 < kParts ? text.find('.') : text.size();
    if (dot == std::string_view::npos) {
      return std::nullopt;
    }
    const auto number = number_of(text.substr(0, dot));
    if (!number || *number > kMostOfPart) {
      return std::nullopt;
    }
    address = address << 8U | *number;
    text.remove_prefix(std::min(dot + 1, text.size()));
  }
  return address;
}

bool holds(std::string_view cidr, std::uint32_t address) {
  const std::size_t slash = cidr.find('/');
  if (slash == std::string_view::npos) {
    return false;
  }
  const auto base = address_number(cidr.substr(0, slash));
  const auto bits = number_of(cidr.substr(slash + 1));
  if (!base || !bits || *bits > kBits) {
    return false;
  }
  const std::uint64_t size = std::uint64_t{1} << (kBits - *bits);
  return address >= *base && address - *base < size;
}

bool holds(const Object& network, std::uint32_t address) {
  const auto cidrs = network.spec()["cidrs"].items();
  return std::any_of(cidrs.begin(), cidrs.end(),
                     [address](const Value& cidr) { return holds(cidr.as_string(), address); });
}

// Some address comes from this network alone.
bool is_needed(const View& view, const Object& network) {
  const std::vector<Object> networks = view.list(kServiceCidr);
  const std::vector<Object> addresses = view.list(kIpAddress);
  return std::any_of(addresses.begin(), addresses.end(), [&](const Object& one) {
    const auto address = address_number(one.key().name);
    return address && holds(network, *address) &&
           std::none_of(networks.begin(), networks.end(), [&](const Object& other) {
             return other.key().name != network.key().name && !other.deleting() &&
                    holds(other, *address);
           });
  });
}

Step say_ready(const Object& network, const Condition& condition, Instant now) {
  Value conditions = network.status()["conditions"];
  set_condition(conditions, condition, now);
  return Status{.target = {&kServiceCidr, network.key()},
                .status = Value::object({{"conditions", conditions}}),
                .guard = {.uid = std::string(network.uid())}};
}

Step set_finalizers(const Object& network, const Value& finalizers) {
  return Patch{.target = {&kServiceCidr, network.key()},
               .merge = Value::object(
                   {{"metadata",
                     Value::object({{"finalizers", finalizers},
                                    {"resourceVersion", network.metadata()["resourceVersion"]}})}}),
               .guard = {.uid = std::string(network.uid())}};
}

Plan reconcile_service(const View& view, const Key& key, Instant now) {
  Plan plan;
  const auto network = view.get(kServiceCidr, key);
  if (!network) {
    return plan;
  }
  const Value held = network->metadata()["finalizers"];
  const auto items = held.items();
  const bool guarded = std::any_of(items.begin(), items.end(), [](const Value& finalizer) {
    return finalizer.as_string() == kFinalizer;
  });
  if (network->deleting()) {
    if (!guarded) {
      return plan;
    }
    if (is_needed(view, *network)) {
      plan.then(say_ready(*network,
                          {.type = "Ready",
                           .status = "False",
                           .reason = "Terminating",
                           .message = "There are still IPAddresses referencing the ServiceCIDR, "
                                      "please remove them or create a new ServiceCIDR"},
                          now));
      return plan;
    }
    Value left = Value::list();
    for (const Value& finalizer : items) {
      if (finalizer.as_string() != kFinalizer) {
        left.push_back(finalizer);
      }
    }
    plan.then(set_finalizers(*network, left.empty() ? Value() : left));
    return plan;
  }
  if (!guarded) {
    Value more = held.is_list() ? held : Value::list();
    more.push_back(kFinalizer);
    plan.then(set_finalizers(*network, more));
  }
  if (!condition_is(network->status()["conditions"], "Ready", "True")) {
    plan.then(say_ready(*network,
                        {.type = "Ready",
                         .status = "True",
                         .reason = {},
                         .message = "Kubernetes Service CIDR is ready"},
                        now));
  }
  return plan;
}

}  // namespace

const Operator& service_network_operator() {
  static const Kind* const kReads[] = {&kServiceCidr, &kIpAddress};
  static const Kind* const kWrites[] = {&kServiceCidr};
  static const Kind* const kSmall[] = {&kServiceCidr, &kIpAddress};
  static const Operator kOperator{
      .name = "service-cidr-controller",
      .primary = &kServiceCidr,
      .reads = kReads,
      .writes = kWrites,
      .reconcile = &reconcile_service,
      .user = "system:serviceaccount:kube-system:service-cidrs-controller",
      .small = kSmall};
  return kOperator;
}

}  // namespace athanor::workloads
