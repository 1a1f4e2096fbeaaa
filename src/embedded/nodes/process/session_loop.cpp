// SPDX-License-Identifier: Apache-2.0
// Sessions: reading, writing and ending.
#include "embedded/nodes/process/session_loop.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.hpp"

namespace athanor::nodes {
namespace {

constexpr std::size_t kOutputLimit = std::size_t{256} << 10;  // bytes the client did not take
constexpr std::size_t kChunk = std::size_t{64} << 10;
constexpr char kEndOfFile = 4;  // what ends a terminal's input

void close_file(int& file) {
  if (file >= 0) {
    ::close(std::exchange(file, -1));
  }
}

bool session_would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

struct Session {
  std::int64_t owner = 0;
  SessionFiles files{};
  std::function<void()> input_over{};
  std::function<void()> wake{};
  std::string in{};
  std::string out{};
  std::string err{};
  bool closing = false;   // the client writes nothing more
  bool finished = false;  // what it talked to is over
  bool left = false;      // the client is gone
  bool input_done = false;
  bool end_told = false;  // the client was woken for the end
  int exit_code = 0;
  std::string failure{};

  // All output was read.
  [[nodiscard]] bool drained() const { return files.output < 0 && files.error < 0; }

  void fail(const char* what) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's is safe
    failure = fmt::format("{}: {}", what, std::strerror(errno));
    finished = true;
    close_all();
  }

  void close_all() {
    close_file(files.input);
    close_file(files.output);
    close_file(files.error);
  }

  // True when something changed for the client.
  bool check_connection() {
    int problem = 0;
    socklen_t size = sizeof problem;
    ::getsockopt(files.output, SOL_SOCKET, SO_ERROR, &problem, &size);
    if (problem == EINPROGRESS) {
      return false;
    }
    files.connecting = false;
    if (problem == 0) {
      return false;
    }
    errno = problem;
    fail("connect");
    return true;
  }

  bool write_input() {
    if (files.input < 0) {
      in.clear();
      return false;
    }
    const bool was_full = in.size() >= kChunk;
    std::size_t written = 0;  // a terminal takes small pieces of what may be a lot
    while (written < in.size()) {
      const ssize_t count = ::write(files.input, in.data() + written, in.size() - written);
      if (count > 0) {
        written += static_cast<std::size_t>(count);
      } else if (count < 0 && session_would_block()) {
        break;
      } else {
        written = in.size();
        closing = true;
      }
    }
    in.erase(0, written);
    if (in.empty() && closing) {
      end_input();
    }
    return was_full && in.size() < kChunk;
  }

  void end_input() {
    if (files.terminal) {
      static_cast<void>(::write(files.input, &kEndOfFile, 1));
    } else if (files.socket) {
      ::shutdown(files.input, SHUT_WR);
    }
    close_file(files.input);
    input_done = true;
  }

  // `file` is closed at its end; once all is over, also when there is nothing more right now.
  bool read_output(int& file, std::string& buffer) const {
    bool changed = false;
    std::string chunk(kChunk, '\0');
    while (file >= 0 && buffer.size() < kOutputLimit) {
      const ssize_t count = ::read(file, chunk.data(), chunk.size());
      if (count > 0) {
        buffer.append(chunk, 0, static_cast<std::size_t>(count));
        changed = true;
      } else if (count == 0 || !session_would_block() || finished) {
        close_file(file);
        changed = true;
      } else {
        break;
      }
    }
    return changed;
  }

  // Everything that is possible now.
  bool advance() {
    if (left) {
      input_done = true;
      close_all();
      return false;
    }
    if (files.connecting) {
      const bool failed = check_connection();
      if (failed || files.connecting) {
        return failed;
      }
    }
    bool changed = write_input();
    changed = read_output(files.output, out) || changed;
    changed = read_output(files.error, err) || changed;
    if (files.socket && !finished && files.output < 0) {
      finished = true;  // the other side closed
      changed = true;
    }
    return changed;
  }
};

}  // namespace

