// SPDX-License-Identifier: Apache-2.0
// The spawner's process and its loop: one thread, one poll over the socket, the children's output
// and their ends.
#include "embedded/nodes/process/spawner.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "embedded/nodes/process/framing.hpp"
#include "embedded/nodes/process/log_format.hpp"
#include "embedded/nodes/process/private_root.hpp"

namespace athanor::nodes {
namespace {

constexpr const char* kMarker = "ATHANOR_CONTAINER";
constexpr int kCannotStart = 127;

// One container's process as the spawner knows it.
struct Child {
  std::int64_t id = 0;
  pid_t pid = -1;
  int output = -1;
  int log = -1;
  std::string partial{};
  bool exited = false;
};

[[noreturn]] void give_up(const std::string& message) {
  const std::string line = "athanor: " + message + "\n";
  static_cast<void>(::write(STDERR_FILENO, line.data(), line.size()));
  ::_exit(kCannotStart);
}

std::vector<char*> c_strings(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

// In the child: output, view, environment, command. Never returns.
[[noreturn]] void become(const Value& order, int output) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int input = ::open("/dev/null", O_RDONLY);
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::close_range(3, ~0U, 0);

  std::vector<Mount> mounts;
  for (const Value& mount : order["mounts"].items()) {
    mounts.push_back({mount["from"].str(), mount["to"].str(), mount["readOnly"].as_bool()});
  }
  if (const std::string problem = enter_private_root(order["scratch"].str(), std::move(mounts));
      !problem.empty()) {
    give_up(problem);
  }
  const std::string folder = order["cwd"].str();
  if (!folder.empty() && ::chdir(folder.c_str()) != 0) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    give_up(fmt::format("working directory {}: {}", folder, std::strerror(errno)));
  }
  std::vector<std::string> environment{fmt::format("{}={}", kMarker, order["id"].as_int())};
  for (const Value& pair : order["env"].items()) {
    environment.push_back(fmt::format("{}={}", pair[0].as_string(), pair[1].as_string()));
    if (pair[0].as_string() == "PATH") {
      // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread, and execvpe looks commands up with it
      ::setenv("PATH", pair[1].str().c_str(), 1);
    }
  }
  std::vector<std::string> command;
  for (const Value& word : order["argv"].items()) {
    command.push_back(word.str());
  }
  if (command.empty()) {
    give_up("no command");
  }
  ::execvpe(command.front().c_str(), c_strings(command).data(), c_strings(environment).data());
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  give_up(fmt::format("{}: {}", command.front(), std::strerror(errno)));
}

class SpawnerLoop {
 public:
  explicit SpawnerLoop(int socket) : socket_(socket) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    signals_ = ::signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ::prctl(PR_SET_NAME, "athanor-spawner");
  }

  void run() {
    while (true) {
      std::vector<pollfd> polled{{socket_, POLLIN, 0}, {signals_, POLLIN, 0}};
      for (const auto& [id, child] : children_) {
        if (child.output >= 0) {
          polled.push_back({child.output, POLLIN, 0});
        }
      }
      ::poll(polled.data(), polled.size(), -1);
      for (std::size_t i = 2; i < polled.size(); ++i) {
        if (polled[i].revents != 0) {
          read_output(polled[i].fd);
        }
      }
      if (polled[1].revents != 0) {
        reap();
      }
      if (polled[0].revents != 0 && !take_orders()) {
        end_all();
        return;
      }
    }
  }

 private:
  bool take_orders() {
    const bool open = orders_.fill(socket_);
    while (const auto order = orders_.next()) {
      const std::string_view op = (*order)["op"].as_string();
      if (op == "run") {
        run_child(*order);
      } else if (op == "signal") {
        signal_child((*order)["id"].as_int(), static_cast<int>((*order)["signal"].as_int()));
      }
    }
    return open;
  }

  void run_child(const Value& order) {
    Child child{.id = order["id"].as_int()};
    int ends[2] = {-1, -1};
    child.log = ::open(order["log"].str().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (child.log < 0 || ::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
      report_exit(child.id, kCannotStart, 0);
      return;
    }
    // The child's end blocks: programs do not expect EAGAIN from their output.
    ::fcntl(ends[1], F_SETFL, 0);
    child.pid = ::fork();
    if (child.pid == 0) {
      become(order, ends[1]);
    }
    ::close(ends[1]);
    child.output = ends[0];
    if (child.pid < 0) {
      ::close(ends[0]);
      ::close(child.log);
      report_exit(child.id, kCannotStart, 0);
      return;
    }
    const std::int64_t id = child.id;
    children_.emplace(id, std::move(child));
    send_frame(socket_, Value::object({{"event", "started"}, {"id", id}}));
  }

  void signal_child(std::int64_t id, int signal) {
    const auto found = children_.find(id);
    if (found != children_.end() && !found->second.exited) {
      ::kill(-found->second.pid, signal);
      ::kill(found->second.pid, signal);  // before its setsid(), the group does not exist yet
    }
  }

  void read_output(int descriptor) {
    for (auto& [id, child] : children_) {
      if (child.output != descriptor) {
        continue;
      }
      if (!drain(child)) {
        ::close(child.output);
        child.output = -1;
        finish(id);
      }
      return;
    }
  }

  // Copies what is there into the log, line by line with the time; false at the end of the output.
  bool drain(Child& child) {
    char chunk[65536];
    bool any = false;
    bool open = true;
    while (true) {
      const ssize_t count = ::read(child.output, chunk, sizeof chunk);
      if (count > 0) {
        const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
        append_log(child.log, child.partial,
                   std::string_view(chunk, static_cast<std::size_t>(count)), now);
        any = true;
        continue;
      }
      open = count < 0 && (errno == EAGAIN || errno == EINTR);
      break;
    }
    if (any) {
      send_frame(socket_, Value::object({{"event", "log"}, {"id", child.id}}));
    }
    return open;
  }

  void reap() {
    signalfd_siginfo info{};
    while (::read(signals_, &info, sizeof info) > 0) {
    }
    int status = 0;
    for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0;
         pid = ::waitpid(-1, &status, WNOHANG)) {
      for (auto& [id, child] : children_) {
        if (child.pid == pid) {
          end_of(child, status);
          break;
        }
      }
    }
    std::erase_if(children_,
                  [](const auto& entry) { return entry.second.exited && entry.second.output < 0; });
  }

