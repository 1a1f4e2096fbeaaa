// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/setting_flags.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/near_name.hpp"
#include "flags/verb.hpp"
#include "product/list.hpp"
#include "runtime/view/usage.hpp"

namespace athanor::cli {
namespace {

std::vector<std::string> known_settings() {
  std::vector<std::string> names;
  for (const System* system : all_systems()) {
    names.insert(names.end(), system->variables.begin(), system->variables.end());
  }
  return names;
}

bool is_name_letter(char letter) {
  return (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') || letter == '_';
}

Error unknown(const std::string& name, const std::vector<std::string>& known) {
  return wrong_usage(
      fmt::format("--set {}: there is no such setting{}; athanor systems -o yaml lists them", name,
                  near_hint(name, known)));
}

}  // namespace

void add_settings(flags::Verb& verb, std::vector<std::string>& settings) {
  verb.add_option("--set", settings,
                  "a setting of a system (athanor systems -o yaml), over the environment's; "
                  "repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

Result<void> apply_settings(const std::vector<std::string>& settings,
                            std::map<std::string, std::string>& variables) {
  const std::vector<std::string> known = known_settings();
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      return wrong_usage(fmt::format("--set {}: is not NAME=VALUE", setting));
    }
    const std::string name = setting.substr(0, equals);
    if (std::ranges::find(known, name) == known.end()) {
      return unknown(name, known);
    }
    variables.insert_or_assign(name, setting.substr(equals + 1));
  }
  return {};
}

Error blame_flag(Error error, const std::vector<std::string>& settings) {
  const auto names = [&](std::string_view name) {
    for (std::size_t at = error.message.find(name); at != std::string::npos;
         at = error.message.find(name, at + 1)) {
      // A longer name may contain this one.
      const std::size_t end = at + name.size();
      if ((at == 0 || !is_name_letter(error.message[at - 1])) &&
          (end == error.message.size() || !is_name_letter(error.message[end]))) {
        return true;
      }
    }
    return false;
  };
  const bool given = std::ranges::any_of(settings, [&](std::string_view setting) {
    return names(setting.substr(0, setting.find('=')));
  });
  return given ? wrong_usage(std::move(error.message)) : error;
}

std::string system_names() {
  std::string by_default;
  std::string others;
  for (const System* system : all_systems()) {
    std::string& names = system->by_default ? by_default : others;
    names += (names.empty() ? "" : ", ") + std::string(system->name);
  }
  return fmt::format("{} (by default), {}", by_default, others);
}

}  // namespace athanor::cli
