// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/network/address_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cel/functions/ip_address.hpp"
#include "kube/apply/managed_fields.hpp"
#include "kube/value/condition.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::string_view kBadAddress =
    "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
constexpr std::string_view kBadNetwork =
    "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

// "010.1.2.3": digits and dots, with a part that begins with a zero and is longer.
bool has_leading_zeros(std::string_view text) {
  bool begins = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    if (!digit && text[i] != '.') {
      return false;
    }
    if (begins && text[i] == '0' && i + 1 < text.size() && text[i + 1] != '.') {
      return true;
    }
    begins = text[i] == '.';
  }
  return false;
}

void check_address(FieldErrors& errors, const std::string& path, const std::string& text) {
  const auto parsed = cel::parse_ip(text);
  if (!parsed.address) {
    errors.push_back(FieldError::invalid(
        path, text, has_leading_zeros(text) ? "must not have leading 0s" : kBadAddress));
  } else if (const std::string canonical = parsed.address->text(); canonical != text) {
    errors.push_back(FieldError::invalid(
        path, text, fmt::format("must be in canonical form (\"{}\")", canonical)));
  }
}

void check_network(FieldErrors& errors, const std::string& path, const std::string& text) {
  const auto parsed = cel::parse_cidr(text);
  if (!parsed) {
    errors.push_back(FieldError::invalid(path, text, kBadNetwork));
  } else if (parsed->address.masked(parsed->prefix) != parsed->address) {
    errors.push_back(
        FieldError::invalid(path, text, "must not have bits set beyond the prefix length"));
  } else if (const std::string canonical = parsed->text(); canonical != text) {
    errors.push_back(FieldError::invalid(
        path, text, fmt::format("must be in canonical form (\"{}\")", canonical)));
  }
}

// As the reference prints its struct.
Value printed_parent(const Value& parent) {
  return Value::object({{"Group", parent["group"].str()},
                        {"Resource", parent["resource"].str()},
                        {"Namespace", parent["namespace"].str()},
                        {"Name", parent["name"].str()}});
}

bool same_family(const Value& cidrs) {
  const auto first = cel::parse_cidr(cidrs[0].as_string());
  const auto second = cel::parse_cidr(cidrs[1].as_string());
  return first && second && first->address.v6 == second->address.v6;
}

}  // namespace

FieldErrors validate_address(const Value& object, const KindContext& /*context*/) {
  FieldErrors errors;
  check_address(errors, "metadata.name", object["metadata"]["name"].str());
  const Value& parent = object["spec"]["parentRef"];
  if (parent.is_null()) {
    errors.push_back(FieldError::required("spec.parentRef"));
    return errors;
  }
  if (!parent["group"].as_string().empty()) {
    check_name(errors, "spec.parentRef.group", parent["group"].as_string(),
               &validate_dns1123_subdomain);
  }
  require_name(errors, "spec.parentRef.resource", parent["resource"].as_string(),
               &validate_path_segment);
  if (!parent["namespace"].as_string().empty()) {
    check_name(errors, "spec.parentRef.namespace", parent["namespace"].as_string(),
               &validate_path_segment);
  }
  require_name(errors, "spec.parentRef.name", parent["name"].as_string(), &validate_path_segment);
  return errors;
}

FieldErrors validate_address_update(const Value& object, const Value& old_object,
                                    const KindContext& /*context*/) {
  FieldErrors errors;
  const Value& parent = object["spec"]["parentRef"];
  if (parent != old_object["spec"]["parentRef"]) {
    errors.push_back(FieldError::invalid("spec.parentRef", printed_parent(parent), kImmutable));
  }
  return errors;
}

FieldErrors validate_service_network(const Value& object, const KindContext& /*context*/) {
  constexpr std::size_t kFamilies = 2;
  FieldErrors errors;
  const Value& cidrs = object["spec"]["cidrs"];
  if (cidrs.empty()) {
    errors.push_back(FieldError::required("spec.cidrs", "at least one CIDR required"));
    return errors;
  }
  if (cidrs.size() > kFamilies) {
    errors.push_back(FieldError::invalid("spec.cidrs", Value::object({{"CIDRs", cidrs}}),
                                         "may only hold up to 2 values"));
    return errors;
  }
  for (std::size_t i = 0; i < cidrs.size(); ++i) {
    check_network(errors, at("spec.cidrs", i), cidrs[i].str());
  }
  if (cidrs.size() == kFamilies && same_family(cidrs)) {
    errors.push_back(FieldError::invalid("spec.cidrs", cidrs,
                                         "may specify no more than one IP for each IP family, i.e "
                                         "192.168.0.0/24 and 2001:db8::/64"));
  }
  return errors;
}