  // The container is over with its first process: whatever else it started ends, too.
  void end_of(Child& child, int status) {
    child.exited = true;
    ::kill(-child.pid, SIGKILL);
    kill_strays(child.id);
    if (child.output >= 0) {
      drain(child);
      ::close(child.output);
      child.output = -1;
    }
    flush_log(child.log, child.partial);
    ::close(child.log);
    report_exit(child.id, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  }

  // Processes that left the group: orphans fall to this process and still carry the container's
  // mark.
  void kill_strays(std::int64_t id) {
    const std::string mark = fmt::format("{}={}", kMarker, id);
    std::set<pid_t> known;
    for (const auto& [other, child] : children_) {
      known.insert(child.pid);
    }
    for (const pid_t pid : own_children()) {
      if (!known.contains(pid) && has_mark(pid, mark)) {
        ::kill(-pid, SIGKILL);
        ::kill(pid, SIGKILL);
      }
    }
  }

  static std::vector<pid_t> own_children() {
    std::vector<pid_t> pids;
    const std::string path = fmt::format("/proc/self/task/{}/children", ::getpid());
    if (FILE* file = std::fopen(path.c_str(), "re")) {
      int pid = 0;
      while (std::fscanf(file, "%d", &pid) ==
             1) {  // NOLINT(cert-err34-c): the kernel writes numbers
        pids.push_back(pid);
      }
      std::fclose(file);
    }
    return pids;
  }

  static bool has_mark(pid_t pid, const std::string& mark) {
    const int file = ::open(fmt::format("/proc/{}/environ", pid).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
      return false;
    }
    char buffer[4096];
    const ssize_t count = ::read(file, buffer, sizeof buffer);
    ::close(file);
    return count > 0 &&
           std::string_view(buffer, static_cast<std::size_t>(count)).starts_with(mark + '\0');
  }

  void finish(std::int64_t id) {
    const auto found = children_.find(id);
    if (found != children_.end() && found->second.exited) {
      children_.erase(found);
    }
  }

  void report_exit(std::int64_t id, int code, int signal) {
    send_frame(socket_, Value::object(
                            {{"event", "exited"}, {"id", id}, {"code", code}, {"signal", signal}}));
  }

  void end_all() {
    for (auto& [id, child] : children_) {
      if (!child.exited) {
        ::kill(-child.pid, SIGKILL);
        ::kill(child.pid, SIGKILL);
      }
    }
    while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
      for (const pid_t pid : own_children()) {
        ::kill(pid, SIGKILL);
      }
    }
  }

  int socket_;
  int signals_ = -1;
  FrameReader orders_{};
  std::map<std::int64_t, Child> children_{};
};

}  // namespace

Result<Spawner> Spawner::start() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error::internal(fmt::format(
        "socketpair: {}", std::strerror(errno)));  // NOLINT(concurrency-mt-unsafe): one thread
  }
  const pid_t pid = ::fork();
  if (pid < 0) {
    return Error::internal(fmt::format(
        "fork: {}", std::strerror(errno)));  // NOLINT(concurrency-mt-unsafe): one thread
  }
  if (pid == 0) {
    ::close(ends[0]);
    ::setsid();  // a terminal's Ctrl-C is for the program, which then ends the pods in order
    SpawnerLoop(ends[1]).run();
    ::_exit(0);
  }
  ::close(ends[1]);
  return Spawner(ends[0], pid);
}

Spawner::Spawner(Spawner&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), pid_(std::exchange(other.pid_, -1)) {}

Spawner& Spawner::operator=(Spawner&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(pid_, other.pid_);
  return *this;
}

Spawner::~Spawner() {
  if (socket_ >= 0) {
    ::close(socket_);
  }
  if (pid_ > 0) {
    ::waitpid(pid_, nullptr, 0);
  }
}

}  // namespace athanor::nodes
