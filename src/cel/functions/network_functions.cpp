// SPDX-License-Identifier: Apache-2.0
// ip() and cidr() with their families.
#include <fmt/format.h>

#include "cel/functions/functions.hpp"
#include "cel/functions/ip_address.hpp"

namespace athanor::cel {
namespace {

struct IpNode final : OpaqueNode {
  explicit IpNode(const IpAddress& ip) : address(ip) {}
  [[nodiscard]] std::string_view type_name() const override { return "net.IP"; }
  [[nodiscard]] bool equals(const OpaqueNode& other) const override {
    return address == static_cast<const IpNode&>(other).address;
  }
  [[nodiscard]] std::uint64_t cost_size() const override { return address.v6 ? 16 : 4; }

  IpAddress address;
};

struct CidrNode final : OpaqueNode {
  explicit CidrNode(const Cidr& network) : cidr(network) {}
  [[nodiscard]] std::string_view type_name() const override { return "net.CIDR"; }
  [[nodiscard]] bool equals(const OpaqueNode& other) const override {
    return cidr == static_cast<const CidrNode&>(other).cidr;
  }
  [[nodiscard]] std::uint64_t cost_size() const override {
    return static_cast<std::uint64_t>((cidr.prefix + 7) / 8);
  }

  Cidr cidr;
};

const IpAddress& ip_of(const Val& value) {
  return static_cast<const IpNode&>(*value.as_opaque()).address;
}

const Cidr& cidr_of(const Val& value) {
  return static_cast<const CidrNode&>(*value.as_opaque()).cidr;
}

Val address_node(const IpAddress& address) {
  return Val::opaque(std::make_shared<IpNode>(address));
}

Val cidr_error(std::string_view text) {
  return Val::error(
      fmt::format("network address parse error during conversion from string: netip.ParsePrefix("
                  "\"{}\"): unable to parse",
                  text));
}

Val ip(Arguments a, Runtime&) {
  const IpParsed parsed = parse_ip(a[0].text());
  return parsed.address ? address_node(*parsed.address) : Val::error(parsed.error);
}

Val is_ip(Arguments a, Runtime&) {
  return Val::boolean(parse_ip(a[0].text()).address.has_value());
}

Val is_canonical(Arguments a, Runtime&) {
  const IpParsed parsed = parse_ip(a[0].text());
  return parsed.address ? Val::boolean(parsed.address->text() == a[0].text())
                        : Val::error(parsed.error);
}

Val ip_text(Arguments a, Runtime&) {
  return Val::string(ip_of(a[0]).text());
}

Val family(Arguments a, Runtime&) {
  return Val::integer(ip_of(a[0]).v6 ? 6 : 4);
}

bool unspecified(const IpAddress& address) {
  return address == IpAddress{.v6 = address.v6, .bytes = {}};
}

bool loopback(const IpAddress& address) {
  IpAddress one{.v6 = true, .bytes = {}};
  one.bytes[15] = 1;
  return address.v6 ? address == one : address.bytes[0] == 127;
}

bool link_local_multicast(const IpAddress& address) {
  return address.v6 ? address.bytes[0] == 0xff && (address.bytes[1] & 0x0fU) == 2
                    : address.bytes[0] == 224 && address.bytes[1] == 0 && address.bytes[2] == 0;
}

bool link_local_unicast(const IpAddress& address) {
  return address.v6 ? address.bytes[0] == 0xfe && (address.bytes[1] & 0xc0U) == 0x80
                    : address.bytes[0] == 169 && address.bytes[1] == 254;
}

bool global_unicast(const IpAddress& address) {
  const bool multicast = address.v6 ? address.bytes[0] == 0xff : (address.bytes[0] & 0xf0U) == 0xe0;
  const bool broadcast = !address.v6 && address.bytes[0] == 255 && address.bytes[1] == 255 &&
                         address.bytes[2] == 255 && address.bytes[3] == 255;
  return !unspecified(address) && !loopback(address) && !multicast && !broadcast &&
         !link_local_unicast(address);
}

template <bool (*kQuestion)(const IpAddress&)>
Val asked(Arguments a, Runtime&) {
  return Val::boolean(kQuestion(ip_of(a[0])));
}

Val cidr(Arguments a, Runtime&) {
  const std::optional<Cidr> parsed = parse_cidr(a[0].text());
  return parsed ? Val::opaque(std::make_shared<CidrNode>(*parsed)) : cidr_error(a[0].text());
}

Val is_cidr(Arguments a, Runtime&) {
  return Val::boolean(parse_cidr(a[0].text()).has_value());
}

Val cidr_text(Arguments a, Runtime&) {
  return Val::string(cidr_of(a[0]).text());
}

Val contains_ip(Arguments a, Runtime&) {
  if (a[1].is(Val::Kind::Opaque)) {
    return Val::boolean(cidr_of(a[0]).contains(ip_of(a[1])));
  }
  const IpParsed parsed = parse_ip(a[1].text());
  return parsed.address ? Val::boolean(cidr_of(a[0]).contains(*parsed.address))
                        : Val::error(parsed.error);
}

Val contains_cidr(Arguments a, Runtime&) {
  const std::optional<Cidr> other =
      a[1].is(Val::Kind::Opaque) ? std::optional<Cidr>(cidr_of(a[1])) : parse_cidr(a[1].text());
  if (!other) {
    return cidr_error(a[1].text());
  }
  return Val::boolean(cidr_of(a[0]).prefix <= other->prefix &&
                      cidr_of(a[0]).contains(other->address));
}

Val cidr_ip(Arguments a, Runtime&) {
  return address_node(cidr_of(a[0]).address);
}

Val masked(Arguments a, Runtime&) {
  Cidr result = cidr_of(a[0]);
  result.address = result.address.masked(result.prefix);
  return Val::opaque(std::make_shared<CidrNode>(result));
}

Val prefix_length(Arguments a, Runtime&) {
  return Val::integer(cidr_of(a[0]).prefix);
}

}  // namespace

void add_network_functions(FunctionTable& table) {
  table.add("ip", "string_to_ip", "string -> net.IP", ip);
  table.add("ip", "cidr_ip", "net.CIDR.() -> net.IP", cidr_ip);
  table.add("isIP", "is_ip", "string -> bool", is_ip);
  table.add("ip.isCanonical", "ip_is_canonical", "string -> bool", is_canonical);
  table.add("string", "ip_to_string", "net.IP -> string", ip_text);
  table.add("family", "ip_family", "net.IP.() -> int", family);
  table.add("isUnspecified", "ip_is_unspecified", "net.IP.() -> bool", asked<unspecified>);
  table.add("isLoopback", "ip_is_loopback", "net.IP.() -> bool", asked<loopback>);
  table.add("isLinkLocalMulticast", "ip_is_link_local_multicast", "net.IP.() -> bool",
            asked<link_local_multicast>);
  table.add("isLinkLocalUnicast", "ip_is_link_local_unicast", "net.IP.() -> bool",
            asked<link_local_unicast>);
  table.add("isGlobalUnicast", "ip_is_global_unicast", "net.IP.() -> bool", asked<global_unicast>);
  table.add("cidr", "string_to_cidr", "string -> net.CIDR", cidr);
  table.add("isCIDR", "is_cidr", "string -> bool", is_cidr);
  table.add("string", "cidr_to_string", "net.CIDR -> string", cidr_text);
  table.add("containsIP", "cidr_contains_ip_string", "net.CIDR.(string) -> bool", contains_ip);
  table.add("containsIP", "cidr_contains_ip_ip", "net.CIDR.(net.IP) -> bool", contains_ip);
  table.add("containsCIDR", "cidr_contains_cidr_string", "net.CIDR.(string) -> bool",
            contains_cidr);
  table.add("containsCIDR", "cidr_contains_cidr", "net.CIDR.(net.CIDR) -> bool", contains_cidr);
  table.add("masked", "cidr_masked", "net.CIDR.() -> net.CIDR", masked);
  table.add("prefixLength", "cidr_prefix_length", "net.CIDR.() -> int", prefix_length);
}

}  // namespace athanor::cel
