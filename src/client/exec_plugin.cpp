// SPDX-License-Identifier: Apache-2.0
#include "client/exec_plugin.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/child_process.hpp"
#include "base/digest.hpp"
#include "base/files/descriptor.hpp"
#include "kube/text/json.hpp"

namespace athanor::client {
namespace {

constexpr std::size_t kOutputLimit = std::size_t{1} << 20;  // of an ExecCredential
constexpr int kInteractiveFactor = 10;                      // a person may have to log in

Error unauthorized(std::string message) {
  return {.code = 401, .reason = "Unauthorized", .message = std::move(message)};
}

std::string hint_of(const ExecPlugin& plugin) {
  std::string hint =
      "it is a client-go credential plugin, which has to be installed: "
      "https://kubernetes.io/docs/reference/access-authn-authz/authentication/"
      "#client-go-credential-plugins";
  return plugin.install_hint.empty() ? hint : plugin.install_hint;
}

// A started child; killed and waited for on destruction.
class Child {
 public:
  Child(pid_t pid, bool own_group) : pid_(pid), own_group_(own_group) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) {
      ::kill(own_group_ ? -pid_ : pid_, SIGKILL);
      static_cast<void>(wait());
    }
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // The wait status.
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_;
  bool own_group_;
};

// Starts it with `output` as standard output; 0 or the error's number.
int spawn(const ExecPlugin& plugin, const std::string& info, bool interactive, int output,
          pid_t& pid) {
  std::vector<std::string> arguments{plugin.command};
  arguments.insert(arguments.end(), plugin.arguments.begin(), plugin.arguments.end());
  std::vector<std::pair<std::string, std::string>> added = plugin.environment;
  added.emplace_back("KUBERNETES_EXEC_INFO", info);
  std::vector<std::string> environment = child_environment(added);
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  if (!interactive) {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawnattr_t attributes{};
  posix_spawnattr_init(&attributes);
  sigset_t none{};
  sigset_t usual{};
  sigemptyset(&none);
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  int flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  if (!interactive) {
    // A group of its own, so that all of it can be ended; one that asks needs the terminal's.
    flags |= POSIX_SPAWN_SETPGROUP;
    posix_spawnattr_setpgroup(&attributes, 0);
  }
  posix_spawnattr_setflags(&attributes, static_cast<short>(flags));
  const int error =
      ::posix_spawnp(&pid, plugin.command.c_str(), &actions, &attributes,
                     exec_pointers(arguments).data(), exec_pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Appends what is there; false at the end or beyond the limit.
bool drain(int descriptor, std::string& output) {
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count > 0) {
      output.append(buffer.data(), static_cast<std::size_t>(count));
      if (output.size() > kOutputLimit) {
        return false;
      }
    } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
      return false;
    } else if (errno == EAGAIN) {
      return true;
    }
  }
}

// Reads until the child has ended; false when it takes longer or says too much.
bool collect(const Child& child, int pipe, Duration timeout, std::string& output) {
  using SteadyClock = std::chrono::steady_clock;
  const auto deadline = SteadyClock::now() + timeout;
  // The C library of Debian 12 declares pidfd_open() for C alone.
  const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, child.pid(), 0)));
  bool open = true;
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SteadyClock::now());
    if (left.count() <= 0 || process.get() < 0) {
      return false;
    }
    std::array<pollfd, 2> waits{{{.fd = process.get(), .events = POLLIN, .revents = 0},
                                 {.fd = open ? pipe : -1, .events = POLLIN, .revents = 0}}};
    if (::poll(waits.data(), waits.size(), static_cast<int>(left.count())) < 0 && errno != EINTR) {
      return false;
    }
    if (waits[1].revents != 0) {
      open = drain(pipe, output);
    }
    if (output.size() > kOutputLimit) {
      return false;
    }
    if (waits[0].revents != 0) {
      drain(pipe, output);
      return output.size() <= kOutputLimit;
    }
  }
}

}  // namespace

