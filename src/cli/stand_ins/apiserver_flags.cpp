// SPDX-License-Identifier: Apache-2.0
#include "cli/stand_ins/apiserver_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace athanor::cli {
namespace {

using enum FlagType;

// Without effect here: a line in the log says so of each that is given.
constexpr std::string_view kNothing = "accepted, without effect";

constexpr std::array kFlags = {
    FlagSpec{"advertise-address", Text, "", "address under which clients reach this server"},
    FlagSpec{"allow-privileged", Switch, "false", kNothing},
    FlagSpec{"anonymous-auth", Switch, "true",
             "let requests without credentials in as "
             "system:anonymous; never with AlwaysAllow"},
    FlagSpec{"api-audiences", List, "",
             "audiences of tokens for this server (default: the issuer)"},
    FlagSpec{"audit-log-maxage", Number, "0", "days to keep older audit logs; 0: always"},
    FlagSpec{"audit-log-maxbackup", Number, "0", "number of older audit logs to keep; 0: all"},
    FlagSpec{"audit-log-maxsize", Number, "0",
             "size of the audit log in MiB at which a new one begins; 0: 100"},
    FlagSpec{"audit-log-path", Text, "", "file of the audit log; - is stdout"},
    FlagSpec{"audit-policy-file", Text, "",
             "file of the audit policy: which requests are logged, and how much of them"},
    FlagSpec{"authorization-mode", List, "AlwaysAllow", "RBAC, Node, AlwaysAllow"},
    FlagSpec{"bind-address", Text, "127.0.0.1", "address to listen on"},
    FlagSpec{"cert-dir", Text, "",
             "folder of apiserver.crt and apiserver.key, which are made "
             "(self-signed) when missing; without it they stay in memory"},
    FlagSpec{"client-ca-file", Text, "", "authorities of client certificates, PEM"},
    FlagSpec{"data-dir", Text, "",
             "Athanor's own: folder to keep objects and keys in; without it "
             "nothing survives the process"},
    FlagSpec{"disable-admission-plugins", List, "", "admission plugins to leave out"},
    FlagSpec{"enable-admission-plugins", List, "",
             "admission plugins to use beside the default "
             "ones"},
    FlagSpec{"enable-aggregator-routing", Switch, "false", kNothing},
    FlagSpec{"enable-bootstrap-token-auth", Switch, "false",
             "take the tokens of Secrets bootstrap-token-ID in kube-system"},
    FlagSpec{"encryption-provider-config", Text, "",
             "file of the encryption: kinds that are encrypted on the disk, and the keys"},
    FlagSpec{"endpoint-reconciler-type", Text, "lease", kNothing},
    FlagSpec{"etcd-cafile", Text, "", kNothing},
    FlagSpec{"etcd-certfile", Text, "", kNothing},
    FlagSpec{"etcd-keyfile", Text, "", kNothing},
    FlagSpec{"etcd-prefix", Text, "/registry", kNothing},
    FlagSpec{"etcd-servers", List, "", "accepted and not used: objects are kept by this process"},
    FlagSpec{"event-ttl", Time, "1h0m0s", "time to keep Events"},
    FlagSpec{"feature-gates", List, "", kNothing},
    FlagSpec{"insecure-bind-address", Text, "", kNothing},
    FlagSpec{"insecure-port", Number, "0", "must be 0: there is no port without TLS"},
    FlagSpec{"kubelet-client-certificate", Text, "", kNothing},
    FlagSpec{"kubelet-client-key", Text, "", kNothing},
    FlagSpec{"kubelet-preferred-address-types", List, "", kNothing},
    FlagSpec{"max-connections-per-address", Number, "4096",
             "connections of one client address; one beyond this number replaces an idle one"},
    FlagSpec{"max-mutating-requests-inflight", Number, "200",
             "writes under way at a time; more wait a second, then 429"},
    FlagSpec{"max-requests-inflight", Number, "400",
             "reads under way at a time; more wait a second, then 429"},
    FlagSpec{"min-request-timeout", Number, "1800", "least seconds of a watch that names none"},
    FlagSpec{"profiling", Switch, "true", kNothing},
    FlagSpec{"proxy-client-cert-file", Text, "",
             "certificate shown to aggregated API servers, PEM"},
    FlagSpec{"proxy-client-key-file", Text, "", "key of that certificate, PEM"},
    FlagSpec{"request-timeout", Time, "1m0s", "timeout of requests other than watches"},
    FlagSpec{"requestheader-allowed-names", List, "",
             "names of authenticating proxies' certificates; empty: any"},
    FlagSpec{"requestheader-client-ca-file", Text, "",
             "authorities of authenticating proxies, PEM"},
    FlagSpec{"requestheader-extra-headers-prefix", List, "X-Remote-Extra-",
             "prefixes of headers with more about the user"},
    FlagSpec{"requestheader-group-headers", List, "X-Remote-Group",
             "headers with the user's groups"},
    FlagSpec{"requestheader-uid-headers", List, "X-Remote-Uid", "headers with the user's uid"},
    FlagSpec{"requestheader-username-headers", List, "X-Remote-User",
             "headers with the user's name"},
    FlagSpec{"runtime-config", List, "", kNothing},
    FlagSpec{"secure-port", Number, "6443", "port to serve HTTPS on; 0 picks a free one"},
    FlagSpec{"service-account-issuer", List, "", "issuer of tokens; further ones are accepted"},
    FlagSpec{"service-account-key-file", List, "",
             "PEM files with public keys or certificates: "
             "tokens of their owners are taken"},
    FlagSpec{"service-account-signing-key-file", Text, "",
             "PEM file with the key that signs "
             "tokens: RSA, or EC on P-256"},
    FlagSpec{"service-cluster-ip-range", List, "10.0.0.0/24",
             "addresses of Services, in CIDR "
             "form"},
    FlagSpec{"shutdown-delay-duration", Time, "0s",
             "time after SIGTERM in which requests are still answered"},
    FlagSpec{"storage-backend", Text, "", kNothing},
    FlagSpec{"tls-cert-file", Text, "", "serving certificate, PEM, with its chain"},
    FlagSpec{"tls-private-key-file", Text, "", "key of the serving certificate, PEM"},
    FlagSpec{"token-auth-file", Text, "", "lines of token,user,uid,\"group,group\""},
    FlagSpec{"v", Number, "0", "verbosity of the log: 4 and more is everything", 'v'},
    FlagSpec{"watch-cache", Switch, "true", kNothing},
};

// What kube-apiserver 1.35 knows, whether or not it is a step of its own here.
constexpr std::array kPlugins = {
    "AlwaysAdmit",
    "AlwaysDeny",
    "AlwaysPullImages",
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "ClusterTrustBundleAttest",
    "DefaultIngressClass",
    "DefaultStorageClass",
    "DefaultTolerationSeconds",
    "DenyServiceExternalIPs",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "ImagePolicyWebhook",
    "LimitPodHardAntiAffinityTopology",
    "LimitRanger",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "NamespaceAutoProvision",
    "NamespaceExists",
    "NamespaceLifecycle",
    "NodeRestriction",
    "OwnerReferencesPermissionEnforcement",
    "PersistentVolumeClaimResize",
    "PodNodeSelector",
    "PodSecurity",
    "PodTolerationRestriction",
    "PodTopologyLabels",
    "Priority",
    "ResourceQuota",
    "RuntimeClass",
    "ServiceAccount",
    "StorageObjectInUseProtection",
    "TaintNodesByCondition",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
};

// Those that are not a step of this server: enabling one is logged.
constexpr std::array kNoSteps = {
    "AlwaysAdmit",
    "AlwaysDeny",
    "AlwaysPullImages",
    "ClusterTrustBundleAttest",
    "DenyServiceExternalIPs",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "ImagePolicyWebhook",
    "LimitPodHardAntiAffinityTopology",
    "MutatingAdmissionPolicy",
    "NamespaceAutoProvision",
    "NamespaceExists",
    "OwnerReferencesPermissionEnforcement",
    "PodNodeSelector",
    "PodTolerationRestriction",
};

Result<void> check_plugins(const FlagValues& flags) {
  const auto disabled = flags.list("disable-admission-plugins");
  for (const char* flag : {"enable-admission-plugins", "disable-admission-plugins"}) {
    for (const std::string& name : flags.list(flag)) {
      if (std::ranges::find(kPlugins, name) == kPlugins.end()) {
        return Error::bad_request(fmt::format("{} plugin \"{}\" is unknown", flag, name));
      }
    }
  }
  for (const std::string& name : flags.list("enable-admission-plugins")) {
    if (std::ranges::find(disabled, name) != disabled.end()) {
      return Error::bad_request(fmt::format(
          "[{}] in enable-admission-plugins and disable-admission-plugins overlapped", name));
    }
  }
  return {};
}

Result<void> read_authorization(const FlagValues& flags, lab::BareServerOptions& server) {
  for (const std::string& mode : flags.list("authorization-mode")) {
    if (mode == "AlwaysAllow") {
      server.always_allow = true;
    } else if (mode == "RBAC") {
      server.default_roles = true;
    } else if (mode != "Node") {
      return Error::bad_request(fmt::format(
          "authorization-mode \"{}\" is not a valid mode here: RBAC, Node, AlwaysAllow", mode));
    }
  }
  // Requests without credentials would be allowed everything.
  server.anonymous_auth = flags.on("anonymous-auth") && !server.always_allow;
  return {};
}

Result<void> read_ports(const FlagValues& flags, lab::BareServerOptions& server) {
  constexpr std::int64_t kLastPort = 65'535;
  const std::int64_t port = flags.number("secure-port");
  if (port < 0 || port > kLastPort) {
    return Error::bad_request(fmt::format(
        "--secure-port {} must be between 0 and 65535, inclusive; 0 picks a free one", port));
  }
  if (flags.number("insecure-port") != 0) {
    return Error::bad_request("--insecure-port must be 0: this server speaks TLS only");
  }
  server.secure_port = static_cast<int>(port);
  server.bind_address = flags.text("bind-address");
  server.advertise_address = flags.text("advertise-address");
  return {};
}

Result<void> read_serving(const FlagValues& flags, lab::ServingOptions& serving) {
  serving.audit = {.policy_file = flags.text("audit-policy-file"),
                   .log_path = flags.text("audit-log-path"),
                   .max_size = flags.number("audit-log-maxsize"),
                   .max_backup = flags.number("audit-log-maxbackup"),
                   .max_age = flags.number("audit-log-maxage")};
  for (const char* name : {"audit-log-maxsize", "audit-log-maxbackup", "audit-log-maxage",
                           "max-requests-inflight", "max-mutating-requests-inflight"}) {
    if (flags.number(name) < 0) {
      return Error::bad_request(fmt::format("--{} can not be negative value", name));
    }
  }
  serving.max_requests_inflight = static_cast<std::size_t>(flags.number("max-requests-inflight"));
  serving.max_mutating_requests_inflight =
      static_cast<std::size_t>(flags.number("max-mutating-requests-inflight"));
  if (flags.number("max-connections-per-address") < 1) {
    return Error::bad_request("--max-connections-per-address must be positive");
  }
  serving.max_connections_per_address =
      static_cast<std::size_t>(flags.number("max-connections-per-address"));
  serving.encryption_config = flags.text("encryption-provider-config");
  serving.request_timeout = flags.time("request-timeout");
  if (serving.request_timeout < Duration::zero()) {
    return Error::bad_request("--request-timeout can not be negative value");
  }
  return {};
}

Result<void> read_proxies(const FlagValues& flags, lab::BareServerOptions& server) {
  server.requestheader_client_ca_file = flags.text("requestheader-client-ca-file");
  server.front_proxy = {.allowed_names = flags.list("requestheader-allowed-names"),
                        .username_headers = flags.list("requestheader-username-headers"),
                        .uid_headers = flags.list("requestheader-uid-headers"),
                        .group_headers = flags.list("requestheader-group-headers"),
                        .extra_prefixes = flags.list("requestheader-extra-headers-prefix")};
  server.proxy_client_cert_file = flags.text("proxy-client-cert-file");
  server.proxy_client_key_file = flags.text("proxy-client-key-file");
  if (server.proxy_client_cert_file.empty() != server.proxy_client_key_file.empty()) {
    return Error::bad_request(
        "--proxy-client-cert-file and --proxy-client-key-file must be given together");
  }
  server.bootstrap_tokens = flags.on("enable-bootstrap-token-auth");
  return {};
}

std::vector<std::string> notes_of(const FlagValues& flags) {
  std::vector<std::string> notes;
  if (flags.given("etcd-servers")) {
    notes.emplace_back("--etcd-servers is ignored: objects are kept by this process");
  }
  for (const FlagSpec& flag : kFlags) {
    if (flag.help == kNothing && flags.given(flag.name)) {
      notes.push_back(fmt::format("--{} has no effect here", flag.name));
    }
  }
  for (const std::string& name : flags.list("enable-admission-plugins")) {
    if (std::ranges::find(kNoSteps, name) != kNoSteps.end()) {
      notes.push_back(fmt::format("--enable-admission-plugins: {} has no effect here", name));
    }
  }
  if (flags.list("service-cluster-ip-range").size() > 1) {
    notes.emplace_back("of --service-cluster-ip-range, the first range alone is used");
  }
  return notes;
}

Result<lab::BareServerOptions> server_of(const FlagValues& flags) {
  lab::BareServerOptions server;
  ATHANOR_TRY_VOID(check_plugins(flags));
  ATHANOR_TRY_VOID(read_authorization(flags, server));
  ATHANOR_TRY_VOID(read_ports(flags, server));
  server.data_dir = flags.text("data-dir");
  server.cert_dir = flags.text("cert-dir");
  server.tls_cert_file = flags.text("tls-cert-file");
  server.tls_private_key_file = flags.text("tls-private-key-file");
  if (server.tls_cert_file.empty() != server.tls_private_key_file.empty()) {
    return Error::bad_request("--tls-cert-file and --tls-private-key-file must be given together");
  }
  server.client_ca_file = flags.text("client-ca-file");
  server.token_auth_file = flags.text("token-auth-file");
  server.service_account_issuers = flags.list("service-account-issuer");
  server.service_account_signing_key_file = flags.text("service-account-signing-key-file");
  server.service_account_key_files = flags.list("service-account-key-file");
  server.api_audiences = flags.list("api-audiences");
  server.disabled_admission = flags.list("disable-admission-plugins");
  // The one step of ours that kube-apiserver runs only if enabled.
  const auto enabled = flags.list("enable-admission-plugins");
  if (constexpr const char* kNodes = "NodeRestriction";
      std::ranges::find(enabled, kNodes) == enabled.end()) {
    server.disabled_admission.emplace_back(kNodes);
  }
  const auto ranges = flags.list("service-cluster-ip-range");
  if (ranges.empty()) {
    return Error::bad_request("--service-cluster-ip-range must contain at least one valid cidr");
  }
  server.service_cluster_ip_range = ranges.front();
  server.event_ttl = flags.time("event-ttl");
  if (flags.number("min-request-timeout") < 0) {
    return Error::bad_request("--min-request-timeout can not be negative value");
  }
  server.min_request_timeout = std::chrono::seconds(flags.number("min-request-timeout"));
  ATHANOR_TRY_VOID(read_serving(flags, server.serving));
  ATHANOR_TRY_VOID(read_proxies(flags, server));
  return server;
}

}  // namespace

