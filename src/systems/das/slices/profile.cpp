// SPDX-License-Identifier: Apache-2.0
#include "systems/das/slices/profile.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace athanor::das {
namespace {

constexpr std::string_view kPlus = "-plus-";
constexpr std::size_t kMostDigits = 4;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Takes the number at the front; 0 when there is none, or a leading zero, or too many digits.
int take_number(std::string_view& text) {
  int number = 0;
  std::size_t used = 0;
  while (used < text.size() && is_digit(text[used])) {
    number = number * 10 + (text[used] - '0');
    if (++used > kMostDigits) {
      return 0;
    }
  }
  if (used == 0 || text.front() == '0') {
    return 0;
  }
  text.remove_prefix(used);
  return number;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) {
    return false;
  }
  text.remove_prefix(prefix.size());
  return true;
}

// Accepts the device plugin's ".me" for "+me".
std::optional<std::string> attributes_of(std::string_view text) {
  constexpr std::array<std::string_view, 5> kKnown{"", "+me", "+me.all", "+gfx", "-me"};
  std::string canonical(text);
  if (canonical.starts_with('.')) {
    canonical.front() = '+';
  }
  for (const std::string_view known : kKnown) {
    if (canonical == known) {
      return canonical;
    }
  }
  return std::nullopt;
}

// By NVML's GPU instance profile.
std::string_view suffix_of(int gi_profile) {
  switch (gi_profile) {
    case 7:
    case 8:
      return "+me";
    case 10:
    case 11:
    case 12:
    case 17:
      return "+gfx";
    case 13:
    case 14:
      return "-me";
    case 15:
    case 16:
      return "+me.all";
    default:
      return "";
  }
}

// Devices that are no slices are named by their resource.
bool is_resource(std::string_view profile) {
  return profile.find('/') != std::string_view::npos;
}

}  // namespace

std::string ProfileName::text() const {
  return fmt::format("{}g.{}gb{}", compute, gigabytes, attributes);
}

std::optional<ProfileName> parse_profile(std::string_view text) {
  const std::string decoded = decode_profile(text);
  std::string_view rest = decoded;
  ProfileName name;
  name.compute = take_number(rest);
  if (name.compute == 0 || !take(rest, "g.")) {
    return std::nullopt;
  }
  name.gigabytes = take_number(rest);
  if (name.gigabytes == 0 || !take(rest, "gb")) {
    return std::nullopt;
  }
  auto attributes = attributes_of(rest);
  if (!attributes) {
    return std::nullopt;
  }
  name.attributes = *std::move(attributes);
  return name;
}

std::string attribute_of(const ProfileName& name) {
  return name.attributes.starts_with('+') ? name.attributes.substr(1) : name.attributes;
}

std::string encode_profile(std::string_view profile) {
  std::string encoded;
  for (const char c : profile) {
    if (c == '+') {
      encoded += kPlus;
    } else {
      encoded += c;
    }
  }
  return encoded;
}

std::string decode_profile(std::string_view encoded) {
  std::string profile;
  while (!encoded.empty()) {
    if (take(encoded, kPlus)) {
      profile += '+';
    } else {
      profile += encoded.front();
      encoded.remove_prefix(1);
    }
  }
  return profile;
}

std::string resource_of(std::string_view profile) {
  return is_resource(profile) ? std::string(profile)
                              : std::string(kResourcePrefix) + encode_profile(profile);
}

std::optional<std::string> profile_of_resource(std::string_view resource) {
  if (!take(resource, kNvidiaMigPrefix) && !take(resource, kResourcePrefix)) {
    return std::nullopt;
  }
  const auto parsed = parse_profile(resource);
  return parsed ? std::optional(parsed->text()) : std::nullopt;
}

std::string socket_of(std::string_view profile) {
  std::string name = resource_of(profile);
  std::ranges::replace(name, '/', '_');
  return name + ".sock";
}

std::string cdi_class_of(std::string_view profile) {
  if (is_resource(profile)) {
    std::string name = cdi_kind_of(profile);
    std::ranges::replace(name, '/', '-');
    return name;
  }
  return "c" + encode_profile(profile);
}

std::string cdi_kind_of(std::string_view profile) {
  if (!is_resource(profile)) {
    return std::string(kResourcePrefix) + cdi_class_of(profile);
  }
  std::string kind(profile);
  const std::size_t name = kind.find('/') + 1;
  if (name < kind.size() && is_digit(kind[name])) {
    kind.insert(name, "c");
  }
  return kind;
}

std::string resource_of_kind(std::string_view kind) {
  std::string resource(kind);
  const std::size_t name = resource.find('/') + 1;
  if (name + 1 < resource.size() && resource[name] == 'c' && is_digit(resource[name + 1])) {
    resource.erase(name, 1);
  }
  return resource;
}

std::string derive_profile(const NvmlProfile& nvml) {
  constexpr std::int64_t kEighths = 8;
  constexpr std::int64_t kMibPerGib = 1024;
  const auto round_up = [](std::int64_t a, std::int64_t b) { return b <= 0 ? 0 : (a + b - 1) / b; };
  const std::int64_t eighths = round_up(kEighths * nvml.memory_mib, nvml.gpu_total_mib);
  const std::int64_t total = round_up(nvml.gpu_total_mib, kMibPerGib);
  const std::int64_t gigabytes = (eighths * total + kEighths / 2) / kEighths;
  const bool partial = nvml.compute_instance != 0 && nvml.compute_instance != nvml.compute;
  return fmt::format("{}{}g.{}gb{}", partial ? fmt::format("{}c.", nvml.compute_instance) : "",
                     nvml.compute, gigabytes, suffix_of(nvml.gi_profile));
}

}  // namespace athanor::das
