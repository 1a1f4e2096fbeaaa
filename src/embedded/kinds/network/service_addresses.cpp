// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/network/service_addresses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <vector>

#include "embedded/kinds/edit.hpp"
#include "embedded/kinds/network/address_kinds.hpp"
#include "embedded/kinds/network/service_ports.hpp"
#include "embedded/kinds/network/service_rules.hpp"
#include "kube/names/field_error.hpp"
#include "kube/names/names.hpp"
#include "kube/text/text.hpp"

namespace athanor::apiserver {
namespace {

// The kubernetes service has the first address.
constexpr std::uint32_t kReserved = 1;
// Addresses below are left to those who ask for one by name, as in Kubernetes.
constexpr std::uint32_t kStaticBand = 256;

struct Taken {
  std::set<std::uint32_t> addresses{};
  std::set<std::int64_t> ports{};
};

// What all other services hold.
Taken taken_by_others(const Value& service, const KindContext& context) {
  Taken taken;
  const auto page = context.store.list("services", {});
  if (!page.ok()) {
    return taken;
  }
  const Value& metadata = service["metadata"];
  for (const store::StoredPtr& stored : page->items) {
    if (stored->key.name == metadata["name"].as_string() &&
        stored->key.ns == metadata["namespace"].as_string()) {
      continue;
    }
    const Value& spec = stored->body["spec"];
    for (const Value& ip : spec["clusterIPs"].items()) {
      if (const auto address = parse_ipv4(ip.as_string())) {
        taken.addresses.insert(*address);
      }
    }
    for (const Value& port : spec["ports"].items()) {
      if (const std::int64_t number = port["nodePort"].as_int(); number != 0) {
        taken.ports.insert(number);
      }
    }
    if (const std::int64_t number = spec["healthCheckNodePort"].as_int(); number != 0) {
      taken.ports.insert(number);
    }
  }
  return taken;
}

StatusError refuse(const Value& service, const FieldError& error) {
  return status::invalid({"Service", ""}, service["metadata"]["name"].as_string(), {error});
}

class Allocation {
 public:
  Allocation(Value& service, const Value& old_service, const KindContext& context)
      : service_(service), old_spec_(old_service["spec"]), context_(context) {}

  StatusResult<void> run() {
    const Value& spec = service_["spec"];
    const std::string type = spec["type"].str();
    if (type == "ExternalName") {
      release();
      return {};
    }
    if (!needs_anything(type)) {
      return {};
    }
    taken_ = taken_by_others(service_, context_);
    ATHANOR_TRY_VOID(take_address());
    if (type != "NodePort" && type != "LoadBalancer") {
      return {};
    }
    return allocate_node_ports(service_, old_spec_, taken_.ports, context_.entropy);
  }

 private:
  [[nodiscard]] std::string_view cluster_ip() const {
    return service_["spec"]["clusterIP"].as_string();
  }

  // False for an update that leaves addresses and ports as they were.
  [[nodiscard]] bool needs_anything(std::string_view type) const {
    if (old_spec_.is_null() || cluster_ip().empty() ||
        old_spec_["type"] != service_["spec"]["type"]) {
      return true;
    }
    const Value& spec = service_["spec"];
    if (needs_health_check(spec) &&
        (!needs_health_check(old_spec_) || spec["healthCheckNodePort"].as_int() == 0)) {
      return true;
    }
    return type != "ClusterIP" && old_spec_["ports"] != spec["ports"];
  }

  void release() {
    Value& spec = service_.member("spec");
    // What was allocated before goes; what the writer asks for is refused later.
    const bool switching = !old_spec_.is_null() && old_spec_["type"].as_string() != "ExternalName";
    for (const std::string_view field :
         {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}) {
      if (switching && spec[field] == old_spec_[field]) {
        spec.erase(field);
      }
    }
    if (!spec["clusterIP"].as_string().empty() && spec["clusterIPs"].empty()) {
      const Value first = spec["clusterIP"];
      spec.set("clusterIPs", Value::list({first}));
    }
    edit_items(spec, "ports", [](Value& port) {
      if (port.contains("nodePort")) {
        port.erase("nodePort");
      }
    });
  }

  void set_address(std::string_view text) {
    Value& spec = service_.member("spec");
    spec.set("clusterIP", text);
    spec.set("clusterIPs", Value::list({text}));
  }

  StatusResult<void> take_address() {
    const Value& ips = service_["spec"]["clusterIPs"];
    const std::string wanted =
        cluster_ip().empty() && !ips.empty() ? ips[0].str() : std::string(cluster_ip());
    if (wanted == "None") {
      set_address(wanted);
      return {};
    }
    const std::vector<AddressRange> ranges = usable_ranges();
    if (ranges.empty()) {
      return status::internal("the range of service addresses is not an IPv4 network");
    }
    if (!wanted.empty()) {
      return take_wanted(ranges, wanted);
    }
    if (const std::string kept = old_spec_["clusterIP"].str(); !kept.empty() && kept != "None") {
      set_address(kept);
      return {};
    }
    for (const AddressRange& range : ranges) {
      if (take_any(range)) {
        return check_owner();
      }
    }
    return status::internal("failed to allocate a serviceIP: range is full");
  }

