// SPDX-License-Identifier: Apache-2.0
// The spawner's process and its loop: one thread, one poll over the socket, the children's output
// and their ends. It never waits for the program: what it reports queues up here.
#include "embedded/nodes/process/spawner.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "base/time.hpp"
#include "embedded/nodes/network/call_listener.hpp"
#include "embedded/nodes/process/container_process.hpp"
#include "embedded/nodes/process/framing.hpp"
#include "embedded/nodes/process/logs/log_files.hpp"
#include "embedded/nodes/process/logs/log_format.hpp"
#include "embedded/nodes/process/orphaned_processes.hpp"
#include "embedded/nodes/process/view/layered_root.hpp"
#include "embedded/nodes/process/view/memory_volume.hpp"
#include "embedded/nodes/process/view/own_pids.hpp"
#include "embedded/nodes/process/view/private_root.hpp"
#include "embedded/nodes/process/view/subordinate_ids.hpp"

namespace athanor::nodes {
namespace {

// Reads in a row from one container, so that a chatty one does not silence the others.
constexpr int kReadsPerTurn = 4;
// What a pipe may still hold when its container has ended.
constexpr int kReadsAtEnd = 32;

// One container's process as the spawner knows it.
struct Child {
  std::int64_t id = 0;
  pid_t pid = -1;
  int output = -1;
  int log = -1;
  std::string log_path{};
  LogLimits log_limits{};
  std::string partial{};
  bool grew = false;  // the log did, and that is not reported yet
};

// A command inside a container.
struct Exec {
  std::int64_t id = 0;
  std::int64_t container = 0;
  pid_t pid = -1;
};

// A reader of copies of a container's output.
struct Tap {
  std::int64_t container = 0;
  int file = -1;
  std::string pending{};
  bool ended = false;  // nothing more will come
};

class SpawnerLoop {
 public:
  SpawnerLoop(int socket, int channel) : socket_(socket), channel_(channel), self_(::getpid()) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    handle_ = static_cast<int>(::syscall(SYS_pidfd_open, self_, 0));
    signals_ = ::signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
    ::signal(SIGPIPE, SIG_IGN);  // children have it reset
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    memory::allow_huge_pages();
    ::prctl(PR_SET_NAME, "athanor-spawner");
  }

  // Until the program is gone.
  void run() {
    while (turn()) {
    }
    end_all();
  }

 private:
  bool turn() {
    report_growth();
    if (!reports_.flush(socket_)) {
      return false;
    }
    const short out = reports_.empty() ? short{0} : short{POLLOUT};
    std::vector<pollfd> polled{{socket_, static_cast<short>(POLLIN | out), 0},
                               {signals_, POLLIN, 0}};
    std::vector<std::int64_t> ids;
    for (const auto& [id, child] : children_) {
      if (child.output >= 0) {
        polled.push_back({child.output, POLLIN, 0});
        ids.push_back(id);
      }
    }
    for (const Tap& tap : taps_) {
      if (!tap.pending.empty()) {
        polled.push_back({tap.file, POLLOUT, 0});
      }
    }
    ::poll(polled.data(), polled.size(), -1);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (polled[i + 2].revents != 0) {
        read_output(children_.at(ids[i]), kReadsPerTurn);
      }
    }
    if (polled[1].revents != 0) {
      reap();
    }
    flush_taps();
    return (polled[0].revents & ~POLLOUT) == 0 || take_orders();
  }

  bool take_orders() {
    const bool open = orders_.fill(socket_);
    while (const auto order = orders_.next()) {
      const std::string_view op = (*order)["op"].as_string();
      std::vector<int> files =
          orders_.take_files(static_cast<std::size_t>((*order)["files"].as_int()));
      if (op == "run") {
        run_child(*order, files);
      } else if (op == "memory") {
        if (const std::string problem = mount_memory(*order); !problem.empty()) {
          reports_.push(Value::object({{"event", "memory"},
                                       {"uid", (*order)["uid"]},
                                       {"volume", (*order)["volume"]},
                                       {"problem", problem}}));
        }
      } else if (op == "prepare") {
        layers_ = try_layers((*order)["folder"].str());
        if (!can_make_views()) {
          layers_.missing += "; containers with volumes or files of images, and steps, do not run";
        }
        reports_.push(Value::object({{"event", "isolation"}, {"missing", layers_.missing}}));
      } else if (op == "exec") {
        run_exec(*order, files);
      } else if (op == "tap" && !files.empty()) {
        add_tap((*order)["id"].as_int(), std::exchange(files.front(), -1));
      } else if (op == "signal") {
        signal_child((*order)["id"].as_int(), static_cast<int>((*order)["signal"].as_int()));
      }
      for (const int file : files) {
        if (file >= 0) {
          ::close(file);
        }
      }
    }
    return open;
  }