std::span<const FlagSpec> apiserver_flags() {
  return kFlags;
}

void describe_apiserver(flags::Verb& verb, FlagValues& values) {
  verb.as_kubernetes(
      "The API server alone: no nodes, no controllers, no kinds but the built-in ones. It "
      "takes\n"
      "kube-apiserver's flags: a kube-apiserver's command line works unchanged.\n\n"
      "Prints \"listening https://HOST:PORT\" and runs until SIGINT or SIGTERM.\n\n"
      "Usage:\n  athanor apiserver [flags]\n  kube-apiserver [flags]");
  values.add_to(verb);
}

Result<ApiServerOptions> parse_apiserver(std::span<const std::string> arguments) {
  FlagValues flags(kFlags);
  flags::Verb verb("", "kube-apiserver");
  describe_apiserver(verb, flags);
  ATHANOR_TRY(flags::Ending ending, verb.parse(arguments));
  ApiServerOptions options;
  if (ending.kind == flags::Ending::Kind::Help) {
    options.help = std::move(ending.text);
    return options;
  }
  ATHANOR_TRY(options.server, server_of(flags));
  options.shutdown_delay = flags.time("shutdown-delay-duration");
  options.verbosity = static_cast<int>(flags.number("v"));
  options.notes = notes_of(flags);
  return options;
}

}  // namespace athanor::cli