std::string exec_info(const ExecPlugin& plugin, const ClusterConfig& config,
                      const std::string& authority, bool interactive) {
  Value spec = Value::object({{"interactive", interactive}});
  if (plugin.provide_cluster_info) {
    Value cluster = Value::object({{"server", config.server}});
    if (!config.tls_server_name.empty()) {
      cluster.set("tls-server-name", config.tls_server_name);
    }
    if (config.insecure_skip_verify) {
      cluster.set("insecure-skip-tls-verify", true);
    }
    if (!authority.empty()) {
      cluster.set("certificate-authority-data", base64_encode(authority));
    }
    if (!config.proxy_url.empty()) {
      cluster.set("proxy-url", config.proxy_url);
    }
    if (config.disable_compression) {
      cluster.set("disable-compression", true);
    }
    if (!plugin.cluster_config.is_null()) {
      cluster.set("config", plugin.cluster_config);
    }
    spec.set("cluster", std::move(cluster));
  }
  return json::print(Value::object(
      {{"kind", "ExecCredential"}, {"apiVersion", plugin.api_version}, {"spec", std::move(spec)}}));
}

Result<ExecCredential> parse_exec_credential(const ExecPlugin& plugin, std::string_view output) {
  const auto parsed = json::parse(output);
  if (!parsed.ok() || (*parsed)["kind"].as_string() != "ExecCredential") {
    return unauthorized("decoding stdout: exec plugin did not print an ExecCredential");
  }
  if (const std::string_view version = (*parsed)["apiVersion"].as_string();
      version != plugin.api_version) {
    return unauthorized(
        fmt::format("exec plugin is configured to use API version {}, plugin returned version {}",
                    plugin.api_version, version.substr(0, 100)));
  }
  const Value& status = (*parsed)["status"];
  if (!status.is_object()) {
    return unauthorized("exec plugin didn't return a status field");
  }
  ExecCredential credential{.token = status["token"].str(),
                            .certificate = status["clientCertificateData"].str(),
                            .key = status["clientKeyData"].str(),
                            .expires = {}};
  if (credential.token.empty() && credential.certificate.empty() && credential.key.empty()) {
    return unauthorized("exec plugin didn't return a token or cert/key pair");
  }
  if (credential.certificate.empty() != credential.key.empty()) {
    return unauthorized("exec plugin returned only certificate or key, not both");
  }
  if (const Value& expires = status["expirationTimestamp"]; !expires.is_null()) {
    credential.expires = parse_time(expires.as_string());
    if (!credential.expires) {
      return unauthorized("exec plugin returned an expirationTimestamp that is no RFC 3339 time");
    }
  }
  return credential;
}

Result<ExecCredential> run_exec_plugin(const ExecPlugin& plugin, const ClusterConfig& config,
                                       const std::string& authority, Duration timeout) {
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  if (plugin.interactive == ExecPlugin::Interactive::Always && !terminal) {
    return unauthorized(
        "exec plugin cannot support interactive mode: standard input is not a terminal");
  }
  const bool interactive = terminal && plugin.interactive != ExecPlugin::Interactive::Never;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Error::internal("no pipe for an exec plugin");
  }
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  ::fcntl(reading.get(), F_SETFL, O_NONBLOCK);
  pid_t pid = 0;
  const int error = spawn(plugin, exec_info(plugin, config, authority, interactive), interactive,
                          writing.get(), pid);
  writing = Descriptor();
  if (error == ENOENT) {
    return unauthorized(fmt::format("getting credentials: exec: executable {} not found: {}",
                                    plugin.command, hint_of(plugin)));
  }
  if (error != 0) {
    return unauthorized(fmt::format("getting credentials: exec: {}: {}", plugin.command,
                                    std::generic_category().message(error)));
  }
  Child child(pid, !interactive);
  std::string output;
  const Duration limit = interactive ? timeout * kInteractiveFactor : timeout;
  if (!collect(child, reading.get(), limit, output)) {
    return unauthorized(fmt::format(
        "getting credentials: exec: executable {} {}", plugin.command,
        output.size() > kOutputLimit ? "printed more than 1 MiB" : "did not end in time"));
  }
  const int status = child.wait();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return unauthorized(fmt::format(
        "getting credentials: exec: executable {} failed with exit code {}: {}", plugin.command,
        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), hint_of(plugin)));
  }
  auto credential = parse_exec_credential(plugin, output);
  if (!credential.ok()) {
    return credential.error().with_context("getting credentials");
  }
  return credential;
}

}  // namespace athanor::client
