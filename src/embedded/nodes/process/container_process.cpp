// SPDX-License-Identifier: Apache-2.0
// From fork to exec.
#include "embedded/nodes/process/container_process.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/process/child_process.hpp"
#include "embedded/nodes/network/address.hpp"
#include "embedded/nodes/network/call_listener.hpp"
#include "embedded/nodes/process/container_groups.hpp"
#include "embedded/nodes/process/files/group_rights.hpp"
#include "embedded/nodes/process/files/regular_file.hpp"
#include "embedded/nodes/process/output_copies.hpp"
#include "embedded/nodes/process/view/confinement.hpp"
#include "embedded/nodes/process/view/container_identity.hpp"
#include "embedded/nodes/process/view/own_pids.hpp"
#include "embedded/nodes/process/view/private_root.hpp"
#include "embedded/nodes/process/view/subordinate_ids.hpp"

namespace athanor::nodes {
namespace {

[[noreturn]] void give_up(const std::string& message) {
  const std::string line = "athanor: " + message + "\n";
  static_cast<void>(::write(STDERR_FILENO, line.data(), line.size()));
  ::_exit(kCannotStart);
}

std::string error_text() {
  return std::strerror(errno);  // NOLINT(concurrency-mt-unsafe): one thread
}

// Neither what the spawner blocks nor what the program ignores is the container's business.
void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) {
    ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

// Where a child has its channel once all else is closed.
constexpr int kChannel = STDERR_FILENO + 1;

void redirect(int input, int output, int error, int channel) {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(input >= 0 ? input : nothing, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(error, STDERR_FILENO);
  if (channel < 0) {
    ::close_range(kChannel, ~0U, 0);
    return;
  }
  if (channel != kChannel) {
    ::dup3(channel, kChannel, O_CLOEXEC);
  }
  ::close_range(kChannel + 1, ~0U, 0);
}

// The session's terminal, and its three files.
void take_terminal(int slave, int channel) {
  ::ioctl(slave, TIOCSCTTY, 0);
  redirect(slave, slave, slave, channel);
}

void end_with(const Parent& parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  pollfd ended{parent.handle, POLLIN, 0};
  if (parent.handle >= 0 ? ::poll(&ended, 1, 0) > 0 : ::getppid() != parent.pid) {
    ::_exit(kCannotStart);  // it died before the line above
  }
}

// The files of a process that only waits for another one are that one's.
void close_all() {
  ::close_range(0, ~0U, 0);
}

// What a path of /proc leads to, as one comparable thing.
std::pair<dev_t, ino_t> identity_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? std::pair(status.st_dev, status.st_ino)
                                            : std::pair(dev_t{0}, ino_t{0});
}

// Moves into the view of a process that runs in one; empty, or what went wrong.
std::string enter_view_of(int pid) {
  const std::string folder = fmt::format("/proc/{}", pid);
  // A container that has just been started makes its view before it runs its command.
  constexpr int kTries = 400;
  constexpr int kPause = 5;  // milliseconds
  const auto own = identity_of("/proc/self/root/.");
  for (int i = 0; i < kTries && identity_of(folder + "/ns/mnt") == identity_of("/proc/self/ns/mnt");
       ++i) {
    ::poll(nullptr, 0, kPause);
  }
  for (int i = 0; i < kTries && identity_of(folder + "/root/.") == own; ++i) {
    ::poll(nullptr, 0, kPause);
  }
  const int mounts = ::open((folder + "/ns/mnt").c_str(), O_RDONLY | O_CLOEXEC);
  const auto other_namespace = [&](const char* name) {
    return identity_of(folder + name) == identity_of(std::string("/proc/self") + name)
               ? -1
               : ::open((folder + name).c_str(), O_RDONLY | O_CLOEXEC);
  };
  const int pids = other_namespace("/ns/pid");
  const int user = other_namespace("/ns/user");
  const int names = other_namespace("/ns/uts");
  const int memory = other_namespace("/ns/ipc");
  const int root = ::open((folder + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (mounts < 0 || root < 0) {
    return "the container has ended";
  }
  if ((user >= 0 && ::setns(user, CLONE_NEWUSER) != 0) ||
      (pids >= 0 && ::setns(pids, CLONE_NEWPID) != 0) ||
      (names >= 0 && ::setns(names, CLONE_NEWUTS) != 0) ||
      (memory >= 0 && ::setns(memory, CLONE_NEWIPC) != 0) || ::setns(mounts, CLONE_NEWNS) != 0 ||
      ::fchdir(root) != 0 || ::chroot(".") != 0) {
    return fmt::format("enter the container: {}", error_text());
  }
  return {};
}

// The home folder of this process's user in a view of its own; elsewhere no folder of the host.
std::string home_in_view(const Value& order, const Parent& parent) {
  constexpr std::size_t kMostPasswd = std::size_t{1} << 20;
  if (!parent.views || !order["isolate"].as_bool()) {
    return "/";
  }
  const auto passwd = read_regular_below("/", "etc/passwd", kMostPasswd);
  const std::string home = home_of(passwd.value_or(""), ::geteuid());
  struct stat found {};
  return ::stat(home.c_str(), &found) == 0 && S_ISDIR(found.st_mode) ? home : "/";
}

std::vector<std::string> ordered_environment(const Value& order, const Parent& parent) {
  // Of the container that it belongs to, whatever its own id.
  const std::int64_t container = order["container"].as_int(order["id"].as_int());
  std::vector<std::string> environment{fmt::format("{}={}", kContainerMark, container)};
  bool has_home = false;
  for (const Value& pair : order["env"].items()) {
    environment.push_back(fmt::format("{}={}", pair[0].as_string(), pair[1].as_string()));
    if (pair[0].as_string() == "PATH") {
      // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread, and execvpe looks commands up with it
      ::setenv("PATH", pair[1].str().c_str(), 1);
    }
    has_home = has_home || pair[0].as_string() == "HOME";
  }
  if (!has_home) {
    environment.push_back("HOME=" + home_in_view(order, parent));
  }
  return environment;
}

[[noreturn]] void run(const Value& order, const Parent& parent) {
  if (const std::string problem = order["problem"].str(); !problem.empty()) {
    give_up(problem);
  }
  const std::string folder = order["cwd"].str();
  if (!folder.empty() && ::chdir(folder.c_str()) != 0) {
    give_up(fmt::format("working directory {}: {}", folder, error_text()));
  }
  std::vector<std::string> environment = ordered_environment(order, parent);
  std::vector<std::string> command;
  for (const Value& word : order["argv"].items()) {
    command.push_back(word.str());
  }
  if (command.empty()) {
    give_up("no command");
  }
  ::execvpe(command.front().c_str(), exec_pointers(command).data(),
            exec_pointers(environment).data());
  give_up(fmt::format("{}: {}", command.front(), error_text()));
}

// Waits until the parent has mapped the ids of this process, or not.
MappedIds wait_for_ids(int file) {
  MappedIds answer = MappedIds::None;
  while (::read(file, &answer, sizeof answer) < 0 && errno == EINTR) {
  }
  return answer;
}

// Gives the volumes that no earlier container of the pod has used to its fsGroup. Needs the mapped
// ids of the container's user namespace: outside it this user may not give files to that group.
void give_volumes(const Value& order) {
  const Value& group = order["fsGroup"];
  for (const Value& mount : order["mounts"].items()) {
    if (group.is_integer() && mount["volume"].is_string() && !mount["given"].as_bool()) {
      give_to_group(mount["volume"].str(), static_cast<unsigned>(group.as_int()),
                    mount["contents"].as_bool() ? GroupRights::Read : GroupRights::ReadAndWrite);
    }
  }
}

// While the host's files are in view.
void join_group(const Value& order) {
  if (!enter_group(order["group"].str())) {
    give_up(fmt::format("enter cgroup {}: {}", order["group"].as_string(), error_text()));
  }
}

// Returns the place of the first mount that the container cannot do without; empty: it has none.
std::string needed_mount(const Value& order) {
  for (const Value& mount : order["mounts"].items()) {
    if (!mount["optional"].as_bool()) {
      return mount["to"].str();
    }
  }
  return {};
}

// Moves into the view. Where this machine makes none for anybody, a container that needs no mount
// goes on without; any other failure ends it, or it would see the files of the host.
void enter_view(const Value& order, View view, const Parent& parent) {
  const std::string place = parent.views ? std::string() : needed_mount(order);
  if (!parent.views && place.empty()) {
    return;
  }
  if (const std::string missing = enter_view_namespaces(view); !missing.empty()) {
    give_up(place.empty() ? missing : fmt::format("mount {}: {}", place, missing));
  }
  if (const std::string problem = enter_private_root(std::move(view)); !problem.empty()) {
    give_up(problem);
  }
}

// Whether the process runs the command itself, or waits for a child that does.
enum class Role : std::uint8_t { Runs, Waits };

// A session of its own with these files. The terminal is the session's that runs the command.
void begin_session(const ContainerFiles& files, int error, Role role) {
  ::setsid();
  if (files.terminal >= 0 && role == Role::Waits) {
    redirect(files.terminal, files.terminal, files.terminal, files.channel);
  } else if (files.terminal >= 0) {
    take_terminal(files.terminal, files.channel);
  } else {
    redirect(files.input, files.output, error, files.channel);
  }
  ::umask(S_IWGRP | S_IWOTH);
}

// Puts the pod's addresses in the place of this machine's, where the kernel can do it.
void join_network(const Value& network) {
  const auto ip = ip_of(network["ip"].as_string());
  if (!network.is_object() || !ip) {
    return;
  }
  static_cast<void>(
      supervise_calls(kChannel, {.ip = *ip, .host_network = network["host"].as_bool() ? 1U : 0U}));
  ::close(kChannel);
}

[[noreturn]] void run_confined(const Value& order, const Parent& parent) {
  reset_signals();
  const Value& security = order["security"];
  if (order["isolate"].as_bool() && ::geteuid() == 0) {
    limit_capabilities(security);
  }
  if (!become_user(security)) {
    give_up(fmt::format("become user {}: {}", security["user"].as_int(), error_text()));
  }
  if (security["noNewPrivileges"].as_bool()) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  }
  if (order["isolate"].as_bool()) {
    confine();
    join_network(order["network"]);
  }
  const OutputFiles copies{.output = order["stdout"].str(), .error = order["stderr"].str()};
  if (!copies.output.empty() || !copies.error.empty()) {
    if (const std::string problem = copy_output(copies); !problem.empty()) {
      give_up(problem);
    }
  }
  run(order, parent);
}

// Runs the command in a child, which is where its namespace begins or is joined.
[[noreturn]] void run_in_child(const Value& order, const Parent& parent, void (*wait)(int child)) {
  const int child = ::fork();
  if (child < 0) {
    give_up(fmt::format("fork: {}", error_text()));
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setsid();
    ::ioctl(STDIN_FILENO, TIOCSCTTY, 0);  // where it is a terminal
    run_confined(order, parent);
  }
  close_all();
  wait(child);
  ::_exit(kCannotStart);
}

}  // namespace

Ids container_ids(const Value& order) {
  Ids ids = own_ids();
  if (ids.user != 0) {
    ids.as_user = static_cast<unsigned>(order["security"]["user"].as_int(ids.user));
    ids.as_group = static_cast<unsigned>(order["security"]["group"].as_int(ids.group));
  }
  return ids;
}

void become_container(const Value& order, const ContainerFiles& files, const Parent& parent) {
  end_with(parent);
  join_group(order);
  View view{.scratch = order["scratch"].str(),
            .working_folder = order["cwd"].str(),
            .hostname = order["hostname"].str(),
            .made_by = parent.made_by};
  if (view.made_by && view.made_by->user != 0) {
    // The ids are the parent's: in its new namespace this process has none yet.
    const MappedIds mapped = parent.mapped >= 0 ? wait_for_ids(parent.mapped) : MappedIds::None;
    if (mapped == MappedIds::GroupsOnly) {
      give_up("newuidmap failed after newgidmap: see /etc/subuid");
    }
    if (mapped == MappedIds::All) {
      view.made_by->user = 0;  // nothing is left to be mapped
      give_volumes(order);
    }
  }
  if (order["isolate"].as_bool()) {
    view.hidden = order["hide"].str();
    if (parent.layers != LayerPlace::None) {
      view.layer = order["layer"].str();
      view.layer_in_memory = parent.layers == LayerPlace::Memory;
      view.read_only = order["readOnlyRoot"].as_bool();
    }
    view.image = order["image"].str();
    for (const Value& folder : order["ownFolders"].items()) {
      view.own_folders.push_back(folder.str());
    }
  }
  for (const Value& mount : order["mounts"].items()) {
    view.mounts.push_back({.from = mount["from"].str(),
                           .below = mount["below"].str(),
                           .to = mount["to"].str(),
                           .read_only = mount["readOnly"].as_bool()});
  }
  ContainerFiles given = files;
  given.channel = parent.channel;
  const bool no_layer = !order["image"].as_string().empty() && view.layer.empty();
  begin_session(given, files.output, parent.made_by ? Role::Waits : Role::Runs);
  if (no_layer) {
    give_up("the files of its image need overlayfs in a user namespace and --pod-isolation on");
  }
  enter_view(order, std::move(view), parent);
  if (parent.made_by) {
    run_in_child(order, parent, [](int child) { reap_until_end(child); });
  }
  run_confined(order, parent);
}

void become_exec(const Value& order, std::span<const int> files, int container,
                 const Parent& parent) {
  end_with(parent);
  join_group(order);
  ContainerFiles given{.output = files[0]};
  int error = files[files.size() - 1];
  if (order["tty"].as_bool()) {
    given = {.terminal = files[0]};
    error = -1;
  } else if (order["stdin"].as_bool()) {
    given = {.input = files[0], .output = files[1]};
  }
  given.channel = parent.channel;
  const bool own_pids =
      identity_of(fmt::format("/proc/{}/ns/pid", container)) != identity_of("/proc/self/ns/pid");
  begin_session(given, error, own_pids ? Role::Waits : Role::Runs);
  if (const std::string problem = parent.views ? enter_view_of(container) : std::string();
      !problem.empty()) {
    give_up(problem);
  }
  if (own_pids) {
    run_in_child(order, parent, [](int child) { ::_exit(exit_code_of(child)); });
  }
  run_confined(order, parent);
}

}  // namespace athanor::nodes