class SessionLoop::Impl {
 public:
  Impl() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    for (const auto& session : sessions_) {
      session->close_all();
    }
    ::close(wake_);
  }

  void start() {
    thread_ = std::jthread([this](const std::stop_token& stop) { loop(stop); });
  }
  void stop() {
    thread_.request_stop();
    wake();
    thread_.join();
  }

  void wake() const {
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake_, &one, sizeof one));
  }

  Mutex mutex{};  // guards every session

  void add(std::shared_ptr<Session> session) {
    {
      const MutexLock lock(mutex);
      sessions_.push_back(std::move(session));
    }
    wake();
  }

  void finish(std::int64_t owner, int exit_code, const std::string& failure) {
    {
      const MutexLock lock(mutex);
      for (const auto& session : sessions_) {
        if (session->owner == owner && !session->finished && !session->files.socket) {
          session->finished = true;
          session->exit_code = exit_code;
          session->failure = failure;
        }
      }
    }
    wake();
  }

 private:
  void loop(const std::stop_token& stop) {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    std::vector<pollfd> polled;
    while (!stop.stop_requested()) {
      collect(polled);
      ::poll(polled.data(), polled.size(), -1);
      std::uint64_t count = 0;
      static_cast<void>(::read(wake_, &count, sizeof count));
      turn();
    }
  }

  void collect(std::vector<pollfd>& polled) {
    polled.assign(1, {wake_, POLLIN, 0});
    const MutexLock lock(mutex);
    for (const auto& session : sessions_) {
      const SessionFiles& files = session->files;
      if (files.input >= 0 && (files.connecting || !session->in.empty())) {
        polled.push_back({files.input, POLLOUT, 0});
      }
      if (files.output >= 0 && session->out.size() < kOutputLimit && !files.connecting) {
        polled.push_back({files.output, POLLIN, 0});
      }
      if (files.error >= 0 && session->err.size() < kOutputLimit) {
        polled.push_back({files.error, POLLIN, 0});
      }
    }
  }

  void turn() {
    std::vector<std::function<void()>> calls;  // made without the lock
    {
      const MutexLock lock(mutex);
      for (const auto& session : sessions_) {
        const bool changed = session->advance();
        const bool over = session->finished && session->drained();
        const bool news = changed || (over && !std::exchange(session->end_told, true));
        if (news && session->wake) {
          calls.push_back(session->wake);
        }
        if (session->input_done && session->input_over) {
          calls.push_back(std::exchange(session->input_over, {}));
        }
      }
      std::erase_if(sessions_, [](const auto& session) {
        const bool over =
            session->left || (session->finished && session->drained() && session->in.empty());
        if (over) {
          session->close_all();
        }
        return over;
      });
    }
    for (const auto& call : calls) {
      call();
    }
  }

  int wake_;
  std::vector<std::shared_ptr<Session>> sessions_{};
  std::jthread thread_{};
};

namespace {

// The client's end of a session.
template <class Loop>
class ClientSession final : public apiserver::PodSession {
 public:
  ClientSession(std::shared_ptr<Loop> loop, std::shared_ptr<Session> session)
      : loop_(std::move(loop)), session_(std::move(session)) {}
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;
  ~ClientSession() override {
    {
      const MutexLock lock(loop_->mutex);
      session_->left = true;
      session_->wake = nullptr;
    }
    loop_->wake();
  }

  void write(std::string_view bytes) override {
    {
      const MutexLock lock(loop_->mutex);
      if (session_->files.input < 0 || session_->closing) {
        return;
      }
      session_->in += bytes;
    }
    loop_->wake();
  }

  void close_input() override {
    {
      const MutexLock lock(loop_->mutex);
      session_->closing = true;
    }
    loop_->wake();
  }

  [[nodiscard]] std::size_t unread() const override {
    const MutexLock lock(loop_->mutex);
    return session_->in.size();
  }

  void resize(unsigned columns, unsigned rows) override {
    const MutexLock lock(loop_->mutex);
    if (session_->files.terminal && session_->files.input >= 0) {
      winsize size{};
      size.ws_col = static_cast<unsigned short>(columns);
      size.ws_row = static_cast<unsigned short>(rows);
      ::ioctl(session_->files.input, TIOCSWINSZ, &size);
    }
  }

  void take(Output& output, std::size_t limit) override {
    std::function<void()> again;
    {
      const MutexLock lock(loop_->mutex);
      move_some(session_->out, output.out, limit);
      move_some(session_->err, output.err, limit);
      if (!session_->out.empty() || !session_->err.empty()) {
        again = session_->wake;
      } else if (session_->finished && session_->drained()) {
        output.exit_code = session_->exit_code;
        output.failure = session_->failure;
      }
    }
    if (again) {
      again();
    }
    loop_->wake();  // there is space again
  }

  void on_ready(std::function<void()> wake) override {
    {
      const MutexLock lock(loop_->mutex);
      session_->wake = wake;
    }
    wake();
  }

 private:
  static void move_some(std::string& from, std::string& to, std::size_t limit) {
    if (from.size() <= limit) {
      to += std::exchange(from, {});
      return;
    }
    to.append(from, 0, limit);
    from.erase(0, limit);
  }

  std::shared_ptr<Loop> loop_;
  std::shared_ptr<Session> session_;
};

}  // namespace

SessionLoop::SessionLoop() : impl_(std::make_shared<Impl>()) {
  impl_->start();
}

SessionLoop::~SessionLoop() {
  impl_->stop();
}

std::unique_ptr<apiserver::PodSession> SessionLoop::add(std::int64_t owner,
                                                        const SessionFiles& files,
                                                        std::function<void()> input_over) {
  for (const int file : {files.input, files.output, files.error}) {
    if (file >= 0) {
      ::fcntl(file, F_SETFL, O_NONBLOCK);
    }
  }
  auto session = std::make_shared<Session>();
  session->owner = owner;
  session->files = files;
  session->input_over = std::move(input_over);
  impl_->add(session);
  return std::make_unique<ClientSession<Impl>>(impl_, std::move(session));
}

void SessionLoop::finish(std::int64_t owner, int exit_code, const std::string& failure) {
  impl_->finish(owner, exit_code, failure);
}

}  // namespace athanor::nodes
