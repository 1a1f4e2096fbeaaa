// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/exporter/pod_filter.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/ascii.hpp"

namespace athanor::numa {
namespace {

// One element of a pattern besides "*".
struct Element {
  std::size_t length = 0;  // in the pattern
  bool matches = false;
};

// The set behind '[': nullopt where it does not end.
std::optional<Element> read_set(std::string_view pattern, char character) {
  std::size_t at = 1;
  const bool negated = at < pattern.size() && pattern[at] == '^';
  at += negated ? 1 : 0;
  bool found = false;
  bool any = false;
  const auto next = [&]() -> std::optional<char> {
    if (at < pattern.size() && (pattern[at] == '-' || pattern[at] == ']')) {
      return std::nullopt;
    }
    if (at < pattern.size() && pattern[at] == '\\') {
      ++at;
    }
    return at < pattern.size() ? std::optional(pattern[at++]) : std::nullopt;
  };
  while (at < pattern.size() && (pattern[at] != ']' || !any)) {
    const auto low = next();
    if (!low) {
      return std::nullopt;
    }
    auto high = low;
    if (at < pattern.size() && pattern[at] == '-') {
      ++at;
      high = next();
      if (!high) {
        return std::nullopt;
      }
    }
    found = found || (*low <= character && character <= *high);
    any = true;
  }
  if (at >= pattern.size()) {
    return std::nullopt;
  }
  return Element{.length = at + 1, .matches = found != negated && character != '/'};
}

std::optional<Element> read_element(std::string_view pattern, char character) {
  switch (pattern.front()) {
    case '?':
      return Element{.length = 1, .matches = character != '/'};
    case '[':
      return read_set(pattern, character);
    case '\\':
      return pattern.size() < 2
                 ? std::nullopt
                 : std::optional(Element{.length = 2, .matches = pattern[1] == character});
    default:
      return Element{.length = 1, .matches = pattern.front() == character};
  }
}

}  // namespace

Result<ContainerIdent> parse_ident(std::string_view text) {
  std::vector<std::string> parts{""};
  for (const char character : text) {
    if (character == '/') {
      parts.emplace_back();
    } else {
      parts.back() += character;
    }
  }
  if (parts.size() != 3) {
    return Error::bad_request(fmt::format("malformed ident: \"{}\"", text));
  }
  return ContainerIdent{.ns = std::string(trimmed(parts[0])),
                        .pod = std::string(trimmed(parts[1])),
                        .container = std::string(trimmed(parts[2]))};
}

bool is_glob(std::string_view pattern) {
  while (!pattern.empty()) {
    if (pattern.front() == '*') {
      pattern.remove_prefix(1);
      continue;
    }
    const auto element = read_element(pattern, 'a');
    if (!element) {
      return false;
    }
    pattern.remove_prefix(element->length);
  }
  return true;
}

// Linear in the text for each star: after a mismatch the last star takes one character more.
bool matches_glob(std::string_view pattern, std::string_view text) {
  if (!is_glob(pattern)) {
    return false;
  }
  std::size_t at = 0;
  std::size_t i = 0;
  std::optional<std::size_t> star;
  std::size_t star_text = 0;
  while (i < text.size() || at < pattern.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = ++at;
      star_text = i;
      continue;
    }
    if (at < pattern.size() && i < text.size()) {
      const auto element = read_element(pattern.substr(at), text[i]);
      if (element && element->matches) {
        at += element->length;
        ++i;
        continue;
      }
    }
    if (!star || star_text >= text.size() || text[star_text] == '/') {
      return false;
    }
    at = *star;
    i = ++star_text;
  }
  return true;
}

std::vector<PodResources> filtered(std::vector<PodResources> pods, const PodFilter& filter) {
  std::set<std::int64_t> shared;
  for (const PodResources& pod : pods) {
    if (filter.reference.empty() || pod.key != Key{filter.reference.ns, filter.reference.pod}) {
      continue;
    }
    for (const ContainerResources& container : pod.containers) {
      if (container.name == filter.reference.container) {
        shared.insert(container.cpus.begin(), container.cpus.end());
      }
    }
  }
  std::erase_if(pods, [&](const PodResources& pod) {
    const bool excluded = std::ranges::any_of(filter.excludes, [&](const PodPattern& pattern) {
      return matches_glob(pattern.ns, pod.key.ns) && matches_glob(pattern.name, pod.key.name);
    });
    return excluded || filter.ended.contains(pod.key);
  });
  for (PodResources& pod : pods) {
    for (ContainerResources& container : pod.containers) {
      std::erase_if(container.cpus, [&](std::int64_t cpu) { return shared.contains(cpu); });
    }
  }
  return pods;
}

}  // namespace athanor::numa
