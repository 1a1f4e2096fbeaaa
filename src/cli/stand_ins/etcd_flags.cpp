// SPDX-License-Identifier: Apache-2.0
#include "cli/stand_ins/etcd_flags.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace athanor::cli {
namespace {

using enum FlagType;

constexpr std::array kEtcdFlags = {
    FlagSpec{"advertise-client-urls", List, "", "accepted, without effect"},
    FlagSpec{"data-dir", Text, "", "accepted, without effect"},
    FlagSpec{"listen-client-urls", List, "http://localhost:2379",
             "http://HOST:PORT whose /health "
             "is answered"},
    FlagSpec{"listen-peer-urls", List, "", "accepted, without effect"},
    FlagSpec{"name", Text, "", "accepted, without effect"},
    FlagSpec{"unsafe-no-fsync", Switch, "false", "accepted, without effect"},
};

}  // namespace

std::span<const FlagSpec> etcd_flags() {
  return kEtcdFlags;
}

void describe_etcd(flags::Verb& verb, FlagValues& values) {
  verb.as_kubernetes(
      "Stands where a test suite expects an etcd: answers GET /health until SIGINT or SIGTERM.\n"
      "It stores nothing; the API server of this program keeps its objects itself.\n\n"
      "Usage:\n  athanor etcd [flags]\n  etcd [flags]");
  values.add_to(verb);
}

Result<EtcdOptions> parse_etcd(std::span<const std::string> arguments) {
  FlagValues flags(kEtcdFlags);
  flags::Verb verb("", "etcd");
  describe_etcd(verb, flags);
  ATHANOR_TRY(flags::Ending ending, verb.parse(arguments));
  EtcdOptions options;
  if (ending.kind == flags::Ending::Kind::Help) {
    options.help = std::move(ending.text);
    return options;
  }
  constexpr std::string_view kScheme = "http://";
  constexpr int kLastPort = 65'535;
  const auto urls = flags.list("listen-client-urls");
  const std::string url = urls.empty() ? std::string() : urls.front();
  const std::size_t colon = url.rfind(':');
  const std::string_view digits = std::string_view(url).substr(std::min(colon + 1, url.size()));
  const auto [end, failure] =
      std::from_chars(digits.data(), digits.data() + digits.size(), options.port);
  if (!url.starts_with(kScheme) || colon <= kScheme.size() || failure != std::errc() ||
      end != digits.data() + digits.size() || options.port < 0 || options.port > kLastPort) {
    return Error::bad_request(
        fmt::format("--listen-client-urls: \"{}\" is not of the form http://HOST:PORT", url));
  }
  options.host = url.substr(kScheme.size(), colon - kScheme.size());
  if (options.host.starts_with('[') && options.host.ends_with(']')) {
    options.host = options.host.substr(1, options.host.size() - 2);
  }
  return options;
}

}  // namespace athanor::cli
