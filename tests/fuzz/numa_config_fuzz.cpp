// SPDX-License-Identifier: Apache-2.0
// The exporter's configuration: parts between lines "---" are the daemon's file, the extra file,
// the kubelet's file, the environment ("NAME=value" in lines) and the arguments (one a line). What
// is accepted is dumped, and the dump is accepted as a daemon's file.
#include <map>
#include <string>
#include <vector>

#include "base/ascii.hpp"
#include "fuzz/fuzz.hpp"
#include "systems/numa/exporter/config.hpp"

namespace {

using namespace athanor;
using namespace athanor::numa;

std::vector<std::string> parts_of(std::string_view text) {
  constexpr std::string_view kMark = "\n---\n";
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = text.find(kMark);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      break;
    }
    text.remove_prefix(end + kMark.size());
  }
  parts.resize(5);
  return parts;
}

ConfigSources sources_of(const std::vector<std::string>& parts) {
  ConfigSources sources{
      .os_hostname = "host",
      .user_id = "0",
      .read_file =
          [files = std::map<std::string, std::string>{{"/etc/rte/daemon/config.yaml", parts[0]},
                                                      {"/etc/rte/extra/config.yaml", parts[1]},
                                                      {"/podresources/config.yaml", parts[2]}}](
              const std::string& path) -> Result<std::optional<std::string>> {
        const auto found = files.find(path);
        return found == files.end() ? std::nullopt : std::optional(found->second);
      },
      .list_files = [](const std::string&) { return std::vector<std::string>(); }};
  for (const std::string_view line : words_of(parts[3], '\n')) {
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos) {
      sources.environment.insert_or_assign(std::string(line.substr(0, equals)),
                                           std::string(line.substr(equals + 1)));
    }
  }
  for (const std::string_view line : words_of(parts[4], '\n')) {
    sources.arguments.emplace_back(line);
  }
  return sources;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::string> parts = parts_of(fuzz::text_of(data, size));
  const ConfigSources sources = sources_of(parts);
  auto loaded = load_config(sources);
  if (!loaded.ok() || loaded->help || loaded->version || !complete_policy(*loaded, sources).ok()) {
    return 0;
  }
  static_cast<void>(check_readiness(loaded->config, sources).ok());
  const std::string dumped = dump_text(*loaded);
  const auto again = load_config(sources_of({dumped, "", "", "", ""}));
  ATHANOR_CHECK(again.ok(), "a dump is accepted");
  static_cast<void>(dump_json(*loaded));
  return 0;
}
