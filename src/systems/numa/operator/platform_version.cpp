// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/operator/platform_version.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/ascii.hpp"
#include "systems/numa/model/kinds.hpp"

namespace athanor::numa {
namespace {

using Triple = std::array<int, 3>;
constexpr Triple kFixed{4, 20, 0};

std::optional<int> number_of(std::string_view text) {
  int number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && end.ec == std::errc() && end.ptr == text.data() + text.size()
             ? std::optional(number)
             : std::nullopt;
}

std::optional<Triple> triple_of(std::string_view text) {
  const auto parts = words_of(text, '.');
  if (parts.size() != 3) {
    return std::nullopt;
  }
  Triple triple{};
  for (std::size_t i = 0; i < triple.size(); ++i) {
    const auto number = number_of(parts[i]);
    if (!number) {
      return std::nullopt;
    }
    triple[i] = *number;
  }
  return triple;
}

// "0.nightly-2025-08-04-154809": the stamps compare as texts.
bool stamped_since(std::string_view release, std::string_view kind, std::string_view first) {
  return release.starts_with(kind) && release.substr(kind.size()) >= first;
}

}  // namespace

std::string platform_version_of(const View& view, Platform platform) {
  if (platform == Platform::Kubernetes) {
    return {};
  }
  const auto version = view.get(kClusterVersion, {"", "version"});
  if (!version) {
    return {};
  }
  const std::string desired = version->status()["desired"]["version"].str();
  return desired.empty() ? version->status()["history"][0]["version"].str() : desired;
}

bool has_fixed_kubelet(std::string_view version) {
  const std::size_t dash = version.find('-');
  const auto triple = triple_of(version.substr(0, dash));
  if (!triple || *triple < kFixed) {
    return false;
  }
  if (dash == std::string_view::npos) {
    return true;
  }
  const std::string_view release = version.substr(dash + 1);
  const bool known = release.starts_with("0.nightly-") || release.starts_with("0.ci-") ||
                     release.starts_with("ec.") || release.starts_with("rc.");
  if (*triple > kFixed) {
    return known;
  }
  if (release.starts_with("ec.")) {
    constexpr int kFirst = 6;
    return number_of(release.substr(3)).value_or(-1) >= kFirst;
  }
  return release.starts_with("rc.") ? number_of(release.substr(3)).value_or(-1) >= 0
                                    : stamped_since(release, "0.nightly-", "2025-08-04-154809") ||
                                          stamped_since(release, "0.ci-", "2025-08-01-195417");
}

bool kubelets_list_active_pods(const std::vector<Object>& nodes) {
  constexpr int kFirstMinor = 34;
  return !nodes.empty() && std::ranges::all_of(nodes, [](const Object& node) {
    std::string_view version = node.status()["nodeInfo"]["kubeletVersion"].as_string();
    version.remove_prefix(version.starts_with('v') ? 1 : 0);
    const auto parts = words_of(version, '.');
    if (parts.size() < 2) {
      return false;
    }
    const auto major = number_of(parts[0]);
    const auto minor = number_of(parts[1]);
    return major && minor && (*major > 1 || (*major == 1 && *minor >= kFirstMinor));
  });
}

}  // namespace athanor::numa