// A second family may come later; nothing else changes.
FieldErrors validate_service_network_update(const Value& object, const Value& old_object,
                                            const KindContext& context) {
  FieldErrors errors;
  const Value& now = object["spec"]["cidrs"];
  const Value& before = old_object["spec"]["cidrs"];
  for (std::size_t i = 0; i < std::min(now.size(), before.size()); ++i) {
    check_unchanged(errors, at("spec.cidrs", i), now[i], before[i]);
  }
  if (now.size() < before.size()) {
    errors.push_back(FieldError::invalid("spec.cidrs", now, kImmutable));
  } else if (now.size() > before.size()) {
    append(errors, validate_service_network(object, context));
  }
  return errors;
}

Value address_object(std::string_view address, std::string_view ns, std::string_view service) {
  const auto parsed = cel::parse_ip(address);
  const bool v6 = parsed.address && parsed.address->v6;
  return Value::object(
      {{"kind", "IPAddress"},
       {"apiVersion", "networking.k8s.io/v1"},
       {"metadata",
        Value::object(
            {{"name", address},
             {"labels",
              Value::object({{"ipaddress.kubernetes.io/ip-family", v6 ? "IPv6" : "IPv4"},
                             {"ipaddress.kubernetes.io/managed-by", "ipallocator.k8s.io"}})}})},
       {"spec", Value::object({{"parentRef", Value::object({{"resource", "services"},
                                                            {"namespace", ns},
                                                            {"name", service}})}})}});
}

bool belongs_to(const Value& address, std::string_view ns, std::string_view service) {
  const Value& parent = address["spec"]["parentRef"];
  return parent["group"].as_string().empty() && parent["resource"].as_string() == "services" &&
         parent["namespace"].as_string() == ns && parent["name"].as_string() == service;
}

std::vector<std::string> usable_networks(const store::Store& store) {
  std::vector<std::string> networks;
  const auto page = store.list(kServiceNetworks, {});
  for (const store::StoredPtr& stored : page.ok() ? page->items : std::vector<store::StoredPtr>()) {
    const Value& body = stored->body;
    if (body["metadata"].contains("deletionTimestamp") ||
        find_condition(body["status"]["conditions"], "Ready")["status"].as_string() == "False") {
      continue;
    }
    for (const Value& cidr : body["spec"]["cidrs"].items()) {
      networks.push_back(cidr.str());
    }
  }
  return networks;
}

std::vector<store::Write> address_writes(const Value& service, const Value& old_service,
                                         const KindContext& context) {
  const Value& metadata = (service.is_null() ? old_service : service)["metadata"];
  const std::string ns = metadata["namespace"].str();
  const std::string name = metadata["name"].str();
  const auto has = [](const Value& of, const Value& address) {
    const auto held = of["spec"]["clusterIPs"].items();
    return std::find(held.begin(), held.end(), address) != held.end();
  };
  std::vector<store::Write> writes;
  for (const Value& address : old_service["spec"]["clusterIPs"].items()) {
    const store::StoredPtr stored = context.store.get(kAddresses, {"", address.str()});
    if (!has(service, address) && stored != nullptr && belongs_to(stored->body, ns, name)) {
      writes.push_back({.resource = std::string(kAddresses),
                        .key = stored->key,
                        .body = std::nullopt,
                        .expected = stored->revision});
    }
  }
  for (const Value& address : service["spec"]["clusterIPs"].items()) {
    const std::string text = address.str();
    if (text == "None" || context.store.get(kAddresses, {"", text}) != nullptr) {
      continue;
    }
    Value object = address_object(text, ns, name);
    Value& its = object.member("metadata");
    its.set("uid", context.entropy.uuid());
    its.set("creationTimestamp", format_time(context.now));
    if (const ResourceInfo* resource = context.table.by_storage(kAddresses)) {
      object = update_managed_fields(Value(), std::move(object),
                                     {.schema = resource->schema,
                                      .manager = "kube-apiserver",
                                      .api_version = "networking.k8s.io/v1",
                                      .subresource = {},
                                      .now = context.now});
    }
    writes.push_back({.resource = std::string(kAddresses),
                      .key = {"", text},
                      .body = std::move(object),
                      .expected = 0});
  }
  return writes;
}

}  // namespace athanor::apiserver