  // `files` that go on in the child's keeping are taken out.
  void run_child(const Value& order, std::vector<int>& files) {
    Child child{.id = order["id"].as_int(),
                .log_path = order["log"].str(),
                .log_limits = {.bytes = order["logBytes"].as_int(),
                               .files = static_cast<int>(order["logFiles"].as_int())}};
    int ends[2] = {-1, -1};
    const bool terminal = order["tty"].as_bool() && files.size() == 2;
    ContainerFiles given;
    if (terminal) {
      given.terminal = files[0];
    } else if (!files.empty()) {
      given.input = files[0];
    }
    child.log = open_log_to_write(child.log_path);
    const bool ready = child.log >= 0 && (terminal || ::pipe2(ends, O_CLOEXEC) == 0);
    given.output = ends[1];
    Parent parent{.pid = self_, .channel = channel_, .views = can_make_views()};
    if (order["isolate"].as_bool() && handle_ >= 0 && can_have_own_pids()) {
      parent.handle = handle_;
      parent.made_by = own_ids();
      parent.layers = layers_.place;
    }
    int mapped[2] = {-1, -1};
    if (parent.made_by) {
      parent.made_by = container_ids(order);
      // Root may change to other users and needs their ids; other users need those of their groups.
      const Value& security = order["security"];
      const bool root = security["user"].is_integer() && parent.made_by->as_user == 0;
      const bool several = (root || !security["groups"].empty()) && has_subordinate_ids();
      parent.mapped = several && ::pipe2(mapped, O_CLOEXEC) == 0 ? mapped[0] : -1;
    }
    const auto target = children_.find(order["target"].as_int(-1));
    // A target that has ended meanwhile fails the start: its processes cannot be shown.
    const bool lost = order.contains("target") && (!parent.made_by || target == children_.end());
    child.pid = !ready || lost              ? -1
                : !parent.made_by           ? ::fork()
                : target != children_.end() ? fork_into_pids_of(target->second.pid)
                                            : fork_into_own_pids();
    if (child.pid == 0) {
      become_container(order, given, parent);
    }
    if (mapped[1] >= 0) {
      const MappedIds done =
          child.pid > 0 ? map_subordinate_ids(child.pid, *parent.made_by) : MappedIds::None;
      static_cast<void>(::write(mapped[1], &done, sizeof done));
      ::close(mapped[0]);
      ::close(mapped[1]);
    }
    if (ends[1] >= 0) {
      ::close(ends[1]);
    }
    child.output = terminal ? std::exchange(files[1], -1) : ends[0];
    if (child.pid < 0) {
      close_files(child);
      report_exit(child.id, kCannotStart, 0);
      return;
    }
    // This end alone: programs do not expect EAGAIN from their output.
    ::fcntl(child.output, F_SETFL, O_NONBLOCK);
    reports_.push(Value::object({{"event", "started"}, {"id", child.id}, {"pid", child.pid}}));
    children_.emplace(child.id, std::move(child));
  }

  void run_exec(const Value& order, const std::vector<int>& files) {
    const std::int64_t id = order["id"].as_int();
    const auto container = children_.find(order["container"].as_int());
    const std::size_t needed = order["tty"].as_bool() ? 1 : order["stdin"].as_bool() ? 3 : 2;
    const bool ready = container != children_.end() && files.size() == needed;
    const pid_t pid = ready ? ::fork() : -1;
    if (pid == 0) {
      become_exec(order, files, container->second.pid,
                  {.pid = self_, .channel = channel_, .views = can_make_views()});
    }
    if (pid < 0) {
      return report_exit(id, kCannotStart, 0);
    }
    execs_.push_back({.id = id, .container = container->first, .pid = pid});
  }

  void add_tap(std::int64_t container, int file) {
    ::fcntl(file, F_SETFL, O_NONBLOCK);
    taps_.push_back({.container = container,
                     .file = file,
                     .pending = {},
                     .ended = !children_.contains(container)});
  }