  // The reference makes an object of the address, which needs an owner.
  [[nodiscard]] StatusResult<void> check_owner() const {
    const std::string_view name = service_["metadata"]["name"].as_string();
    const NameError broken = name.empty() ? std::nullopt : validate_path_segment(name);
    if (context_.dry_run || (!name.empty() && !broken)) {
      return {};
    }
    const std::string why = name.empty()
                                ? "Required value"
                                : fmt::format("Invalid value: {}: {}", go_quote(name), *broken);
    return refuse(
        service_,
        FieldError::invalid(
            "spec.clusterIPs", Value::list({""}),
            fmt::format("failed to allocate IP: IPAddress.networking.k8s.io \"{}\" is invalid: "
                        "spec.parentRef.name: {}",
                        cluster_ip(), why)));
  }

  // The server's own network first, then those that ServiceCIDRs add.
  [[nodiscard]] std::vector<AddressRange> usable_ranges() const {
    std::vector<std::string> networks{std::string(context_.service_cluster_ip_range)};
    for (std::string& network : usable_networks(context_.store)) {
      if (network != networks.front()) {
        networks.push_back(std::move(network));
      }
    }
    std::vector<AddressRange> ranges;
    for (const std::string& network : networks) {
      if (const auto range = AddressRange::parse(network)) {
        ranges.push_back(*range);
      }
    }
    return ranges;
  }

  [[nodiscard]] bool is_taken(std::uint32_t address) const {
    if (taken_.addresses.contains(address)) {
      return true;
    }
    // An address may be allocated without a service.
    const store::StoredPtr held = context_.store.get(kAddresses, {"", format_ipv4(address)});
    const Value& metadata = service_["metadata"];
    return held != nullptr &&
           !belongs_to(held->body, metadata["namespace"].as_string(), metadata["name"].as_string());
  }

  bool take_any(const AddressRange& range) {
    if (range.last_offset() <= kReserved) {
      return false;
    }
    const std::uint32_t first = range.last_offset() > 2 * kStaticBand ? kStaticBand : kReserved + 1;
    const std::uint32_t count = range.last_offset() - first + 1;
    const auto start = static_cast<std::uint32_t>(context_.entropy.next() % count);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint32_t address = range.at(first + (start + i) % count);
      if (!is_taken(address)) {
        set_address(format_ipv4(address));
        return true;
      }
    }
    return false;
  }

  StatusResult<void> take_wanted(const std::vector<AddressRange>& ranges,
                                 const std::string& wanted) {
    const Value shown = Value::list({wanted});
    const auto address = parse_ipv4(wanted);
    if (!address && wanted.find(':') != std::string::npos) {
      return refuse(service_, FieldError::invalid("spec.clusterIPs[0]", shown,
                                                  "IPv6 is not configured on this cluster"));
    }
    if (!address) {
      set_address(wanted);  // refused by the rules of addresses
      return {};
    }
    if (std::none_of(ranges.begin(), ranges.end(),
                     [&](const AddressRange& range) { return range.contains(*address); })) {
      return refuse(service_,
                    FieldError::invalid(
                        "spec.clusterIPs", shown,
                        fmt::format("failed to allocate IP {}: the provided network does not match "
                                    "the current range",
                                    wanted)));
    }
    if (is_taken(*address)) {
      return refuse(service_, FieldError::invalid(
                                  "spec.clusterIPs", shown,
                                  fmt::format("failed to allocate IP {}: provided IP is already "
                                              "allocated",
                                              wanted)));
    }
    set_address(wanted);
    return {};
  }

  Value& service_;
  const Value& old_spec_;
  const KindContext& context_;
  Taken taken_{};
};

}  // namespace

std::optional<std::uint32_t> parse_ipv4(std::string_view text) {
  std::uint32_t address = 0;
  for (int part = 0; part < 4; ++part) {
    const std::size_t dot = text.find('.');
    if ((dot == std::string_view::npos) != (part == 3)) {
      return std::nullopt;
    }
    const std::string_view digits = text.substr(0, dot);
    std::uint32_t value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (code != std::errc() || end != digits.data() + digits.size() || value > 255 ||
        (digits.size() > 1 && digits.front() == '0')) {
      return std::nullopt;
    }
    address = (address << 8U) | value;
    text.remove_prefix(part == 3 ? digits.size() : dot + 1);
  }
  return address;
}

std::string format_ipv4(std::uint32_t address) {
  return fmt::format("{}.{}.{}.{}", address >> 24U, (address >> 16U) & 255U, (address >> 8U) & 255U,
                     address & 255U);
}

std::optional<AddressRange> AddressRange::parse(std::string_view cidr) {
  const std::size_t slash = cidr.find('/');
  if (slash == std::string_view::npos) {
    return std::nullopt;
  }
  const auto base = parse_ipv4(cidr.substr(0, slash));
  const std::string_view digits = cidr.substr(slash + 1);
  unsigned bits = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  // Between 4 and 2^24 addresses.
  if (!base || code != std::errc() || end != digits.data() + digits.size() || bits < 8 ||
      bits > 30) {
    return std::nullopt;
  }
  AddressRange range;
  range.size_ = 1U << (32U - bits);
  range.base_ = *base & ~(range.size_ - 1);
  return range;
}

bool AddressRange::contains(std::uint32_t address) const {
  return address > base_ && address - base_ < size_ - 1;
}

StatusResult<void> allocate_service(Value& service, const Value& old_service,
                                    const KindContext& context) {
  return Allocation(service, old_service, context).run();
}

}  // namespace athanor::apiserver