  // Copies for listeners; one that does not read is dropped.
  void copy_to_taps(std::int64_t container, std::string_view bytes) {
    constexpr std::size_t kTapLimit = std::size_t{1} << 20;
    for (Tap& tap : taps_) {
      if (tap.container == container && !tap.ended) {
        tap.pending += bytes;
        tap.ended = tap.pending.size() > kTapLimit;
      }
    }
  }

  void flush_taps() {
    for (Tap& tap : taps_) {
      while (!tap.pending.empty()) {
        const ssize_t count = ::write(tap.file, tap.pending.data(), tap.pending.size());
        if (count > 0) {
          tap.pending.erase(0, static_cast<std::size_t>(count));
        } else if (errno == EAGAIN) {
          break;
        } else if (errno != EINTR) {
          tap.pending.clear();
          tap.ended = true;
        }
      }
      if (tap.ended && tap.pending.empty()) {
        ::close(std::exchange(tap.file, -1));
      }
    }
    std::erase_if(taps_, [](const Tap& tap) { return tap.file < 0; });
  }

  void signal_child(std::int64_t id, int signal) {
    const auto found = children_.find(id);
    if (found != children_.end()) {
      ::kill(-found->second.pid, signal);
      ::kill(found->second.pid, signal);  // before its setsid(), the group does not exist yet
      return;
    }
    const auto exec =
        std::ranges::find_if(execs_, [id](const Exec& entry) { return entry.id == id; });
    if (exec != execs_.end()) {
      ::kill(exec->pid, signal);  // what it waits for in the container dies with it
    }
  }

  // Copies what is there into the log, line by line with the time; closes it at its end.
  void read_output(Child& child, int reads) {
    char chunk[65536];
    while (child.output >= 0 && reads-- > 0) {
      const ssize_t count = ::read(child.output, chunk, sizeof chunk);
      if (count > 0) {
        // Who began to listen before this was written must not miss it.
        static_cast<void>(take_orders());  // whether the program is gone shows in the next turn
        const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
        copy_to_taps(child.id, std::string_view(chunk, static_cast<std::size_t>(count)));
        append_log(child.log, child.partial,
                   std::string_view(chunk, static_cast<std::size_t>(count)), now);
        begin_next_log(child);
        child.grew = true;
      } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        ::close(std::exchange(child.output, -1));
      } else if (errno == EAGAIN) {
        return;
      }
    }
  }

  // Begins the next file of a log that is large enough. Where it cannot be made the old one goes
  // on.
  static void begin_next_log(Child& child) {
    if (::lseek(child.log, 0, SEEK_END) < child.log_limits.bytes ||
        !shift_logs(child.log_path, child.log_limits.files)) {
      return;
    }
    if (const int next = open_log_to_write(child.log_path); next >= 0) {
      ::close(std::exchange(child.log, next));
    }
  }

  // One message a container, however much it wrote since the last one went out.
  void report_growth() {
    if (!reports_.empty()) {
      return;
    }
    for (auto& [id, child] : children_) {
      if (std::exchange(child.grew, false)) {
        reports_.push(Value::object({{"event", "log"}, {"id", id}}));
      }
    }
  }

  void reap() {
    signalfd_siginfo info{};
    while (::read(signals_, &info, sizeof info) > 0) {
    }
    int status = 0;
    bool any = false;
    for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0;
         pid = ::waitpid(-1, &status, WNOHANG)) {
      any = true;
      const auto found = std::ranges::find_if(
          children_, [pid](const auto& entry) { return entry.second.pid == pid; });
      if (found != children_.end()) {
        end_of(found->second, status);
        children_.erase(found);
        continue;
      }
      const auto exec =
          std::ranges::find_if(execs_, [pid](const Exec& entry) { return entry.pid == pid; });
      if (exec != execs_.end()) {
        report_exit(exec->id, exit_code(status), WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        execs_.erase(exec);
      }
    }
    if (any) {
      kill_strays();  // each one that dies may leave others behind, and brings us here again
    }
  }

  // The container is over with its first process: whatever else it started ends, too.
  void end_of(Child& child, int status) {
    ::kill(-child.pid, SIGKILL);
    read_output(child, kReadsAtEnd);
    flush_log(child.log, child.partial);
    close_files(child);
    for (Tap& tap : taps_) {
      tap.ended = tap.ended || tap.container == child.id;
    }
    flush_taps();
    report_exit(child.id, exit_code(status), WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  }

  static int exit_code(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  static void close_files(Child& child) {
    for (int* file : {&child.output, &child.log}) {
      if (*file >= 0) {
        ::close(std::exchange(*file, -1));
      }
    }
  }

  // Ends what belongs to no running container: by its mark, or when it threw that away, by the view
  // it lives in.
  void kill_strays() {
    std::set<pid_t> leaders;
    for (const auto& [id, child] : children_) {
      leaders.insert(child.pid);
    }
    // One that waits in a running container's view, or is on its way there, has no mark.
    for (const Exec& exec : execs_) {
      if (children_.contains(exec.container)) {
        leaders.insert(exec.pid);
      }
    }
    for (const pid_t pid : own_children()) {
      if (leaders.contains(pid)) {
        continue;
      }
      const auto id = marked_container(pid);
      if (id ? !children_.contains(*id) : in_no_view_of(pid, leaders)) {
        kill_tree(pid);
      }
    }
  }

  // False, too, for one that has ended meanwhile: its number may be a living group's.
  static bool in_no_view_of(pid_t pid, const std::set<pid_t>& leaders) {
    const auto view = mount_namespace(pid);
    return view && std::ranges::none_of(
                       leaders, [&](pid_t leader) { return view == mount_namespace(leader); });
  }

  void report_exit(std::int64_t id, int code, int signal) {
    reports_.push(
        Value::object({{"event", "exited"}, {"id", id}, {"code", code}, {"signal", signal}}));
  }

  void end_all() {
    for (auto& [id, child] : children_) {
      kill_tree(child.pid);
    }
    do {
      for (const pid_t pid : own_children()) {
        kill_tree(pid);
      }
    } while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR);
  }

  int socket_;
  int channel_;
  pid_t self_;
  int handle_ = -1;  // a pidfd of this process
  int signals_ = -1;
  LayerSupport layers_{};
  FrameReader orders_{};
  FrameWriter reports_{};
  std::map<std::int64_t, Child> children_{};  // running ones
  std::vector<Exec> execs_{};
  std::vector<Tap> taps_{};
};

Error system_error(const char* what) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  return Error::internal(fmt::format("{}: {}", what, std::strerror(errno)));
}

// Closes what the program has open, or others would wait for its end.
void close_all_but(int one, int other) {
  const auto low = static_cast<unsigned>(std::min(one, other < 0 ? one : other));
  const auto high = static_cast<unsigned>(std::max(one, other));
  unsigned first = STDERR_FILENO + 1;
  for (const unsigned kept : {low, high}) {
    if (kept > first) {
      ::close_range(first, kept - 1, 0);
    }
    first = std::max(first, kept + 1);
  }
  ::close_range(first, ~0U, 0);
}

}  // namespace

Result<Spawner> Spawner::start() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return system_error("socketpair");
  }
  int channel[2] = {-1, -1};
  if (can_supervise_calls() &&
      ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) != 0) {
    return system_error("socketpair");
  }
  const pid_t pid = ::fork();
  if (pid < 0) {
    const Error error = system_error("fork");
    for (const int file : {ends[0], ends[1], channel[0], channel[1]}) {
      ::close(file);
    }
    return error;
  }
  if (pid == 0) {
    close_all_but(ends[1], channel[1]);
    ::setsid();  // a terminal's Ctrl-C is for the program, which then ends the pods in order
    SpawnerLoop(ends[1], channel[1]).run();
    ::_exit(0);
  }
  ::close(ends[1]);
  ::close(channel[1]);
  return Spawner(ends[0], channel[0], pid);
}

int Spawner::take_channel() {
  return std::exchange(channel_, -1);
}

Spawner::Spawner(Spawner&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      channel_(std::exchange(other.channel_, -1)),
      pid_(std::exchange(other.pid_, -1)) {}

Spawner& Spawner::operator=(Spawner&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(channel_, other.channel_);
  std::swap(pid_, other.pid_);
  return *this;
}

Spawner::~Spawner() {
  if (socket_ >= 0) {
    ::close(socket_);
  }
  if (channel_ >= 0) {
    ::close(channel_);
  }
  if (pid_ > 0) {
    ::waitpid(pid_, nullptr, 0);
  }
}

}  // namespace athanor::nodes
